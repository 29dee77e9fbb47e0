package recordtable

import (
	"slices"
	"strconv"

	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/record"
)

// A node is one end of an edge.
type node struct {
	kind string // event, reply, run or memory
	id   string
	cut  bool // the id was not recorded
}

// An edgeRow is a row of the table of edges.
type edgeRow struct {
	e        *recordset.Event
	kind     string
	from, to node
}

var edges = define(Table{
	Name: "edges",
	Doc: "One row for each reference from one thing to another, to draw a graph: extracted_from, called_by, summary_of and about point to a reply; " +
		"ran and child_of to a run; answered_by from a run to a reply; solved_by from a problem to a reply; used and learned from a problem to a node of the memory.",
	Types: []record.Type{record.TypeRunStart, record.TypeExtraction, record.TypeToolCall, record.TypeCycleEnd, record.TypeAdvisory, record.TypeError, record.TypeMemory},
}, slices.Concat(
	where(func(r *edgeRow) *recordset.Event { return r.e }),
	[]column[edgeRow]{
		textColumn("kind", "What the reference means.", func(r *edgeRow, c *cells) { c.text(r.kind) }),
		textColumn("from_type", "What refers: event or run.", func(r *edgeRow, c *cells) { c.text(r.from.kind) }),
		textColumn("from_id", "Its name within the record: the number of an event, or the name of a run.", func(r *edgeRow, c *cells) { c.id(r.from) }),
		textColumn("to_type", "What is referred to: reply, run or memory.", func(r *edgeRow, c *cells) { c.text(r.to.kind) }),
		textColumn("to_id", "Its name within the record: SEQ.CHOICE of a reply, the name of a run, or KIND:KEY of a node of the memory.", func(r *edgeRow, c *cells) { c.id(r.to) }),
		truthColumn("cut", "Whether the name of a node was not recorded; to_id is null then.", func(r *edgeRow, c *cells) { c.Truth(r.to.cut) }),
	}), stateless(func(e *recordset.Event, row func(*edgeRow) error) error {
	for _, r := range edgesOf(e) {
		r.e = e
		if err := row(&r); err != nil {
			return err
		}
	}
	return nil
}))

// id writes the name of a node.
func (c *cells) id(n node) {
	if n.cut {
		c.Null()
		return
	}
	c.text(n.id)
}

func eventNode(e *recordset.Event) node {
	return node{kind: "event", id: strconv.FormatUint(e.Seq, 10)}
}

func runNode(run string) node { return node{kind: "run", id: run} }

func replyNode(of *record.Ref) node {
	return node{kind: "reply", id: strconv.FormatUint(of.Seq, 10) + "." + strconv.Itoa(of.Choice)}
}

func memoryNode(n *record.MemoryNode) node {
	return node{kind: "memory", id: n.Kind + ":" + string(n.Key.Text), cut: !n.Key.Whole()}
}

// edgesOf returns the references of an event.
func edgesOf(e *recordset.Event) (list []edgeRow) {
	add := func(kind string, from, to node) { list = append(list, edgeRow{kind: kind, from: from, to: to}) }
	reply := func(kind string, from node, of *record.Ref) {
		if of != nil && of.Seq > 0 {
			add(kind, from, replyNode(of))
		}
	}
	self := eventNode(e)
	switch p := e.Payload.(type) {
	case record.RunStart:
		if p.Parent != "" && !p.Resumed {
			add("child_of", runNode(e.Run), runNode(p.Parent))
		}
	case record.Extraction:
		reply("extracted_from", self, &p.Of)
	case record.ToolCall:
		if p.Phase == "start" {
			return nil // its end has the same references
		}
		reply("called_by", self, p.Of)
		if p.Child != nil {
			add("ran", self, runNode(p.Child.Run))
			reply("answered_by", runNode(p.Child.Run), p.Child.Of)
		}
	case record.CycleEnd:
		reply("summary_of", self, p.Of)
	case record.Advisory:
		reply("about", self, p.Of)
	case record.Failure:
		reply("about", self, p.Of)
	case record.Memory:
		reply("solved_by", self, p.Of)
		for i := range p.Used {
			add("used", self, memoryNode(&p.Used[i]))
		}
		for _, n := range []*record.MemoryNode{p.Trace, p.Template} {
			if n != nil {
				add("learned", self, memoryNode(n))
			}
		}
	}
	return list
}
