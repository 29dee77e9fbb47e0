package bridging

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/sotto-llm/sotto/internal/data/leftout"
	"github.com/sotto-llm/sotto/wire/providers"
)

// saidText is a string of the model's in a frame.
var saidText = regexp.MustCompile(`("(?:content|reasoning_content|reasoning|thinking|text|response|delta|arguments)":")[^"]*"`)

// TestAlike: what is left out of a frame does not depend on what the model says in it, so that a frame that
// differs in nothing else from the one before need not be looked at.
func TestAlike(t *testing.T) {
	n := 0
	for _, from := range providers.APIs() {
		tree := from.Codec.(interface{ LeftOut() *leftout.Value }).LeftOut()
		v := replyVocabularyOf(t, from)
		frames := v.stream("", nil)
		for _, path := range slices.Sorted(maps.Keys(v.Members)) {
			frames = append(frames, v.Members[path].Frames...)
		}
		for _, f := range frames {
			data := frameOf(from, compact(f)).Data
			if !saidText.Match(data) {
				continue
			}
			texts := []string{"", "a", `type\":\"x`, "STOP"}
			for _, first := range texts {
				r := tree.Reply(true)
				var want, got []string
				for _, text := range append([]string{first}, texts...) {
					frame := saidText.ReplaceAll(data, []byte("${1}"+text+`"`))
					if !json.Valid(frame) {
						t.Fatalf("%s", frame)
					}
					tree.Find(frame, true, func(f leftout.Finding) { want = append(want, f.Path) })
					r.Find(frame, func(f leftout.Finding) { got = append(got, f.Path) })
				}
				for _, list := range []*[]string{&want, &got} {
					slices.Sort(*list)
					*list = slices.Compact(*list)
				}
				if n++; !slices.Equal(got, want) {
					t.Errorf("%s: %s: found %q, want %q", from.Name, data, got, want)
				}
			}
		}
	}
	if n < 200 {
		t.Errorf("%d streams were tried", n)
	}
}
