package streamview_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/lab/runview"
	. "github.com/sotto-llm/sotto/internal/lab/streamview"
)

// A stream is the same from its output and from its record, except for the names of the problems,
// which the record does not have.
func TestSources(t *testing.T) {
	dir, outputs := consoletest.Streams(t)
	source := runview.NewSource(consoletest.Store(t, dir))
	for i, run := range []string{consoletest.WithMemory, consoletest.WithoutMemory} {
		of, err := Read(t.Context(), outputs[i])
		if err != nil {
			t.Fatal(err)
		}
		r, err := source.Run(t.Context(), run)
		if err != nil || !r.IsStream() {
			t.Fatalf("%+v, %v", r, err)
		}
		recorded, err := source.Stream(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		for k := range of.Problems {
			if p := &of.Problems[k]; p.Solved {
				p.Reason = "" // the record keeps none
			}
		}
		if d := cmp.Diff(of, recorded, cmpopts.IgnoreFields(Problem{}, "ID"), cmpopts.IgnoreUnexported(Problem{})); d != "" || len(of.Problems) != 13 {
			t.Errorf("%s: %s", run, d)
		}
	}
}

// random is a stream of problems of a few names, which may come again.
func random(r *rand.Rand) *Stream {
	s := &Stream{}
	for n := range r.IntN(12) {
		s.Add(Problem{N: n + 1, ID: fmt.Sprint("p", r.IntN(8)), Solved: r.IntN(2) == 0, Calls: r.IntN(2), Tokens: r.Int64N(2)})
	}
	return s
}

// Each problem of both streams is in one pair, beside the same coming of the same name in the
// other stream, if there is one. The pairs are in the order of the first stream.
func TestAlign(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		a, b := random(r), random(r)
		all := Align(a, b)
		if len(all) < max(len(a.Problems), len(b.Problems)) || len(all) > len(a.Problems)+len(b.Problems) {
			t.Fatalf("seed %d: %d pairs", seed, len(all))
		}
		last := 0
		for i := range all {
			if p := all[i].A; p != nil {
				if p.N <= last {
					t.Fatalf("seed %d: problem %d comes after %d", seed, p.N, last)
				}
				last = p.N
			}
		}
		for i, s := range []*Stream{a, b} {
			coming := map[string]int{}
			for _, p := range s.Problems {
				found := slices.IndexFunc(all, func(x Pair) bool { mine := []*Problem{x.A, x.B}[i]; return mine != nil && mine.N == p.N })
				if found < 0 {
					t.Fatalf("seed %d: problem %d is in no pair", seed, p.N)
				}
				other := []*Stream{b, a}[i]
				var want *Problem
				n := coming[p.ID]
				coming[p.ID]++
				for k := range other.Problems {
					if o := &other.Problems[k]; o.ID == p.ID {
						if n == 0 {
							want = o
							break
						}
						n--
					}
				}
				got := []*Problem{all[found].B, all[found].A}[i]
				if (want == nil) != (got == nil) || want != nil && want.N != got.N {
					t.Fatalf("seed %d: problem %d is beside %+v, want %+v", seed, p.N, got, want)
				}
			}
		}
	}
}

// Each kind has as many pairs as are counted, and only its own. If the streams change places, so
// do what each has alone and the difference. The first pair is one that is right in one stream
// only, if there is one. A stream is the same as itself.
func TestCompare(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 2))
		a, b := random(r), random(r)
		for _, change := range Changes() {
			c := Compare("a", a, "b", b, Query{Show: change})
			if c.Selected != c.Count[change] || len(c.Pairs) != c.Selected || slices.ContainsFunc(c.Pairs, func(p Pair) bool { return p.Change != change }) {
				t.Fatalf("seed %d: of %d pairs that are %s: %+v", seed, c.Count[change], change, c.Pairs)
			}
		}
		c, back := Compare("a", a, "b", b, Query{}), Compare("b", b, "a", a, Query{})
		if c.Count[Gained] != back.Count[Lost] || c.Count[OnlyA] != back.Count[OnlyB] || c.Difference.Value != -back.Difference.Value || c.Difference.P != back.Difference.P {
			t.Fatalf("seed %d: %+v and %+v", seed, c.Count, back.Count)
		}
		if (c.First == nil) != (len(c.Pairs) == 0) {
			t.Fatalf("seed %d: first %+v of %d pairs", seed, c.First, len(c.Pairs))
		}
		if f := c.First; f != nil && c.Count[Gained]+c.Count[Lost] > 0 && f.Change != Gained && f.Change != Lost {
			t.Fatalf("seed %d: the first is %s, and there are others", seed, f.Change)
		}
		if same := Compare("a", a, "a", a, Query{}); same.First != nil || same.Selected != 0 || same.Count[Same] != len(a.Problems) {
			t.Fatalf("seed %d: a stream differs from itself: %+v", seed, same.Count)
		}
	}
}

// The pages of a list, one after the other, are all of it, and no pair is on two.
func TestPages(t *testing.T) {
	a, b := &Stream{}, &Stream{}
	for n := range 2*Rows + 7 {
		a.Add(Problem{N: n + 1, ID: fmt.Sprint(n), Solved: true})
	}
	for at, pages := 0, 0; ; pages++ {
		c := Compare("a", a, "b", b, Query{At: at})
		for i, p := range c.Pairs {
			if p.A.N != at+i+1 {
				t.Fatalf("row %d has problem %d", at+i, p.A.N)
			}
		}
		if c.Next == 0 {
			if at+len(c.Pairs) != 2*Rows+7 || pages != 2 {
				t.Errorf("%d pages, the last ends at %d", pages+1, at+len(c.Pairs))
			}
			return
		}
		at = c.Next
	}
}

// What is wrong with an output is said with its place. A long one is cut, and says so.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) string {
		name := filepath.Join(dir, "stream.jsonl")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	if _, err := Read(t.Context(), write("{\"type\":\"run\"}\n\n{\"type\":")); err == nil || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("%v", err)
	}
	if _, err := Read(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("%v", err)
	}
	if _, err := Read(t.Context(), filepath.Join(dir, "none")); err == nil {
		t.Error("a file that is not there is read")
	}
	s, err := Read(t.Context(), write(strings.Repeat(`{"type":"problem","n":-4,"input":1e999,"output":"x","id":7,"attempts":7}`+"\n", MaxProblems+1)))
	if err != nil || !s.Partial || len(s.Problems) != MaxProblems || s.Problems[0].N != 0 || s.Problems[0].Tokens != 0 || s.Problems[0].Calls != 0 {
		t.Errorf("%d problems, %v, partial %v, %+v", len(s.Problems), err, s.Partial, s.Problems[0])
	}
	for _, q := range []string{"show=x", "at=-1", "at=x"} {
		v, _ := url.ParseQuery(q)
		if _, err := ParseQuery(v); err == nil {
			t.Errorf("%s is read", q)
		}
	}
}
