package turn

import (
	"slices"
	"strconv"
)

// Identified returns messages in which each call has an ID, and each result has that and the name
// of the call that it answers. It is for APIs that need them, because in others they may be left
// out. The same messages get the same IDs.
//
// A result without an ID answers the first call of its name that has no answer yet, or the first
// of all if it has no name either. One that answers no call stays as it is.
func Identified(list []Message) []Message {
	x := identifier{used: map[string]bool{}, last: map[string]*call{}, open: map[string][]*call{}}
	for _, m := range list {
		for _, p := range m.Parts {
			x.used[p.ID] = true
		}
	}
	list = slices.Clone(list)
	for i := range list {
		parts := slices.Clone(list[i].Parts)
		for j := range parts {
			switch parts[j].Kind {
			case Call:
				x.call(&parts[j])
			case Result:
				x.result(&parts[j])
			}
		}
		list[i].Parts = parts
	}
	return list
}

type call struct {
	id, name string
	answered bool
}

type identifier struct {
	used   map[string]bool // the IDs of the request, and those that were made
	number int             // of the last that was made
	last   map[string]*call
	open   map[string][]*call // those of a name, and those of any under ""; some may be answered
}

func (x *identifier) call(p *Part) {
	for p.ID == "" {
		x.number++
		if id := "call_" + strconv.Itoa(x.number); !x.used[id] {
			p.ID, x.used[id] = id, true
		}
	}
	c := &call{id: p.ID, name: p.Name}
	x.last[p.ID] = c
	x.open[""] = append(x.open[""], c)
	if p.Name != "" {
		x.open[p.Name] = append(x.open[p.Name], c)
	}
}

func (x *identifier) result(p *Part) {
	c := x.last[p.ID]
	if p.ID == "" {
		c = x.first(p.Name)
	}
	if c == nil {
		return
	}
	c.answered = true
	p.ID = c.id
	if p.Name == "" {
		p.Name = c.name
	}
}

// first returns the first call of a name that has no answer, and forgets those before it.
func (x *identifier) first(name string) *call {
	list := x.open[name]
	for len(list) > 0 && list[0].answered {
		list = list[1:]
	}
	x.open[name] = list
	if len(list) == 0 {
		return nil
	}
	return list[0]
}
