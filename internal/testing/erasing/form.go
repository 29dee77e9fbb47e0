package erasing

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/agent/consent"
)

// form is what the tool of [Booker] asks for. Its texts are those of somebody hostile.
const form = `{"type":"object","properties":{
"name":{"type":"string","minLength":2,"title":"Name <script>hacked=1</script>","description":"As in the passport.\u202e"},
"mail":{"type":"string","format":"email"},
"nights":{"type":"integer","minimum":1,"maximum":30,"default":2},
"room":{"type":"string","enum":["s","d"],"enumNames":["Single","Double"],"default":"d"},
"extras":{"type":"array","items":{"type":"string","enum":["tea","bike"]}},
"smoke":{"type":"boolean"}},"required":["name","room"]}`

// Booker is an agent whose tool asks a person for values, and puts into got what it gets, or how the
// person refused.
func Booker(t testing.TB, open time.Duration, got chan<- string) *agent.Agent {
	book := &agent.Func{Name: "book", Do: func(ctx context.Context, _ agent.Use) (string, error) {
		f, err := consent.ReadForm([]byte(form))
		if err != nil {
			return "", err
		}
		r, answered := agent.Resumed(ctx)
		switch {
		case !answered:
			return "", agent.AskForm(ctx, "booking", json.RawMessage(`{"asks":"Who travels?"}`), f, json.RawMessage("{}"))
		case r.Answer.Dismissed:
			got <- "dismissed"
			return "", errors.New("dismissed")
		case !r.Answer.Agree:
			got <- "refused"
			return "", errors.New("refused: " + r.Answer.Said)
		}
		values, err := f.Fill(r.Answer.Values)
		if err == nil {
			got <- string(values)
		}
		return "booked", err
	}}
	turn := agent.Turn{Model: scriptOf(t, `
{"when":{"tool":"book"},"text":"<think>CANARY</think>That was it."}
{"text":"<think>CANARY</think>","calls":[{"name":"book","arguments":{}}]}
`), Start: "outside", Tools: []agent.Tool{book}, ConsentTime: open}
	return &agent.Agent{Name: "booker", Turn: turn}
}
