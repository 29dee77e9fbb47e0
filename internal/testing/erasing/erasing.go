// Package erasing has an agent that erases, if a person consents.
package erasing

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/model"
)

// The agents of a chain: the first asks the next one, and the last one erases, twice. Each
// call needs a person.
const (
	eraserScript = `
{"when":{"contains":"not called"},"text":"<think>CANARY</think>I left it."}
{"when":{"tool":"erase"},"text":"<think>CANARY</think>It is gone."}
{"text":"<think>CANARY</think>Let me see.","calls":[{"name":"erase","arguments":{"what":"<think>CANARY</think>a"}},{"name":"erase","arguments":{"what":"b"}}]}
`
	passerScript = `
{"when":{"tool":"next"},"text":"<think>CANARY</think>The next one has answered."}
{"text":"<think>CANARY</think>","calls":[{"name":"next","arguments":{"task":"Erase."}}]}
`
)

func scriptOf(t testing.TB, text string) model.Model {
	t.Helper()
	s, err := model.ReadScript(strings.NewReader(text), "script.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return model.NewScripted("scripted", s)
}

// Agent is the first of a chain of agents, of a depth from 1 to 3. Its questions are open for a
// time, and erased counts the calls.
func Agent(t testing.TB, depth int, open time.Duration, erased *atomic.Int64) *agent.Agent {
	erase := &agent.Func{Name: "erase", Schema: `{"type":"object"}`, Do: func(context.Context, agent.Use) (string, error) {
		erased.Add(1)
		return "erased", nil
	}}
	turn := agent.Turn{Model: scriptOf(t, eraserScript), Start: "outside", Tools: []agent.Tool{erase}, Confirm: []string{"erase"}, ConsentTime: open}
	for range depth - 1 {
		turn.Agents = []agent.Subagent{{Name: "next", Description: "d", System: "You work.", Tools: []string{"erase"}, Model: turn.Model, Start: "outside", Agents: turn.Agents}}
		turn.Model = scriptOf(t, passerScript)
	}
	return &agent.Agent{Name: "eraser", Turn: turn}
}

// Model is one that erases once.
func Model(t testing.TB) model.Model {
	return scriptOf(t, `
{"when":{"tool":"erase"},"text":"<think>CANARY</think>It is gone."}
{"text":"<think>CANARY</think>","calls":[{"name":"erase","arguments":{"what":"a"}}]}
`)
}
