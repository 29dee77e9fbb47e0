package agent

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/record"
)

// keeps is a run that writes a key in each of its cycles, and then another.
func keeps(t *testing.T, value string) Experiment {
	script := ""
	for cycle := 1; cycle <= 3; cycle++ {
		script += fmt.Sprintf(`
- when: {user: "cycle %[1]d of", step: 1}
  text: Keep it.
  calls: [{name: write, arguments: {key: k%[1]d, value: %[2]s}}, {name: write, arguments: {key: last, value: %[2]s %[1]d}}]
- when: {user: "cycle %[1]d of"}
  text: Kept.
`, cycle, value)
	}
	return Experiment{Name: "r", Cycles: 3, Memory: AllMemory(), Model: scripted(t, script)}
}

// A record that lost its end, at any event, is resumed although the log of the
// memory lost nothing, and although the model now says something else. What the
// record does not hold did not happen.
func TestRecordLosesItsEnd(t *testing.T) {
	whole := t.TempDir()
	run1(t, keeps(t, "old"), whole)
	list, _ := filepath.Glob(filepath.Join(whole, "record", "*.jsonl"))
	data, err := os.ReadFile(list[0])
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	log, err := os.ReadFile(filepath.Join(whole, "memory", "r.jsonl"))
	if err != nil || bytes.Count(log, []byte("\n")) != 6 {
		t.Fatalf("%s, %v", log, err)
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	chosen := effort.OneIn(3, "ends")
	for kept := 1; kept < len(lines)-1; kept++ {
		if !chosen() {
			continue
		}
		dir := t.TempDir()
		for _, name := range []string{"record", "memory"} {
			os.Mkdir(filepath.Join(dir, name), 0o700)
		}
		os.WriteFile(filepath.Join(dir, "record", filepath.Base(list[0])), bytes.Join(lines[:kept], nil), 0o600)
		os.WriteFile(filepath.Join(dir, "memory", "r.jsonl"), log, 0o600)
		for range 2 { // it is resumed, and then only read
			if s, err := Run(t.Context(), keeps(t, "new"), in(dir)); err != nil || s.Status != Done {
				t.Fatalf("%d events are left: %v, %v", kept, s.Status, err)
			}
		}
		if p, err := Replay(t.Context(), keeps(t, "new"), filepath.Join(dir, "record"), Options{}); err != nil || p.Difference != nil {
			t.Fatalf("%d events are left: %v, %v", kept, p.Difference, err)
		}
		want := map[string]string{} // by the record
		for _, e := range events(t, dir, record.Query{Types: []record.Type{record.TypeToolCall}}) {
			if x := e.Payload.(record.ToolCall); x.Phase == "end" {
				a := textsOf(Use{Arguments: []byte(x.Arguments.Text)})
				want[a["key"]] = a["value"]
			}
		}
		if d := cmp.Diff(want, valuesOf(t, filepath.Join(dir, "memory"))); d != "" {
			t.Errorf("%d events are left:\n%s", kept, d)
		}
	}
}

// valuesOf reads what the log of the memory of run r comes to.
func valuesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	m, err := OpenMemory(dir, "r")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, c := range m.past {
		m.apply(c.change)
	}
	return m.values
}

// The log of a run that the record does not hold at all is not removed.
func TestMemoryOfLostRecord(t *testing.T) {
	dir := t.TempDir()
	run1(t, keeps(t, "old"), dir)
	file := filepath.Join(dir, "memory", "r.jsonl")
	before, _ := os.ReadFile(file)
	os.RemoveAll(filepath.Join(dir, "record"))
	_, err := Run(t.Context(), keeps(t, "new"), in(dir))
	if !isError(err, ErrMemory) || !strings.Contains(err.Error(), file) {
		t.Errorf("error %v, want ErrMemory that names the file", err)
	}
	if after, _ := os.ReadFile(file); !bytes.Equal(before, after) {
		t.Error("the log was changed")
	}
}
