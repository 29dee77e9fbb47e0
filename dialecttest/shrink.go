package dialecttest

import (
	"reflect"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
)

// mostTries bounds how often a law is checked while a fault is shrunk.
const mostTries = 3000

// shrink looks for a smaller reply, fewer cuts and a simpler dialect that also
// break the law, until nothing can be left out or the tries are used up.
func shrink(s *suite, l law, f *fault) (*suite, *fault) {
	k := &shrinker{s: s, l: l, f: f, left: mostTries}
	for smaller := true; smaller && k.left > 0; {
		smaller = false
		if !l.fixed {
			smaller = k.reply() || smaller
			smaller = k.cuts() || smaller
			smaller = k.parameters() || smaller
		}
		smaller = k.dialect() || smaller
	}
	return k.s, k.f
}

// A shrinker holds the smallest trial that was found to break a law.
type shrinker struct {
	s    *suite
	l    law
	f    *fault
	left int
}

// breaks reports whether a trial breaks the law, and keeps it if it does.
func (k *shrinker) breaks(s *suite, tr trial) bool {
	if k.left == 0 {
		return false
	}
	k.left--
	f := s.try(k.l, tr)
	if f != nil {
		k.s, k.f = s, f
	}
	return f != nil
}

// reply leaves out bytes of the reply, many at a time first.
func (k *shrinker) reply() bool {
	smaller := false
	for size := max(len(k.f.raw)/2, 1); size > 0; size /= 2 {
		for i := 0; i+size <= len(k.f.raw); {
			tr := k.f.trial
			tr.raw = tr.raw[:i] + tr.raw[i+size:]
			tr.cuts = without(tr.cuts, i, size)
			if tr.raw != "" && k.breaks(k.s, tr) {
				smaller = true
			} else {
				i++
			}
		}
	}
	return smaller
}

// without returns the cuts of a reply after n bytes at byte i are left out.
func without(cuts []int, i, n int) []int {
	var out []int
	for _, c := range cuts {
		if c > i {
			c = max(c-n, i)
		}
		if c > 0 && (len(out) == 0 || out[len(out)-1] < c) {
			out = append(out, c)
		}
	}
	if cuts != nil && out == nil {
		out = []int{}
	}
	return out
}

// cuts leaves out cuts.
func (k *shrinker) cuts() bool {
	smaller := false
	for i := 0; i < len(k.f.cuts); {
		tr := k.f.trial
		tr.cuts = slices.Delete(slices.Clone(tr.cuts), i, i+1)
		if k.breaks(k.s, tr) {
			smaller = true
		} else {
			i++
		}
	}
	return smaller
}

// parameters tries the plainest start, end and hold.
func (k *shrinker) parameters() bool {
	smaller := false
	try := func(change func(*trial)) {
		tr := k.f.trial
		change(&tr)
		if (tr.start != k.f.start || tr.end != k.f.end || tr.maxHold != k.f.maxHold) && k.breaks(k.s, tr) {
			smaller = true
		}
	}
	try(func(tr *trial) { tr.start = sotto.BeginOutside })
	if k.f.end != sotto.EndUnknown {
		try(func(tr *trial) { tr.end = sotto.EndStopped })
	}
	try(func(tr *trial) { tr.end = sotto.EndUnknown })
	try(func(tr *trial) { tr.maxHold = -1 })
	return smaller
}

// dialect leaves out markers, literals, the header and other settings.
func (k *shrinker) dialect() bool {
	smaller := false
	for more := true; more && k.left > 0; {
		more = false
		for _, d := range simpler(k.s.given) {
			s, err := newSuite(d, k.s.tight)
			if err == nil {
				_, err = s.g.NewSplitter(sotto.Options{Start: k.f.start})
			}
			tr := k.f.trial
			if tr.tokens != nil { // what the law needs to see the markers that are left
				tr.tokens = withMarkers(tr.tokens, d)
			}
			if err == nil && k.breaks(s, tr) {
				more, smaller = true, true
				break
			}
		}
	}
	return smaller
}

// withMarkers returns tokens and those markers of a dialect that are not among them.
func withMarkers(tokens []string, d dialect.Dialect) []string {
	all := slices.Clone(tokens)
	for _, m := range d.Markers {
		forms := slices.Concat(m.Open, m.Close)
		if m.Tag != "" {
			forms = []string{"<" + m.Tag + ">", "</" + m.Tag + ">"}
		}
		for _, form := range forms {
			if !slices.Contains(all, form) {
				all = append(all, form)
			}
		}
	}
	return all
}

// simpler returns dialects with one thing less.
func simpler(d dialect.Dialect) []dialect.Dialect {
	v := variants{of: d}
	for i := range d.Markers {
		v.marker(i)
	}
	v.header()
	v.settings()
	return v.list
}

// variants are changed copies of a dialect.
type variants struct {
	of   dialect.Dialect
	list []dialect.Dialect
}

// with adds a copy that a function changes.
func (v *variants) with(change func(*dialect.Dialect)) {
	c := v.of
	c.Markers = slices.Clone(c.Markers)
	if c.Header != nil {
		h := *c.Header
		c.Header = &h
	}
	change(&c)
	v.list = append(v.list, c)
}

// marker leaves out marker i, or one of its properties.
func (v *variants) marker(i int) {
	v.with(func(c *dialect.Dialect) { c.Markers = slices.Delete(c.Markers, i, i+1) })
	change := func(f func(*dialect.Marker)) {
		v.with(func(c *dialect.Dialect) { f(&c.Markers[i]) })
	}
	m := v.of.Markers[i]
	if len(m.Open) > 1 {
		change(func(m *dialect.Marker) { m.Open = m.Open[:1] })
	}
	if len(m.Close) > 1 {
		change(func(m *dialect.Marker) { m.Close = m.Close[:1] })
	}
	if m.Family != "" {
		change(func(m *dialect.Marker) { m.Family = "" })
	}
	if m.Rescue || m.Special || m.Phrase {
		change(func(m *dialect.Marker) { m.Rescue, m.Special, m.Phrase = false, false, false })
	}
	withoutNewlines(m.Open, func(list []string) { change(func(m *dialect.Marker) { m.Open = list }) })
	withoutNewlines(m.Close, func(list []string) { change(func(m *dialect.Marker) { m.Close = list }) })
}

// withoutNewlines calls add with each list in which one text has lost the newlines at
// its ends.
func withoutNewlines(texts []string, add func([]string)) {
	for i, text := range texts {
		if plain := strings.Trim(text, "\n"); plain != text {
			list := slices.Clone(texts)
			list[i] = plain
			add(list)
		}
	}
}

// header leaves out the header, or the last token of one of its lists.
func (v *variants) header() {
	if v.of.Header == nil {
		return
	}
	v.with(func(c *dialect.Dialect) { c.Header = nil })
	for _, tokens := range []func(*dialect.Header) *[]string{
		func(h *dialect.Header) *[]string { return &h.Lead }, func(h *dialect.Header) *[]string { return &h.Close },
		func(h *dialect.Header) *[]string { return &h.End }, func(h *dialect.Header) *[]string { return &h.Tokens },
		func(h *dialect.Header) *[]string { return &h.Begin }, func(h *dialect.Header) *[]string { return &h.Body },
	} {
		if n := len(*tokens(v.of.Header)); n > 0 {
			v.with(func(c *dialect.Dialect) { *tokens(c.Header) = (*tokens(c.Header))[:n-1] })
		}
	}
}

// settings leaves out each setting that the dialect has.
func (v *variants) settings() {
	for _, reset := range []func(*dialect.Dialect){
		func(c *dialect.Dialect) { c.Placement = "" },
		func(c *dialect.Dialect) { c.Output = "" },
		func(c *dialect.Dialect) { c.Close = "" },
		func(c *dialect.Dialect) { c.OnDoubt = "" },
		func(c *dialect.Dialect) { c.AfterTool = "" },
		func(c *dialect.Dialect) { c.Once = false },
		func(c *dialect.Dialect) { c.Code = nil },
		func(c *dialect.Dialect) { c.Stray = nil },
		func(c *dialect.Dialect) { c.Start = "" },
		func(c *dialect.Dialect) { c.PreOpens, c.PreOpensSince = "", "" },
		func(c *dialect.Dialect) { c.Title, c.Sources, c.Models, c.Prompt = "", nil, nil, "" },
	} {
		v.with(reset)
		if last := len(v.list) - 1; reflect.DeepEqual(v.list[last], v.of) {
			v.list = v.list[:last]
		}
	}
}
