package contreact

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/record"
)

const log = `{"timestamp": "2025-10-08T12:00:00Z", "run_id": "run-1", "cycle_number": 1, "event_type": "CYCLE_START", "payload": {}}
{"timestamp": "2025-10-08T12:00:01.120000Z", "run_id": "run-1", "cycle_number": 1, "event_type": "LLM_INVOCATION", "payload": {"prompt_messages": [{"role": "system", "content": "Explore."}], "response_message": {"role": "assistant", "content": "<thinking>I list first. \ud83d\ude42</thinking>\n\n<list/>", "tool_calls": [{"function": {"name": "write", "arguments": {"key": "a", "value": "caf\u00e9"}}}]}, "model_options": {"temperature": 0.7, "seed": 42}}}
{"timestamp": "2025-10-08T12:00:01.500001Z", "run_id": "run-1", "cycle_number": 1, "event_type": "TOOL_CALL", "payload": {"tool_name": "write", "parameters": {"key": "a", "value": "caf\u00e9"}, "output": "Success: wrote 'a'"}}
{"timestamp": "2025-10-08T12:00:02Z", "run_id": "run-1", "cycle_number": 1, "event_type": "LLM_INVOCATION", "payload": {"prompt_messages": [{"role": "system", "content": "Explore."}, {"role": "assistant", "content": "<list/>", "tool_calls": [{"function": {"name": "write", "arguments": {"key": "a"}}}]}, {"role": "tool", "content": "Success", "tool_call_id": null}], "response_message": {"role": "assistant", "content": "<think>Enough."}, "model_options": {"temperature": 0.7, "seed": 42}}}
{"timestamp": "2025-10-08T12:00:03Z", "run_id": "run-1", "cycle_number": 1, "event_type": "CYCLE_END", "payload": {"final_reflection": "I wrote \"a\".", "metrics": {"memory_ops_total": 1, "messages_to_operator": 0, "response_chars": 59, "memory_write_chars": 4}}}
`

// imported makes a record of a log.
func imported(t *testing.T, o record.Options, text string) (*recordset.Set, []string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "r")
	o.Policy = record.None
	w, err := record.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	var faults []string
	x := &Importer{To: w, Grammar: sotto.Default(), Start: sotto.BeginAuto, Model: "llama3:latest", Fault: func(line int, err error) { faults = append(faults, fmt.Sprintf("%d: %v", line, err)) }}
	if err := x.Import(context.Background(), strings.NewReader(text), "file"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	set, err := recordset.Open(dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return set, faults
}

func exported(t *testing.T, set *recordset.Set) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, set.Events(record.Query{Types: Types}), func(err error) error { return err }); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A log that is imported and written again has the same values in the same members.
func TestThereAndBack(t *testing.T) {
	set, faults := imported(t, record.Options{}, log)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	got, want := strings.Split(exported(t, set), "\n"), strings.Split(log, "\n")
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d", len(got), len(want))
	}
	for i := range want[:len(want)-1] {
		var a, b any
		if json.Unmarshal([]byte(got[i]), &a) != nil || json.Unmarshal([]byte(want[i]), &b) != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("line %d:\n%s\nwant\n%s", i+1, got[i], want[i])
		}
	}
}

// The replies are recorded as they came, and read.
func TestRecordedReplies(t *testing.T) {
	set, _ := imported(t, record.Options{}, log)
	var replies []record.Reply
	for e, err := range set.Events(record.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		switch p := e.Payload.(type) {
		case record.RunStart:
			if p.Model != "llama3:latest" || e.Run != "run-1" {
				t.Errorf("the run begins with %+v", p)
			}
		case record.Invocation:
			replies = append(replies, p.Replies...)
		case record.ToolCall:
			if p.Of == nil || p.Of.Seq != 3 || p.Of.Digest != replies[0].Digest {
				t.Errorf("the call is of %+v", p.Of)
			}
		}
	}
	if len(replies) != 2 || replies[0].Raw.Text != "<thinking>I list first. 🙂</thinking>\n\n<list/>" {
		t.Fatalf("%+v", replies)
	}
	if s := replies[0].Segments; len(s) < 3 || s[1].Channel != sotto.ChannelReasoning {
		t.Errorf("segments %+v", s)
	}
}

// What was not recorded is null in the log.
func TestCutTexts(t *testing.T) {
	set, _ := imported(t, record.Options{Reasoning: record.Off}, log)
	text := exported(t, set)
	if strings.Contains(text, "I list first") || strings.Contains(text, "Enough") || strings.Count(text, `"response_message":{"role":"assistant","content":null`) != 2 {
		t.Error(text)
	}
}

// A line that is wrong is said with its number, and the others are imported.
func TestFaults(t *testing.T) {
	ok := strings.Split(log, "\n")[0]
	deep := strings.Repeat("[", 2000) + strings.Repeat("]", 2000)
	for line, want := range map[string]string{
		`{`:                                     "2: the line is not valid JSON",
		`[1]`:                                   "2: the line is not a JSON object",
		`"x"`:                                   "2: the line is not a JSON object",
		deep:                                    "2: the line nests deeper",
		`{"a":1}`:                               `2: timestamp ""`,
		strings.Replace(ok, "run-1", "../x", 1): `2: run_id "../x": not a run's name`,
		strings.Replace(ok, "run-1", "", 1):     `2: run_id "": not a run's name`,
		strings.Replace(ok, "CYCLE_START", "CYCLE", 1):          `2: event_type "CYCLE": want`,
		strings.Replace(ok, "CYCLE_START", "LLM_INVOCATION", 1): "2: payload.response_message is missing",
		strings.Replace(ok, "2025-", "yesterday ", 1):           "2: timestamp",
	} {
		set, faults := imported(t, record.Options{}, "\n"+line+"\n"+ok)
		if len(faults) != 1 || !strings.HasPrefix(faults[0], want) {
			t.Errorf("%.60s: faults %q, want %q", line, faults, want)
		}
		if n := strings.Count(exported(t, set), "\n"); n != 1 {
			t.Errorf("%.60s: %d lines were imported", line, n)
		}
	}
}

// TestThinkingOfACycle: the thoughts at the end of a cycle are one text, which is imported
// again; they are left out if the record does not have all of them.
func TestThinkingOfACycle(t *testing.T) {
	say := func(texts ...string) (list []record.Thought) {
		for _, text := range texts {
			list = append(list, record.Thought{Field: "thinking", Text: record.Say(text)})
		}
		return list
	}
	cut := say("one", "")
	cut[1].Text.Cuts = []record.Cut{{End: 3, Why: "limit"}}
	for _, c := range []struct {
		thoughts []record.Thought
		want     string
	}{{nil, ""}, {say("one"), "one"}, {say("one", "two"), "one\n\ntwo"}, {cut, ""}} {
		x := Exporter{}
		lines := x.Lines(&recordset.Event{Event: record.Event{Type: record.TypeCycleEnd, Payload: record.CycleEnd{Summary: record.Say("Done."), Reasoning: c.thoughts}}})
		payload, err := json.Marshal(lines[0].Payload)
		if err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(string(payload), `"thinking"`); has != (c.want != "") {
			t.Errorf("%s", payload)
		}
		root, err := foreignjson.Parse(payload)
		if err != nil {
			t.Fatal(err)
		}
		p, err := (&Importer{}).payload(&run{}, "CYCLE_END", root)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, thought := range p.(record.CycleEnd).Reasoning {
			got += string(thought.Text.Text)
		}
		if got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
