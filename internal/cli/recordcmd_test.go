package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/alecthomas/kong"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/cli/environment"
	"github.com/sotto-llm/sotto/internal/recorded/otlp"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/record"
)

// mkrecord FLAG… appends a run and two exchanges to the record that the flags of a
// recording command name.
func mkrecord(ts *testscript.TestScript, neg bool, args []string) {
	var flags struct{ recording.Settings }
	parser, err := kong.New(&flags, kong.Resolvers(environment.Resolver(ts.Getenv)))
	ts.Check(err)
	_, err = parser.Parse(args)
	ts.Check(err)
	for _, file := range []*string{&flags.Record, &flags.RecordPatterns, &flags.RecordDigestKey, &flags.RecordSigningKey} {
		if *file != "" {
			*file = ts.MkAbs(*file)
		}
	}
	for i, to := range flags.RecordRecipient {
		if !strings.HasPrefix(to, "age1") {
			flags.RecordRecipient[i] = ts.MkAbs(to)
		}
	}
	w, err := flags.Open(nil, nil)
	if (err != nil) != neg {
		ts.Fatalf("mkrecord %v: %v", args, err)
	}
	if err != nil {
		fmt.Fprintln(ts.Stderr(), err)
		return
	}
	for _, e := range aRun() {
		_, err := w.Append(context.Background(), e)
		ts.Check(err)
	}
	ts.Check(w.Close())
}

// agekey IDENTITIES RECIPIENTS makes a pair of key files as age-keygen does.
func agekey(ts *testscript.TestScript, neg bool, args []string) {
	id, err := age.GenerateX25519Identity()
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte("# made by a test\n"+id.String()+"\n"), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte("# the auditors\n"+id.Recipient().String()+"\n"), 0o600))
}

// aRun is a run of an agent, and two exchanges of the gateway.
func aRun() []record.Event {
	in := func(cycle int, p record.Payload) record.Event {
		return record.Event{Run: "run-7", Cycle: cycle, Payload: p}
	}
	planned := spoken("qwen3", "<think>Six times seven,\n\x1b[31mforty-two\x1b[0m.</think>The answer is 42.", sotto.EndStopped)
	planned.ToolCalls = []record.Call{{ID: "c1", Name: "multiply", Arguments: record.Say(`{"a":6,"b":7}`)}}
	native := spoken("", "It is 42.", sotto.EndStopped)
	native.Reasoning = []record.Thought{{Field: "reasoning_content", Text: record.Say("I know this one.")}}
	of := &record.Ref{Seq: 3}
	return []record.Event{
		in(0, record.RunStart{Agent: "solver", Model: "qwen3:8b", Goal: record.Say("6 × 7?")}),
		in(1, record.CycleStart{Goal: record.Say("multiply")}),
		in(1, record.Invocation{Model: "qwen3:8b", Provider: "ollama", Purpose: "act", Millis: 1200, Usage: &record.Usage{Input: 12, Output: 34, Reasoning: 20},
			Messages: []record.Message{{Role: "user", Text: record.Say("What is 6 × 7?")}}, Replies: []record.Reply{planned}}),
		in(1, record.ToolCall{ID: "c1", Name: "multiply", Phase: "start", Of: of, Arguments: record.Say(`{"a":6,"b":7}`)}),
		in(1, record.ToolCall{ID: "c1", Name: "multiply", Phase: "end", Of: of, Arguments: record.Say(`{"a":6,"b":7}`), Result: record.Say("42"), Millis: 3}),
		in(1, record.Extraction{Of: *of, Task: "math", Method: "marker:answer", Status: "ok", Candidate: record.Say("42"), Verdict: &record.Verdict{OK: true, By: "exact"}}),
		in(1, record.Advisory{Code: "repeats", From: "adviser", Text: record.Say("Stop here.")}),
		in(1, record.CycleEnd{Status: "done", Millis: 1500, Summary: record.Say("multiplied"), Metrics: &record.Metrics{Invocations: 1, PromptBytes: 100, SavedBytes: 40, SavedTokens: 10}}),
		in(1, record.RunEnd{Status: "solved", Millis: 2000, Result: record.Say("42")}),
		{Payload: record.Exchange{API: "openai.chat", Model: "qwq", Path: "/v1/chat/completions", Upstream: "http://localhost:11434", Status: 200, Streamed: true, Outcome: "answered",
			Millis: 900, History: "rule=strip; removed=80 bytes (about 20 tokens); prefix changes at message 1", Replies: []record.Reply{spoken("", "<think>hm, still", sotto.EndCut), native}}},
		{Payload: record.Exchange{API: "openai.chat", Model: "qwq", Upstream: "http://localhost:11434", Status: 502, Outcome: "failed", Error: "connection refused"}},
		{Payload: record.Failure{Code: "dropped", Count: 3}},
	}
}

// spoken returns a reply as it is recorded.
func spoken(dialect, raw string, end sotto.Ending) record.Reply {
	grammar := sotto.Default()
	if dialect != "" {
		grammar, _ = sotto.Named(dialect)
	}
	reading, err := grammar.Parse(raw, sotto.BeginOutside, end)
	if err != nil {
		panic(err)
	}
	return record.ReplyOf(reading)
}

// clobber FILE OLD NEW replaces text in the only file that matches a pattern.
func clobber(ts *testscript.TestScript, neg bool, args []string) {
	list, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(list) != 1 {
		ts.Fatalf("%d files are %s", len(list), args[0])
	}
	data, err := os.ReadFile(list[0])
	ts.Check(err)
	if !strings.Contains(string(data), args[1]) {
		ts.Fatalf("no %q in %s", args[1], list[0])
	}
	ts.Check(os.WriteFile(list[0], []byte(strings.Replace(string(data), args[1], args[2], 1)), 0o600))
}

// writeRun makes a record of events.
func writeRun(t *testing.T, events []record.Event, o record.Options) string {
	t.Helper()
	dir := t.TempDir()
	o.Policy = record.None
	w, err := record.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if _, err := w.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// outputOf runs a command that must succeed.
func outputOf(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs strings.Builder
	if status := Run(args, strings.NewReader(""), &out, &errs, func(string) string { return "" }); status != 0 {
		t.Fatalf("sotto %s: status %d: %s", strings.Join(args, " "), status, errs.String())
	}
	return out.String()
}

// Every call of a model or a tool, every cycle and every run is one span. All spans
// of a run are in one trace, and their parents exist. The parts of a message are
// the reply without its markers.
func TestExportHoldsAll(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"<think>", "</think>", "a", " b\n", "“ü”", "<output>", "</output>", "\x1b[0m", "<narrate>n</narrate>"}
	var events []record.Event
	want, said := 0, map[int64]string{}
	for i := range 40 {
		run := fmt.Sprintf("run-%d", i%3)
		switch i % 8 {
		case 0:
			events = append(events, record.Event{Run: run, Payload: record.RunStart{Agent: "a"}})
		case 7:
			events = append(events, record.Event{Run: run, Payload: record.RunEnd{Status: "done"}})
			want++
		case 3:
			events = append(events, record.Event{Run: run, Cycle: 1, Payload: record.ToolCall{Name: "t", Phase: "end"}})
			want++
		default:
			var raw strings.Builder
			for range r.IntN(9) {
				raw.WriteString(pieces[r.IntN(len(pieces))])
			}
			reply := spoken("", raw.String(), sotto.EndStopped)
			text := ""
			for _, s := range reply.Segments {
				if s.Channel != sotto.ChannelMarkup {
					text += raw.String()[s.Start:s.End]
				}
			}
			events = append(events, record.Event{Run: run, Cycle: 1, Payload: record.Invocation{Model: "m", Replies: []record.Reply{reply}}})
			said[int64(len(events))] = text
			want++
		}
	}
	dir := writeRun(t, events, record.Options{})
	plain := outputOf(t, "record", "export", dir)
	if strings.Contains(plain, "messages") || strings.Count(plain, "\n") != want {
		t.Errorf("without --content: %d lines, want %d, and no messages:\n%.300s", strings.Count(plain, "\n"), want, plain)
	}
	traces, spans, parents := map[string]string{}, map[string]bool{"": true}, []string{}
	for line := range strings.Lines(outputOf(t, "record", "export", "--content", dir)) {
		var l otlp.Line
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		s := l.Spans[0].ScopeSpans[0].Spans[0]
		a := map[string]otlp.Value{}
		for _, at := range s.Attributes {
			a[at.Key] = at.Value
		}
		var seq int64
		fmt.Sscan(*a["sotto.record.seq"].Int, &seq)
		run := events[seq-1].Run
		if old := traces[run]; old != "" && old != s.TraceID || len(s.TraceID) != 32 || len(s.SpanID) != 16 {
			t.Fatalf("event %d: trace %s, span %s; the run's trace is %s", seq, s.TraceID, s.SpanID, old)
		}
		traces[run] = s.TraceID
		spans[s.SpanID], parents = true, append(parents, s.Parent)
		if text, ok := said[seq]; ok {
			var messages []otlp.Message
			if err := json.Unmarshal([]byte(*a[otlp.GenAIOutputMessages].String), &messages); err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, p := range messages[0].Parts {
				got += p.Content
			}
			if got != text {
				t.Errorf("event %d: parts %q, want %q", seq, got, text)
			}
		}
	}
	for _, p := range parents {
		if !spans[p] {
			t.Errorf("no span %s, under which others are", p)
		}
	}
	if len(traces) != 3 {
		t.Errorf("%d traces of 3 runs", len(traces))
	}
}

// An exchange joins the trace of its request, if the record has it as it is. Its span
// has the parameters for which the conventions have attributes, whatever names the API
// has for them, and the tools only with --content.
func TestExportSettings(t *testing.T) {
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	exchange := func(set string) record.Event {
		return record.Event{Payload: record.Exchange{
			API: "ollama.chat", Model: "m", Streamed: true, Outcome: "answered", FirstThought: 210, FirstAnswer: 3610,
			IDs:   map[string]string{record.IDTrace: trace, record.IDParentSpan: parent, "conversation_id": "talk-1"},
			Usage: &record.Usage{Input: 9, Output: 2, CacheRead: 4, CacheWrite: 3}, Parameters: record.Say(set),
			Tools: []record.Tool{{Name: "add", Definition: record.Say(`{"a":1}`)}, {Name: "long", Digest: "d"}},
		}}
	}
	for _, c := range []struct {
		set    string
		level  record.Level
		joined bool
		want   map[string]string
	}{
		{`{"temperature":0.20,"max_completion_tokens":5,"seed":7,"stop":["a","b"],"top_p":"x"}`, record.Full, true, map[string]string{
			"gen_ai.request.temperature": "0.2", "gen_ai.request.max_tokens": `"5"`, "gen_ai.request.seed": `"7"`, "gen_ai.request.stop_sequences": "a b ", "gen_ai.request.top_p": "",
			"gen_ai.conversation.id": "talk-1", "gen_ai.response.time_to_first_chunk": "0.21", "sotto.reply.time_to_first_answer": "3.61",
			"gen_ai.usage.cache_read.input_tokens": `"4"`, "gen_ai.usage.cache_creation.input_tokens": `"3"`,
			"gen_ai.tool.definitions": `[{"type":"function","name":"add","sotto.definition":{"a":1}},{"type":"function","name":"long"}]`,
		}},
		{`{"options":{"temperature":0,"num_predict":6,"stop":"c"}}`, record.Digests, false, map[string]string{
			"gen_ai.request.temperature": "0", "gen_ai.request.max_tokens": `"6"`, "gen_ai.request.stop_sequences": "c ", "gen_ai.request.seed": "",
		}},
	} {
		dir := writeRun(t, []record.Event{exchange(c.set)}, record.Options{IDs: c.level})
		if plain := outputOf(t, "record", "export", dir); strings.Contains(plain, "tool.definitions") {
			t.Errorf("tools without --content:\n%s", plain)
		}
		var l otlp.Line
		if err := json.Unmarshal([]byte(outputOf(t, "record", "export", "--content", dir)), &l); err != nil {
			t.Fatal(err)
		}
		s := l.Spans[0].ScopeSpans[0].Spans[0]
		if joined := s.TraceID == trace && s.Parent == parent; joined != c.joined || len(s.TraceID) != 32 {
			t.Errorf("%v: the span is in trace %q below %q", c.level, s.TraceID, s.Parent)
		}
		got := map[string]string{}
		for _, a := range s.Attributes {
			switch {
			case a.Value.String != nil:
				got[a.Key] = *a.Value.String
			case a.Value.Int != nil:
				got[a.Key] = strconv.Quote(*a.Value.Int)
			case a.Value.Double != nil:
				got[a.Key] = strconv.FormatFloat(*a.Value.Double, 'g', -1, 64)
			case a.Value.Array != nil:
				for _, v := range a.Value.Array.Values {
					got[a.Key] += *v.String + " "
				}
			}
		}
		for key, want := range c.want {
			if got[key] != want {
				t.Errorf("%s is %s, want %s", key, got[key], want)
			}
		}
	}
}

// A part of an export has the lines that the whole has, byte for byte: the same
// traces, spans and parents. What places an event may stand before the part, and in
// another run.
func TestExportOfPart(t *testing.T) {
	effort.OneGoroutine(t)
	dir := t.TempDir()
	w, err := record.Open(dir, record.Options{Policy: record.None, SegmentSize: 2000})
	if err != nil {
		t.Fatal(err)
	}
	put := func(run string, cycle int, p record.Payload) {
		t.Helper()
		if _, err := w.Append(t.Context(), record.Event{Run: run, Cycle: cycle, Payload: p}); err != nil {
			t.Fatal(err)
		}
	}
	reply := record.Invocation{Model: "m", Replies: []record.Reply{spoken("", "<think>a</think>b", sotto.EndStopped)}}
	put("top", 0, record.RunStart{Agent: "a", Model: "m"})
	for cycle := range 2 {
		put("top", cycle+1, record.CycleStart{})
		put("top", cycle+1, reply)
		put("top+child.1", 0, record.RunStart{Agent: "c", Parent: "top"})
		put("top+child.1", 0, reply)
		put("top+child.1+below.1", 0, record.RunStart{Agent: "b", Parent: "top+child.1"})
		put("top+child.1+below.1", 0, reply)
		put("top+child.1+below.1", 0, record.Advisory{Code: "repeats"})
		put("top+child.1+below.1", 0, record.RunEnd{Status: "done"})
		put("top+child.1", 0, record.RunEnd{Status: "done"})
		put("top", cycle+1, record.CycleEnd{Status: "done"})
		put("top", 0, record.Advisory{Code: "between"})
		put("", 0, record.Exchange{API: "openai.chat", Outcome: "answered", Replies: reply.Replies})
	}
	put("top", 2, record.RunEnd{Status: "done"})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	exported := func(args ...string) []string {
		t.Helper()
		out, err := exec.Command("sotto", append([]string{"record", "export", dir}, args...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.SplitAfter(strings.TrimSuffix(string(out), "\n"), "\n")
	}
	seq := regexp.MustCompile(`"sotto.record.seq","value":\{"intValue":"(\d+)"`)
	for _, signal := range []string{"spans", "logs"} {
		all := map[string]string{}
		for _, line := range exported("--signal", signal) {
			all[seq.FindStringSubmatch(line)[1]] = strings.TrimSpace(line)
		}
		parts := [][]string{{"--run", "top+child.1+below.1"}, {"--cycle", "2"}, {"--after", "7", "--limit", "3"}, {"--type", "ADVISORY"}, {"--type", "LLM_INVOCATION"}, {"--type", "RUN_END", "--type", "CYCLE_END"}}
		for after := 1; after < 24; after += 2 {
			parts = append(parts, []string{"--after", fmt.Sprint(after)})
		}
		lines := 0
		for _, part := range parts {
			for _, line := range exported(append(part, "--signal", signal)...) {
				if line = strings.TrimSpace(line); line == "" {
					continue
				}
				lines++
				if n := seq.FindStringSubmatch(line)[1]; all[n] != line {
					t.Errorf("%v, %s: event %s is\n%s\nin the whole export\n%s", part, signal, n, line, all[n])
				}
			}
		}
		if lines < len(all) {
			t.Errorf("%s: %d lines of all parts, %d of the whole", signal, lines, len(all))
		}
	}
}

// TestShowAudit: who looked at what is shown as any event, and found by its type.
func TestShowAudit(t *testing.T) {
	dir := writeRun(t, []record.Event{
		{Payload: record.Exchange{Model: "m"}},
		{Payload: record.Audit{Action: "view", Who: "ann\x1b[2J", From: "127.0.0.1", Page: "/exchanges/1", Events: []uint64{1}}},
	}, record.Options{})
	out := outputOf(t, "record", "show", dir, "--type", "AUDIT")
	for _, want := range []string{"#2 AUDIT", "action view", "who ann", "from 127.0.0.1", "page /exchanges/1", "events: 0 1"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "EXCHANGE") || strings.Contains(out, "\x1b[2J") {
		t.Errorf("%q", out)
	}
}
