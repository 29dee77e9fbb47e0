package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/model"
)

// heard collects the events of an answer, without signs of life.
type heard struct {
	visible, thoughts, rest strings.Builder
	list                    []string
}

func (h *heard) on(e Event) error {
	switch e := e.(type) {
	case Visible:
		h.visible.WriteString(e.Text)
	case Reasoning:
		h.thoughts.WriteString(e.Text)
	case Alive:
		return nil
	default:
		fmt.Fprintf(&h.rest, "%+v\n", e)
	}
	text := fmt.Sprintf("%T%+v", e, e)
	if n := len(h.list) - 1; n >= 0 && strings.HasSuffix(text, "}") {
		kind, more, _ := strings.Cut(text, "{Text:")
		if was, ok := strings.CutPrefix(h.list[n], kind+"{Text:"); ok && more != "" {
			h.list[n] = kind + "{Text:" + strings.TrimSuffix(was, "}") + more
			return nil
		}
	}
	h.list = append(h.list, text)
	return nil
}

func user(text string) Conversation {
	return Conversation{Messages: []model.Message{{Role: model.User, Text: text}}}
}

// Whatever an agent reports while it answers, and wherever a reply is cut, only
// Reasoning holds thoughts, of the agent and of the agents below it. The visible
// texts end with the answer.
func TestCanaryAnswer(t *testing.T) {
	whole := canaries()
	for i := range whole {
		for n := 0; n <= len(whole[i].Raw); n++ {
			replies := canaries()
			for j := range replies {
				replies[j] = cutReply(replies[j], len(replies[j].Raw))
			}
			replies[i] = cutReply(replies[i], n)
			p := &parrot{replies: replies}
			a := Agent{Memory: AllMemory(), Turn: Turn{Model: p, Agents: []Subagent{{Name: "helper", Tools: []string{"write"}}}, Tools: []Tool{OperatorTool(&deaf{}, 0)}, Limits: Limits{Retries: 3}}}
			c := user("Go.")
			c.Memory = NewMemory()
			var h heard
			out, err := a.Answer(t.Context(), c, h.on)
			if err != nil {
				t.Fatal(err)
			}
			all := h.visible.String() + h.rest.String() + out.Answer
			if strings.Contains(all, canary) || !strings.HasSuffix(h.visible.String(), out.Answer) || !strings.Contains(h.thoughts.String(), canary) {
				t.Fatalf("reply %d cut at byte %d: visible %q, answer %q, thoughts %q, and\n%s", i, n, &h.visible, out.Answer, &h.thoughts, &h.rest)
			}
		}
	}
}

// Events come in the order in which things happen. What a reply says before it calls
// a tool is apart from what the next one says. Tokens are summed over all replies,
// also those of agents below.
func TestAnswerEvents(t *testing.T) {
	a := Agent{System: "You paint.", Turn: Turn{
		Model: scripted(t, `
- when: {system: "^You mix"}
  text: "<think>two</think><narrate>Stirring.</narrate>Mixed."
  usage: {input: 100, output: 10}
- when: {step: 1}
  text: "<think>one</think><narrate>I mix.</narrate>Let me see."
  calls: [{name: mixer, arguments: {task: Mix.}}]
  usage: {input: 1000, output: 20}
- text: "<think>three</think>Red it is."
  usage: {input: 3000, output: 30}
`), Agents: []Subagent{{Name: "mixer", System: "You mix."}},
	}}
	var h heard
	out, err := a.Answer(t.Context(), user("Paint."), h.on)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"agent.Reasoning{Text:one}", "agent.Narration{Text:I mix.}", "agent.Visible{Text:Let me see.}",
		`agent.ToolStart{ID:1 Name:mixer Arguments:{"task":"Mix."}}`, "agent.ToolEnd{ID:1 Name:mixer Failed:false Result:Mixed.}",
		"agent.Reasoning{Text:\n\nthree}", "agent.Visible{Text:\n\nRed it is.}",
	}
	if diff := cmp.Diff(want, h.list); diff != "" {
		t.Error(diff)
	}
	if out.Answer != "Red it is." || out.Metrics.InputTokens != 4100 || out.Metrics.OutputTokens != 60 {
		t.Errorf("%+v", out)
	}
}

// An error of the listener ends the turn: no further reply is asked for, and the
// tool that runs is canceled.
func TestAnswerStops(t *testing.T) {
	gone := errors.New("the client left")
	for _, at := range []string{"Visible", "ToolStart"} {
		p := &parrot{replies: []model.Reply{{Raw: "One.", Calls: []model.Call{{Name: "wait", Arguments: "{}"}}}}}
		ended := false
		wait := &Func{Name: "wait", Do: func(ctx context.Context, _ Use) (string, error) {
			<-ctx.Done()
			ended = true
			return "", ctx.Err()
		}}
		a := Agent{Turn: Turn{Model: p, Tools: []Tool{wait}}}
		_, err := a.Answer(t.Context(), user("Go."), func(e Event) error {
			if strings.HasSuffix(fmt.Sprintf("%T", e), at) {
				return gone
			}
			return nil
		})
		if !errors.Is(err, gone) || len(p.asked) != 1 || at == "ToolStart" && !ended {
			t.Errorf("%s: %v after %d requests, tool ended: %v", at, err, len(p.asked), ended)
		}
	}
}

// A call that is written into the text is not shown as an answer; a text that only
// begins like one is shown. A reply that breaks off and is asked for again does not
// look as if it continued.
func TestAnswerHolds(t *testing.T) {
	tool := &Func{Name: "look", Do: func(context.Context, Use) (string, error) { return "seen", nil }}
	for _, mode := range []CallMode{TextCalls, NativeCalls} {
		p := &parrot{replies: []model.Reply{{Raw: "<look/>"}, {Raw: "Seen."}}}
		for i := range p.replies {
			p.replies[i] = cutReply(p.replies[i], 100)
		}
		var h heard
		if _, err := (&Agent{Turn: Turn{Model: p, Tools: []Tool{tool}, Calls: mode}}).Answer(t.Context(), user("Go."), h.on); err != nil || h.visible.String() != "Seen." {
			t.Errorf("%s: %q, %v", mode, &h.visible, err)
		}
	}
	var mixed heard
	p := &parrot{replies: []model.Reply{cutReply(model.Reply{Raw: "<b>I look.</b>", Calls: []model.Call{{Name: "look", Arguments: "{}"}}}, 100), cutReply(model.Reply{Raw: "Seen."}, 100)}}
	if _, err := (&Agent{Turn: Turn{Model: p, Tools: []Tool{tool}}}).Answer(t.Context(), user("Go."), mixed.on); err != nil || mixed.visible.String() != "<b>I look.</b>\n\nSeen." {
		t.Errorf("%q, %v", &mixed.visible, err)
	}
	var h heard
	a := Agent{Turn: Turn{Start: "outside", Limits: Limits{RetryWait: 1}, Model: &stumbler{Model: scripted(t, "- text: Hello.\n")}}}
	if _, err := a.Answer(t.Context(), user("Hi."), h.on); err != nil || h.visible.String() != "Hel\n\nHello." {
		t.Errorf("%q, %v", &h.visible, err)
	}
}

// A stumbler breaks off its first reply.
type stumbler struct {
	model.Model
	again bool
}

func (s *stumbler) Invoke(ctx context.Context, q model.Request, on func(model.Delta) error) (model.Reply, error) {
	if s.again {
		return s.Model.Invoke(ctx, q, on)
	}
	s.again = true
	return model.Reply{Raw: "Hel", End: sotto.EndAborted}, errors.Join(on(model.Delta{Text: "Hel"}), errors.New("broken off"))
}
