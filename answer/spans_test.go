package answer

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
)

var readings = []string{
	"Sure! <scratch_pad>a</scratch_pad> b\n<output>4\n</output>c<output>d</output>",
	"plain", "", "\n x", "<think>r</think>\n\na", "a<think>r</think>b", "a\n<think>r</think>\n\nb", "<think>r</think>",
	"<output>a</output>", "x <output> a </output> y", "<output>a</output> z <output>\nb\n</output>\n", "<output> </output>w",
	"<output>a\n<think>r</think>\n b</output>", "r</think>a", "\ufeff<think>r</think> a", "\ufeff a", "<narrate>n</narrate> a\n\n<narrate>m</narrate>\n b",
	"<output>\n\n</output> a <output>b</output>", "a</think> b", "<scratch_pad>p<output>o</output>", "`<think>` a", "  \n<think>r</think>  \n",
	"<output>a<output>b", " <output>a <narrate>n</narrate> </output>",
}

// The text that is searched is the visible text, and its pieces read back.
func checkReading(t *testing.T, raw string, o Options) {
	t.Helper()
	rd := readingOf(raw, o)
	r := parse(raw, o)
	if want := r.Visible(); rd.text != want {
		t.Fatalf("%q: text %q, visible %q", raw, rd.text, want)
	}
	at := 0
	for _, p := range rd.pieces {
		if p.at != at {
			t.Fatalf("%q: piece %+v at %d", raw, p, at)
		}
		at += p.n
		if p.raw < 0 {
			continue
		}
		if sp, ok := rd.rawSpan(Span{p.at, p.at + p.n}); !ok || raw[sp.Start:sp.End] != rd.text[p.at:p.at+p.n] {
			t.Fatalf("%q: piece %+v gives %v", raw, p, sp)
		}
	}
	if rd.pieces != nil && at != len(rd.text) {
		t.Fatalf("%q: pieces end at %d of %d", raw, at, len(rd.text))
	}
}

func optionsOfReadings(t testing.TB) (list []Options) {
	for _, name := range []string{"default", "output", "thought", "harmony"} {
		g, err := sotto.Named(name)
		if err != nil {
			t.Log(err)
			continue
		}
		for _, e := range []sotto.Ending{sotto.EndUnknown, sotto.EndStopped, sotto.EndCut} {
			list = append(list, Options{Grammar: g, End: e})
		}
	}
	return append(list, Options{}, Options{Start: sotto.BeginInside("think")})
}

func TestReadingIsVisible(t *testing.T) {
	for _, o := range optionsOfReadings(t) {
		for _, raw := range readings {
			checkReading(t, raw, o)
			checkReading(t, strings.ReplaceAll(raw, "\n", "\r\n"), o)
		}
	}
}

func FuzzReading(f *testing.F) {
	list := optionsOfReadings(f)
	for i, raw := range readings {
		f.Add(raw, uint8(i))
	}
	f.Fuzz(func(t *testing.T, raw string, which uint8) {
		if isAnswerTagIn(raw) {
			t.Skip("the tags of answers stay")
		}
		checkReading(t, raw, list[int(which)%len(list)])
	})
}

func isAnswerTagIn(raw string) bool { return strings.Contains(strings.ToLower(raw), "answer") }
