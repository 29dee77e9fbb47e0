package recordtable

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/lab/parquetfile"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/record"
)

const (
	canary = "thought-canary"
	raw    = "<think>" + canary + " one</think>Hello,\n<think>" + canary + " two"
)

// someEvents are events of all types that tables are made of.
func someEvents() []record.Event {
	read := record.ReplyOf(sotto.Parse("<think>"+canary+" = 42</think>\n=6*7 \"is\" 42\xff\n", sotto.EndStopped))
	read.Finish = "stop"
	read.Reasoning = []record.Thought{{Field: "reasoning_content", Text: record.Say(" " + canary + " native\n")}, {Field: "redacted_thinking", Sealed: true}}
	cut := record.ReplyOf(sotto.Parse("<think>"+canary+" never closed", sotto.EndCut))
	cut.Choice = 1
	cut.ToolCalls = []record.Call{{ID: "c9", Name: "add", Arguments: record.Say(`{"a":1}`)}}
	of := &record.Ref{Seq: 2}
	calls := func(phase string, number int, result, failure string) record.Event {
		return record.Event{Run: "run-1", Cycle: 1, Payload: record.ToolCall{
			ID: "c1", Name: "multiply", Phase: phase, Number: number, Of: of, Arguments: record.Say(`{"a":6}`), Result: record.Say(result), Error: failure, Millis: 3,
		}}
	}
	child := calls("end", 2, "", "no such tool")
	asked := child.Payload.(record.ToolCall)
	asked.Child = &record.Child{Run: "run-1+helper.1", Of: of}
	child.Payload = asked
	return []record.Event{
		{Run: "run-1", Payload: record.RunStart{Model: "qwen3:8b", Agent: "solver", Parent: "run-0"}},
		{Run: "run-1", Cycle: 1, Payload: record.Invocation{
			Model: "qwen3:8b", Provider: "ollama", Purpose: "act", Attempt: 1, Millis: 12, FirstThought: 4, FirstAnswer: 9,
			Usage: &record.Usage{Input: 100, Output: 20, Reasoning: 11, Estimated: true}, Replies: []record.Reply{read, cut}, Parameters: record.Say(`{"temperature":0.5}`),
		}},
		calls("start", 1, "", ""), calls("start", 1, "", ""), calls("end", 1, "42", ""), child, calls("start", 3, "", ""),
		{Run: "run-1", Cycle: 1, Payload: record.Extraction{Of: *of, Task: "game24", Method: "answer_block", Status: "ok", Rules: "v1", Span: &record.Span{Start: 3, End: 6},
			Candidate: record.Say("6*7"), Written: record.Say("6*7"), Verdict: &record.Verdict{Reason: "math_error", By: "rational", Detail: record.Say("42, not 24")}}},
		{Run: "run-1", Cycle: 1, Payload: record.Extraction{Of: *of, Method: "empty", Status: "no_answer"}},
		{Run: "run-1", Cycle: 1, Payload: record.Memory{Task: "game24", Solved: true, Of: of, Used: []record.MemoryNode{{Kind: "trace", Key: record.Say("2 5 8 11")}}, Template: &record.MemoryNode{Kind: "template", Key: record.Say("a*b")}}},
		{Run: "run-1", Cycle: 1, Payload: record.Advisory{Code: "repetition", Of: of, Text: record.Say("Again.")}},
		{Run: "run-1", Cycle: 1, Payload: record.CycleEnd{Status: "answered", Millis: 50, Of: of, Summary: record.Say("Done, \"quoted\"\r\nand\x00more."), Metrics: &record.Metrics{Invocations: 1, SavedBytes: 7, Policy: "strip", Similarity: 0.25, SimilarTo: 0, Method: "lexical"}}},
		{Payload: record.Exchange{
			API: "openai", Model: "qwq", Upstream: "http://localhost:1", Status: 200, Outcome: "answered", Replies: []record.Reply{record.ReplyOf(sotto.Parse(raw, sotto.EndStopped))},
			Delivered: &record.Delivery{Display: "hide", Texts: []record.Delivered{{Place: record.PlaceText, Bytes: 7, Spans: []record.DeliveredSpan{{Start: strings.Index(raw, "Hello"), End: strings.Index(raw, "Hello") + 7}}}}},
		}},
	}
}

// openRecord writes events to a record, and opens it.
func openRecord(t testing.TB, o record.Options, events []record.Event) *recordset.Set {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "audit")
	o.Policy = record.None
	w, err := record.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if _, err := w.Append(context.Background(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	set, err := recordset.Open(dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// write returns a table as a file.
func write(t testing.TB, table *Table, f Format, set *recordset.Set) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(f, &b, table.Columns, newParquet)
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Write(w, set.Events(record.Query{Types: table.Types}), func(err error) error { return err }); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var times = regexp.MustCompile(`"time":"[^"]*Z"`)

// The rows are those of testdata, which people read when they change.
func TestRows(t *testing.T) {
	set := openRecord(t, record.Options{}, someEvents())
	for _, table := range Tables() {
		got := times.ReplaceAll(write(t, table, JSONL, set), []byte(`"time":"T"`))
		name := filepath.Join("testdata", table.Name+".jsonl")
		if *update {
			if err := os.WriteFile(name, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v: got\n%s", name, err, got)
		}
	}
}

// The three formats say the same.
func TestFormatsAgree(t *testing.T) {
	set := openRecord(t, record.Options{}, someEvents())
	for _, table := range Tables() {
		lines := bytes.Split(bytes.TrimSuffix(write(t, table, JSONL, set), []byte("\n")), []byte("\n"))
		if len(lines) < 2 && table.Name != "cycles" && table.Name != "verdicts" {
			t.Errorf("%s has %d rows", table.Name, len(lines))
		}
		cells, err := csv.NewReader(bytes.NewReader(write(t, table, CSV, set))).ReadAll()
		if err != nil || len(cells) != len(lines)+1 {
			t.Fatalf("%s: CSV has %d rows, %v", table.Name, len(cells), err)
		}
		data := write(t, table, Parquet, set)
		rows, err := parquetfile.Open(bytes.NewReader(data), int64(len(data)), 64<<20)
		if err != nil {
			t.Fatalf("%s: %v", table.Name, err)
		}
		for i, line := range lines {
			var want, got map[string]any
			row, err := rows.AppendNext(nil)
			if err != nil || json.Unmarshal(row, &got) != nil || json.Unmarshal(line, &want) != nil {
				t.Fatalf("%s, row %d: %v", table.Name, i, err)
			}
			at, _ := time.Parse(time.RFC3339Nano, got["time"].(string))
			got["time"] = at.Format(timeLayout)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s, row %d: Parquet has\n%s, JSON\n%s", table.Name, i, row, line)
			}
			for j, c := range table.Columns {
				if text, cell := plain(want[c.Name]), strings.ReplaceAll(cells[i+1][j], "\n", "\r\n"); cell != strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n") {
					t.Errorf("%s, row %d, %s: CSV has %q, JSON %q", table.Name, i, c.Name, cell, text)
				}
			}
		}
	}
}

// plain returns a value as a cell of CSV has it.
func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	text, _ := json.Marshal(v)
	return string(text)
}

// A text that was not recorded is null, also where only some of it is missing; what
// was recorded in full is there. No word of a thought is in any table.
func TestLevels(t *testing.T) {
	for _, level := range []record.Level{record.Redacted, record.Digests, record.Off} {
		o := record.Options{Reasoning: level, DigestKey: []byte("0123456789abcdef"), Patterns: []*regexp.Regexp{regexp.MustCompile(canary)}}
		set := openRecord(t, o, someEvents())
		for _, table := range Tables() {
			if data := write(t, table, JSONL, set); bytes.Contains(data, []byte(canary)) {
				t.Errorf("%v: %s has what a model thought", level, table.Name)
			}
		}
		var row struct {
			Answer, Text   *string
			Cut            bool
			AnswerBytes    *int `json:"answer_bytes"`
			ReasoningBytes int  `json:"reasoning_bytes"`
		}
		full := openRecord(t, record.Options{}, someEvents())
		for i, line := range bytes.Split(bytes.TrimSpace(write(t, replies, JSONL, set)), []byte("\n")) {
			want := bytes.Split(write(t, replies, JSONL, full), []byte("\n"))[i]
			var kept struct {
				Answer         *string
				ReasoningBytes int `json:"reasoning_bytes"`
			}
			if json.Unmarshal(line, &row) != nil || json.Unmarshal(want, &kept) != nil {
				t.Fatalf("not JSON: %s", line)
			}
			if row.Cut || row.Answer == nil || *row.Answer != *kept.Answer || row.ReasoningBytes != kept.ReasoningBytes {
				t.Errorf("%v, reply %d: got %s\nwant the answer of %s", level, i, line, want)
			}
		}
		for _, line := range bytes.Split(bytes.TrimSpace(write(t, thoughts, JSONL, set)), []byte("\n")) {
			row.Text = nil
			if err := json.Unmarshal(line, &row); err != nil {
				t.Fatal(err)
			}
			if row.Text != nil && *row.Text != "" || row.Cut == bytes.Contains(line, []byte(`"sealed":true`)) {
				t.Errorf("%v: %s", level, line)
			}
		}
	}
	set := openRecord(t, record.Options{Answer: record.Off}, someEvents())
	for _, line := range bytes.Split(bytes.TrimSpace(write(t, replies, JSONL, set)), []byte("\n")) {
		if bytes.Contains(line, []byte("6*7")) || !bytes.Contains(line, []byte(`"answer":null`)) && bytes.Contains(line, []byte(`"cut":true`)) {
			t.Errorf("without answers: %s", line)
		}
	}
}

// A reply that says its segments wrongly makes no wrong text.
func TestForeignSegments(t *testing.T) {
	for _, list := range [][]record.Segment{
		{{Channel: sotto.ChannelText, Start: 0, End: 900}}, {{Channel: sotto.ChannelReasoning, Block: 1, Start: 5, End: 2}},
		{{Channel: sotto.ChannelText, Start: -4, End: 2}}, {{Start: 4, End: 6}, {Start: 0, End: 3}},
	} {
		r := record.Reply{Raw: record.Say("hello world"), Segments: list}
		if got := segmentsOf(&r); got != nil {
			t.Errorf("%v: got %v", list, got)
		}
		answerOf(&r, segmentsOf(&r))
		thoughtsOf(&r)
	}
}
