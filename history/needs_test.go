package history_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/openai"
)

// TestAutoRestoresWhatTheTableSays: a family that needs its earlier reasoning gets it back from memory
// if the client drops it, in whichever member its server has it.
func TestAutoRestoresWhatTheTableSays(t *testing.T) {
	const user, result = `{"role":"user","content":"hi"}`, `{"role":"tool","tool_call_id":"call_01ab23CD","content":"4 °C"}`
	const call = `{"role":"assistant","content":"","tool_calls":[{"id":"call_01ab23CD","type":"function","function":{"name":"look","arguments":"{}"}}]}`
	const text = `{"role":"assistant","content":"So."}`
	names := 0
	for _, rule := range history.Rules() {
		if rule.Need != history.NeedAll && rule.Need != history.NeedCalls {
			continue
		}
		for _, pattern := range rule.Models {
			model := strings.Trim(strings.ReplaceAll(pattern, "*", "-"), "-")
			if history.RuleFor(model, openai.Chat.Name()).Name != rule.Name {
				continue
			}
			names++
			for _, member := range []string{"reasoning_content", "reasoning"} {
				for _, calls := range []bool{true, false} {
					if !calls && rule.Need == history.NeedCalls {
						continue
					}
					said, then := text, user
					reply := history.Said{Visible: "So.", Remembered: history.Remembered{Thought: "Hm."}}
					if calls {
						said, then = call, result
						reply = history.Said{ToolCalls: []string{"call_01ab23CD"}, Called: []string{"look"}, Remembered: reply.Remembered}
					}
					store := history.NewStore(10, 1<<20, 1<<40)
					store.Remember("", needing(t, model, user), reply)
					body := fmt.Sprintf(`{"model":%q,"messages":[%s,%s,%s]}`, model, user, said, then)
					q := needing(t, model, user+","+said+","+then)
					plan := history.PlanFor(q, history.Auto, history.Knowledge{Native: member, Recall: store.For("", q)}, openai.Chat)
					out, err := openai.Chat.Edit(nil, []byte(body), plan.Changes)
					if err != nil {
						t.Fatal(err)
					}
					if got := gjson.GetBytes(out, "messages.1."+member).Str; got != "Hm." {
						t.Errorf("%s with %s, calls %v: %s (%s)", model, member, calls, out, plan)
					}
				}
			}
		}
	}
	if names < 13 {
		t.Errorf("%d names", names)
	}
}

func needing(t *testing.T, model, messages string) *wire.Request {
	t.Helper()
	q, err := openai.Chat.Request([]byte(fmt.Sprintf(`{"model":%q,"messages":[%s]}`, model, messages)))
	if err != nil {
		t.Fatal(err)
	}
	return q
}
