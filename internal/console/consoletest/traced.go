package consoletest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/record"
)

// Names of the runs that [Traced] records.
const (
	Good = "trip-a" // a run with a tool and a called agent
	Bad  = "trip-b" // the same, whose tool fails
)

// ToolError is what the tool of [Bad] gave.
const ToolError = "error: the timetable of 31 February does not exist"

// Traced records two runs with thoughts, calls, an agent and a failing tool, and a session of
// exchanges in which the client calls a tool. It returns the record's folder.
func Traced(t testing.TB) (dir string) { return TracedPaced(t, 0) }

// TracedPaced is Traced with a pause before each event, so that the steps take some time.
func TracedPaced(t testing.TB, pause time.Duration) (dir string) {
	t.Helper()
	w, dir := Open(t)
	defer w.Close()
	put := func(run string, cycle int, p record.Payload) record.Receipt {
		time.Sleep(pause)
		r, err := w.Append(t.Context(), record.Event{Run: run, Cycle: cycle, Payload: p})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, run := range []string{Good, Bad} {
		trip(put, run, run == Bad)
	}
	ask := Exchange("qwen3:8b", "Which tower is taller, and why do you think so?", "<think>I do not know the heights. The tool knows: I call it for the first tower.</think>")
	ask.IDs = map[string]string{"X-OpenWebUI-Chat-Id": "towers"}
	ask.Replies[0].ToolCalls = []record.Call{{ID: "call_1", Name: "height_of", Arguments: record.Say(`{"tower":"CN Tower"}`)}}
	ask.Replies[0].Finish, ask.Streamed, ask.FirstThought = "tool_calls", true, 210
	ask.Replies[0].Diagnostics = []sotto.Diagnostic{{Code: sotto.CodeNoVisibleAnswer}}
	ask.Delivered = &record.Delivery{Display: "hide"}
	put("", 0, ask)
	said := Exchange("qwen3:8b", "", "<think>553 metres is more than 92.</think>The CN Tower, at 553 metres. "+strings.Repeat("It has stood by the lake since 1976. ", 30))
	said.IDs, said.Streamed, said.FirstThought, said.FirstAnswer = ask.IDs, true, 180, 900
	said.Messages = append(ask.Messages, record.Message{Role: "assistant", ToolCalls: ask.Replies[0].ToolCalls}, record.Message{Role: "tool", CallID: "call_1", Text: record.Say("553 m")})
	raw := string(said.Replies[0].Raw.Text)
	from := strings.Index(raw, "The CN")
	said.Delivered = &record.Delivery{Display: "hide", Texts: []record.Delivered{{Place: record.PlaceText, Bytes: len(raw) - from, Spans: []record.DeliveredSpan{{Start: from, End: len(raw)}}}}}
	put("", 0, said)
	tagged := Exchange("qwen3:8b", "אֵיזֶה מִגְדָּל גָּבוֹהַּ יוֹתֵר? (right to left)", "<think>שאלה קצרה.</think>מגדל CN.")
	tagged.Messages = append(said.Messages, record.Message{Role: "assistant", Text: record.Say("The CN Tower.")}, tagged.Messages[0])
	tagged.IDs = ask.IDs
	raw = string(tagged.Replies[0].Raw.Text)
	tagged.Delivered = &record.Delivery{Display: "tags", Texts: []record.Delivered{{Place: record.PlaceText, Bytes: len(raw), Spans: []record.DeliveredSpan{{End: len(raw)}}}}}
	put("", 0, tagged)
	return dir
}

// trip records a run of two cycles, the second of which fails if bad is set.
func trip(put func(string, int, record.Payload) record.Receipt, run string, bad bool) {
	model := func(cycle int, purpose, raw string, calls ...record.Call) *record.Ref {
		x := Exchange("gpt-oss:20b", "Plan a trip.", raw)
		x.Replies[0].ToolCalls = calls
		r := put(run, cycle, record.Invocation{Model: x.Model, Purpose: purpose, Millis: 40, FirstThought: 5, FirstAnswer: 20, Usage: &record.Usage{Input: 412, Output: 96, Reasoning: 61}, Replies: x.Replies, Messages: x.Messages})
		return &record.Ref{Seq: r.Seq, Digest: x.Replies[0].Digest}
	}
	call := func(cycle, number int, c record.Call, of *record.Ref, end record.ToolCall) {
		x := record.ToolCall{ID: c.ID, Name: c.Name, Number: number, Of: of, Phase: "start", Arguments: c.Arguments}
		put(run, cycle, x)
		x.Phase, x.Result, x.Error, x.Child, x.Millis = "end", end.Result, end.Error, end.Child, 12
		put(run, cycle, x)
	}
	put(run, 0, record.RunStart{Agent: "planner", Model: "gpt-oss:20b", Goal: record.Say("Plan a trip from Ottawa to Toronto, and say what it costs.")})
	put(run, 1, record.CycleStart{})
	find := record.Call{ID: "c1", Name: "timetable", Arguments: record.Say(`{"from":"Ottawa","to":"Toronto"}`)}
	of := model(1, "act", "<think>I need the trains first: without a timetable a price means nothing.</think>I look up the trains.", find)
	call(1, 1, find, of, record.ToolCall{Result: record.Say("08:30 and 14:10, 4 h 20 min")})
	ask := record.Call{ID: "c2", Name: "clerk", Arguments: record.Say(`{"task":"What does the train at 08:30 cost?"}`)}
	of = model(1, "act", "<think>The clerk knows prices.</think>", ask)
	child := run + "+clerk.2"
	put(child, 0, record.RunStart{Agent: "clerk", Model: "qwen3:8b", Parent: run, Goal: record.Say("What does the train at 08:30 cost?")})
	look := record.Call{ID: "k1", Name: "price_list", Arguments: record.Say(`{"train":"08:30"}`)}
	x := Exchange("qwen3:8b", "What does the train at 08:30 cost?", "<think>Prices are in the list.</think>")
	x.Replies[0].ToolCalls = []record.Call{look}
	r := put(child, 0, record.Invocation{Model: "qwen3:8b", Purpose: "act", Millis: 9, Replies: x.Replies, Messages: x.Messages})
	put(child, 0, record.ToolCall{ID: "k1", Name: "price_list", Number: 1, Of: &record.Ref{Seq: r.Seq}, Phase: "end", Arguments: look.Arguments, Result: record.Say("89 dollars"), Millis: 3})
	x = Exchange("qwen3:8b", "What does the train at 08:30 cost?", "<think>89.</think>It costs 89 dollars.")
	put(child, 0, record.Invocation{Model: "qwen3:8b", Purpose: "answer", Millis: 8, Replies: x.Replies, Messages: x.Messages})
	put(child, 0, record.RunEnd{Status: "answered", Cycles: 1, Millis: 30, Result: record.Say("It costs 89 dollars.")})
	call(1, 2, ask, of, record.ToolCall{Result: record.Say("It costs 89 dollars."), Child: &record.Child{Run: child}})
	model(1, "answer", "<think>Both are known.</think>Take the train at 08:30 for 89 dollars.")
	put(run, 1, record.CycleEnd{Status: "answered", Millis: 300, Summary: record.Say("Take the train at 08:30 for 89 dollars.")})
	put(run, 2, record.CycleStart{})
	back := record.Call{ID: "c3", Name: "timetable", Arguments: record.Say(`{"from":"Toronto","to":"Ottawa","on":"31 February"}`)}
	if !bad {
		back.Arguments = record.Say(`{"from":"Toronto","to":"Ottawa","on":"28 February"}`)
	}
	of = model(2, "act", "<think>Now the way back, at the end of February.</think>", back)
	end := record.ToolCall{Result: record.Say("09:10, 4 h 30 min")}
	status, result := "done", "Both ways by train, 178 dollars."
	if bad {
		end, status, result = record.ToolCall{Result: record.Say(ToolError), Error: "failed"}, "failed", ""
	}
	call(2, 3, back, of, end)
	if bad {
		put(run, 2, record.Failure{Code: "tools", Message: "the tool timetable failed, and the run may not go on without it"})
	} else {
		model(2, "answer", "<think>Twice 89.</think>"+result)
	}
	put(run, 2, record.CycleEnd{Status: map[bool]string{true: "failed", false: "answered"}[bad], Millis: 90, Summary: record.Say(result)})
	put(run, 0, record.RunEnd{Status: status, Cycles: 2, Millis: 400, Result: record.Say(result)})
}

// Ugly records a run and a session of hostile, long and right-to-left texts. It returns the
// record's folder and the run's name.
func Ugly(t testing.TB) (dir, run string) {
	t.Helper()
	w, dir := Open(t)
	defer w.Close()
	run = "ugly"
	put := func(p record.Payload) uint64 {
		r, err := w.Append(t.Context(), record.Event{Run: run, Cycle: 1, Payload: p})
		if err != nil {
			t.Fatal(err)
		}
		return r.Seq
	}
	long := strings.Repeat("averyverylongwordwithoutanyspace", 40)
	lines := strings.Repeat("line <script>hacked=1</script>\n", 400)
	put(record.RunStart{Agent: long[:150], Model: "m", Goal: record.Say("מה גובה המגדל? \u202eevil\u202c " + long)})
	for i, text := range []string{lines, long, "مرحبا بالعالم، كم ارتفاع البرج؟", "</pre></details><img src=x onerror=hacked=1>"} {
		call := record.Call{ID: fmt.Sprint(i), Name: long[:60+i], Arguments: record.Say(`{"text":"` + text + `"}`)}
		x := Exchange("m", "p", "<think>"+text+"</think>"+text)
		x.Replies[0].ToolCalls = []record.Call{call}
		of := put(record.Invocation{Model: long[:200], Purpose: text[:min(len(text), 60)], Millis: 90_000_000, Replies: x.Replies})
		put(record.ToolCall{ID: call.ID, Name: call.Name, Number: i, Phase: "end", Of: &record.Ref{Seq: of}, Arguments: call.Arguments, Result: record.Say(text), Error: text[:min(len(text), 90)], Millis: int64(time.Hour / time.Millisecond)})
	}
	cut := Exchange("m", "p", "")
	cut.Replies[0].Raw = record.Content{Text: "<think>It is a long thought", Cuts: []record.Cut{{Start: 27, End: 5 << 20, Why: record.CutByLimit}}}
	put(record.Invocation{Model: "m", Replies: cut.Replies})
	put(record.ToolCall{Name: "peer", Number: 9, Phase: "start", Arguments: record.Say("{}")})
	return dir, run
}
