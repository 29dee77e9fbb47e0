package metagraph_test

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
)

// A graph in memory learns as one in a file does, writes no file, and its snapshot begins
// another that knows the same. A snapshot that is not a graph is refused.
func TestHeld(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", ".")
	g, err := metagraph.OpenHeld(nil, metagraph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	p := answer.Problem{Input: "3 5 8 11"}
	passed, _ := metagraph.Judge(answer.Game24, p, "(8-5)*(11-3)", "")
	if _, err := g.Learn(t.Context(), metagraph.Attempt{ID: "r/1", Task: "game24", Query: metagraph.Query(answer.Game24, p), Passed: passed}); err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := g.Export(t.Context(), &want); err != nil || want.Len() == 0 {
		t.Fatalf("%q, %v", want.String(), err)
	}
	data, err := g.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again, err := metagraph.OpenHeld(data, metagraph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	var got bytes.Buffer
	if err := again.Export(t.Context(), &got); err != nil || got.String() != want.String() || again.ID() != g.ID() {
		t.Errorf("%v, %s: %s\nwant %s: %s", err, again.ID(), got.String(), g.ID(), want.String())
	}
	learned, err := again.Learn(t.Context(), metagraph.Attempt{ID: "r/1", Task: "game24", Query: metagraph.Query(answer.Game24, p), Passed: passed})
	if err != nil || learned.Size.Traces != 1 {
		t.Errorf("learned again: %+v, %v", learned, err)
	}
	for _, bad := range [][]byte{{}, []byte("SQLite format 3\x00 and no more"), data[:len(data)/2], bytes.Repeat([]byte("x"), 8192)} {
		if g, err := metagraph.OpenHeld(bad, metagraph.Options{}); err == nil {
			g.Close()
			t.Errorf("a snapshot of %d bytes is taken", len(bad))
		} else if len(bad) == 8192 && !errors.Is(err, metagraph.ErrFormat) {
			t.Errorf("%v", err)
		}
	}
	if list, err := os.ReadDir("."); err != nil || len(list) != 0 {
		t.Errorf("files %v, %v", list, err)
	}
}
