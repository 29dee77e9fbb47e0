package memoryfigures

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
)

// The figures of docs/memory.md: counted ones must match exactly, and drawn ones
// must be within the range of other draws.
func TestFigures(t *testing.T) {
	f := Compute()
	for _, n := range []struct {
		name      string
		got, want int
	}{{"games", f.Games, 1362}, {"trees", f.Trees, 3240}, {"functions", f.Functions, 1170}, {"useful", f.Useful, 369}, {"seeds", f.Seeds, 20}} {
		if n.got != n.want {
			t.Errorf("%s: %d, want %d", n.name, n.got, n.want)
		}
	}
	near := func(name string, got, want, within float64) {
		t.Helper()
		if math.Abs(got-want) > within {
			t.Errorf("%s: %.4f, want %.4f within %.4f", name, got, want, within)
		}
	}
	near("cover by 10", f.Cover[0].Share, 0.44, 0.005)
	near("cover by 50", f.Cover[1].Share, 0.84, 0.006)
	if f.CoverAll[0] > 135 || f.CoverAll[1] < 135 {
		t.Errorf("cover of all: %v; 135 is one of them", f.CoverAll)
	}
	for i, want := range []float64{0.23, 0.48, 0.62, 0.74, 0.885} {
		h := f.One.Hits[i]
		near("hits", h.Share, want, 2*h.Deviation/math.Sqrt(streams)+0.005)
	}
	near("deviation", f.One.Hits[4].Deviation, 0.0025, 0.001)
	near("templates", f.One.Templates, 156, 2)
	near("all kept", f.All.Hits[4].Share, 0.93, 0.005)
	for i, want := range []float64{0.223, 0.618, 0.785, 0.976} {
		near("memory", f.Memories[i].Share, want, 0.005)
	}
	if again := Compute(); again.One.Templates != f.One.Templates || again.Memories[0] != f.Memories[0] {
		t.Error("the figures change from one time to the next")
	}
}

// The figures in docs/memory.md are the same as the printed ones.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../../../docs/memory.md")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Compute().Print(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), b.String()) {
		t.Errorf("docs/memory.md does not hold what sotto solve figures prints:\n%s", b.String())
	}
}

// Right answers from the log enter memory, and nothing else does.
func TestLog(t *testing.T) {
	if effort.Brief() {
		t.Skip("reads 10,000 replies: needs SOTTO_EFFORT")
	}
	name := os.Getenv("SOTTO_DATA")
	if name == "" {
		t.Skip("SOTTO_DATA names neither tot_game24.jsonl nor a folder that holds it")
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		name = filepath.Join(name, "tot_game24.jsonl")
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	got, err := ComputeLog(context.Background(), file, "CoT")
	if want := (Log{Replies: 10000, Right: 403, Traces: 49, Wrong: 0, Unchecked: 1185}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	text, err := os.ReadFile("../../../docs/memory.md")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if got.Print(&b); !strings.Contains(string(text), b.String()) {
		t.Errorf("docs/memory.md does not hold:\n%s", b.String())
	}
}

// A small log is computed in the same way as a large one.
func TestSmallLog(t *testing.T) {
	log := `{"id":"1","arm":"CoT","gold":"3 5 8 11","raw":"Answer: (8-5)*(11-3) = 24"}
{"id":"2","arm":"CoT","gold":"3 5 8 11","raw":"Answer: 3*8 = 24"}
{"id":"3","arm":"CoT","gold":"3 5 8 11","raw":"Answer: (11-3)*(8-5)"}
{"id":"4","arm":"CoT","gold":"3 5 8 11","raw":"Answer: 3*5+8+11"}
{"id":"5","arm":"IO","gold":"1 1 3 8","raw":"Answer: 3*8*1*1"}
`
	got, err := ComputeLog(context.Background(), strings.NewReader(log), "CoT")
	if want := (Log{Replies: 4, Right: 2, Traces: 1, Unchecked: 1}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}
