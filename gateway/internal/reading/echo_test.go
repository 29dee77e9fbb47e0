package reading

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/wire"
)

// TestEchoRepeats: a text repeats a thought as far as the thought is known. What is longer
// repeats it only if the thought was longer than the sample, or if the rest is white space.
func TestEchoRepeats(t *testing.T) {
	long := strings.Repeat("x", sample)
	for _, tt := range []struct {
		known, text string
		want        bool
	}{
		{"abc", "", true}, {"abc", "a", true}, {"abc", "abc", true}, {"abc", "abc\n ", true}, {"abc", "abcd", false}, {"abc", "b", false}, {"abc", "abd", false},
		{long, "xx", true}, {long, long, true}, {long, long + "and more", true}, {long, "xy", false}, {long, "y" + long, false},
	} {
		var e echo
		e.keep([]byte(tt.known))
		if got := e.repeats(e.said, []byte(tt.text)); got != tt.want {
			t.Errorf("%d bytes %.5q, %d bytes %.5q: %v", len(tt.known), tt.known, len(tt.text), tt.text, got)
		}
	}
	var e echo
	e.keep([]byte(" \n"))
	e.keep([]byte(long[1:]))
	e.keep([]byte("yz"))
	if !bytes.Equal(e.said, []byte(long[1:]+"y")) {
		t.Errorf("%d bytes are kept of a thought, want %d without the white space before it", len(e.said), sample)
	}
}

// TestJSONOfSeveralTexts: where the choices of a reply are its texts, one text that is JSON is
// enough; where they are choices, each must be JSON.
func TestJSONOfSeveralTexts(t *testing.T) {
	for _, texts := range [][]string{{`{"a":1}`, "Done."}, {"Here it is.", `{"a":1}`}, {`{"a":1}`}, {"Done."}} {
		for _, list := range []bool{false, true} {
			r := &Reading{Manner: Manner{JSON: true, Display: routing.DisplayKeep, Can: wire.Capabilities{Texts: list}}}
			for _, text := range texts {
				c := new(Choice)
				c.json.text = []byte(text)
				r.Choices = append(r.Choices, c)
				r.endJSON(c, sotto.EndStopped)
			}
			missing := slices.Contains(texts, "Done.") || slices.Contains(texts, "Here it is.")
			if got, want := r.JSONLayer() != "", missing && (!list || len(texts) == 1); got != want {
				t.Errorf("%q, texts are the choices %v: missing %v, want %v", texts, list, got, want)
			}
		}
	}
}
