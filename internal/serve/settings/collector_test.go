package settings

import (
	"net/url"
	"strings"
	"testing"
)

// TestCollectorHeaders: the headers for the collector come from the variable of the
// specification. A fault in it shows nothing of it.
func TestCollectorHeaders(t *testing.T) {
	read := func(address, text string) *Setup {
		s := &Setup{places: map[string]Place{}}
		s.Otel = &url.URL{Scheme: "http", Host: address}
		s.readCollector(func(name string) string {
			if name == "OTEL_EXPORTER_OTLP_HEADERS" {
				return text
			}
			return ""
		})
		return s
	}
	s := read("localhost:4318", "api-key=a%3Db, x = y")
	if len(s.Faults) > 0 || s.Collector.Traces.Header.Get("Api-Key") != "a=b" || s.Collector.Traces.Header.Get("X") != "y" || len(s.Warnings) > 0 {
		t.Errorf("%v %v %v", s.Collector.Traces.Header, s.Faults, s.Warnings)
	}
	if s := read("collector.example", "api-key=k"); len(s.Warnings) != 1 || strings.Contains(s.Warnings[0], "api-key") {
		t.Errorf("%q", s.Warnings)
	}
	for _, text := range []string{"s3cret", "api key=s3cret", "k=s3cret%0d%0aX: y", "k=s3cret%zz", ",k=s3cret"} {
		s := read("localhost", text)
		if len(s.Faults) != 1 || strings.Contains(s.Faults[0].Error(), "s3cret") {
			t.Errorf("%q: %v", text, s.Faults)
		}
	}
}
