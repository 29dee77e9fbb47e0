package servecmd

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/sotto-llm/sotto/internal/serve/telemetry"
)

// flushWait is how long the spans and metrics of a gateway that ends may take to the
// collector.
const flushWait = 5 * time.Second

// openTelemetry sends traces and metrics of the exchanges to the collector, if there is one.
// It is closed after the gateway, when the last exchange has ended.
func (p *parts) openTelemetry() error {
	if p.s.Otel == nil {
		return nil
	}
	version := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
	}
	t, err := telemetry.Open(telemetry.Config{Signals: p.s.Collector, Version: version, Registry: p.metrics, Log: p.log, Content: p.s.OtelContent})
	if err != nil {
		return err
	}
	p.opened(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), flushWait)
		defer cancel()
		return t.Close(ctx)
	})
	if p.s.OtelContent && p.s.Collector.Traces.URL != nil {
		p.s.Gateway.Recorder = t.Recorder(p.s.Gateway.Recorder, p.secrets)
	}
	p.s.Gateway.Observers = append(p.s.Gateway.Observers, t.Observer())
	return nil
}
