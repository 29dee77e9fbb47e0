package runview

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/lexical"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/record"
)

const (
	// maxKeys and maxReflections bound what is shown of a run's memory, maxText one
	// text of it.
	maxKeys        = 200
	maxReflections = 50
	maxText        = 4 << 10
	maxValues      = 256 << 10 // bytes of all values
	// maxCompared is how many reflections are compared with each other.
	maxCompared = 24
)

// Threshold is the similarity from which two reflections are taken to say the same,
// as the agent's advisory takes it.
const Threshold = 0.737

// Remembered is what a run had in its memory at the end of a cycle, as far as the
// record says.
type Remembered struct {
	V     int `json:"v"`
	Run   Run `json:"run"`
	Cycle int `json:"cycle"`
	First int `json:"first"`
	Last  int `json:"last"`
	// Keys are the texts that tools wrote and did not delete, by their keys.
	Keys     []Key `json:"keys"`
	MoreKeys int   `json:"more_keys,omitempty"`
	// Reflections are those of the cycles so far, the newest first.
	Reflections     []Reflection `json:"reflections"`
	MoreReflections int          `json:"more_reflections,omitempty"`
	// Nodes are what a stream of problems learned in this cycle.
	Nodes []Learned `json:"nodes,omitempty"`
	// Partial says that the run is too long to be read whole, so that keys that were
	// written before cycle Since may be missing.
	Partial    bool   `json:"partial,omitempty"`
	Since      int    `json:"since,omitempty"`
	Unreadable int    `json:"unreadable,omitempty"`
	Head       uint64 `json:"head"`
}

// A Key is a text in a memory.
type Key struct {
	Key   string `json:"key"`
	Value Text   `json:"value"`
	Cycle int    `json:"cycle"` // that wrote it
	Event uint64 `json:"event"`
	// Now says that the cycle that is looked at wrote it; Deleted that it deleted it.
	Now     bool `json:"now,omitempty"`
	Deleted bool `json:"deleted,omitempty"`
}

// A Text is a text, or its beginning.
type Text struct {
	Text  record.Text `json:"text"`
	Bytes int         `json:"bytes"`
	Cut   bool        `json:"cut,omitempty"`
}

func textOf(s string, most int) Text {
	short := shorttext.Cut(s, max(0, most))
	return Text{record.Text(strings.Clone(short)), len(s), len(short) < len(s)}
}

// A Reflection is what a cycle ended with.
type Reflection struct {
	Cycle  int    `json:"cycle"`
	Event  uint64 `json:"event"`
	Status string `json:"status"`
	Text   Text   `json:"text"`
	// Similarity is the similarity that the run itself measured to the most similar
	// earlier reflection, which is that of cycle SimilarTo. Method measured it.
	Similarity float64 `json:"similarity,omitempty"`
	SimilarTo  int     `json:"similar_to,omitempty"`
	Method     string  `json:"method,omitempty"`
}

func reflectionOf(e *record.Event, x *record.CycleEnd, most int) Reflection {
	r := Reflection{Cycle: e.Cycle, Event: e.Seq, Status: shorttext.Cut(x.Status, maxName), Text: textOf(string(x.Summary.Text), most)}
	if m := x.Metrics; m != nil && m.Similarity >= 0 && m.Similarity <= 1 {
		r.Similarity, r.SimilarTo, r.Method = m.Similarity, m.SimilarTo, shorttext.Cut(m.Method, maxName)
	}
	return r
}

// Learned is what a problem taught a memory.
type Learned struct {
	Event    uint64 `json:"event"`
	Cycle    int    `json:"cycle"`
	Task     string `json:"task"`
	Query    Text   `json:"query"`
	Solved   bool   `json:"solved"`
	Used     []Node `json:"used,omitempty"`
	Trace    *Node  `json:"trace,omitempty"`
	Template *Node  `json:"template,omitempty"`
	// Traces and Templates are in the memory afterwards.
	Traces    int `json:"traces"`
	Templates int `json:"templates"`
}

// A Node is a node of a memory.
type Node struct {
	Kind string `json:"kind"`
	Key  Text   `json:"key"`
	New  bool   `json:"new,omitempty"`
}

func nodeOf(n *record.MemoryNode) *Node {
	if n == nil {
		return nil
	}
	return &Node{shorttext.Cut(n.Kind, maxName), textOf(string(n.Key.Text), maxGlance), n.New}
}

func learnedOf(e *record.Event, x *record.Memory) Learned {
	l := Learned{
		Event: e.Seq, Cycle: e.Cycle, Task: shorttext.Cut(x.Task, maxName), Query: textOf(string(x.Query.Text), maxGlance), Solved: x.Solved,
		Trace: nodeOf(x.Trace), Template: nodeOf(x.Template), Traces: max(0, x.Traces), Templates: max(0, x.Templates),
	}
	for i := range x.Used[:min(len(x.Used), maxIDs)] {
		l.Used = append(l.Used, *nodeOf(&x.Used[i]))
	}
	return l
}

// Remembered returns what a run remembered at the end of a cycle; math.MaxInt is the
// last one.
func (s *Source) Remembered(ctx context.Context, name string, cycle int) (*Remembered, error) {
	_, newest, _, err := s.one(ctx, name)
	if err != nil {
		return nil, err
	}
	c, err := s.count(ctx, name, 0, 0)
	if err != nil {
		return nil, err
	}
	m := &Remembered{V: 1, Run: *newest, First: c.first, Last: c.last, Cycle: max(c.first, min(cycle, c.last)), Keys: []Key{}, Reflections: []Reflection{}}
	if last, err := s.store.Last(); err == nil {
		m.Head = last
	}
	var read reading
	seen := map[string]bool{}
	room := maxValues
	q := record.Query{Run: name, Types: []record.Type{record.TypeToolCall, record.TypeCycleEnd, record.TypeMemory}}
	m.Partial, err = s.back(ctx, q, &read, func(g *record.Glimpse) bool {
		if g.Event.Cycle > m.Cycle {
			return true
		}
		m.Since = g.Event.Cycle
		switch x := g.Event.Payload.(type) {
		case record.ToolCall:
			if k, ok := keyOf(&g.Event, &x, room); ok && !seen[k.Key] {
				seen[k.Key] = true
				k.Now = k.Cycle == m.Cycle
				m.keep(k, &room)
			}
		case record.CycleEnd:
			if len(m.Reflections) == maxReflections {
				m.MoreReflections++
			} else if len(x.Summary.Text) > 0 {
				m.Reflections = append(m.Reflections, reflectionOf(&g.Event, &x, maxText))
			}
		case record.Memory:
			if g.Event.Cycle == m.Cycle && len(m.Nodes) < maxKeys {
				m.Nodes = append(m.Nodes, learnedOf(&g.Event, &x))
			}
		}
		return len(seen) < 4*maxKeys
	})
	if err != nil {
		return nil, err
	}
	if !m.Partial && len(seen) < 4*maxKeys {
		m.Since = 0
	} else {
		m.Partial = true
	}
	m.Unreadable = read.unreadable
	slices.SortStableFunc(m.Keys, func(a, b Key) int { return strings.Compare(a.Key, b.Key) })
	return m, nil
}

// keep adds a key to those that are shown. One that was deleted is shown in the cycle
// that deleted it.
func (m *Remembered) keep(k Key, room *int) {
	switch {
	case k.Deleted && !k.Now:
	case len(m.Keys) == maxKeys:
		m.MoreKeys++
	default:
		*room -= len(k.Value.Text)
		m.Keys = append(m.Keys, k)
	}
}

// keyOf returns what a call of a memory's tool changed. The result says that it did.
func keyOf(e *record.Event, x *record.ToolCall, room int) (k Key, ok bool) {
	result := string(x.Result.Text)
	switch {
	case x.Phase != "end" || x.Error != "":
		return k, false
	case x.Name == "write" && (strings.HasPrefix(result, `wrote "`) || strings.HasPrefix(result, `replaced "`)):
	case x.Name == "delete" && strings.HasPrefix(result, `deleted "`):
		k.Deleted = true
	default:
		return k, false
	}
	v, err := foreignjson.Parse([]byte(x.Arguments.Text))
	if err != nil || !v.Get("key").Exists() {
		return k, false
	}
	k.Key, k.Value = strings.Clone(shorttext.Cut(v.Get("key").String(), maxName)), textOf(v.Get("value").String(), min(room, maxText))
	k.Cycle, k.Event = e.Cycle, e.Seq
	return k, true
}

// A Matrix compares the reflections of a run with each other.
type Matrix struct {
	V   int `json:"v"`
	Run Run `json:"run"`
	// Method says how they are compared, and Threshold from what similarity two are
	// taken to say the same.
	Method      string       `json:"method"`
	Threshold   float64      `json:"threshold"`
	First       int          `json:"first"`
	Last        int          `json:"last"`
	Reflections []Reflection `json:"reflections"` // in order
	// Similar are the similarities of each reflection to those before it, 0 to 1.
	Similar [][]float64 `json:"similar"`
	// More counts the reflections that are not compared: the earlier ones.
	More       int    `json:"more,omitempty"`
	Partial    bool   `json:"partial,omitempty"`
	Unreadable int    `json:"unreadable,omitempty"`
	Head       uint64 `json:"head"`
}

// Matrix compares the last reflections of the cycles in a window.
func (s *Source) Matrix(ctx context.Context, name string, w Window) (*Matrix, error) {
	_, newest, _, err := s.one(ctx, name)
	if err != nil {
		return nil, err
	}
	m := &Matrix{V: 1, Run: *newest, Method: "lexical", Threshold: Threshold, Reflections: []Reflection{}, Similar: [][]float64{}}
	if last, err := s.store.Last(); err == nil {
		m.Head = last
	}
	var read reading
	var texts []string
	m.Partial, err = s.back(ctx, record.Query{Run: name, Types: []record.Type{record.TypeCycleEnd}}, &read, func(g *record.Glimpse) bool {
		x, ok := g.Event.Payload.(record.CycleEnd)
		if !ok || g.Event.Cycle < w.From || g.Event.Cycle > w.To || strings.TrimSpace(string(x.Summary.Text)) == "" {
			return true
		}
		if len(texts) == maxCompared {
			m.More++
			return true
		}
		texts = append(texts, string(x.Summary.Text))
		m.Reflections = append(m.Reflections, reflectionOf(&g.Event, &x, maxText))
		return true
	})
	if err != nil {
		return nil, err
	}
	m.Unreadable = read.unreadable
	slices.Reverse(texts)
	slices.Reverse(m.Reflections)
	if n := len(m.Reflections); n > 0 {
		m.First, m.Last = m.Reflections[0].Cycle, m.Reflections[n-1].Cycle
	}
	m.Similar = similar(texts)
	return m, nil
}

// similar compares each text with those before it.
func similar(texts []string) [][]float64 {
	groups := make([]map[string]float64, len(texts))
	list := make([][]float64, len(texts))
	for i, text := range texts {
		groups[i] = lexical.Groups(text)
		list[i] = make([]float64, i)
		for j := range i {
			list[i][j] = likeness(groups[i], groups[j])
		}
	}
	return list
}

func likeness(a, b map[string]float64) float64 {
	return math.Round(1000*min(1, lexical.Cosine(a, b))) / 1000
}
