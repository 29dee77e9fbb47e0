package turn_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/wire/turn"
)

// TestIdentified has calls and results with and without IDs, and what they get.
func TestIdentified(t *testing.T) {
	for _, test := range []struct {
		what      string
		was, want []turn.Part
	}{
		{"all are there", list("!a:f ?a:f"), list("!a:f ?a:f")},
		{"a name", list("!a:f !b:g ?b: ?a:"), list("!a:f !b:g ?b:g ?a:f")},
		{"calls of one name, in their order", list("!:f !:g !:f ?:f ?:f ?:g"), list("!call_1:f !call_2:g !call_3:f ?call_1:f ?call_3:f ?call_2:g")},
		{"an ID that is taken", list("!:f !call_1:g ?call_1: ?:f"), list("!call_2:f !call_1:g ?call_1:g ?call_2:f")},
		{"no name", list("!:f !:g ?: ?:"), list("!call_1:f !call_2:g ?call_1:f ?call_2:g")},
		{"one is answered by its ID", list("!a:f !b:f ?a: ?:f"), list("!a:f !b:f ?a:f ?b:f")},
		{"an ID that comes again", list("!a:f ?a: !a:g ?a: ?:g"), list("!a:f ?a:f !a:g ?a:g ?:g")},
		{"no call", list("?:f ?x:"), list("?:f ?x:")},
	} {
		messages := make([]turn.Message, len(test.was))
		for i, p := range test.was {
			messages[i].Parts = []turn.Part{p}
		}
		before := fmt.Sprint(messages)
		var got []turn.Part
		for _, m := range turn.Identified(messages) {
			got = append(got, m.Parts...)
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v\nwant %+v", test.what, got, test.want)
		}
		if fmt.Sprint(messages) != before {
			t.Errorf("%s: the messages themselves changed", test.what)
		}
		all := []turn.Message{{Parts: test.was}}
		if got := turn.Identified(all)[0].Parts; !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s, in one message: %+v", test.what, got)
		}
	}
}

// list has a call for each "!ID:NAME", and a result for each "?ID:NAME".
func list(text string) (parts []turn.Part) {
	for _, word := range strings.Fields(text) {
		p := turn.Part{Kind: turn.Call}
		if word[0] == '?' {
			p.Kind = turn.Result
		}
		p.ID, p.Name, _ = strings.Cut(word[1:], ":")
		parts = append(parts, p)
	}
	return parts
}

// TestForSame: a member that says the same as the rest is left out, and nobody is told; one beside
// it is refused by its path. Both are found however deep they were.
func TestForSame(t *testing.T) {
	e := turn.Extra{API: "a", Path: "messages[1]", Members: []turn.Member{{Key: "role", Value: `"x"`, Same: true}, {Key: "tools", Value: `{"a":null}`}}}
	e.Empty("tools")
	e.Nest("in", turn.Extra{Members: []turn.Member{{Key: "s", Value: "1", Same: true}}})
	q := &turn.Request{Extra: e}
	if left, err := q.For("b"); left != nil || err != nil || q.Extra.API != "" {
		t.Errorf("left %q, %v, and %+v stays", left, err, q.Extra)
	}
	e.Nest("in", turn.Extra{Members: []turn.Member{{Key: "s", Value: "1", Same: true}, {Key: "aside", Value: "1", Aside: true}}})
	q = &turn.Request{Extra: e}
	if left, err := q.For("b"); !reflect.DeepEqual(left, []string{"messages[1].in"}) || err != nil {
		t.Errorf("left %q, %v", left, err)
	}
	e.Nest("more", turn.Extra{Members: []turn.Member{{Key: "aside", Value: "1", Aside: true}, {Key: "counts", Value: "1"}}})
	q = &turn.Request{Extra: e}
	if _, err := q.For("b"); err == nil || !strings.HasPrefix(err.Error(), "messages[1].more: ") {
		t.Error(err)
	}
}
