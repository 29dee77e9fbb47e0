package settings

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// collectorKeys is the variable that the specification of OTLP has for the headers of a
// request to the collector, where its key is.
const collectorKeys = "OTEL_EXPORTER_OTLP_HEADERS"

// readCollector reads the headers for the collector: name=value, with commas between, and
// each value encoded as in a URL. No error has any part of them.
func (s *Setup) readCollector(getenv func(string) string) {
	text := getenv(collectorKeys)
	if s.Otel == nil || text == "" {
		return
	}
	s.OtelHeader = http.Header{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			s.fault("otel-endpoint", errors.New(collectorKeys+" is not a list of headers: want name=value, with commas between"))
			return
		}
		s.OtelHeader.Set(name, value)
	}
	if s.Otel.Scheme == "http" && !IsLoopback(s.Otel.Host) {
		s.warn("the headers of %s go to %s unencrypted: its URL is http", collectorKeys, s.Otel.Host)
	}
}
