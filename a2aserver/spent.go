package a2aserver

import (
	"encoding/json"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/record"
)

// spending returns the member of metadata that says what a task took.
func spending(s *record.Spent) any {
	var member any
	if text, err := json.Marshal(s); err == nil {
		_ = json.Unmarshal(text, &member)
	}
	return member
}

// spentIn reads what an agent says that a task took. What is no such statement is nil:
// package agent decides whether the numbers are believed.
func spentIn(metadata map[string]any) *record.Spent {
	member, ok := metadata[UsageKey].(map[string]any)
	if !ok {
		return nil
	}
	var s record.Spent
	text, err := json.Marshal(member)
	if err != nil || json.Unmarshal(text, &s) != nil {
		return nil
	}
	return &s
}

// A limitsPart is the member of a message's metadata that says what the agent may take.
type limitsPart struct {
	Tokens   int64   `json:"tokens,omitempty"`
	Millis   int64   `json:"ms,omitempty"`
	Cost     float64 `json:"cost,omitempty"`
	Currency string  `json:"currency,omitempty"`
}

// limiting says in a message what the agent may take, if that is limited.
func limiting(m *a2a.Message, a agent.Allowance) {
	p := limitsPart{Tokens: a.Tokens, Millis: a.Time.Milliseconds(), Cost: a.Cost}
	if p.Cost > 0 {
		p.Currency = a.Currency
	}
	var member map[string]any
	if text, err := json.Marshal(p); err == nil && json.Unmarshal(text, &member) == nil && len(member) > 0 {
		m.SetMeta(LimitsKey, member)
	}
}

// allowanceIn reads what the sender of a message lets the agent take. It can only lower the
// agent's own limits, so what cannot be read is left out.
func allowanceIn(m *a2a.Message) (a agent.Allowance) {
	member, ok := m.Metadata[LimitsKey].(map[string]any)
	if !ok {
		return a
	}
	var p limitsPart
	text, err := json.Marshal(member)
	if err != nil || json.Unmarshal(text, &p) != nil {
		return a
	}
	const longest = int64(1<<63-1) / int64(time.Millisecond)
	return agent.Allowance{
		Tokens: max(p.Tokens, 0), Time: time.Duration(min(max(p.Millis, 0), longest)) * time.Millisecond,
		Cost: max(p.Cost, 0), Currency: p.Currency,
	}
}
