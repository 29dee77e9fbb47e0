package sotto_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
)

// dataFile opens a file of replies that are not in the repository. If the file is
// missing, the test is skipped.
func dataFile(t *testing.T, elem ...string) *os.File {
	t.Helper()
	dir := os.Getenv("SOTTO_DATA")
	if dir == "" {
		t.Skip("SOTTO_DATA is not set: the recorded replies are not in the repository")
	}
	f, err := os.Open(filepath.Join(append([]string{dir}, elem...)...))
	if os.IsNotExist(err) {
		t.Skipf("no recorded replies: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// jsonLines calls line with every object in a file of JSON Lines.
func jsonLines[T any](t *testing.T, f *os.File, line func(T)) {
	t.Helper()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<26)
	for sc.Scan() {
		var v T
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v", f.Name(), err)
		}
		line(v)
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
}

// A recordedCase is what the tests of another splitter expect of a reply.
type recordedCase struct {
	ID     string `json:"id"`
	Family string `json:"family"`
	Input  string `json:"input"`
	Inside bool   `json:"starts_in_reasoning"`
	Expect struct {
		Reasoning string `json:"reasoning"`
		Visible   string `json:"visible"`
	} `json:"expect"`
	WS         string `json:"ws"`
	Note       string `json:"note"`
	ToolBlocks *int   `json:"tool_blocks"`
}

// cutNote appears in the note of cases whose generation ended at a limit.
const cutNote = "Generation stops"

// TestRecordedCases compares the reading with the cases that other splitters are
// tested with. If a case disagrees with docs/design.md, the grammar takes
// precedence, and the case is listed in otherReadings.
func TestRecordedCases(t *testing.T) {
	total, agree := 0, 0
	left := map[string]bool{}
	for id := range otherReadings {
		left[id] = true
	}
	jsonLines(t, dataFile(t, "..", "cases.jsonl"), func(c recordedCase) {
		total++
		why := otherReadings[c.ID]
		delete(left, c.ID)
		fault := c.read(t)
		switch {
		case fault == "":
			agree++
			if why != "" {
				t.Errorf("%s agrees now; it is listed as %q", c.ID, why)
			}
		case why == "":
			t.Errorf("%s (%s) %q: %s\n%s", c.ID, c.Family, c.Input, fault, c.Note)
		}
	})
	for id := range left {
		t.Errorf("%s is listed and not among the cases", id)
	}
	t.Logf("%d of %d cases read as their source expects, %d read otherwise for a named reason", agree, total, len(otherReadings))
}

// read reports where the reading differs from what the case expects.
func (c *recordedCase) read(t *testing.T) string {
	t.Helper()
	g, err := sotto.Named(c.Family)
	if err != nil {
		return err.Error()
	}
	start, end := sotto.BeginAuto, sotto.EndUnknown
	if c.Inside {
		start = sotto.BeginInsideFirst
	}
	if strings.HasPrefix(c.Note, cutNote) {
		end = sotto.EndCut
	}
	r, err := g.Parse(c.Input, start, end)
	if err != nil {
		return err.Error()
	}
	reasoning, text, tools := r.RawOf(sotto.ChannelReasoning), r.RawOf(sotto.ChannelText), 0
	for _, sg := range r.Segments {
		if sg.Channel == sotto.ChannelTool {
			tools++
		}
	}
	want := c.Expect
	if c.WS == "trim" {
		reasoning, text = strings.TrimSpace(reasoning), strings.TrimSpace(text)
		want.Reasoning, want.Visible = strings.TrimSpace(want.Reasoning), strings.TrimSpace(want.Visible)
	}
	fault, err := json.Marshal(map[string]any{"reasoning": reasoning, "text": text, "tools": tools})
	if err != nil {
		t.Fatal(err)
	}
	if reasoning != want.Reasoning || text != want.Visible || c.ToolBlocks != nil && *c.ToolBlocks != tools {
		return string(fault)
	}
	return ""
}

// otherReadings are the cases that the grammar reads differently from their source,
// each with the rule that decides.
var otherReadings = map[string]string{
	"rp-112": "G6: of an opener that the model repeats only the marker is markup; the newline before it is reasoning, since segments keep every byte",
	"rp-120": "G4: indentation is no code, since prose and lists are indented too",
	"rp-123": "G5: a quoted close is passed over where an unquoted own close follows",
	"rp-130": "G4c: a fence that never closes protects nothing in a reply that was not cut",
	"rp-132": "G6: a nested block belongs to the block around it, so that its rest does not leak",
	"rp-137": "G1: the name of a tag is compared without case",
	"rp-138": "G1: a reasoning tag may carry attributes",
	"rp-139": "G1: white space may follow the name of a tag",
	"rp-175": "G12: narration is a channel of its own, given inline only where a consumer has no place for it",
	"rp-187": "G12: as rp-175",
	"rp-227": "G8: what began inside a block is its body until a header ends it; that the model ignored the prefill is no one's knowledge",
	"rp-239": "G9: a close before anything visible is markup, the second as well as the first",
}
