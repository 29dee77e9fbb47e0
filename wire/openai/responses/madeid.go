package responses

import (
	"strconv"

	"github.com/sotto-llm/sotto/wire/turn"
)

// madeIDs gives ids to calls, results and thoughts of a request that have none, because the
// API wants them. The same request gets the same ids.
type madeIDs struct {
	used  map[string]bool // in the request
	calls []madeCall      // those whose ids are made
	first int             // of them that may have no result yet
	// named are indices of calls by the names of their tools. Those before the first that may
	// have no result yet are gone.
	named    map[string][]int
	thought  string // the beginning of ids of thoughts
	thoughts int
	numbers  int
}

type madeCall struct {
	id       string
	answered bool
}

// newIDs returns ids for messages. sealed says that the provider has sealed its own thoughts: another
// has an id of ours then, by which the history policy knows it.
func newIDs(messages []turn.Message, sealed bool) *madeIDs {
	ids := &madeIDs{thought: "rs_", used: map[string]bool{}, named: map[string][]int{}}
	if sealed {
		ids.thought = thoughtID
	}
	for i := range messages {
		for j := range messages[i].Parts {
			ids.used[messages[i].Parts[j].ID] = true
		}
	}
	return ids
}

func (ids *madeIDs) ofThought(id string) string {
	if id == "" {
		id = ids.next(ids.thought, &ids.thoughts)
	}
	return id
}

func (ids *madeIDs) call(id, name string) string {
	if id != "" {
		return id
	}
	id = ids.next("call_", &ids.numbers)
	ids.named[name] = append(ids.named[name], len(ids.calls))
	ids.calls = append(ids.calls, madeCall{id: id})
	return id
}

// result returns the id of the first call without a result: of the tool that the result
// names, or of any if it names none.
func (ids *madeIDs) result(id, name string) string {
	if id != "" {
		return id
	}
	if name == "" {
		for ; ids.first < len(ids.calls); ids.first++ {
			if c := &ids.calls[ids.first]; !c.answered {
				c.answered = true
				return c.id
			}
		}
	}
	for list := ids.named[name]; len(list) > 0; list = ids.named[name] {
		ids.named[name] = list[1:]
		if c := &ids.calls[list[0]]; !c.answered {
			c.answered = true
			return c.id
		}
	}
	return ids.next("call_", &ids.numbers)
}

// next returns the next id that the request does not have.
func (ids *madeIDs) next(prefix string, n *int) string {
	for {
		*n++
		if id := prefix + strconv.Itoa(*n); !ids.used[id] {
			return id
		}
	}
}
