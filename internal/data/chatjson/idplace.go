package chatjson

import (
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// An IDPlace is where a request has the id of a call, or of the call of a result: an object and its member.
// Without a member, the id cannot be changed.
type IDPlace struct {
	Of     gjson.Result
	Member string
}

// EditIDs appends the edits that put new ids into their places. An empty id removes the member.
func EditIDs(edits []jsonedit.Edit, places []IDPlace, ids map[int]string) ([]jsonedit.Edit, error) {
	for i, id := range ids {
		if i < 0 || i >= len(places) {
			return edits, fmt.Errorf("id %d of %d", i, len(places))
		}
		place := places[i]
		if place.Member == "" {
			continue
		}
		members := jsonedit.Members(place.Of)
		is := func(i int) bool { return members[i].Key == place.Member }
		if id == "" {
			edits = jsonedit.Cut(edits, members, is)
			continue
		}
		for i := range members {
			if is(i) {
				edits = append(edits, jsonedit.Edit{Span: members[i].ValueSpan(), With: jsontext.AppendVerbatim(nil, jsonedit.BytesOf(id))})
			}
		}
	}
	return edits, nil
}
