package gateway_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/record"
)

// TestCallerIsNamed: the log and the record name the caller, and neither contains
// its token or another one. No token reaches the upstream.
func TestCallerIsNamed(t *testing.T) {
	tokens := []gateway.Token{{Name: "alice", Secret: "canary-alice"}, {Name: "bob", Secret: "canary-bob"}}
	for _, c := range []struct{ token, name string }{{"canary-alice", "alice"}, {"canary-bob", "bob"}, {"canary-single", "token"}} {
		var log bytes.Buffer
		kept, dir := openRecord(t, record.Options{})
		_, reached := visit{header: header("Authorization", "Bearer "+c.token, "X-Mine", "canary-bob", "Cookie", "t=canary-alice")}.call(t, gateway.Config{
			Token: "canary-single", Tokens: tokens, Logger: slog.New(slog.NewTextHandler(&log, nil)), Recorder: kept,
		})
		if reached == nil {
			t.Fatal("not reached")
		}
		for name, values := range reached.Header {
			if strings.Contains(strings.Join(values, " "), "canary") {
				t.Errorf("the upstream got %s: %s", name, values)
			}
		}
		if !strings.Contains(log.String(), "caller="+c.name) || strings.Contains(log.String(), "canary") {
			t.Errorf("log: %s", &log)
		}
		e := only(t, kept, dir)
		if e.Caller != c.name {
			t.Errorf("the record has the caller %q, want %q", e.Caller, c.name)
		}
		if text, err := json.Marshal(e); err != nil || strings.Contains(string(text), "canary") {
			t.Errorf("%s, %v", text, err)
		}
	}
}
