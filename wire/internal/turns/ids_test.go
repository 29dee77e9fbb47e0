package turns_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/wire/internal/turns"
	"github.com/sotto-llm/sotto/wire/turn"
)

var accepted = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,20}$`)

// TestIdentified: an API gets IDs that it accepts. Two calls have one ID exactly if they had one
// before, results have that of their call, and what the codec itself has read is not touched.
func TestIdentified(t *testing.T) {
	ids := []string{
		"", "a", "call_1", "call_2", "a.b", "a_b", "a:b", "functions.f:0", "a_b_1", "\u00e9", "\u00e8", "call", " ",
		strings.Repeat("x", 20), strings.Repeat("x", 21), strings.Repeat("x", 22), strings.Repeat("x", 18) + "_1",
	}
	for seed := range uint64(300 * effort.Times()) {
		r := rand.New(rand.NewPCG(seed, 0))
		var list []turn.Message
		for range 1 + r.IntN(6) {
			calls, results := turn.Message{Role: turn.Assistant}, turn.Message{Role: turn.ToolRole}
			for range r.IntN(5) {
				id, name := ids[r.IntN(len(ids))], fmt.Sprint("f", r.IntN(2))
				calls.Parts = append(calls.Parts, turn.Part{Kind: turn.Call, ID: id, Name: name})
				results.Parts = append(results.Parts, turn.Part{Kind: turn.Result, ID: id, Name: name})
			}
			list = append(list, calls, results)
		}
		list = append(list, turn.Message{Parts: []turn.Part{{Kind: turn.Call, ID: "own.call_3", Extra: turn.Extra{API: "own"}}, {Kind: turn.Text, ID: "."}}})
		before := fmt.Sprint(list)
		got := turns.Identified(list, "own", 20)
		if fmt.Sprint(list) != before {
			t.Fatalf("seed %d: the messages were changed", seed)
		}
		if !reflect.DeepEqual(got, turns.Identified(list, "own", 20)) || !reflect.DeepEqual(got, turns.Identified(got, "own", 20)) {
			t.Fatalf("seed %d: not the same twice: %v", seed, got)
		}
		if last := got[len(got)-1]; !reflect.DeepEqual(last, list[len(list)-1]) {
			t.Fatalf("seed %d: %v", seed, last)
		}
		newOf, oldOf := map[string]string{}, map[string]string{}
		for i := 0; i < len(list)-1; i++ {
			for j, p := range got[i].Parts {
				old := list[i].Parts[j].ID
				if i%2 == 1 && p.ID != got[i-1].Parts[j].ID {
					t.Fatalf("seed %d: result %d of %v\nhas not its call's ID: %v", seed, j, list, got)
				}
				if old == "" {
					old = fmt.Sprintf("message %d, call %d", i&^1, j) // each is another one
				}
				if !accepted.MatchString(p.ID) {
					t.Fatalf("seed %d: %q became %q", seed, old, p.ID)
				}
				if was, ok := newOf[old]; ok && was != p.ID {
					t.Fatalf("seed %d: %q became %q and %q", seed, old, was, p.ID)
				}
				if was, ok := oldOf[p.ID]; ok && was != old {
					t.Fatalf("seed %d: %q and %q became %q", seed, old, was, p.ID)
				}
				newOf[old], oldOf[p.ID] = p.ID, old
			}
		}
	}
}

// TestIdentifiedResults: a result without an ID is that of the first call of its tool that
// waits for one, or of the first call of any, and there may be more results than calls.
func TestIdentifiedResults(t *testing.T) {
	part := func(kind turn.Kind, name string) turn.Part { return turn.Part{Kind: kind, Name: name} }
	list := []turn.Message{{Parts: []turn.Part{
		part(turn.Call, "f"), part(turn.Call, "g"), part(turn.Call, "f"),
		part(turn.Result, "g"), part(turn.Result, "f"), part(turn.Result, ""), part(turn.Result, "f"),
	}}}
	var got []string
	for _, p := range turns.Identified(list, "own", 0)[0].Parts {
		got = append(got, p.ID)
	}
	if want := []string{"call_1", "call_2", "call_3", "call_2", "call_1", "call_3", "call_4"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
}
