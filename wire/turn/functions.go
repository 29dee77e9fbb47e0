package turn

import (
	"slices"
	"strconv"

	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
	"github.com/sotto-llm/sotto/wire"
)

// freeSchema is that of the arguments of such a function.
const freeSchema = `{"type":"object","properties":{"` + wire.FreeInput + `":{"type":"string"}},"required":["` + wire.FreeInput + `"],"additionalProperties":false}`

// between stands between the name of a group and that of a tool in it.
const between = "__"

// Functions makes a function of each tool in a group, and, unless free says that the API has them, of
// each tool that takes a text. The calls of such tools become calls of the functions. It returns the
// tools by the names of the functions that stand for them.
func (q *Request) Functions(free bool) map[string]wire.Origin {
	x := functions{free: free, taken: map[string]bool{}, names: map[wire.Origin]string{}, of: map[string]wire.Origin{}}
	for _, t := range q.Tools {
		if t.Within == nil {
			x.taken[t.Name] = true
		}
	}
	var tools []Tool
	for _, t := range q.Tools {
		if t.Within == nil {
			tools = append(tools, x.tool(t, ""))
		} else if t.Description != "" {
			q.Leave(t.Extra.Path, OfDescription)
		}
		for _, in := range t.Within {
			tools = append(tools, x.tool(in, t.Name))
		}
	}
	if q.Tools != nil {
		q.Tools = slices.Clip(tools)
	}
	for i := range q.Messages {
		for j := range q.Messages[i].Parts {
			x.part(&q.Messages[i].Parts[j])
		}
	}
	return x.of
}

type functions struct {
	free  bool
	taken map[string]bool
	names map[wire.Origin]string // of the functions; Free is not part of the key
	of    map[string]wire.Origin
}

func (x *functions) tool(t Tool, space string) Tool {
	o := wire.Origin{Name: t.Name, Space: space}
	if space != "" {
		t.Name = x.name(o)
	}
	if o.Free = t.Free && !x.free; o.Free {
		t.Free, t.Schema = false, freeSchema
		if t.Grammar != "" {
			t.Description += "\n\nThe member " + wire.FreeInput + " is a text that fits this grammar (" + t.Syntax + "):\n\n" + t.Grammar
		}
		t.Syntax, t.Grammar = "", ""
	}
	if o.Free || space != "" {
		x.of[t.Name] = o
	}
	return t
}

// name returns the name of the function for a tool in a group.
func (x *functions) name(o wire.Origin) string {
	if name, ok := x.names[o]; ok {
		return name
	}
	name := o.Space + between + o.Name
	for i := 2; x.taken[name]; i++ {
		name = o.Space + between + o.Name + "_" + strconv.Itoa(i)
	}
	x.taken[name], x.names[o] = true, name
	return name
}

// part makes a call one of a function, and a result that of one.
func (x *functions) part(p *Part) {
	if p.Kind != Call && p.Kind != Result {
		return
	}
	if p.Space != "" {
		p.Name, p.Space = x.name(wire.Origin{Name: p.Name, Space: p.Space}), ""
		p.Extra.Whole = ""
	}
	if !p.Free || x.free {
		return
	}
	p.Free, p.Extra.Whole = false, ""
	if p.Kind == Call {
		var o jsonwrite.Object
		o.Text(wire.FreeInput, p.Arguments)
		p.Arguments = string(o.End())
	}
}
