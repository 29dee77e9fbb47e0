package gateway_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/record"
)

// judging is a guard with one verdict about what holds a word, and pass for the rest.
func judging(word string, v gateway.GuardVerdict) *judgeFunc {
	return &judgeFunc{judge: func(p gateway.GuardPiece) (gateway.GuardVerdict, error) {
		if strings.Contains(p.Text, word) {
			return v, nil
		}
		return gateway.GuardVerdict{Action: gateway.GuardPass}, nil
	}}
}

// TestGuardReason: a guard's reason is bounded, and cannot hide or break anything where
// it is shown.
func TestGuardReason(t *testing.T) {
	s := speakers[0]
	reason := strings.Repeat("a\x1b\u202e\xff", 1<<16)
	g := judging("canary", gateway.GuardVerdict{Action: gateway.GuardEnd, Reason: reason})
	w, dir := openRecord(t, record.Options{})
	_, got, h := guarded(t, s, gateway.Config{Recorder: w, Default: gateway.Route{Guard: gateway.GuardRule{Guard: g}}}, false, s.whole("canary", sotto.EndStopped))
	draining(t, w, h)
	kept := string(only(t, w, dir).Guard.Judgements[0].Reason.Text)
	if !strings.HasPrefix(kept, `a\x1b\u202e`) || len(kept) > 210 || len(got) > 600 || strings.ContainsAny(kept+got, "\x1b\u202e") {
		t.Errorf("%d bytes are recorded, and the client gets %d:\n%s\n%s", len(kept), len(got), kept, got)
	}
}

// TestGuardFailureLogged: the log says why a guard did not judge, not for each reply, and
// without what the guard was asked about.
func TestGuardFailureLogged(t *testing.T) {
	s := speakers[0]
	for _, how := range gateway.GuardFailures() {
		var log strings.Builder
		g := &judgeFunc{judge: func(gateway.GuardPiece) (gateway.GuardVerdict, error) {
			return gateway.GuardVerdict{}, errors.New("connection refused")
		}}
		v := converse(t, s, gateway.Config{
			Logger:  slog.New(slog.NewTextHandler(&log, nil)),
			Default: gateway.Route{Guard: gateway.GuardRule{Guard: g, OnFailure: how}},
		})
		v.raw = "canary"
		for range 3 {
			ask(v, s.path, v.request("m", false, ""))
		}
		if n := strings.Count(log.String(), "connection refused"); n != 1 || !strings.Contains(log.String(), "on_failure="+string(how)) || strings.Contains(log.String(), "canary") {
			t.Errorf("%s: logged %d times:\n%s", how, n, &log)
		}
	}
}

// TestGuardCutsCalls: with calls: field, a call in the text of an answer is cut with what
// follows the cut. A call before the cut is sent, and so is one after reasoning that was
// cut.
func TestGuardCutsCalls(t *testing.T) {
	const call = `<tool_call>{"name":"f","arguments":{"city":"Rome"}}</tool_call>`
	filler := strings.Repeat("Some words that are harmless. ", 20)
	for _, tt := range []struct{ name, raw, calls string }{
		{"call after the cut", "<think>All is harmless.</think>" + filler + "canary" + call + call, ""},
		{"call and text after the cut", "<think>All is harmless.</think>" + filler + "canary " + filler + call + filler, ""},
		{"call before the cut", "<think>All is harmless.</think>" + call + "\ncanary" + filler, `f {"city":"Rome"}`},
		{"call inside the piece that is cut", "<think>All is harmless.</think>Wait." + call + "\ncanary" + filler, ""},
		{"call after cut reasoning", "<think>" + filler + "canary</think>Wait." + call, `f {"city":"Rome"}`},
	} {
		for _, s := range callSpeakers(t) {
			for _, whole := range []bool{true, false} {
				for _, size := range []int{7, 40, 1 << 20} {
					g := judging("canary", gateway.GuardVerdict{Action: gateway.GuardCut})
					route := gateway.Route{Calls: gateway.CallsField, Guard: gateway.GuardRule{Guard: g, Every: 50, Wait: time.Hour}}
					got := callers(t, s, "qwen3", route, inPieces(tt.raw, size), whole, sotto.EndStopped, declared)
					if got.calls != tt.calls || strings.Contains(got.text+got.thought, "canary") || strings.Contains(got.text, "tool_call") {
						t.Errorf("%s, %s whole=%v size=%d: calls %q, want %q, text %q", s.name(), tt.name, whole, size, got.calls, tt.calls, got.text)
					}
					if called := strings.Contains(got.reason, "tool_calls"); called != (tt.calls != "") && s.codec.Name() == "openai.chat" {
						t.Errorf("%s, %s whole=%v: reason %q", s.name(), tt.name, whole, got.reason)
					}
				}
			}
		}
	}
}
