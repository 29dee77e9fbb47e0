package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/record"
)

// A Store reads a record with the help of its sidecars.
type Store struct {
	dir    string
	o      record.ReadOptions
	reader *record.Reader
	away   Away // or nil
	ctx    context.Context
	report Report
	read   counter // of sidecars

	skipped *Skipper // of the last question from the newest event on
	passed  int64    // or how many bytes it did not need
}

// A Query selects events.
type Query struct {
	record.Query
	// Pattern says that only events are wanted in whose texts it matches, as package
	// recordsearch searches them; and Text, if it is not empty, those in which it stands, in any
	// case of its letters. Others may be given too.
	Pattern *regexp.Regexp
	Text    string
	// Words says that only events are wanted that have these facts.
	Words map[Word]string
	// IDs says that only events are wanted that have one of these identifiers, and those of
	// the runs that have one of them or are named by it. Others may be given too.
	IDs []string
}

// narrows reports whether sidecars can help with a query.
func (q *Query) narrows() bool {
	return q.Run != "" || q.Cycle != nil || len(q.Types) > 0 || q.Model != "" || q.Diagnostic != "" || !q.From.IsZero() || !q.To.IsZero() ||
		q.Pattern != nil || q.Text != "" || len(q.IDs) > 0 || len(q.Words) > 0 || q.Skip != nil
}

// A Report says what was looked at. The numbers add up over the queries of a store.
type Report struct {
	Segments int `json:"segments"`
	// Without is how many of them have no sidecar, Stale of how many it does not fit, and
	// NoKey of how many it cannot be read without an identity. These were read as a whole.
	Without int `json:"without_sidecar"`
	Stale   int `json:"stale"`
	NoKey   int `json:"no_key"`
	// Blocks are those of the segments with sidecars, and Looked those of them that were read.
	Blocks int `json:"blocks"`
	Looked int `json:"looked_at"`
	// Bytes were read of segments that have a sidecar, and behind what it covers; Sidecars of
	// sidecars, in so many Reads.
	Bytes    int64 `json:"bytes"`
	Sidecars int64 `json:"sidecar_bytes"`
	Reads    int   `json:"reads"`
	// Requests are those to object storage, which gave Fetched bytes; Brought of the segments
	// were copied from there as a whole.
	Requests int   `json:"requests,omitempty"`
	Fetched  int64 `json:"fetched,omitempty"`
	Brought  int   `json:"brought,omitempty"`
}

// String says it in a line.
func (r Report) String() string {
	text := fmt.Sprintf("%s: %d of %d blocks were read (%d bytes), and %d bytes of sidecars", shorttext.Plural(r.Segments, "1 segment", "%d segments"), r.Looked, r.Blocks, r.Bytes, r.Sidecars)
	for _, why := range []struct {
		n    int
		text string
	}{{r.Without, "without a sidecar"}, {r.Stale, "whose sidecar does not fit"}, {r.NoKey, "whose sidecar no identity opens"}} {
		if why.n > 0 {
			text += fmt.Sprintf("; %d %s, read as a whole", why.n, why.text)
		}
	}
	if r.Requests > 0 {
		text += fmt.Sprintf("; %s to object storage, %d bytes", shorttext.Plural(r.Requests, "1 request", "%d requests"), r.Fetched)
	}
	if r.Brought > 0 {
		text += fmt.Sprintf("; %s copied from there", shorttext.Plural(r.Brought, "1 segment was", "%d segments were"))
	}
	return text
}

// Add adds another report.
func (r *Report) Add(o Report) {
	r.Segments += o.Segments
	r.Without += o.Without
	r.Stale += o.Stale
	r.NoKey += o.NoKey
	r.Blocks += o.Blocks
	r.Looked += o.Looked
	r.Bytes += o.Bytes
	r.Sidecars += o.Sidecars
	r.Reads += o.Reads
	r.Requests += o.Requests
	r.Fetched += o.Fetched
	r.Brought += o.Brought
}

// Open returns a store of a record. It changes nothing.
func Open(dir string, o record.ReadOptions) (*Store, error) {
	r, err := record.OpenReader(dir, o)
	if err != nil {
		return nil, err
	}
	return Of(r), nil
}

// Of returns the store of the record of a reader.
func Of(r *record.Reader) *Store {
	return &Store{dir: r.Dir(), o: r.Options(), reader: r, ctx: context.Background()}
}

// For returns a store for one reading, which ends with ctx where the record is elsewhere, and has
// a report of its own.
func (s *Store) For(ctx context.Context) *Store {
	return &Store{dir: s.dir, o: s.o, reader: s.reader, away: s.away, ctx: ctx}
}

// Reader returns the reader of the record.
func (s *Store) Reader() *record.Reader { return s.reader }

// Report returns what was looked at so far.
func (s *Store) Report() Report {
	r := s.report
	s.read.mu.Lock()
	defer s.read.mu.Unlock()
	r.Sidecars, r.Reads = s.read.bytes, s.read.reads
	if s.away != nil {
		r.Requests, r.Fetched = s.away.Fetched()
	}
	return r
}

// Events returns events that a query selects, in order, as [record.Reader.Events] does.
func (s *Store) Events(q Query) iter.Seq2[record.Event, error] {
	if !q.narrows() && s.away == nil {
		return s.reader.Events(q.Query)
	}
	return func(yield func(record.Event, error) bool) {
		list, err := s.segments(&q.Query)
		if err != nil {
			yield(record.Event{}, err)
			return
		}
		g := &giver{s: s, q: &q, yield: yield, runs: map[string]bool{}}
		if !q.narrows() && q.Before == 0 && q.Limit == 0 { // all is wanted, as far as the caller goes on
			for i := range list {
				if list[i].away = true; !g.whole(&list[i], 0) {
					return
				}
			}
			return
		}
		g.all(s.grouped(list))
	}
}

// all gives the events of segments.
func (g *giver) all(list []segment) bool {
	for p := range ahead(len(list), atOnce(&g.q.Query, workers(list, selectionsAhead)), func(i int) *plan { return g.s.plan(&list[i], g.q) }, func(p *plan) { p.seg.close() }) {
		if !g.segment(p) {
			return false
		}
	}
	return true
}

// segments lists the segments that may hold what a query selects.
func (s *Store) segments(q *record.Query) (list []segment, err error) {
	all, err := s.files()
	if err != nil {
		return nil, err
	}
	for i, f := range all {
		next := uint64(0)
		if i+1 < len(all) {
			next = all[i+1].First
		}
		if next > 0 && (next <= q.After+1 || q.Skip != nil && q.Skip(f.First, next-1)) || q.Before > 0 && f.First >= q.Before {
			continue
		}
		list = append(list, segment{File: f, next: next})
	}
	return list, nil
}

// atOnce returns how many segments are looked at together: one, if the first will most often do.
func atOnce(q *record.Query, most int) int {
	if q.Limit > 0 && q.Limit <= fewEvents {
		return 1
	}
	return most
}

// fewEvents are found in one segment, most often.
const fewEvents = 128

// A segment is one that is read: with its sidecar, or with the reason why not.
type segment struct {
	record.File
	data io.ReaderAt
	size int64
	next uint64 // the first event of the next segment; 0 if there is none
	away bool   // the segment is not in the folder
	f    *file
	err  error // why there is no f
	open []io.Closer
	// members are segments that have a sidecar together, and are not in the folder.
	members []segment
	merged  *Merged
}

func sidecarPath(f record.File) string {
	return filepath.Join(filepath.Dir(f.Path), record.SidecarName(f.First))
}

// opened opens a segment and its sidecar.
func (g *segment) opened(s *Store) {
	if g.members != nil {
		g.openedMerged(s)
		return
	}
	g.away = false
	if g.err = g.segment(); s.away != nil && (errors.Is(g.err, fs.ErrNotExist) || g.err == nil && !s.away.Same(g.First, g.size)) {
		g.close()
		g.away, g.err = true, nil
	}
	if g.err != nil {
		return
	}
	side, size, err := openSide(g.File)
	if err == nil {
		g.open = append(g.open, side)
		g.f, g.err = openFile(counting{side, &s.read}, size, g.data, g.size, g.First, s.o.Identities)
		return
	}
	if g.err = err; !errors.Is(err, fs.ErrNotExist) || s.away == nil {
		return
	}
	var data, away Part
	if data, away, g.err = s.away.Open(s.ctx, g.First); g.err != nil {
		return
	}
	var lines io.ReaderAt // the sidecar is bound to those that are not here
	if g.away {
		g.data, g.size = data, data.Size
	} else {
		lines = g.data
	}
	if g.f, g.err = openFile(counting{away, &s.read}, away.Size, lines, g.size, g.First, s.o.Identities); g.f != nil {
		g.f.far = true
	}
}

// segment opens the segment in the folder.
func (g *segment) segment() error {
	f, err := g.File.Open()
	if err != nil {
		return err
	}
	g.open = append(g.open, f)
	info, err := f.Stat()
	if err == nil {
		g.data, g.size = f, info.Size()
	}
	return err
}

// openSide opens the sidecar of a segment in the folder.
func openSide(f record.File) (side *os.File, size int64, err error) {
	file, err := (record.File{First: f.First, Path: sidecarPath(f)}).Open()
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

func (g *segment) close() {
	for _, c := range g.open {
		c.Close()
	}
	g.open = nil
}

// note adds a segment to the report.
func (s *Store) note(g *segment) {
	if g.members != nil && g.f == nil {
		return // they are looked at one by one
	}
	s.report.Segments += max(1, len(g.members))
	switch {
	case g.f != nil:
		s.report.Blocks += g.f.h.Blocks
	case errors.Is(g.err, fs.ErrNotExist):
		s.report.Without++
	case errors.Is(g.err, ErrNoKey):
		s.report.NoKey++
	default:
		s.report.Stale++
	}
}

// A giver gives the events of one query.
type giver struct {
	s     *Store
	q     *Query
	yield func(record.Event, error) bool
	n     int
	runs  map[string]bool // that have one of the identifiers
	given map[uint64]bool // events of the segment, while its sidecar is used
}

// give gives an event that a line has, if the query selects it.
func (g *giver) give(e record.Event) bool {
	if g.given[e.Seq] || !g.q.Matches(&e) {
		return true
	}
	if g.given != nil {
		g.given[e.Seq] = true
	}
	return g.pass(e)
}

// pass gives an event that the query selects.
func (g *giver) pass(e record.Event) bool {
	if (e.Type == record.TypeRunStart || e.Type == record.TypeCycleStart) && slices.ContainsFunc(identifiers(&e), func(id string) bool { return slices.Contains(g.q.IDs, id) }) {
		g.runs[e.Run] = true
	}
	g.n++
	return g.yield(e, nil) && (g.q.Limit == 0 || g.n < g.q.Limit)
}

// whole gives the events of a segment from a place on, without its sidecar.
func (g *giver) whole(seg *segment, from int64) bool {
	q := g.q.Query
	q.Limit = 0
	for e, err := range g.s.in(seg, from, q) {
		if err != nil {
			if !g.yield(e, err) || errors.Is(err, record.ErrSealed) {
				return false // the reader ends there too
			}
			continue
		}
		if g.given[e.Seq] {
			continue
		}
		if !g.pass(e) {
			return false
		}
	}
	return true
}

// segment gives the events of a segment, or of several that have a sidecar together.
func (g *giver) segment(p *plan) bool {
	seg := p.seg
	defer seg.close()
	if g.s.note(seg); seg.f == nil {
		return g.without(seg, seg.err)
	}
	if g.given == nil {
		g.given = map[uint64]bool{}
		defer func() { g.given = nil }()
	}
	more, err := g.indexed(p)
	if err != nil { // the sidecar is not what its header says
		g.s.report.Stale++
		return g.without(seg, err)
	}
	if !more {
		return false
	}
	if seg.size > seg.f.h.Covered {
		g.s.report.Bytes += seg.size - seg.f.h.Covered
		return g.whole(seg, seg.f.h.Covered)
	}
	return true
}

// without gives the events of a segment without its sidecar, for a reason.
func (g *giver) without(seg *segment, why error) bool {
	if isFailure(why) {
		g.yield(record.Event{}, why)
		return false
	}
	if seg.members != nil {
		return g.all(seg.members)
	}
	return g.whole(seg, 0)
}

// indexed gives the events that a sidecar covers. The error says that the sidecar does not
// fit; then not all may have been given.
func (g *giver) indexed(p *plan) (more bool, err error) {
	for _, x := range p.seg.stretches() {
		if len(g.runs) > p.runs { // some were found since the plan was made
			p.sel, p.err = g.selected(p.seg.f)
			p.runs = len(g.runs)
		}
		if p.err != nil || none(p.sel) {
			return true, p.err
		}
		if away := p.seg.away || p.seg.members != nil; away && g.q.Limit == 0 && p.most(x) {
			x.seg.away = true
			if !g.whole(x.seg, 0) {
				return false, nil
			}
			continue
		}
		wanted, _, err := p.blocks(x)
		if err != nil {
			return true, err
		}
		for _, w := range wanted {
			if more, err = g.block(p, x, w[0], w[1]); err != nil || !more {
				return more, err
			}
		}
	}
	return true, nil
}

// block gives the selected events of a block.
func (g *giver) block(p *plan, x stretch, from, to blockEnd) (more bool, err error) {
	seg, sel := p.seg, p.sel
	if to.at-from.at > 2*maxLine || to.rows < from.rows {
		return true, errStale
	}
	data := p.fetched[from.at]
	if data == nil {
		data = make([]byte, to.at-from.at)
		if err := readAt(seg.data, data, from.at); err != nil {
			return true, err
		}
	}
	g.s.report.Looked++
	g.s.report.Bytes += int64(len(data))
	lines, err := linesOf(seg.f, data, from, to)
	if err != nil {
		return true, err
	}
	for _, l := range lines {
		if sel == nil || slices.Contains(sel[l.row:l.row+l.n], true) {
			if more, err := g.line(seg, x, l, sel); err != nil || !more {
				return more, err
			}
		}
	}
	return true, nil
}

// line gives the selected events of a line.
func (g *giver) line(seg *segment, x stretch, l placed, sel []bool) (more bool, err error) {
	events, err := eventsOf(g.s, seg, x, l)
	if err != nil {
		if isLine(err) {
			return g.yield(record.Event{}, err), nil
		}
		return true, err
	}
	for i := range events {
		if (sel == nil || sel[l.row+i]) && !g.give(events[i]) {
			return false, nil
		}
	}
	return true, nil
}
