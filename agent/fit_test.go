package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// A narrow is a model with a context window. It calls its tool some times, and then reflects;
// how long each text is comes from a seed. It counts a token for each four bytes of a prompt.
type narrow struct {
	window  int
	random  *rand.Rand
	sealed  bool // its thoughts are signed
	name    string
	prompts []model.Request
	calls   int
}

func (m *narrow) Name() string                              { return cmp.Or(m.name, "narrow") }
func (m *narrow) Check(context.Context) (model.Info, error) { return model.Info{Window: m.window}, nil }

func (m *narrow) Invoke(_ context.Context, q model.Request, _ func(model.Delta) error) (model.Reply, error) {
	q.Messages = append([]model.Message(nil), q.Messages...)
	m.prompts = append(m.prompts, q)
	r := model.Reply{End: sotto.EndStopped, Usage: model.Usage{Input: about(int(promptBytes(&q))), Output: 10}}
	thought := fmt.Sprintf("At step %d I think of ", m.calls) + strings.Repeat("this and ", m.random.IntN(20)) + "that."
	if m.calls%7 == 3 && !m.sealed {
		thought += strings.Repeat(" At length.", m.random.IntN(400))
	}
	if m.sealed {
		r.Thoughts = []model.Thought{{Text: thought, Sealed: true, Raw: json.RawMessage(`{"signature":"x"}`)}}
	}
	if m.calls++; m.calls%4 != 0 && len(q.Tools) > 0 && !q.NoCalls {
		r.Calls = []model.Call{{ID: fmt.Sprintf("c%d", m.calls), Name: "look", Arguments: `{}`}}
		return r, nil
	}
	r.Raw = "I think of this and that. I saw " + strings.Repeat("more of it ", m.random.IntN(120)) + "and go on."
	if !m.sealed {
		r.Raw = "<think>" + thought + "</think>" + r.Raw
	}
	return r, nil
}

// A long is a tool with results of any length.
type long struct{ random *rand.Rand }

func (long) Spec() model.Tool {
	return model.Tool{Name: "look", Description: "Looks.", Schema: json.RawMessage(`{"type":"object"}`)}
}

func (l long) Call(context.Context, Use) (string, error) {
	return strings.Repeat("a thing, ", l.random.IntN(300)), nil
}

// TestFit: under every policy, no prompt of a run exceeds the window that the model says, less
// the room for the reply, as long as there is anything that may be cut; a prompt is cut only
// if it would not fit; and a replay cuts the same.
func TestFit(t *testing.T) {
	effort.OneGoroutine(t)
	cutIn := map[string]int{}
	for _, policy := range []Policy{Strip, Keep, Selective, Summary, Retrieve} {
		for _, carry := range []CarryMode{CarryNone, CarryLast, CarryAll} {
			for _, window := range []int{450, 700, 1200, 2500, 1 << 20} {
				m := &narrow{window: window, random: rand.New(rand.NewPCG(uint64(window), 7))}
				x := Experiment{
					Name: "r", Goal: "Look around, and think of this and that.", System: "You look.", Model: m, Cycles: 14, Policy: policy, CarryCalls: carry,
					Tools: []Tool{long{m.random}}, Limits: Limits{Invocations: 6},
				}
				name := fmt.Sprintf("%s, %s, %d tokens", policy, carry, window)
				dir := t.TempDir()
				s, err := Run(t.Context(), x, in(dir))
				if err != nil || s.Status != Done {
					t.Fatalf("%s: %+v, %v", name, s, err)
				}
				for i, q := range m.prompts {
					n, room := about(int(promptBytes(&q))), int64(window-window/10)
					if n > room {
						t.Errorf("%s: prompt %d has %d tokens, more than %d:\n%s", name, i, n, room, shown(q))
					}
				}
				cuts := 0
				for _, e := range events(t, dir, record.Query{Diagnostic: "context_cut"}) {
					text := string(e.Payload.(record.Advisory).Text.Text)
					var n, of int
					if _, err := fmt.Sscanf(text, "The prompt would have about %d tokens, and the model's context window has %d.", &n, &of); err != nil || of != window || n <= window-window/10 {
						t.Errorf("%s: %q (%v)", name, text, err)
					}
					for _, word := range []string{"reflection", "thought", "call of", "calls of", "results", "message", "latest"} {
						if strings.Contains(text, word) {
							cutIn[word]++
						}
					}
					cuts++
				}
				if few := window < 1200; few && cuts == 0 || window == 1<<20 && cuts > 0 {
					t.Errorf("%s: %d cuts", name, cuts)
				}
				report, err := Replay(t.Context(), x, in(dir).Record, Options{})
				if err != nil || report.Difference != nil || report.Unfinished {
					t.Errorf("%s: the replay: %+v, %v", name, report.Difference, err)
				}
			}
		}
	}
	for _, word := range []string{"reflection", "thought", "calls of", "results", "latest"} {
		if cutIn[word] == 0 {
			t.Errorf("no prompt lost anything of %q: %v", word, cutIn)
		}
	}
}

func shown(q model.Request) string {
	var b strings.Builder
	for _, m := range q.Messages {
		fmt.Fprintf(&b, "%s: %.300s\n", m.Role, m.Text)
	}
	return b.String()
}

// TestFitConversation: a conversation loses whole exchanges, the earliest first, and the message
// that is answered says so; no call loses its result, no message of the caller's is changed, and
// what a signature binds stays.
func TestFitConversation(t *testing.T) {
	for _, sealed := range []string{"", "narrow", "claude-fable-5"} {
		for window := 300; window < 3000; window += 150 {
			m := &narrow{window: window, random: rand.New(rand.NewPCG(uint64(window), 8)), sealed: sealed != "", name: sealed}
			turn := Turn{Model: m, API: "anthropic.messages", Window: window, Tools: []Tool{long{m.random}}, Limits: Limits{Invocations: 8}}
			messages := []model.Message{{Role: model.System, Text: "You look."}}
			for i := range 12 {
				messages = append(messages, model.Message{Role: model.User, Text: fmt.Sprintf("Question %d", i)})
				sent := fmt.Sprint(messages)
				o, err := turn.Converse(t.Context(), messages)
				if err != nil || o.Status != Answered {
					t.Fatalf("%d tokens: %+v, %v", window, o, err)
				}
				if fmt.Sprint(messages) != sent {
					t.Fatalf("%d tokens: the caller's messages were changed", window)
				}
				if messages = append(messages, o.Messages...); o.Messages[len(o.Messages)-1].Role != model.Assistant {
					t.Fatalf("%d tokens: a turn ends with %+v", window, o.Messages)
				}
			}
			left := 0
			for i, q := range m.prompts {
				if i > 0 && strings.HasPrefix(sealed, "claude") {
					if err := bound(m.prompts[i-1].Messages, q.Messages); err != "" {
						t.Errorf("%d tokens: prompt %d: %s", window, i, err)
					}
				}
				if n, room := about(int(promptBytes(&q))), int64(window-window/10); n > room && !strings.HasPrefix(sealed, "claude") {
					t.Errorf("%d tokens: prompt %d has %d, more than %d:\n%s", window, i, n, room, shown(q))
				}
				open := map[string]bool{}
				for j, msg := range q.Messages {
					if j == 1 && msg.Role != model.User {
						t.Errorf("%d tokens: prompt %d begins with %s", window, i, msg.Role)
					}
					for _, c := range msg.Calls {
						open[c.ID] = true
					}
					if msg.Role == model.ToolRole && !open[msg.CallID] {
						t.Errorf("%d tokens: prompt %d has a result without its call", window, i)
					}
					delete(open, msg.CallID)
					if strings.Contains(msg.Text, "earlier messages are left out") {
						left++
					}
				}
				if len(open) > 0 {
					t.Errorf("%d tokens: prompt %d has a call without its result", window, i)
				}
			}
			if (left > 0) != (window < 2500) && (window < 1000 || window > 2900) {
				t.Errorf("%d tokens: %d prompts say that messages are left out", window, left)
			}
		}
	}
}

// bound says which signed thought of a prompt stands after other messages than in the prompt
// before, if there is one.
func bound(before, now []model.Message) string {
	for i, m := range now {
		for _, x := range m.Thoughts {
			for j, old := range before {
				for _, y := range old.Thoughts {
					if x.Sealed && x.Text == y.Text && fmt.Sprint(now[:i]) != fmt.Sprint(before[:j]) {
						return fmt.Sprintf("what precedes %q changed from %.300q to %.300q", x.Text, fmt.Sprint(before[:j]), fmt.Sprint(now[:i]))
					}
				}
			}
		}
	}
	return ""
}
