package record

// A Memory says what a memory gave for a problem, and what it learned from the
// outcome.
type Memory struct {
	Task   string `json:"task"`
	Solved bool   `json:"solved"`
	// Of is the reply whose answer passed; nil if none did, or none was asked for.
	Of *Ref `json:"of,omitempty"`
	// Query is the problem's canonical query. Used are the nodes that were offered
	// for it. Trace and Template are the nodes of its solution.
	Query    Content      `json:"query"`
	Used     []MemoryNode `json:"used,omitempty"`
	Trace    *MemoryNode  `json:"trace,omitempty"`
	Template *MemoryNode  `json:"template,omitempty"`
	// Traces and Templates count those of the whole memory afterwards.
	Traces    int `json:"traces"`
	Templates int `json:"templates"`
}

// A MemoryNode names a node of a memory.
type MemoryNode struct {
	Kind string  `json:"kind"` // trace or template
	Key  Content `json:"key"`
	New  bool    `json:"new,omitempty"`
}

// Type returns TypeMemory.
func (Memory) Type() Type { return TypeMemory }

func (Memory) facts() facts { return facts{} }

func (x Memory) guarded(g *guard) Payload {
	x.Query = g.content(x.Query, said)
	used := make([]MemoryNode, len(x.Used))
	for i, n := range x.Used {
		used[i] = *n.guarded(g)
	}
	x.Used, x.Trace, x.Template = used, x.Trace.guarded(g), x.Template.guarded(g)
	return x
}

func (n *MemoryNode) guarded(g *guard) *MemoryNode {
	if n == nil {
		return nil
	}
	return &MemoryNode{n.Kind, g.content(n.Key, said), n.New}
}
