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
	"unicode/utf8"
	"unsafe"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
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
	r := sotto.Parse("<think>6 times 7 is 42.</think>\n\nForty-two.", sotto.EndStopped)
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
	f.OnText = func(text string) { fmt.Print(text) }
	for _, delta := range []string{"<thi", "nk>Easy.</th", "ink>Forty", "-two."} {
		f.Feed(delta)
	}
	f.Close(sotto.EndStopped)
	// Output:
	// (Easy.)
	// Forty-two.
}

func ExampleGrammar_Events() {
	stream := streamOf("<think>Ea", "sy.</think>", "Forty-two.")
	for ev, err := range sotto.Default().Events(stream, sotto.StreamOptions{}) {
		if err != nil {
			panic(err)
		}
		switch ev := ev.(type) {
		case sotto.ReasoningDelta:
			fmt.Printf("reasoning %q\n", ev.Text)
		case sotto.VisibleDelta:
			fmt.Printf("visible %q\n", ev.Text)
		}
	}
	// Output:
	// reasoning "Ea"
	// reasoning "sy."
	// visible "Forty-two."
}

func ExampleGrammar_NewReader() {
	r, err := sotto.Default().NewReader(strings.NewReader("<think>Easy.</think>Forty-two.\n"), sotto.StreamOptions{})
	if err != nil {
		panic(err)
	}
	_, _ = io.Copy(os.Stdout, r)
	// Output: Forty-two.
}

// A Writer stands between what produces a reply and what shows it.
func ExampleGrammar_NewWriter() {
	w, err := sotto.Default().NewWriter(os.Stdout, sotto.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(w, "<think>%d times %d is %d.</think>", 6, 7, 42)
	fmt.Fprint(w, "Forty-two.\n")
	if err := w.CloseAs(sotto.EndStopped); err != nil {
		panic(err)
	}
	// Output: Forty-two.
}

// Every thought is available as soon as its block closes, not only the last one.
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
		f.Feed(step.delta)
		if !slices.Equal(got, step.want) {
			t.Errorf("after %q: %q, want %q", step.delta, got, step.want)
		}
	}
	got = nil
	f.Close(sotto.EndCut)
	if want := []string{"3 three false"}; !slices.Equal(got, want) {
		t.Errorf("at the end: %q, want %q", got, want)
	}
}

// The stream adapters show what Visible shows, whatever the pieces of the reply.
func TestAdaptersAgree(t *testing.T) {
	g := sotto.Default()
	for _, raw := range []string{
		"", "plain", "<think>r</think>\n\na", "<scratch_pad>x</scratch_pad>\n<output>\n a <think>s</think> b \n</output> aside",
		"a <think>b</think>\nc\n", "<think>unfinished", "x < y `<think>` z", "<narrate>go</narrate>done",
	} {
		r, err := g.Parse(raw, sotto.BeginOutside, sotto.EndUnknown)
		if err != nil {
			t.Fatal(err)
		}
		want := r.Visible()
		f, _ := g.NewFilter(sotto.Options{Start: sotto.BeginOutside, MaxHold: -1})
		got := ""
		f.OnText = func(text string) { got += text }
		for i := range len(raw) {
			f.Feed(raw[i : i+1])
		}
		if f.Close(sotto.EndUnknown); got != want {
			t.Errorf("%q: filter %q, want %q", raw, got, want)
		}
		rd, _ := g.NewReader(iotest.OneByteReader(strings.NewReader(raw)), sotto.StreamOptions{Options: sotto.Options{Start: sotto.BeginOutside, MaxHold: -1}})
		if b, err := io.ReadAll(rd); err != nil || string(b) != want {
			t.Errorf("%q: reader %q %v, want %q", raw, b, err, want)
		}
		var b strings.Builder
		w, _ := g.NewWriter(&b, sotto.Options{Start: sotto.BeginOutside, MaxHold: -1})
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

// A broken stream gives the held text, then how it ended, then the error.
func TestEventsOfABrokenStream(t *testing.T) {
	broken := errors.New("connection reset")
	stream := func(yield func(string, error) bool) {
		_ = yield("hello <thi", nil) && yield("", broken)
	}
	var text string
	var finished sotto.ReplyEnd
	var got error
	for ev, err := range sotto.Default().Events(stream, sotto.StreamOptions{}) {
		if err != nil {
			got = err
			continue
		}
		switch ev := ev.(type) {
		case sotto.VisibleDelta:
			text += ev.Text
		case sotto.ReplyEnd:
			finished = ev
		}
	}
	if text != "hello <thi" || finished.End != sotto.EndAborted || !errors.Is(got, broken) {
		t.Errorf("text %q, end %v, error %v", text, finished.End, got)
	}
}

// A filter says that something was marked if, and only if, a byte of the reply is not text.
func TestMarked(t *testing.T) {
	for _, name := range []string{"default", "qwen3", "harmony"} {
		g := mustNamed(name)
		tokens := []string{"<think>", "</think>", "<output>", "</output>", "<|channel|>", "final", "<|message|>", "x", "\n", "`"}
		shortReplies(tokens, 3, func(raw string) {
			f, err := g.NewFilter(sotto.Options{Start: sotto.BeginOutside})
			if err != nil {
				t.Fatal(err)
			}
			for i := range len(raw) {
				f.Feed(raw[i : i+1])
			}
			f.Close(sotto.EndStopped)
			whole, err := g.Parse(raw, sotto.BeginOutside, sotto.EndStopped)
			if err != nil {
				t.Fatal(err)
			}
			want := slices.ContainsFunc(whole.Segments, func(s sotto.Segment) bool { return s.Channel != sotto.ChannelText && s.Start < s.End })
			if f.Marked() != want {
				t.Fatalf("%s: %q: marked %v, %v", name, raw, f.Marked(), whole.Segments)
			}
		})
	}
}

// An unknown block name is an error that names the existing blocks.
func TestUnknownStart(t *testing.T) {
	_, err := sotto.Default().NewSplitter(sotto.Options{Start: sotto.BeginInside("pondering")})
	if err == nil || !strings.Contains(err.Error(), "pondering") || !strings.Contains(err.Error(), "scratch_pad") {
		t.Errorf("error %v", err)
	}
}

// order writes what a reply says, in its order: text, (reasoning), [its end], {narration}.
func order(ev sotto.Event) string {
	switch ev := ev.(type) {
	case sotto.VisibleDelta:
		return ev.Text
	case sotto.ReasoningDelta:
		return "(" + ev.Text + ")"
	case sotto.ReasoningEnd:
		return fmt.Sprintf("[%d %t]", ev.Block, ev.Closed)
	case sotto.NarrationDelta:
		return "{" + ev.Text + "}"
	}
	return ""
}

// Events come in the order of the reply, and no event's text ends within a
// character, however the reply is cut.
func TestEventsKeepTheOrder(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{"one<think>two</think>three<think>four</think> five", "one(two)[1 true]three(four)[2 true] five"},
		{"a<think>b</think>\n \n<output>x", "a(b)[1 true]\n \n<output>x"},
		{"  <think>b</think><think> </think>c<think>d", "(b)[1 true]( )c<think>d"},
		{"<think>\n<think>b</think>c", "(\nb)[1 true]c"},
		{"é<narrate>ü</narrate>€<think>b</think>😀", "é{ü}€(b)[2 true]😀"},
		{"<think>b", "(b)[1 false]"},
		{"<think>one two</think>three", "(one two)[1 true]three"}, // not held, since nothing stands before it
		{"<output>üü</output>é", "üü"},
	} {
		for cut := 1; cut <= len(c.raw); cut++ {
			var list []string
			for at := 0; at < len(c.raw); at += cut {
				list = append(list, c.raw[at:min(at+cut, len(c.raw))])
			}
			var got string
			finished := false
			for ev, err := range sotto.Default().Events(streamOf(list...), sotto.StreamOptions{End: func() sotto.Ending { return sotto.EndStopped }}) {
				if err != nil {
					t.Fatal(err)
				}
				if _, last := ev.(sotto.ReplyEnd); finished || ev == nil {
					t.Errorf("%q cut every %d bytes: %v after %q", c.raw, cut, ev, got)
				} else {
					finished = last
				}
				said := order(ev)
				if got += said; !utf8.ValidString(said) {
					t.Errorf("%q cut every %d bytes: the event %q is cut within a character", c.raw, cut, said)
				}
			}
			if got = strings.NewReplacer(")(", "", "}{", "").Replace(got); got != c.want {
				t.Errorf("%q cut every %d bytes: %q, want %q", c.raw, cut, got, c.want)
			}
		}
	}
}

// A character that the reply leaves unfinished is given as it is, in its place.
func TestBrokenCharacters(t *testing.T) {
	for _, raw := range []string{"a\xe2\x82", "\xe2<think>b\xf0\x9f</think>\x82c", "\xff\xfe"} {
		r, err := sotto.Default().Parse(raw, sotto.BeginOutside, sotto.EndStopped)
		if err != nil {
			t.Fatal(err)
		}
		for cut := 1; cut <= len(raw); cut++ {
			var text, thought string
			var thoughts []string
			f, err := sotto.Default().NewFilter(sotto.Options{})
			if err != nil {
				t.Fatal(err)
			}
			f.OnText = func(s string) { text += s }
			f.OnReasoning = func(_ int, s string) { thought += s }
			f.OnThought = func(th sotto.Thought) { thoughts = append(thoughts, th.Text) }
			for at := 0; at < len(raw); at += cut {
				f.Feed(raw[at:min(at+cut, len(raw))])
			}
			f.Close(sotto.EndStopped)
			if text != r.Visible() || thought != r.RawOf(sotto.ChannelReasoning) || !slices.Equal(thoughts, r.Reasoning()) {
				t.Errorf("%q cut every %d bytes: %q, %q, %q", raw, cut, text, thought, thoughts)
			}
		}
	}
}

// Only the bytes of an unfinished character wait for the next delta, and only for one of the
// same block. Text that is a whole delta is not copied.
func TestCharactersWait(t *testing.T) {
	var f sotto.Filter
	text, narration := "", ""
	f.OnText = func(s string) { text = s }
	f.OnNarration = func(block int, s string) { narration += fmt.Sprintf("%d%q", block, s) }
	for _, c := range []struct{ delta, given string }{
		{"abcd", "abcd"}, {"é", "é"}, {"a\xe2\x82", "a"}, {"\xac", "€"}, {"\xf0\x9f\x98", ""}, {"\x80", "😀"}, {"\xe2", ""}, {"a", "\xe2a"},
		{"a\x80\x80\x80\x80", "a\x80\x80\x80\x80"}, {"\xff", "\xff"}, {"abcd", "abcd"},
	} {
		text = ""
		f.Feed(c.delta)
		if text != c.given || text == c.delta && unsafe.StringData(text) != unsafe.StringData(c.delta) {
			t.Errorf("%q gives %q, want %q itself", c.delta, text, c.given)
		}
	}
	f.Feed("<narrate>\xe2</narrate><narrate>\x82</narrate>")
	if want := `1"\xe2"2"\x82"`; narration != want {
		t.Errorf("narration %s, want %s", narration, want)
	}
}

// What a consumer takes inline is visible text, and not given a second time.
func TestInlineEvents(t *testing.T) {
	g := mustNamed("qwen3")
	d := g.Dialect()
	d.Markers = append(d.Markers, dialect.Marker{Role: dialect.RoleNarration, Tag: "narrate"})
	const raw = "a<narrate>b</narrate>c<tool_call>{}</tool_call><think>d</think>"
	for _, c := range []struct {
		inline []sotto.Channel
		want   string
	}{
		{nil, "a{b}c|<tool_call>{}</tool_call>|(d)[3 true]"},
		{[]sotto.Channel{sotto.ChannelNarration}, "abc|<tool_call>{}</tool_call>|(d)[3 true]"},
		{[]sotto.Channel{sotto.ChannelTool}, "a{b}c<tool_call>{}</tool_call>(d)[3 true]"},
	} {
		got := ""
		for ev, err := range sotto.MustCompile(d).Events(streamOf(raw), sotto.StreamOptions{Options: sotto.Options{Start: sotto.BeginOutside, Inline: c.inline}}) {
			if err != nil {
				t.Fatal(err)
			}
			if tool, ok := ev.(sotto.ToolDelta); ok {
				got += "|" + tool.Text + "|"
			}
			got += order(ev)
		}
		if got != c.want {
			t.Errorf("%v inline: %s, want %s", c.inline, got, c.want)
		}
	}
}

// A filter keeps the text of the open thought, and of no other: not of blank ones either.
func TestThoughtsAreForgotten(t *testing.T) {
	f, err := sotto.Default().NewFilter(sotto.Options{Start: sotto.BeginOutside})
	if err != nil {
		t.Fatal(err)
	}
	f.OnThought = func(sotto.Thought) {}
	const size = 1 << 18
	texts := map[string]string{"blank": strings.Repeat(" ", size), "long": strings.Repeat("x", size)}
	for what, text := range texts {
		before := heapInUse()
		for range 4 {
			f.Feed("<think>")
			f.Feed(text)
			f.Feed("</think>")
		}
		f.Feed("<think> </think>")
		if used := heapInUse() - before; used > size/2 {
			t.Errorf("%d bytes are kept after %s thoughts of %d", used, what, size)
		}
	}
	f.Feed("a")
}

// A filter calls its functions with what the events of the reply say, in their order.
func TestFilterSaysTheEvents(t *testing.T) {
	g := mustNamed("qwen3")
	for _, raw := range []string{"<think>a</think>b<tool_call>{}</tool_call>c<think>\nd", "<think> </think><think>a", "a<tool_call>{", "<think>a<tool_call>{}</tool_call>b"} {
		want := []string{}
		for ev, err := range g.Events(streamOf(raw), sotto.StreamOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			if _, last := ev.(sotto.ReplyEnd); !last {
				want = append(want, fmt.Sprintf("%T%v", ev, ev))
			}
		}
		got := []string{}
		say := func(ev sotto.Event) { got = append(got, fmt.Sprintf("%T%v", ev, ev)) }
		f, err := g.NewFilter(sotto.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f.OnText = func(text string) { say(sotto.VisibleDelta{Text: text}) }
		f.OnReasoning = func(block int, text string) { say(sotto.ReasoningDelta{Block: block, Text: text}) }
		f.OnReasoningEnd = func(block int, closed bool) { say(sotto.ReasoningEnd{Block: block, Closed: closed}) }
		f.OnTool = func(block int, text string) { say(sotto.ToolDelta{Block: block, Text: text}) }
		f.Feed(raw)
		f.Close(sotto.EndUnknown)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}

// A zero Filter reads in the default dialect.
func TestZeroFilter(t *testing.T) {
	var f sotto.Filter
	text := ""
	f.OnText = func(s string) { text += s }
	f.Feed("<think>a</think>b")
	f.Close(sotto.EndStopped)
	if text != "b" || len(f.Diagnostics()) > 0 {
		t.Errorf("%q, %v", text, f.Diagnostics())
	}
	new(sotto.Filter).Close(sotto.EndStopped)
}

// A writer that accepts a few bytes and then nothing more.
type shortWriter struct{ room int }

func (w *shortWriter) Write(p []byte) (int, error) {
	n := min(len(p), w.room)
	w.room -= n
	return n, nil
}

// The first error of a writer is returned by every later call, also if it is a
// short write: no text is lost silently.
func TestWriterErrors(t *testing.T) {
	w, err := sotto.Default().NewWriter(&shortWriter{2}, sotto.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("ab")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if n, err := w.Write([]byte("cd")); n != 0 || !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%d, %v", n, err)
		}
	}
	if err := w.Close(); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("Close: %v", err)
	}
	var b strings.Builder
	if w, err = sotto.Default().NewWriter(&b, sotto.Options{}); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(w, "a <think>b") // prose about a tag, in a reply that stopped of its own accord
	if err := w.CloseAs(sotto.EndStopped); err != nil || b.String() != "a <think>b" {
		t.Errorf("%q, %v", b.String(), err)
	}
	if _, err := w.Write([]byte("c")); !errors.Is(err, sotto.ErrClosed) {
		t.Errorf("a write after Close: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

type emptyReader struct{ read int }

func (r *emptyReader) Read([]byte) (int, error) { r.read++; return 0, nil }

// A reader that returns no bytes and no error ends the reading. An error of a
// reader is reported after the held text, by every later read.
func TestReaderErrors(t *testing.T) {
	empty := &emptyReader{}
	r, err := sotto.Default().NewReader(empty, sotto.StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); !errors.Is(err, io.ErrNoProgress) || empty.read > 1000 {
		t.Errorf("%v after %d reads", err, empty.read)
	}
	broken := errors.New("connection reset")
	for _, all := range []func(r *sotto.Reader) (string, error){
		func(r *sotto.Reader) (string, error) { b, err := io.ReadAll(r); return string(b), err },
		func(r *sotto.Reader) (string, error) {
			var b strings.Builder
			_, err := r.WriteTo(&b)
			return b.String(), err
		},
	} {
		source := io.MultiReader(strings.NewReader("hello <thi"), iotest.ErrReader(broken))
		if r, err = sotto.Default().NewReader(source, sotto.StreamOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"hello <thi", ""} {
			if text, err := all(r); text != want || !errors.Is(err, broken) {
				t.Errorf("%q, %v", text, err)
			}
		}
	}
	if r, err = sotto.Default().NewReader(strings.NewReader("<think>a</think>b"), sotto.StreamOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.WriteTo(&shortWriter{0}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a short write: %v", err)
	}
}

// The bytes at the spans of the visible text are the visible text.
func TestVisibleSpans(t *testing.T) {
	for _, c := range readCorpus(t) {
		r, err := c.grammar.Parse(c.raw, c.start, c.end)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		last := 0
		for _, sp := range r.VisibleSpans(nil) {
			if sp.Start < 0 {
				b.WriteString("\n\n")
				continue
			}
			if sp.Start < last || sp.End <= sp.Start {
				t.Errorf("%s: span %v after byte %d", c.name, sp, last)
			}
			last = sp.End
			b.WriteString(r.Raw[sp.Start:sp.End])
		}
		if b.String() != r.Visible() {
			t.Errorf("%s: the spans are of %q, the text is %q", c.name, b.String(), r.Visible())
		}
	}
}

// A segment that a caller keeps is text where it stands: outside, or in the output
// body around it.
func TestVisibleSpansKeep(t *testing.T) {
	keep := func(sg sotto.Segment) bool { return sg.Channel == sotto.ChannelNarration }
	for raw, want := range map[string]string{
		"<output>a<narrate>n</narrate>b</output>c":                "anb",
		"x<narrate>n</narrate>y":                                  "xny",
		"<think>r</think><output>a<narrate>n</narrate></output>c": "an",
	} {
		var got strings.Builder
		for _, sp := range sotto.Parse(raw, sotto.EndStopped).VisibleSpans(keep) {
			got.WriteString(raw[sp.Start:sp.End])
		}
		if got.String() != want {
			t.Errorf("%q: %q, want %q", raw, got.String(), want)
		}
	}
}
