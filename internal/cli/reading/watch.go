package reading

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/catalogue"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/detect"
)

// A Watch looks for markers that another dialect reads: those that the dialect in use
// does not know, and output blocks that it leaves in the text.
type Watch struct {
	used    *sotto.Grammar
	others  *detect.Detector
	outputs map[string]string // by the name of a tag: the first dialect that reads its block anywhere

	mu   sync.Mutex
	late map[string]int // by dialect: replies whose first late output block it would read
}

// NewWatch returns a watch over replies that are read in a manner.
func NewWatch(c *catalogue.Catalogue, m catalogue.Manner) *Watch {
	w := &Watch{used: m.Grammar, others: detect.Foreign(c.Dialects(), m.Grammar.Dialect()), outputs: map[string]string{}, late: map[string]int{}}
	for _, d := range c.Dialects() {
		for _, k := range d.Markers {
			if name := strings.ToLower(k.Tag); d.Output == sotto.OutputAnywhere && k.Role == sotto.RoleOutput && name != "" && w.outputs[name] == "" {
				w.outputs[name] = d.Name
			}
		}
	}
	return w
}

// See looks at a reply. A reply whose line chose another dialect does not count.
func (w *Watch) See(g *sotto.Grammar, reply string) {
	if g == w.used {
		w.others.Add(reply)
	}
}

// SeeBytes looks at a reply.
func (w *Watch) SeeBytes(g *sotto.Grammar, reply []byte) {
	if g == w.used {
		w.others.AddBytes(reply)
	}
}

// SeeRead looks at what the reading of a reply found: output blocks that began after
// visible text, and so are text. A reply that only names the tag has no such block.
func (w *Watch) SeeRead(g *sotto.Grammar, found []sotto.Diagnostic, reply func() string) {
	if g != w.used {
		return
	}
	i := slices.IndexFunc(found, func(d sotto.Diagnostic) bool { return d.Reason == sotto.ReasonLateOutput })
	if i < 0 {
		return
	}
	text := reply()
	text = strings.ToLower(text[min(found[i].Offset, len(text)):])
	name, rest, _ := strings.Cut(strings.TrimLeft(text, "< \t"), ">")
	name = strings.TrimSpace(name)
	if dialect := w.outputs[name]; dialect != "" && strings.Contains(rest, "</"+name) {
		w.mu.Lock()
		w.late[dialect]++
		w.mu.Unlock()
	}
}

// oneIn is the smallest share of replies that is worth a hint: a marker may also be
// what a reply is about.
const oneIn = 100

// Report prints a hint if replies have markers of another dialect, or else if they have
// output blocks that one would read.
func (w *Watch) Report(sh *shell.Shell) {
	fits := w.others.Fits()
	if len(fits) == 0 || fits[0].Replies*oneIn < w.others.Replies() {
		w.reportLate(sh)
		return
	}
	best := fits[0]
	if w.others.Replies() == 1 {
		sh.Hintf("the reply has markers of dialect %s; --dialect %s", best.Dialect, best.Dialect)
		return
	}
	sh.Hintf("markers of dialect %s in %s; --dialect %s", best.Dialect, shell.Plural(best.Replies, "1 reply", "%d replies"), best.Dialect)
}

func (w *Watch) reportLate(sh *shell.Shell) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, dialect := range slices.Sorted(maps.Keys(w.late)) {
		n := w.late[dialect]
		if n*oneIn < w.others.Replies() {
			continue
		}
		have := "the reply has"
		if w.others.Replies() > 1 {
			have = shell.Plural(n, "1 reply has", "%d replies have")
		}
		sh.Hintf("%s an output block after other text, so the block is text; --dialect %s reads it as the answer", have, dialect)
	}
}
