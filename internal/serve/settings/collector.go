package settings

import (
	"errors"

	"github.com/sotto-llm/sotto/internal/serve/telemetry"
)

// readCollector reads what the variables of OpenTelemetry say about the collector.
func (s *Setup) readCollector(getenv func(string) string) {
	if s.Otel == nil {
		if s.OtelContent {
			s.fault("otel-content", errors.New("there is no collector for the texts: name one with otel-endpoint"))
		}
		return
	}
	var err error
	if s.Collector, err = telemetry.ReadEnvironment(s.Otel, getenv); err != nil {
		s.fault("otel-endpoint", err)
		return
	}
	if to := s.Collector.Traces.URL; s.OtelContent && to != nil && to.Scheme == "http" && !IsLoopback(to.Host) {
		s.warn("the texts of requests and replies go to %s unencrypted: its URL is http", to.Host)
	}
	for _, to := range []telemetry.Signal{s.Collector.Traces, s.Collector.Metrics} {
		if to.URL != nil && len(to.Header) > 0 && to.URL.Scheme == "http" && !IsLoopback(to.URL.Host) {
			s.warn("the headers of OTEL_EXPORTER_OTLP_HEADERS go to %s unencrypted: its URL is http", to.URL.Host)
			return
		}
	}
}
