package turns

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/wire/turn"
)

// Identified returns the messages with an ID on each call and its result that an API accepts:
// letters, digits, _ and -, and at most limit of them, if it is not 0. Some APIs have no IDs,
// and some models write others. The same messages always get the same IDs. Parts that the
// codec of the API itself has read keep theirs.
func Identified(list []turn.Message, api string, limit int) []turn.Message {
	n := names{api: api, limit: limit, used: map[string]bool{}, mapped: map[string]string{}, counts: map[string]int{}, waiting: map[string][]*call{}}
	if !n.look(list) {
		return list
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].Parts = slices.Clone(list[i].Parts)
		for j := range list[i].Parts {
			switch p := &list[i].Parts[j]; {
			case p.Extra.API == api:
			case p.Kind == turn.Call:
				n.call(p)
			case p.Kind == turn.Result:
				n.result(p)
			}
		}
	}
	return list
}

type names struct {
	api     string
	limit   int
	used    map[string]bool
	mapped  map[string]string // by the ID that was replaced
	counts  map[string]int    // of IDs that were made of one
	waiting map[string][]*call
	all     []*call
}

// A call is one without an ID, whose result has none either.
type call struct {
	id   string
	done bool
}

// look collects the IDs that stay, and reports whether any does not.
func (n *names) look(list []turn.Message) (bad bool) {
	for _, m := range list {
		for _, p := range m.Parts {
			if p.Kind != turn.Call && p.Kind != turn.Result {
				continue
			}
			if p.Extra.API == n.api || p.ID != "" && p.ID == n.clean(p.ID) {
				n.used[p.ID] = true
			} else {
				bad = true
			}
		}
	}
	return bad
}

func (n *names) clean(id string) string {
	id = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, id)
	if n.limit > 0 && len(id) > n.limit {
		id = id[:n.limit]
	}
	return id
}

// fresh returns an ID that no other call has. It begins with base.
func (n *names) fresh(base string) string {
	id := base
	for n.used[id] || id == "call" {
		n.counts[base]++
		number := "_" + strconv.Itoa(n.counts[base])
		id = base
		if n.limit > 0 && len(id)+len(number) > n.limit {
			id = id[:n.limit-len(number)]
		}
		id += number
	}
	n.used[id] = true
	return id
}

func (n *names) call(p *turn.Part) {
	if p.ID != "" {
		p.ID = n.of(p.ID)
		return
	}
	p.ID = n.fresh("call")
	c := &call{id: p.ID}
	n.waiting[p.Name] = append(n.waiting[p.Name], c)
	n.all = append(n.all, c)
}

// of returns the ID that stands for one.
func (n *names) of(id string) string {
	clean := n.clean(id)
	if clean == id {
		return id
	}
	to, ok := n.mapped[id]
	if !ok {
		to = n.fresh(clean)
		n.mapped[id] = to
	}
	return to
}

// result gives a result without an ID that of the first call that waits for one, of the same
// tool if there is such a call.
func (n *names) result(p *turn.Part) {
	if p.ID != "" {
		p.ID = n.of(p.ID)
		return
	}
	c := first(n.waiting, p.Name)
	if c == nil {
		for len(n.all) > 0 && n.all[0].done {
			n.all = n.all[1:]
		}
		if len(n.all) == 0 {
			p.ID = n.fresh("call")
			return
		}
		c = n.all[0]
	}
	c.done = true
	p.ID = c.id
}

func first(waiting map[string][]*call, name string) *call {
	list := waiting[name]
	for len(list) > 0 && list[0].done {
		list = list[1:]
	}
	waiting[name] = list
	if len(list) == 0 {
		return nil
	}
	return list[0]
}
