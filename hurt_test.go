package sotto_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
)

// TestAppendToPieces: a caller may append to the pieces, and to the bytes of each, without
// a change of the delta, of another piece, or of the rest of the reading. Every case is cut
// at every byte.
func TestAppendToPieces(t *testing.T) {
	for _, c := range readCorpus(t) {
		plain := make([]byte, 0, 2*len(c.raw)+64) // appending to a delta would write here
		for cut := range len(c.raw) + 1 {
			s, err := c.grammar.NewSplitter(sotto.Options{Start: c.start, MaxHold: c.maxHold})
			if err != nil {
				t.Fatal(err)
			}
			var visible, all []byte
			give := func(pieces []sotto.Piece) {
				want := make([][2]string, len(pieces))
				for i, p := range pieces {
					want[i] = [2]string{string(p.Bytes), string(p.Visible)}
				}
				for _, p := range pieces {
					_ = append(p.Bytes, "########"...)
					_ = append(p.Visible, "########"...)
				}
				_ = append(pieces, sotto.Piece{Bytes: []byte("########")})
				for i, p := range pieces {
					if [2]string{string(p.Bytes), string(p.Visible)} != want[i] {
						t.Fatalf("%s cut at %d: a piece is %q now, and was %q", c.name, cut, p.Bytes, want[i])
					}
					all, visible = append(all, p.Bytes...), append(visible, p.Visible...)
				}
			}
			input := append(plain[:0], c.raw...)
			give(s.Feed(input[:cut]))
			give(s.Feed(input[cut:]))
			if !bytes.Equal(input, []byte(c.raw)) {
				t.Fatalf("%s cut at %d: the input is %q now", c.name, cut, input)
			}
			give(s.FeedString("")) // of a string nobody may write at all
			give(s.Close(c.end))
			if string(all) != c.raw {
				t.Fatalf("%s cut at %d: the pieces are %q", c.name, cut, all)
			}
		}
	}
}

// TestFeedAfterClose: a delta after the end is a fault of the caller, which is told.
func TestFeedAfterClose(t *testing.T) {
	says := func(what string, feed func()) {
		defer func() {
			text, _ := recover().(string)
			if !strings.HasPrefix(text, "sotto: a delta after the end of the reply") {
				t.Errorf("%s: %q", what, text)
			}
		}()
		feed()
		t.Errorf("%s after Close is taken", what)
	}
	s, err := sotto.Default().NewSplitter(sotto.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.FeedString("a")
	s.Close(sotto.EndStopped)
	says("Feed", func() { s.Feed([]byte("late")) })
	says("an empty Feed", func() { s.FeedString("") })
	var f sotto.Filter
	f.Close(sotto.EndStopped)
	says("Filter.Feed", func() { f.Feed("late") })

	var b strings.Builder
	w, err := sotto.Default().NewWriter(&b, sotto.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := w.Write([]byte("late")); n != 0 || !errors.Is(err, sotto.ErrClosed) {
		t.Errorf("Write: %d, %v", n, err)
	}
}

// TestFilterReset: a filter that was reset reads as a new one, in the middle of a reply or
// after it.
func TestFilterReset(t *testing.T) {
	read := func(f *sotto.Filter, deltas ...string) (said []string) {
		f.OnText = func(text string) { said = append(said, text) }
		f.OnThought = func(th sotto.Thought) { said = append(said, "thought "+th.Text) }
		for _, d := range deltas {
			f.Feed(d)
		}
		return said
	}
	const reply = "<think>One.</think>Two. \xe4\xb8"
	f, err := sotto.Default().NewFilter(sotto.Options{Start: sotto.BeginAuto})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"thought One.", "Two. "}
	for _, before := range [][]string{{}, {reply}, {"<think>Thr"}, {"a", "\xe4"}} {
		f.Reset() // each begins a reply
		read(f, before...)
		if len(before) > 1 {
			f.Close(sotto.EndStopped)
		}
		f.Reset()
		if f.Marked() || len(f.Diagnostics()) > 0 {
			t.Errorf("after %q: marked %v, %v", before, f.Marked(), f.Diagnostics())
		}
		if got := read(f, reply); !slices.Equal(got[:2], want) {
			t.Errorf("after %q: %q, want %q", before, got, want)
		}
	}
}

// TestParseFindsTheStart: a whole reply waits for nothing, so a grammar finds its start as
// the functions of the package do, unless the caller says where it is.
func TestParseFindsTheStart(t *testing.T) {
	const raw = "SECRET</think>Yes."
	for _, g := range []*sotto.Grammar{sotto.Default(), family(t, "qwen3"), family(t, "deepseek-r1")} {
		r, err := g.Parse(raw, "", sotto.EndStopped)
		if err != nil || r.Visible() != "Yes." || r.Start != sotto.BeginAuto {
			t.Errorf("%s: %q from %q, %v", g.Dialect().Name, r.Visible(), r.Start, err)
		}
		if text, err := g.Strip(raw, ""); err != nil || text != "Yes." {
			t.Errorf("%s: stripped %q, %v", g.Dialect().Name, text, err)
		}
	}
	if r, err := sotto.Default().Parse(raw, sotto.BeginOutside, sotto.EndStopped); err != nil || r.Visible() != raw {
		t.Errorf("outside: %q, %v", r.Visible(), err)
	}
}

func family(t *testing.T, model string) *sotto.Grammar {
	t.Helper()
	g, ok := sotto.ForModel(model)
	if !ok {
		t.Fatal(model)
	}
	return g
}
