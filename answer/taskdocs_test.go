package answer

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestTaskFileDocs runs the examples of docs/reference/tasks.md: there is one for each key
// of a task file.
func TestTaskFileDocs(t *testing.T) {
	doc, err := os.ReadFile("../docs/reference/tasks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(doc), "| key | a task |")
	table, _, _ = strings.Cut(table, "\n\n")
	shown := map[string]bool{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, " | ")
		if len(cells) != 4 || !strings.HasPrefix(line, "| `") {
			continue
		}
		for i, cell := range cells {
			cells[i] = strings.ReplaceAll(strings.Trim(cell, "| `\n"), "⏎", "\n")
		}
		key, file, reply, want := cells[0], cells[1], cells[2], cells[3]
		shown[key] = true
		task, err := ReadTask("docs", []byte(file))
		if err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		if x := Extract(task, reply, Problem{}, Options{}); x.Candidate != want {
			t.Errorf("%s: %q gives %q (%s), want %q", key, reply, x.Candidate, x.Method, want)
		} else if v := task.Validate(x.Candidate, Problem{Gold: want}); !v.OK && key != "validator" {
			t.Errorf("%s: %q is %s", key, want, v.Reason)
		}
		if !strings.Contains(file, key+":") {
			t.Errorf("the example of %s does not use it", key)
		}
	}
	for i := range reflect.TypeFor[taskRows]().NumField() {
		if key := reflect.TypeFor[taskRows]().Field(i).Tag.Get("yaml"); !shown[key] {
			t.Errorf("key %s has no example", key)
		}
	}
}
