package answer_test

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
)

var update = flag.Bool("update", false, "write what is decided now into testdata/decisions.jsonl")

// Decisions are texts and all that the package decides about them: those that endings
// and other tests judge, and texts made of their pieces. Each was chosen because a change
// of the code alters a decision about it. After a change of the rules, run
//
//	go test ./answer -run TestDecisions -update
//
// and read the lines that changed.
//
//go:embed testdata/decisions.jsonl
var decisionsFile []byte

// A decision is a text and what was asked.
type decision struct {
	Ending    string   `json:"ending,omitempty"` // the name of the ending that is the text
	Task      string   `json:"task,omitempty"`
	TaskFile  string   `json:"task_file,omitempty"` // the task's own file, in place of its name
	Text      string   `json:"text,omitempty"`
	Gold      string   `json:"gold,omitempty"`
	Input     string   `json:"input,omitempty"`
	Options   []string `json:"options,omitempty"`
	Schema    string   `json:"schema,omitempty"`
	Lang      string   `json:"lang,omitempty"`
	File      string   `json:"file,omitempty"`
	Key       string   `json:"key,omitempty"`
	Cut       bool     `json:"cut,omitempty"`
	Reasoning bool     `json:"reasoning,omitempty"`

	Reply     string `json:"as_reply"`        // what the text gives as a whole reply
	Tried     string `json:"tried,omitempty"` // what each tier found in it
	Candidate string `json:"as_candidate"`    // what it gives as a candidate
}

// asked returns the decision with the text and the problem of its ending.
func (d decision) asked(endings map[string]ending) decision {
	if d.Ending == "" {
		return d
	}
	e := endings[d.Ending]
	return decision{Task: e.Task, Text: e.Reply, Gold: e.Gold, Input: e.Input, Options: e.Options, Lang: e.Lang, Cut: e.End == "cut"}
}

// task returns the task, by its name or from its file.
func (d *decision) task() (answer.Task, error) {
	if d.TaskFile != "" {
		return answer.ReadTask("t.yaml", []byte(d.TaskFile))
	}
	return answer.TaskNamed(d.Task)
}

// decide fills in what is decided.
func (d *decision) decide() error {
	task, err := d.task()
	if err != nil {
		d.Reply, d.Tried, d.Candidate = "refused: "+err.Error(), "", ""
		return nil
	}
	p := answer.Problem{
		Input: d.Input, Gold: d.Gold, Options: d.Options, Schema: []byte(d.Schema), Lang: d.Lang, File: d.File, Key: d.Key,
	}
	o := answer.Options{FromReasoning: d.Reasoning}
	if d.Cut {
		o.End = sotto.EndCut
	}
	x := answer.Extract(task, d.Text, p, o)
	d.Reply = x.Candidate + " | " + string(x.Status) + " by " + x.Method
	if x.Span != nil {
		d.Reply += fmt.Sprintf(" at %d", x.Span.Start)
	}
	if n := x.Attempts[len(x.Attempts)-1].Found; n > 1 {
		d.Reply += fmt.Sprintf(", the last of %d", n)
	}
	d.Reply += " | " + verdictText(task.Validate(x.Candidate, p))
	d.Tried = triedText(x.Attempts)
	normal := task.Normalise(d.Text)
	d.Candidate = normal + " | " + verdictText(task.Validate(normal, p))
	if task.Precheck(d.Text, p) {
		d.Candidate += " | a line"
	}
	query, trace := task.Distil(p, d.Text)
	if query != "" && query != d.Input {
		d.Candidate += " | asked: " + query
	}
	if trace != "" {
		d.Candidate += " | kept: " + trace
	}
	return nil
}

// triedText lists what the tiers found: how many, where the taken one stands, and why
// none was taken.
func triedText(list []answer.Attempt) string {
	var b strings.Builder
	for _, a := range list {
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(a.Method)
		if a.Found > 0 {
			fmt.Fprintf(&b, " %d", a.Found)
		}
		if a.Span != nil {
			fmt.Fprintf(&b, " at %d-%d", a.Span.Start, a.Span.End)
		}
		if a.Why != "" {
			b.WriteString(" " + a.Why)
		}
	}
	return b.String()
}

func verdictText(v answer.Verdict) string {
	s := string(v.Reason)
	if v.By != "" {
		s += " by " + v.By
	}
	if v.Detail != "" {
		s += ": " + v.Detail
	}
	return s
}

func readDecisions(t *testing.T) (list []decision) {
	lines := bufio.NewScanner(bytes.NewReader(decisionsFile))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var d decision
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			t.Fatalf("%s: %v", lines.Bytes(), err)
		}
		list = append(list, d)
	}
	return list
}

func TestDecisions(t *testing.T) {
	endings := map[string]ending{}
	for _, e := range readEndings(t) {
		endings[e.Name] = e
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for _, d := range readDecisions(t) {
		asked := d.asked(endings)
		if err := asked.decide(); err != nil {
			t.Fatal(err)
		}
		now := d
		now.Reply, now.Tried, now.Candidate = asked.Reply, asked.Tried, asked.Candidate
		if err := enc.Encode(now); err != nil {
			t.Fatal(err)
		}
		if *update {
			continue
		}
		about := strings.TrimSpace(fmt.Sprintf("%s: %q %s", asked.Task, asked.Text, asked.Gold))
		if now.Reply != d.Reply {
			t.Errorf("%s: as a reply\n got %s\nwant %s", about, now.Reply, d.Reply)
		}
		if now.Tried != d.Tried {
			t.Errorf("%s: tried\n got %s\nwant %s", about, now.Tried, d.Tried)
		}
		if now.Candidate != d.Candidate {
			t.Errorf("%s: as a candidate\n got %s\nwant %s", about, now.Candidate, d.Candidate)
		}
	}
	if *update {
		if err := os.WriteFile("testdata/decisions.jsonl", out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
