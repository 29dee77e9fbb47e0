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
	thoughts int
	numbers  int
}

type madeCall struct {
	id       string
	answered bool
}

func newIDs(messages []turn.Message) *madeIDs {
	ids := &madeIDs{used: map[string]bool{}, named: map[string][]int{}}
	for i := range messages {
		for j := range messages[i].Parts {
			ids.used[messages[i].Parts[j].ID] = true
		}
	}
	return ids
}

func (ids *madeIDs) thought(id string) string {
	if id == "" {
		id = ids.next("rs_", &ids.thoughts)
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
