package observing

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/internal/base/lograte"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// Log returns the observer that writes a line for each exchange, without content. It says
// the same thing again and again only of so many values of a label.
func Log(to *slog.Logger, labels int) Observer {
	judged := lograte.Limit{Every: time.Minute, Most: labels}
	limits := lograte.Limit{Every: time.Minute, Most: labels}
	paths := lograte.Limit{Every: time.Minute, Most: labels}
	lists := lograte.Limit{Every: time.Minute, Most: labels}
	return Observer{
		Begun: func(x Exchange, _ http.Header) (http.Header, func(*Report)) {
			if to.Enabled(context.Background(), slog.LevelDebug) { // otherwise the fields would be allocated for nothing
				Debug(to, x.Identity, "exchange begins", "api", x.API, "model", x.Model, "route", x.Route, "upstream", x.Upstream, "dialect", x.Dialect, "stream", x.Streaming, "request_bytes", x.Size)
			}
			return nil, nil
		},
		Replied: func(of Identity, status int, after time.Duration) {
			Debug(to, of, "the upstream replies", "status", status, "upstream_ms", Millis(after))
		},
		Unread: func(path, _ string) {
			if paths.Now(path) {
				to.Warn("unread: the response looks like a model's reply, and the gateway does not read what this path returns: its thoughts pass", "path", path)
			}
		},
		Unlisted: func(upstream string, err error) {
			if fault := faults.Plain(err.Error()); lists.Now(upstream + fault) {
				to.Warn("an upstream did not say which models it has: they are not in the list", "upstream", upstream, "error", fault)
			}
		},
		Refused: func(f Refusal) {
			fields := append(f.Fields(), "api", f.API, "status", f.Status, "error", faults.Plain(f.Err.Error()))
			if f.Name != "" {
				fields = append(fields, "explain", string(f.Name))
			}
			if f.Caller != "" {
				fields = append(fields, "caller", f.Caller)
			}
			to.Warn("refused", fields...)
		},
		Limited: func(caller string, refused *access.LimitError) {
			if limits.Now(caller + " " + refused.Limit) { // many refusals must not make the log grow
				to.Warn("a caller has reached a limit", "caller", caller, "limit", refused.Limit, "most", refused.Most)
			}
		},
		Judged: func(x Exchange, j Judgement) {
			if j.Err == nil || j.Unheard {
				return
			}
			if fault := faults.Plain(j.Err.Error()); judged.Now(fault) {
				to.Warn("the guard did not judge a piece of a reply", "model", x.Model, "api", x.API, "error", fault, "on_failure", string(x.OnFailure))
			}
		},
		Ended: func(r *Report) {
			level := slog.LevelInfo
			if r.Outcome == "failed" {
				level = slog.LevelWarn
			}
			if to.Enabled(context.Background(), level) {
				to.Log(context.Background(), level, "exchange", r.fields()...)
			}
		},
	}
}

// Debug writes a line about an exchange that is under way, for who looks for one that hangs.
func Debug(to *slog.Logger, of Identity, text string, fields ...any) {
	if to.Enabled(context.Background(), slog.LevelDebug) {
		to.Debug(text, append(of.Fields(), fields...)...)
	}
}

// fields are what the log says of an exchange.
func (r *Report) fields() []any {
	fields := append(r.Fields(),
		"api", r.API, "model", r.Model, "route", r.Route, "upstream", r.Upstream, "dialect", r.Dialect, "status", r.Status,
		"outcome", r.Outcome, "stream", r.Streamed, "ms", r.Took.Milliseconds(),
		"bytes", r.Bytes, "reasoning", r.Leaked, "start", string(r.Start),
	)
	if r.UpstreamAPI != "" {
		fields = append(fields, "upstream_api", r.UpstreamAPI)
	}
	if len(r.LeftOut) > 0 {
		fields = append(fields, "left_out", strings.Join(r.LeftOut, " "))
	}
	fields = append(fields, r.times()...)
	if r.Thought+r.Text > 0 {
		fields = append(fields, "reasoning_share", math.Round(1000*float64(r.Thought)/float64(r.Thought+r.Text))/1000)
	}
	if r.Caller != "" {
		fields = append(fields, "caller", r.Caller)
	}
	if r.Path != "" { // there may be no such path, because the base URL is wrong
		fields = append(fields, "upstream_path", r.Path)
	}
	if r.Findings != "" {
		fields = append(fields, "found", r.Findings)
	}
	if h := &r.History; h.Removed > 0 || h.Restored > 0 || h.DryRun {
		fields = append(fields, "history", h.Plan, "dry_run", h.DryRun)
	}
	if r.Switched != "" {
		fields = append(fields, "thinking", r.Switched)
	}
	if r.Retries > 0 {
		fields = append(fields, "retries", r.Retries)
	}
	if r.Err != nil {
		fields = append(fields, "error", faults.Plain(r.Err.Error()))
	}
	if r.Name != "" {
		fields = append(fields, "explain", string(r.Name))
	}
	return fields
}

// times are how long after the request the header of the response came, and in a stream the
// first thought and the first visible text.
func (r *Report) times() (fields []any) {
	if !r.Replied.IsZero() {
		fields = append(fields, "upstream_ms", Millis(r.Replied.Sub(r.Began)))
	}
	if d := r.Since(r.FirstThought); d > 0 {
		fields = append(fields, "first_thought_ms", Millis(d))
	}
	if d := r.Since(r.FirstAnswer); d > 0 {
		fields = append(fields, "first_answer_ms", Millis(d))
	}
	return fields
}
