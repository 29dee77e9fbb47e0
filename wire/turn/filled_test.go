package turn_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/sotto-llm/sotto/wire/turn"
)

// TestFilled: an empty text goes if there is anything else, and no other part does.
func TestFilled(t *testing.T) {
	empty, own, other := turn.Part{}, turn.Part{Extra: turn.Extra{API: "a"}}, turn.Part{Extra: turn.Extra{API: "b"}}
	signed, call, text := turn.Part{Signature: "s"}, turn.Part{Kind: turn.Call}, turn.Part{Text: " "}
	for _, test := range []struct{ was, want []turn.Part }{
		{nil, nil},
		{[]turn.Part{empty}, []turn.Part{empty}},
		{[]turn.Part{empty, empty}, []turn.Part{empty}},
		{[]turn.Part{empty, own, other, signed, call, text, empty}, []turn.Part{own, signed, call, text}},
		{[]turn.Part{call, text}, []turn.Part{call, text}},
	} {
		before := fmt.Sprint(test.was)
		if got := turn.Filled(test.was, "a"); fmt.Sprint(got) != fmt.Sprint(test.want) || fmt.Sprint(test.was) != before {
			t.Errorf("%+v: %+v, want %+v", test.was, got, test.want)
		}
	}
}

// TestCuts has values of min_p.
func TestCuts(t *testing.T) {
	for value, want := range map[json.Number]bool{"": false, "0": false, "-0.00": false, "0e5": false, "0.05": true, "x": true} {
		if got := (&turn.Sampling{MinP: value}).Cuts(); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
}
