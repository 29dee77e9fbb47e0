package trace_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/console/trace"
	"github.com/sotto-llm/sotto/record"
)

// read is a reply in the default dialect.
func read(t testing.TB, raw string, calls ...record.Call) record.Reply {
	t.Helper()
	parsed, err := sotto.Default().Parse(raw, sotto.BeginAuto, sotto.EndStopped)
	if err != nil {
		t.Fatal(err)
	}
	r := record.ReplyOf(parsed)
	r.ToolCalls = calls
	return r
}

func call(id, name, arguments string) record.Call {
	return record.Call{ID: id, Name: name, Arguments: record.Say(arguments)}
}

// build makes the steps of payloads, numbered from 1, of cycle 1.
func build(list ...record.Payload) []trace.Step {
	b := trace.NewBuilder()
	for i, p := range list {
		b.Event(&record.Event{Seq: uint64(i + 1), Time: time.Unix(int64(100+i), 0), Cycle: 1, Type: p.Type(), Payload: p}, false)
	}
	return b.Steps
}

// said prints steps as their kinds and texts, one a line.
func said(list []trace.Step) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "%s %s %s", s.ID, s.Kind, s.Text.Plain())
		if s.Kind == trace.Call {
			fmt.Fprintf(&b, " %s %s %s", s.Name, s.State, s.Result.Plain())
		}
		if s.Leads {
			b.WriteString(" leads")
		}
		if s.Failed {
			b.WriteString(" failed")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func is(t *testing.T, got []trace.Step, want string) {
	t.Helper()
	if g := said(got); strings.TrimSpace(g) != strings.TrimSpace(want) {
		t.Errorf("got\n%swant\n%s", g, want)
	}
}

// A run is question, thought, call with its result, and answer. The use of a tool belongs to
// the call that the model asked for, also when two are under way at once and end in another
// order.
func TestRun(t *testing.T) {
	a, c := call("a", "f", "1"), call("b", "f", "2")
	of := &record.Ref{Seq: 2}
	use := func(n int, c record.Call, phase, result, failed string) record.ToolCall {
		x := record.ToolCall{ID: c.ID, Name: c.Name, Number: n, Of: of, Phase: phase, Arguments: c.Arguments, Error: failed}
		if phase == "end" {
			x.Result = record.Say(result)
		}
		return x
	}
	is(t, build(
		record.CycleStart{Goal: record.Say("why?")},
		record.Invocation{Model: "m", Replies: []record.Reply{read(t, "<think>early</think>Let me see.", a, c)}},
		use(1, a, "start", "", ""), use(2, c, "start", "", ""), use(2, c, "end", "two", ""), use(1, a, "end", "broken", "failed"),
		record.Invocation{Model: "m", Replies: []record.Reply{read(t, "<think>so</think>Because.")}},
		record.CycleEnd{Status: "answered", Summary: record.Say("Because.")},
		record.RunEnd{Status: "failed", Result: record.Say("Another text.")},
	), `
e1 cycle 
e1.2 question why?
e2 model 
e2.2 thought early leads
e2.3 answer Let me see. leads
e2.4 call 1 f done broken failed
e2.5 call 2 f done two
e7 model 
e7.2 thought so
e7.3 answer Because.
e8 end 
e9 end Another text. failed
`)
}

// A call without an end is open; one that nothing says more of is unknown; a use whose call is
// not there has a step of its own. A call that the model wrote into its text is the one that
// was used.
func TestCalls(t *testing.T) {
	is(t, build(
		record.Invocation{Replies: []record.Reply{read(t, "x", call("a", "f", "1"), call("b", "g", "2"))}},
		record.ToolCall{ID: "a", Name: "f", Number: 1, Phase: "start", Of: &record.Ref{Seq: 1}, Arguments: record.Say("1")},
		record.ToolCall{ID: "z", Name: "h", Number: 2, Phase: "end", Of: &record.Ref{Seq: 9}, Arguments: record.Say("3"), Result: record.Say("r")},
	), `
e1 model 
e1.2 answer x leads
e1.3 call 1 f open 
e1.4 call 2 g unknown 
e3 call 3 h done r
`)
	written, err := sotto.Named("qwen3")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := written.Parse("<think>t</think>\n<tool_call>\n{\"name\":\"f\",\"arguments\":{}}\n</tool_call>", sotto.BeginAuto, sotto.EndStopped)
	if err != nil {
		t.Fatal(err)
	}
	is(t, build(
		record.Invocation{Replies: []record.Reply{record.ReplyOf(parsed)}},
		record.ToolCall{Name: "f", Number: 1, FromText: true, Phase: "end", Of: &record.Ref{Seq: 1}, Arguments: record.Say("{}"), Result: record.Say("r")},
	), `
e1 model 
e1.2 thought t
e1.3 call {} f done r
`)
}

// In a session each message is shown once: what a client sends back is the result of the call
// above. What the client got is shown if it is not the answer.
func TestExchanges(t *testing.T) {
	user := func(s string) record.Message { return record.Message{Role: "user", Text: record.Say(s)} }
	one := record.Exchange{Outcome: "answered", Messages: []record.Message{user("old"), {Role: "assistant", Text: record.Say("older")}, user("q")}, Replies: []record.Reply{read(t, "<think>t</think>", call("a", "f", "1"))}, Delivered: &record.Delivery{Display: "hide"}}
	two := record.Exchange{Outcome: "answered", Replies: []record.Reply{read(t, "<think>u</think>done")}}
	two.Messages = append(slices.Clone(one.Messages), record.Message{Role: "assistant", ToolCalls: one.Replies[0].ToolCalls}, record.Message{Role: "tool", CallID: "a", Text: record.Say("r")})
	two.Delivered = &record.Delivery{Display: "hide", Texts: []record.Delivered{{Place: record.PlaceText, Bytes: 4, Spans: []record.DeliveredSpan{{Start: 16, End: 20}}}}}
	three := record.Exchange{Outcome: "answered", Replies: []record.Reply{read(t, "<think>v</think>end")}}
	three.Messages = append(slices.Clone(two.Messages), record.Message{Role: "assistant", Text: record.Say("done")}, user("and?"))
	three.Delivered = &record.Delivery{Display: "tags", Texts: []record.Delivered{{Place: record.PlaceText, Bytes: 22, Spans: []record.DeliveredSpan{{Put: "<t>"}, {Start: 7, End: 8}, {Unnamed: 3}, {Start: 16, End: 19}}}}}
	is(t, build(one, two, three, record.Exchange{Outcome: "failed", Error: "no route", Delivered: &record.Delivery{Display: "hide"}}), `
e1 question q
e1.2 model 
e1.3 thought t leads
e1.4 call 1 f done r
e1.5 got 
e2.2 model 
e2.3 thought u
e2.4 answer done
e2.5 got 
e3 question and?
e3.2 model 
e3.3 thought v
e3.4 answer end
e3.5 got <t>vend
e4 model 
e4.2 error no route failed
e4.3 got 
`)
}

// What is not there says so: an answer behind a cut end, a reply without an answer, one that
// is too long for the page, and what the client got.
func TestGaps(t *testing.T) {
	cut := read(t, "<think>long")
	cut.Raw.Cuts = []record.Cut{{Start: 11, End: 5000, Why: record.CutByLimit}}
	known := cut
	known.Segments = []record.Segment{{Channel: sotto.ChannelMarkup, End: 7}, {Channel: sotto.ChannelReasoning, Block: 1, Start: 7, End: 5000}}
	steps := build(record.Invocation{Replies: []record.Reply{known}}, record.Invocation{Replies: []record.Reply{cut}}, record.Invocation{Replies: []record.Reply{read(t, "<think>only</think>")}}, record.Invocation{}, record.Exchange{Outcome: "answered", Replies: []record.Reply{read(t, "a")}})
	var gaps []string
	for _, s := range steps {
		if s.Kind == trace.Gap || s.Kind == trace.Got && s.State == trace.Unknown {
			gaps = append(gaps, string(s.Kind)+s.Name)
		}
	}
	if got := strings.Join(gaps, " "); got != "gapend gapend gapanswer gapreply got" {
		t.Errorf("%s", got)
	}
	if n := steps[1].Text.Missing(); n != 4989 {
		t.Errorf("%d bytes of the thought are missing: %s", n, said(steps))
	}
	b := trace.NewBuilder()
	b.Event(&record.Event{Seq: 1, Type: record.TypeExchange, Payload: record.Exchange{Model: "m"}}, true)
	if last := b.Steps[len(b.Steps)-1]; last.Kind != trace.Gap || last.Name != "long" {
		t.Errorf("%s", said(b.Steps))
	}
}

// The times of a reply are those at which its first thought and its answer came.
func TestTimes(t *testing.T) {
	x := record.Invocation{Millis: 900, FirstThought: 100, FirstAnswer: 600, Replies: []record.Reply{read(t, "<think>t</think>a")}}
	got := ""
	for _, s := range build(x) {
		got += fmt.Sprintf("%s %d+%d ", s.Kind, s.Offset, s.Millis)
	}
	if got != "model 0+900 thought 100+500 answer 600+0 " {
		t.Error(got)
	}
}

// Whatever events come in whatever order, addresses differ, and the steps and their texts
// are bounded.
func TestBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		b := trace.NewBuilder()
		for n := range 400 {
			var p record.Payload
			c := call(fmt.Sprint(r.IntN(3)), fmt.Sprint(r.IntN(2)), "x")
			switch r.IntN(7) {
			case 0:
				p = record.Invocation{Model: strings.Repeat("m", 300), Replies: []record.Reply{read(t, strings.Repeat("y", r.IntN(20_000)), c, c)}}
			case 1, 2:
				p = record.ToolCall{ID: c.ID, Name: c.Name, Number: r.IntN(4), Phase: []string{"start", "end", ""}[r.IntN(3)], Result: record.Say("r")}
			case 3:
				p = record.CycleStart{Goal: record.Say(fmt.Sprint(r.IntN(2)))}
			case 4:
				p = record.Exchange{Messages: []record.Message{{Role: "user", Text: record.Say("q")}, {Role: "tool", CallID: c.ID, Text: record.Say("r")}}, Delivered: &record.Delivery{Display: "hide", Texts: []record.Delivered{{Place: "text", Spans: []record.DeliveredSpan{{Reply: r.IntN(3) - 1, Thought: r.IntN(3) - 1, Start: r.IntN(9), End: r.IntN(9)}}}}}}
			case 5:
				p = record.RunEnd{Status: "done"}
			default:
				p = record.Advisory{Text: record.Say("a")}
			}
			b.Event(&record.Event{Seq: uint64(n + 1), Cycle: r.IntN(2), Type: p.Type(), Payload: p}, r.IntN(9) == 0)
		}
		seen, bytes := map[string]bool{}, 0
		trace.Walk(b.Steps, func(s *trace.Step) {
			for _, id := range []string{s.ID, s.StartID, s.ResultID} {
				if id != "" && seen[id] {
					t.Fatalf("two steps have the address %s:\n%s", id, said(b.Steps))
				}
				seen[id] = true
			}
			bytes += len(s.Text.Plain()) + len(s.Result.Plain())
			if len(s.Text.Plain()) > trace.MaxText || len(s.Name) > 200 {
				t.Fatalf("%s has %d bytes", s.ID, len(s.Text.Plain()))
			}
		})
		if len(b.Steps) > trace.MaxSteps+400 || bytes > trace.MaxTexts {
			t.Fatalf("%d steps of %d bytes", len(b.Steps), bytes)
		}
	}
}
