package model_test

import (
	"os"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/model"
)

// The example of the documentation is a script.
func TestDocs(t *testing.T) {
	b, err := os.ReadFile("../docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	var example strings.Builder
	for line := range strings.Lines(string(b)) {
		if code, ok := strings.CutPrefix(line, "    "); ok {
			example.WriteString(code)
		}
	}
	s, err := model.ReadScript(strings.NewReader(example.String()), "docs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m := model.NewScripted("", s)
	if r := invoke(t, m, asked("?")); r.err != nil || len(r.calls) != 1 || r.reply.Raw != "<think>Look it up.</think>I look it up." {
		t.Errorf("%v: %+v", r.err, r.reply)
	}
	q := asked("1", "2", "3", "4", "cycle 6")
	for range 8 {
		q.Messages = append(q.Messages, model.Message{Role: model.Assistant, Text: "x"})
	}
	if r := invoke(t, m, q); r.err != nil || r.reply.Finish != "length" {
		t.Errorf("%v: %+v", r.err, r.reply)
	}
}
