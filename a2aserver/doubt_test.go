package a2aserver

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/model"
)

// TestUndecided: a reply that ends before it shows how it began is delivered
// only where no prompt opens a block, or where the operator said how replies
// begin.
func TestUndecided(t *testing.T) {
	const (
		cut    = `{"text":"SECRET plan, and","finish":"length"}`
		broken = `{"text":"SECRET plan, and","error":{"kind":"broken_off"}}`
		pre    = `{"text":"SECRET plan</think>\n\nYes and","finish":"length"}`
		opened = `{"text":"<think>SECRET</think>Yes and","finish":"length"}`
		native = `{"thought":"SECRET","text":"Yes and","finish":"length"}`
		plain  = `{"text":"Yes."}`
	)
	for _, c := range []struct {
		name, model, script string
		start               sotto.Beginning
		text                string
		ending              Ending
	}{
		{"cut", "deepseek-r1", cut, "", "", NoVisibleAnswer},
		{"cut, of no known family", "mystery", cut, "", "", NoVisibleAnswer},
		{"cut, and asked to find out", "mystery", cut, sotto.BeginAuto, "", NoVisibleAnswer},
		{"cut, of a family that opens none", "qwen3:8b", cut, "", "SECRET plan, and", CutOff},
		{"cut, and it is known", "deepseek-r1", cut, sotto.BeginOutside, "SECRET plan, and", CutOff},
		{"broken off", "deepseek-r1", broken, "", "", Aborted},
		{"cut behind the close", "deepseek-r1", pre, "", "Yes and", CutOff},
		{"cut behind a block", "mystery", opened, "", "Yes and", CutOff},
		{"cut, told apart by the server", "mystery", native, "", "Yes and", CutOff},
		{"finished", "mystery", plain, "", "Yes.", Answered},
	} {
		s, err := model.ReadScript(strings.NewReader(c.script), "test.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		m := model.NewScripted(c.model, s)
		for kind, mind := range map[string]Mind{
			"chat":  &ChatMind{Model: m, Start: c.start},
			"agent": &AgentMind{Turn: agent.Turn{Model: m, Start: c.start, Limits: agent.Limits{Attempts: 1}}},
		} {
			t.Run(c.name+", "+kind, func(t *testing.T) {
				h := serve(t, Config{Mind: mind, Reasoning: true})
				task := send(t, client(t, h.url(), 0), message("Hi"))
				all, _ := json.Marshal(task)
				if text, ending := answerOf(t, task); text != c.text || ending != c.ending {
					t.Errorf("%q %s, want %q %s\n%s", text, ending, c.text, c.ending, all)
				}
				if !strings.Contains(c.text, "SECRET") && strings.Contains(string(all), "SECRET") {
					t.Errorf("%s", all)
				}
			})
		}
	}
}

// TestUnknownTool: a tool's name that the model made up reaches no client, and
// what a paused reply lacked does not stand beside the answer.
func TestUnknownTool(t *testing.T) {
	script := `
{"when":{"tool":"send_message_to_operator"},"text":"Blue it is."}
{"when":{"last":"tool"},"calls":[{"name":"send_message_to_operator","arguments":{"message":"Which?"}}]}
{"calls":[{"name":"<think>SECRET</think>","arguments":{}}]}
`
	h := serve(t, Config{Mind: &AgentMind{Turn: agent.Turn{Model: scripted(t, script).Model, Tools: []agent.Tool{AskCaller()}}}})
	c := client(t, h.url(), 0)
	task := send(t, c, message("Paint."))
	all, _ := json.Marshal(task)
	if strings.Contains(string(all), "SECRET") || !strings.Contains(string(all), "unknown tool: failed") {
		t.Errorf("%s", all)
	}
	task = send(t, c, follow("blue", task))
	if text, ending := answerOf(t, task); text != "Blue it is." || ending != Answered || task.Metadata[DiagnosticsKey] != nil {
		t.Errorf("%q %s %v", text, ending, task.Metadata)
	}
}

// TestToolNames: the name that a mind gives a tool cannot make a task grow.
func TestToolNames(t *testing.T) {
	var p progress
	p.gather(ToolStart{ID: strings.Repeat("1", 1<<20), Name: strings.Repeat("é", 1<<20)})
	parts, err := json.Marshal(p.unsent(true))
	if err != nil || len(parts) > 1000 {
		t.Errorf("%d bytes, %v", len(parts), err)
	}
}

// TestUndecidedEvents: of a reply that ends before it shows how it began, no event is
// visible text; where it is known how replies begin, it is.
func TestUndecidedEvents(t *testing.T) {
	for start, wantVisible := range map[sotto.Beginning]bool{sotto.BeginAuto: false, sotto.BeginOutside: true} {
		mind := &ChatMind{Model: scripted(t, `{"text":"SECRET plan, and","finish":"length"}`).Model, Start: start}
		var visible, reasoning string
		_, err := mind.Answer(t.Context(), Turn{Text: "Hi"}, func(e Event) error {
			switch e := e.(type) {
			case Visible:
				visible += e.Text
			case Reasoning:
				reasoning += e.Text
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(visible, "SECRET") != wantVisible || strings.Contains(reasoning, "SECRET") == wantVisible {
			t.Errorf("start %s: visible %q, reasoning %q", start, visible, reasoning)
		}
	}
}
