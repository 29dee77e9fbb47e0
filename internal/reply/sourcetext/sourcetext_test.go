package sourcetext

import (
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
)

// all gives the texts of a source that has ended.
func all(t *testing.T, start sotto.Beginning, texts ...string) []string {
	t.Helper()
	f, err := New(sotto.Default(), start)
	if err != nil {
		t.Fatal(err)
	}
	var given []string
	for _, text := range texts {
		given = append(given, f.Add(text)...)
	}
	return append(given, f.Close()...)
}

func TestTexts(t *testing.T) {
	for name, tt := range map[string]struct {
		start       sotto.Beginning
		texts, want []string
	}{
		"plain":                     {sotto.BeginAuto, []string{"one", "two"}, []string{"one", "two"}},
		"a thought of its own":      {sotto.BeginAuto, []string{"<think>", "SECRET", "</think>", "done"}, []string{"", "", "", "done"}},
		"a tag over texts":          {sotto.BeginAuto, []string{"a <thi", "nk>SECRET</t", "hink> b"}, []string{"a ", "", " b"}},
		"begun inside":              {sotto.BeginAuto, []string{"SECRET", "more</think>", "done"}, []string{"", "", "done"}},
		"begun inside, live":        {sotto.BeginOutside, []string{"one", "two"}, []string{"one", "two"}},
		"a thought that never ends": {sotto.BeginAuto, []string{"one\n", "<think>SECRET", "more"}, []string{"one\n", "", ""}},
		"narration":                 {sotto.BeginAuto, []string{"<narrate>mixing</narrate>", "x"}, []string{"mixing", "x"}},
	} {
		if got := all(t, tt.start, tt.texts...); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// A source that begins outside is given text by text while it goes on; of one that
// begins nobody knows where, nothing comes before its first marker.
func TestLive(t *testing.T) {
	for _, tt := range []struct {
		start sotto.Beginning
		text  string
		want  []string
	}{
		{sotto.BeginOutside, "one", []string{"one"}},
		{sotto.BeginAuto, "one", nil},
		{sotto.BeginAuto, "<think>SECRET</think>one", []string{"one"}},
	} {
		f, err := New(sotto.Default(), tt.start)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Add(tt.text); !slices.Equal(got, tt.want) {
			t.Errorf("%s %q: %q, want %q", tt.start, tt.text, got, tt.want)
		}
	}
}

// However a reply is cut into texts, they show together what the reply shows, apart from
// the white space that a reply loses at its ends and between its bodies.
func TestCutAnywhere(t *testing.T) {
	for _, reply := range []string{
		"<think>SECRET</think>The answer is 4.", "SECRET</think>The answer.", "Before <think>SECRET</think> after, and `<think>` in code.",
		"<scratch_pad>SECRET</scratch_pad><output>Toronto</output>", "No thought at all.", "<narrate>Mixing.</narrate>Done.", "<think>SECRET",
	} {
		r := sotto.Parse(reply, sotto.EndStopped)
		want := strings.Join(strings.Fields(visible(r)), "")
		for i := range len(reply) + 1 {
			for j := i; j <= len(reply); j++ {
				got := strings.Join(all(t, sotto.BeginAuto, reply[:i], reply[i:j], reply[j:]), "")
				if strings.Join(strings.Fields(got), "") != want {
					t.Fatalf("%q cut at %d and %d: %q, want %q", reply, i, j, got, want)
				}
			}
		}
	}
}

// visible is the text and narration of a reply.
func visible(r *sotto.Reply) string {
	var all strings.Builder
	for _, s := range r.Segments {
		if s.Channel == sotto.ChannelText || s.Channel == sotto.ChannelNarration {
			all.WriteString(r.Raw[s.Start:s.End])
		}
	}
	return all.String()
}

// What is read of a source is bounded, and what comes after the bound shows nothing.
func TestBound(t *testing.T) {
	f, err := New(sotto.Default(), sotto.BeginAuto)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("x", 1<<16)
	for range 64 {
		f.Add(text)
	}
	if held := f.split.Held(); held > maxRead {
		t.Errorf("%d bytes held", held)
	}
	if got := len(strings.Join(f.Close(), "")); got != maxRead {
		t.Errorf("%d bytes given, want %d", got, maxRead)
	}
}
