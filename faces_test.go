package sotto_test

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sotto-llm/sotto"
)

func streamOf(list ...string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, d := range list {
			if !yield(d, nil) {
				return
			}
		}
	}
}

func ExampleParse() {
	r := sotto.Parse("<think>6 times 7 is 42.</think>\n\nForty-two.", sotto.Stopped)
	fmt.Println(r.Visible())
	fmt.Println(r.Reasoning())
	// Output:
	// Forty-two.
	// [6 times 7 is 42.]
}

func ExampleFilter() {
	f, err := sotto.Default().NewFilter(sotto.Options{})
	if err != nil {
		panic(err)
	}
	f.OnThought = func(t sotto.Thought) { fmt.Printf("(%s)\n", t.Text) }
	for _, delta := range []string{"<thi", "nk>Easy.</th", "ink>Forty", "-two."} {
		fmt.Print(f.Push(delta))
	}
	fmt.Println(f.Close(sotto.Stopped))
	// Output:
	// (Easy.)
	// Forty-two.
}

func ExampleGrammar_Events() {
	stream := streamOf("<think>Ea", "sy.</think>", "Forty-two.")
	for ev, err := range sotto.Default().Events(stream, sotto.Options{}) {
		if err != nil {
			panic(err)
		}
		switch ev := ev.(type) {
		case sotto.Thought:
			fmt.Printf("thought %q\n", ev.Text)
		case sotto.VisibleDelta:
			fmt.Printf("visible %q\n", ev.Text)
		}
	}
	// Output:
	// thought "Easy."
	// visible "Forty-two."
}

func ExampleGrammar_NewReader() {
	r, err := sotto.Default().NewReader(strings.NewReader("<think>Easy.</think>Forty-two.\n"), sotto.Options{})
	if err != nil {
		panic(err)
	}
	_, _ = io.Copy(os.Stdout, r)
	// Output: Forty-two.
}

// Every thought is available the moment its block closes, not only the last.
func TestThoughtsAreGivenAtTheirCloses(t *testing.T) {
	f, err := sotto.Default().NewFilter(sotto.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	f.OnThought = func(th sotto.Thought) { got = append(got, fmt.Sprintf("%d %s %t", th.Block, th.Text, th.Closed)) }
	for _, step := range []struct {
		delta string
		want  []string
	}{
		{"<think>one</thi", nil},
		{"nk>a", []string{"1 one true"}},
		{"\n<thinking>two</thinking>", []string{"2 two true"}},
		{"b\n<reasoning>three", nil},
	} {
		got = nil
		f.Push(step.delta)
		if !slices.Equal(got, step.want) {
			t.Errorf("after %q: %q, want %q", step.delta, got, step.want)
		}
	}
	got = nil
	f.Close(sotto.Cut)
	if want := []string{"3 three false"}; !slices.Equal(got, want) {
		t.Errorf("at the end: %q, want %q", got, want)
	}
}

// The faces show what Visible shows, in whatever pieces the reply comes.
func TestFacesAgree(t *testing.T) {
	g := sotto.Default()
	for _, raw := range []string{
		"", "plain", "<think>r</think>\n\na", "<scratch_pad>x</scratch_pad>\n<output>\n a <think>s</think> b \n</output> aside",
		"a <think>b</think>\nc\n", "<think>unfinished", "x < y `<think>` z", "<narrate>go</narrate>done",
	} {
		r, err := g.Parse(raw, sotto.Outside, sotto.Unknown)
		if err != nil {
			t.Fatal(err)
		}
		want := r.Visible()
		f, _ := g.NewFilter(sotto.Options{Start: sotto.Outside, MaxHold: -1})
		got := ""
		for i := range len(raw) {
			got += f.Push(raw[i : i+1])
		}
		if got += f.Close(sotto.Unknown); got != want {
			t.Errorf("%q: filter %q, want %q", raw, got, want)
		}
		rd, _ := g.NewReader(iotest.OneByteReader(strings.NewReader(raw)), sotto.Options{Start: sotto.Outside, MaxHold: -1})
		if b, err := io.ReadAll(rd); err != nil || string(b) != want {
			t.Errorf("%q: reader %q %v, want %q", raw, b, err, want)
		}
		var b strings.Builder
		w, _ := g.NewWriter(&b, sotto.Options{Start: sotto.Outside, MaxHold: -1})
		for i := range len(raw) {
			if _, err := io.WriteString(w, raw[i:i+1]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil || b.String() != want {
			t.Errorf("%q: writer %q %v, want %q", raw, b.String(), err, want)
		}
	}
}

// A broken stream gives what was held, how it ended, and then the error.
func TestEventsOfABrokenStream(t *testing.T) {
	broken := errors.New("connection reset")
	stream := func(yield func(string, error) bool) {
		_ = yield("hello <thi", nil) && yield("", broken)
	}
	var text string
	var finished sotto.Finished
	var got error
	for ev, err := range sotto.Default().Events(stream, sotto.Options{}) {
		if err != nil {
			got = err
			continue
		}
		switch ev := ev.(type) {
		case sotto.VisibleDelta:
			text += ev.Text
		case sotto.Finished:
			finished = ev
		}
	}
	if text != "hello <thi" || finished.End != sotto.Aborted || !errors.Is(got, broken) {
		t.Errorf("text %q, end %v, error %v", text, finished.End, got)
	}
}

// An unknown block name is an error that names those there are.
func TestUnknownStart(t *testing.T) {
	_, err := sotto.Default().NewSplitter(sotto.Options{Start: sotto.Inside("pondering")})
	if err == nil || !strings.Contains(err.Error(), "pondering") || !strings.Contains(err.Error(), "scratch_pad") {
		t.Errorf("error %v", err)
	}
}

// TestPieceShown tells where each piece stands in what is shown.
func TestPieceShown(t *testing.T) {
	g := sotto.Default()
	const raw = "one<think>two</think>three<think>four</think> five"
	for cut := 1; cut <= len(raw); cut++ {
		s, err := g.NewSplitter(sotto.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got string
		gather := func(pieces []sotto.Piece) {
			from, visible := 0, s.Visible()
			for _, p := range pieces {
				got += string(visible[from:p.Shown])
				from = p.Shown
				if p.Channel == sotto.Reasoning {
					got += "(" + string(p.Bytes) + ")"
				}
			}
			got += string(visible[from:])
		}
		for at := 0; at < len(raw); at += cut {
			gather(s.FeedString(raw[at:min(at+cut, len(raw))]))
		}
		gather(s.Close(sotto.Stopped))
		if got = strings.ReplaceAll(got, ")(", ""); got != "one(two)three(four) five" {
			t.Errorf("cut every %d bytes: %q", cut, got)
		}
	}
}
