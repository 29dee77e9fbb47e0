package gateway

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"time"

	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/internal/base/lograte"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// logging is the observer that writes a line for each exchange, without content.
func (e *engine) logging() observer {
	judged := lograte.Limit{Every: time.Minute, Most: e.config.Limits.Labels}
	limits := lograte.Limit{Every: time.Minute, Most: e.config.Limits.Labels}
	paths := lograte.Limit{Every: time.Minute, Most: e.config.Limits.Labels}
	lists := lograte.Limit{Every: time.Minute, Most: e.config.Limits.Labels}
	return observer{
		begun: func(x *exchange, _ *http.Request, _ *url.URL) {
			if !e.config.Logger.Enabled(context.Background(), slog.LevelDebug) {
				return // the fields would be allocated for nothing
			}
			x.debug("exchange begins", "api", x.codec.Name(), "model", x.model, "route", x.route.Name, "upstream", x.to.name, "dialect", x.family.dialect, "stream", x.request.Stream, "request_bytes", len(x.body))
		},
		replied: func(x *exchange, _ *http.Response) {
			x.debug("the upstream replies", "status", x.status, "upstream_ms", millis(x.header.Sub(x.Began)))
		},
		unread: func(path string, _ endpoints.Endpoint) {
			if paths.Now(path) {
				e.config.Logger.Warn("unread: the response looks like a model's reply, and the gateway does not read what this path returns: its thoughts pass", "path", path)
			}
		},
		unlisted: func(to *target, err error) {
			if fault := faults.Plain(err.Error()); lists.Now(to.name + fault) {
				e.config.Logger.Warn("an upstream did not say which models it has: they are not in the list", "upstream", to.name, "error", fault)
			}
		},
		refused: func(r *http.Request, c codec, _ *url.URL, status int, err error) {
			fields := append(identityOf(r).fields(), "api", c.Name(), "status", status, "error", faults.Plain(err.Error()))
			if caller := access.Caller(r.Context()); caller != "" {
				fields = append(fields, "caller", caller)
			}
			e.config.Logger.Warn("refused", fields...)
		},
		limited: func(caller string, refused *access.LimitError) {
			if limits.Now(caller + " " + refused.Limit) { // many refusals must not make the log grow
				e.config.Logger.Warn("a caller has reached a limit", "caller", caller, "limit", refused.Limit, "most", refused.Most)
			}
		},
		judged: func(x *exchange, d judgement) {
			if d.err == nil || x.gone() {
				return
			}
			if fault := faults.Plain(d.err.Error()); judged.Now(fault) {
				e.config.Logger.Warn("the guard did not judge a piece of a reply", "model", x.model, "api", x.codec.Name(), "error", fault, "on_failure", string(x.route.Guard.OnFailure))
			}
		},
		ended: func(x *exchange) {
			level := slog.LevelInfo
			if x.ended == "failed" {
				level = slog.LevelWarn
			}
			if log := e.config.Logger; log.Enabled(context.Background(), level) {
				log.Log(context.Background(), level, "exchange", x.fields()...)
			}
		},
	}
}

// fields are what the log says of an exchange.
func (x *exchange) fields() []any {
	fields := append(x.identity.fields(),
		"api", x.codec.Name(), "model", x.model, "route", x.route.Name, "upstream", x.to.name, "dialect", x.family.dialect, "status", x.status,
		"outcome", x.ended, "stream", x.streamed, "ms", x.took.Milliseconds(),
		"bytes", x.reading.All, "reasoning", x.reading.Reasoning, "start", string(x.reading.Start),
	)
	fields = append(fields, x.times()...)
	if thought, text := x.reading.Given(); thought+text > 0 {
		fields = append(fields, "reasoning_share", math.Round(1000*float64(thought)/float64(thought+text))/1000)
	}
	if x.caller != "" {
		fields = append(fields, "caller", x.caller)
	}
	if x.asked != "" { // there may be no such path, because the base URL is wrong
		fields = append(fields, "upstream_path", x.asked)
	}
	if found := x.reading.Findings(); found != "" {
		fields = append(fields, "found", found)
	}
	if x.plan.Removed > 0 || x.plan.Restored > 0 || x.engine.config.HistoryDryRun {
		fields = append(fields, "history", x.plan.String(), "dry_run", x.engine.config.HistoryDryRun)
	}
	if x.switched != nil {
		fields = append(fields, "thinking", x.switched.String())
	}
	if x.retries > 0 {
		fields = append(fields, "retries", x.retries)
	}
	if x.err != nil {
		fields = append(fields, "error", faults.Plain(x.err.Error()))
	}
	return fields
}

// debug writes a line about an exchange that is under way, for who looks for one that hangs.
func (x *exchange) debug(text string, fields ...any) {
	if log := x.engine.config.Logger; log.Enabled(context.Background(), slog.LevelDebug) {
		log.Debug(text, append(x.identity.fields(), fields...)...)
	}
}

// times are how long after the request the header of the response came, and in a stream the
// first thought and the first visible text.
func (x *exchange) times() (fields []any) {
	if !x.header.IsZero() {
		fields = append(fields, "upstream_ms", millis(x.header.Sub(x.Began)))
	}
	if d := x.since(x.reading.FirstThought); d > 0 {
		fields = append(fields, "first_thought_ms", millis(d))
	}
	if d := x.since(x.reading.FirstAnswer); d > 0 {
		fields = append(fields, "first_answer_ms", millis(d))
	}
	return fields
}
