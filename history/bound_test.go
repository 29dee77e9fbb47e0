package history_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/wire/anthropic"
)

// TestBound: a policy removes a tagged thought from an earlier turn only if no signed thought of that turn follows that binds
// the message, and strip-all always: it has done so before.
func TestBound(t *testing.T) {
	const (
		ask     = `{"role":"user","content":"hi"}`
		tagged  = `{"role":"assistant","content":[{"type":"text","text":"<think>a</think>b"},{"type":"tool_use","id":"t1","name":"f","input":{}}]}`
		result  = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"r"}]}`
		signed  = `{"role":"assistant","content":[{"type":"thinking","thinking":"c","signature":"c2ln"},{"type":"text","text":"d"}]}`
		bare    = `{"role":"assistant","content":"d"}`
		another = `{"role":"assistant","content":[{"type":"thinking","thinking":"e","signature":"c2ln"},{"type":"text","text":"f"}]}`
	)
	for _, c := range []struct {
		model    string
		policy   history.Policy
		messages []string
		stays    bool
	}{
		{"claude-opus-5-5", history.Strip, []string{ask, tagged, result, signed, ask}, true},
		{"claude-opus-5-5", history.Strip, []string{ask, tagged, result, bare, ask}, false},
		{"claude-opus-5-5", history.Strip, []string{ask, tagged, result, bare, ask, another, ask}, false},
		{"claude-opus-5-5", history.Strip, []string{ask, tagged, result}, true},
		{"claude-opus-5-5", history.StripAll, []string{ask, tagged, result, signed, ask}, false},
		{"claude-opus-5-5", history.StripAll, []string{ask, tagged, result}, false},
		{"some-model", history.Strip, []string{ask, tagged, result, signed, ask}, false},
	} {
		body := fmt.Sprintf(`{"model":%q,"messages":[%s]}`, c.model, strings.Join(c.messages, ","))
		q, err := anthropic.Messages.Request([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		plan := history.PlanFor(q, c.policy, history.Knowledge{}, anthropic.Messages)
		if plan.Changed() == c.stays {
			t.Errorf("%s, %s: %s of %s", c.model, c.policy, plan, body)
		}
	}
}
