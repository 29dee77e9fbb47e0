package reading

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/reply/detect"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/internal/reply/leak"
)

// A Watch counts replies of which reasoning would be shown: those that still leak, as
// sotto leaks counts, when they are read in their dialect. It is safe for concurrent use.
type Watch struct {
	names  *dialectset.Set
	finder *leak.Finder

	outputs map[string]string // by the name of a tag: the first dialect that reads its block anywhere

	read    atomic.Int64 // replies that SeeRead looked at
	replies atomic.Int64
	last    atomic.Pointer[readings] // those of the last reply

	mu      sync.Mutex
	late    map[string]int                      // by dialect: those whose first late output block it would read
	foreign map[*sotto.Grammar]*detect.Detector // of the markers that a dialect does not know
	ways    []*readings                         // how replies were read
	tally   dialectset.Tally                    // those that leak by a dialect that was not read
	columns map[string]bool                     // that they are in, where they were in a record
	leaked  int
}

// readings count the replies that are read in one way.
type readings struct {
	name string
	by   dialectset.By
	n    atomic.Int64
}

// NewWatch returns a watch.
func NewWatch(c *dialectset.Set) *Watch {
	w := &Watch{names: c, finder: leak.New(c.Dialects()), foreign: map[*sotto.Grammar]*detect.Detector{}, columns: map[string]bool{}, outputs: map[string]string{}, late: map[string]int{}}
	w.finder.ForModel = c.ForModel
	for _, d := range c.Dialects() {
		for _, k := range d.Markers {
			if name := strings.ToLower(k.Tag); d.Output == dialect.PlacementAnywhere && k.Role == dialect.RoleOutput && name != "" && w.outputs[name] == "" {
				w.outputs[name] = d.Name
			}
		}
	}
	return w
}

// Read counts a reply that is read in a manner. Workers do not wait for one another where
// that is the manner of the reply before.
func (w *Watch) Read(m dialectset.Manner) {
	way := w.last.Load()
	if way == nil || way.name != m.Name || way.by != m.By {
		way = w.way(m)
		w.last.Store(way)
	}
	way.n.Add(1)
}

// way returns the count of the replies that are read in a manner.
func (w *Watch) way(m dialectset.Manner) *readings {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, way := range w.ways {
		if way.name == m.Name && way.by == m.By {
			return way
		}
	}
	way := &readings{name: m.Name, by: m.By}
	w.ways = append(w.ways, way)
	return way
}

// See counts a reply that is read in a manner, and looks at it. read is its reading; if it is
// nil, See reads a reply that has a marker which the dialect does not know.
func (w *Watch) See(m dialectset.Manner, reply string, read *sotto.Reply) {
	w.Read(m)
	w.replies.Add(1)
	if m.Plain {
		return
	}
	w.mu.Lock()
	others := w.foreign[m.Grammar]
	if others == nil {
		others = detect.Foreign(w.names.Dialects(), m.Grammar.Dialect())
		w.foreign[m.Grammar] = others
	}
	w.mu.Unlock()
	if !others.Any(reply) {
		return
	}
	if read == nil {
		var err error
		if read, err = m.Grammar.Parse(reply, m.Start, m.End); err != nil {
			return
		}
	}
	w.text(m, read.Visible())
}

// text looks at the visible text of a reply that was read in a manner.
func (w *Watch) text(m dialectset.Manner, visible string) {
	if l, leaks := w.finder.Find(visible, sotto.EndStopped, leak.Answer); leaks {
		w.note(l.Dialect, m.Name, "")
	}
}

// SeeRead looks at what the reading of a reply found: output blocks that began after
// visible text, and so are text. A reply that only names the tag has no such block.
func (w *Watch) SeeRead(found []sotto.Diagnostic, reply func() string) {
	w.read.Add(1)
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

// Text looks at a reply that was stripped.
func (w *Watch) Text(m dialectset.Manner, visible string) {
	w.replies.Add(1)
	w.text(m, visible)
}

// Whole looks at a whole text that was stripped.
func (w *Watch) Whole(m dialectset.Manner, text []byte) { w.finder.Whole(text, watched{w, m.Name}) }

// Clean reports whether no text of a record has a marker of any dialect, and no member
// holds reasoning. It may report false for such a record.
func (w *Watch) Clean(record []byte) bool { return !w.finder.MayLeak(record) }

// NoteClean counts a record that is clean and whose replies were stripped.
func (w *Watch) NoteClean() { w.replies.Add(1) }

// Line looks at a record whose replies were stripped.
func (w *Watch) Line(m dialectset.Manner, record []byte) {
	if w.Clean(record) {
		w.NoteClean()
		return
	}
	if v, err := foreignjson.Parse(record); err == nil {
		w.finder.Record(v, watched{w, m.Name})
	}
}

// maxColumns bounds the columns that an error names.
const maxColumns = 8

// note counts a reply that leaks, in which a dialect knows a marker. It was read in another
// one, or is beside what was read.
func (w *Watch) note(dialect, read, column string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leaked++
	if dialect != "" && dialect != read {
		w.tally.NoteUnread(dialect)
	}
	if column != "" && len(w.columns) < maxColumns {
		w.columns[shorttext.Ellipsis(column, 60)] = true
	}
}

// A watched takes the replies of an output that was read in one dialect.
type watched struct {
	*Watch
	read string
}

func (w watched) Reply(r leak.Reply) {
	w.replies.Add(1)
	if len(r.Leaks) == 0 {
		return
	}
	column := ""
	for _, p := range r.Parts {
		if p.Leaks {
			column = p.Column
		}
	}
	w.note(r.Leaks[0].Dialect, w.read, column)
}

// Unread does nothing: texts that are not read do not leak.
func (watched) Unread(leak.Texts) {}

// Tally returns how the replies were read.
func (w *Watch) Tally() *dialectset.Tally {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.tally
	for _, way := range w.ways {
		all.NoteRead(way.name, way.by, int(way.n.Load()))
	}
	return all.Joined()
}

// ReportRead prints in which dialects the replies of a log were read, if markers chose one.
func (w *Watch) ReportRead(sh *shell.Shell) {
	t := w.Tally()
	if slices.ContainsFunc(t.Read, func(c dialectset.Count) bool { return c.By == dialectset.ByMarkers }) {
		sh.Hintf("the replies were read in these dialects: %s", t)
	}
}

// Report prints a hint that names each dialect whose markers were not read, or else those
// that would read late output blocks.
func (w *Watch) Report(sh *shell.Shell) {
	if text := w.unread(); text != "" {
		sh.Hintf("%s", text)
		return
	}
	w.ReportLate(sh)
}

// ReportLate prints a hint if replies have output blocks that another dialect would read.
func (w *Watch) ReportLate(sh *shell.Shell) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, dialect := range slices.Sorted(maps.Keys(w.late)) {
		n := w.late[dialect]
		have := "the reply has"
		if w.read.Load() > 1 {
			have = shorttext.Plural(n, "1 reply has", "%d replies have")
		}
		sh.Hintf("%s an output block after other text, so the block is text; --dialect %s reads it as the answer", have, dialect)
	}
}

// Err returns an error if a reply that was stripped still leaks.
func (w *Watch) Err() error {
	w.mu.Lock()
	leaked, columns := w.leaked, slices.Sorted(maps.Keys(w.columns))
	w.mu.Unlock()
	if leaked == 0 {
		return nil
	}
	text := shorttext.Plural(leaked, "1 reply of the output still holds reasoning", "%d replies of the output still hold reasoning")
	if len(columns) > 0 {
		text += ", in " + strings.Join(columns, ", ")
	}
	return errorhint.Add(errors.New(text), cmp.Or(w.unread(), "sotto leaks shows it; --field says what is stripped"))
}

// unread names each dialect whose markers were not read, with its replies.
func (w *Watch) unread() string {
	found := w.Tally().Unread
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case len(found) == 0:
		return ""
	case len(found) == 1 && w.replies.Load() <= 1:
		return fmt.Sprintf("the reply has markers of dialect %s; --dialect %[1]s", found[0].Dialect)
	case len(found) == 1:
		return fmt.Sprintf("markers of dialect %s in %s; --dialect %[1]s", found[0].Dialect, shorttext.Count(found[0].Replies, "reply"))
	}
	var list []string
	for _, c := range found {
		list = append(list, fmt.Sprintf("%s in %s", c.Dialect, shorttext.Count(c.Replies, "reply")))
	}
	return "markers of several dialects: " + strings.Join(list, ", ") + "; a member with the model of each line, which --model-field can name, chooses its dialect"
}
