// Package detect finds out which dialects fit replies, by the markers in them.
package detect

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/internal/base/bytescan"
)

// A marker is one that replies are searched for.
type marker struct {
	text    string // in lower case for a tag: "<think" or "</think", followed by what ends a name
	tag     bool
	closes  bool
	telling bool     // for some dialect it marks reasoning or a header
	until   []string // of a marker that is words: it counts if the reply begins with it, and has one of these
}

// A row is a dialect with the markers that it knows, by their numbers.
type row struct {
	name    string
	knows   map[int]bool
	telling map[int]bool // of these, the ones that mark reasoning or a header
}

// A Detector counts the replies with markers of each dialect. It is safe for
// concurrent use.
type Detector struct {
	rows    []row
	markers []marker
	numbers map[string]int   // of the markers, by their text
	lead    []int            // the markers that begin with a letter
	at      [256][]int       // the other markers, by their first byte
	leads   []byte           // these bytes, each once
	from    [256]*[256]pair  // the same markers, by their first two bytes
	begins  *bytescan.Groups // where one may begin

	mu    sync.Mutex
	sets  map[string]int // replies by the set of markers in them
	total atomic.Int64
}

// A pair is the markers that begin with the same two bytes.
type pair struct {
	markers []int
	thirds  []byte    // for each, its third byte in lower case; 0 if it may be any
	third   [4]uint64 // a bit for each byte that may come third
}

// maxSets bounds the sets of markers that are counted.
const maxSets = 10_000

// New returns a detector of the markers of all dialects.
func New(dialects []dialect.Dialect) *Detector {
	d := &Detector{numbers: map[string]int{}, sets: map[string]int{}}
	for _, one := range dialects {
		d.add(one)
	}
	d.index(func(int) bool { return true })
	return d
}

// Foreign returns a detector of markers of reasoning, and of headers, that the dialect
// in use does not know.
func Foreign(dialects []dialect.Dialect, used dialect.Dialect) *Detector {
	d := &Detector{numbers: map[string]int{}, sets: map[string]int{}}
	d.add(used)
	own := d.rows[0].knows
	d.rows = nil
	for _, one := range dialects {
		if one.Name != used.Name {
			d.add(one)
		}
	}
	d.index(func(i int) bool { return !own[i] && d.markers[i].telling })
	return d
}

// Unmistakable returns a detector of those markers of [Foreign] that prose and XML do not
// have: special tokens, which begin with a bracket, and tags whose names are not only
// letters, such as <seed:think>.
func Unmistakable(dialects []dialect.Dialect, used dialect.Dialect) *Detector {
	d := Foreign(dialects, used)
	common := func(i int) bool {
		m := d.markers[i]
		if m.tag {
			return strings.Trim(m.text, "</abcdefghijklmnopqrstuvwxyz") == ""
		}
		return m.text[0] < 0x80 && m.text[0] != '<' && m.text[0] != '['
	}
	d.lead = nil
	d.leads = slices.DeleteFunc(d.leads, func(first byte) bool {
		d.at[first] = slices.DeleteFunc(d.at[first], common)
		return len(d.at[first]) == 0
	})
	d.pair()
	return d
}

// Families returns the dialects that know most of the markers of a reply, in their order,
// and whether the reply begins with one that opens a block.
func (d *Detector) Families(reply string) (names []string, begins bool) {
	var room [16]int
	found := search(d, reply, room[:0])
	most := 1
	for i := range d.rows {
		n := 0
		for _, m := range found {
			if d.rows[i].telling[m] {
				n++
			}
		}
		if n > most {
			names, most = nil, n
		}
		if n == most {
			names = append(names, d.rows[i].name)
		}
	}
	return names, d.opens(reply, found)
}

// opens reports whether a reply begins with one of these markers, and it is no close.
func (d *Detector) opens(reply string, found []int) bool {
	reply = strings.TrimPrefix(reply, "\ufeff")
	reply = reply[skipSpace(reply):]
	return slices.ContainsFunc(found, func(m int) bool { return !d.markers[m].closes && begins(reply, d.markers[m]) })
}

// add adds a dialect and its markers.
func (d *Detector) add(of dialect.Dialect) {
	r := row{of.Name, map[int]bool{}, map[int]bool{}}
	put := func(text string, tag, closes, telling bool) {
		i := d.number(text, tag, closes)
		if i < 0 {
			return
		}
		r.knows[i] = true
		if telling {
			r.telling[i] = true
			d.markers[i].telling = true
		}
	}
	for _, m := range of.Markers {
		telling := m.Role == dialect.RoleReasoning
		if m.Tag != "" {
			put("<"+m.Tag, true, false, telling)
			put("</"+m.Tag, true, true, telling)
		}
		for _, text := range m.Open {
			put(text, false, false, telling)
			if i, known := d.numbers[strings.TrimSpace(text)]; known && isWord(text) {
				d.markers[i].until = append(d.markers[i].until, m.Close...)
			}
		}
		for _, text := range m.Close {
			put(text, false, true, telling)
		}
	}
	if h := of.Header; h != nil {
		for _, text := range h.Begin {
			put(text, false, false, true)
		}
		for _, text := range slices.Concat(h.Body, h.End) {
			put(text, false, true, false)
		}
	}
	d.rows = append(d.rows, r)
}

// number returns the number of a marker, or -1 if it is white space. A literal that
// looks like a tag is that tag.
func (d *Detector) number(text string, tag, closes bool) int {
	text = strings.TrimSpace(text)
	if name, ok := strings.CutSuffix(text, ">"); ok && !tag && isTagName(strings.TrimPrefix(strings.TrimPrefix(name, "<"), "/")) && strings.HasPrefix(text, "<") {
		text, tag = name, true
	}
	if tag {
		text = strings.ToLower(text)
	}
	if text == "" {
		return -1
	}
	if i, known := d.numbers[text]; known {
		return i
	}
	d.markers = append(d.markers, marker{text: text, tag: tag, closes: closes})
	d.numbers[text] = len(d.markers) - 1
	return len(d.markers) - 1
}

func isWord(s string) bool { return s != "" && 'A' <= s[0]&^0x20 && s[0]&^0x20 <= 'Z' }

func isTagName(s string) bool {
	return s != "" && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789_:-") == ""
}

// index prepares the search for some of the markers.
func (d *Detector) index(search func(int) bool) {
	for i, m := range d.markers {
		switch {
		case !search(i):
		case isWord(m.text) && !m.closes:
			d.lead = append(d.lead, i)
		case isWord(m.text):
		default:
			first := m.text[0]
			if d.at[first] == nil {
				d.leads = append(d.leads, first)
			}
			d.at[first] = append(d.at[first], i)
		}
	}
	d.pair()
}

// pair puts the markers in the order in which they are searched.
func (d *Detector) pair() {
	d.from, d.begins = [256]*[256]pair{}, new(bytescan.Groups)
	for n, first := range d.leads {
		from := new([256]pair)
		d.from[first] = from
		for _, i := range d.at[first] {
			seconds, thirds := cased(d.markers[i], 1), cased(d.markers[i], 2)
			for _, c := range seconds {
				from[c].add(i, thirds)
			}
			d.begins.Add(n%bytescan.MaxGroups, []byte{first}, seconds, thirds)
		}
	}
}

// add adds marker i with the bytes that may be its third, if it is not there.
func (p *pair) add(i int, thirds []byte) {
	if k := len(p.markers); k > 0 && p.markers[k-1] == i {
		return
	}
	third := thirds[0] // of a letter, the first is in lower case
	if len(thirds) == len(everyByte) {
		third = 0
	}
	p.markers, p.thirds = append(p.markers, i), append(p.thirds, third)
	for _, c := range thirds {
		p.third[c>>6] |= 1 << (c & 63)
	}
}

// may reports whether a byte may come third.
func (p *pair) may(third byte) bool { return p.third[third>>6]>>(third&63)&1 != 0 }

// cased returns what byte i of a text with a marker at its start may be. After the marker, that
// is anything.
func cased(m marker, i int) []byte {
	switch {
	case len(m.text) <= i:
		return everyByte
	case m.tag:
		return []byte{m.text[i], strings.ToUpper(m.text[i : i+1])[0]}
	}
	return []byte{m.text[i]}
}

var everyByte = func() []byte {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return all
}()

// A text is a reply in either form.
type text interface{ ~string | ~[]byte }

// Add counts a reply.
func (d *Detector) Add(reply string) { add(d, reply) }

func add[T text](d *Detector, reply T) {
	d.total.Add(1)
	var room [16]int
	if found := search(d, reply, room[:0]); len(found) > 0 {
		d.count(found)
	}
}

// search appends the markers that a reply has, each once.
func search[T text](d *Detector, reply T, found []int) []int {
	each(d, reply, func(i int) bool {
		if !slices.Contains(found, i) {
			found = append(found, i)
		}
		return true
	})
	return found
}

// each calls f with the markers that a reply has, some of them more than once, until f
// returns false.
func each[T text](d *Detector, reply T, f func(i int) bool) {
	for _, i := range d.lead {
		m := d.markers[i]
		if begins(reply[skipSpace(reply):], m) && slices.ContainsFunc(m.until, func(close string) bool { return strings.Contains(string(reply), close) }) && !f(i) {
			return
		}
	}
	b := bytescan.Bytes(reply)
	for at := d.begins.Next(b); at+1 < len(b); at += d.begins.Next(b[at:]) {
		p, third := &d.from[b[at]][b[at+1]], byte(0)
		if at+2 < len(b) {
			if third = b[at+2]; !p.may(third) {
				at++
				continue
			}
		}
		for k, i := range p.markers {
			if c := p.thirds[k]; c != 0 && c != third && c != third|0x20 {
				continue
			}
			if begins(b[at:], d.markers[i]) && !f(i) {
				return
			}
		}
		at++
	}
}

// Any reports whether a reply has a marker that the detector searches for.
func (d *Detector) Any(reply string) bool { return has(d, reply) }

// AnyIn is Any for a reply in bytes.
func (d *Detector) AnyIn(reply []byte) bool { return has(d, reply) }

func has[T text](d *Detector, reply T) (found bool) {
	each(d, reply, func(int) bool {
		found = true
		return false
	})
	return found
}

// Readers returns the dialects, in their order, that know a marker of reasoning, or of
// a header, in a reply: only those that know one which no dialect before them knows.
func (d *Detector) Readers(reply string) []string {
	var room [16]int
	left := search(d, reply, room[:0])
	var names []string
	for i := range d.rows {
		if len(left) == 0 {
			break
		}
		r := &d.rows[i]
		n := len(left)
		left = slices.DeleteFunc(left, func(m int) bool { return r.telling[m] })
		if len(left) < n {
			names = append(names, r.name)
		}
	}
	return names
}

// count counts a reply with these markers.
func (d *Detector) count(found []int) {
	slices.Sort(found)
	set := make([]byte, 0, 2*len(found))
	for _, i := range found {
		set = append(set, byte(i), byte(i>>8))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.sets[string(set)]; known || len(d.sets) < maxSets {
		d.sets[string(set)]++
	}
}

func skipSpace[T text](s T) int {
	i := 0
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\r' || s[i] == '\t') {
		i++
	}
	return i
}

// begins reports whether a reply begins with a marker here. The name of a tag may be
// in any case, and ends where a name ends.
func begins[T text](s T, m marker) bool {
	if len(s) < len(m.text) {
		return false
	}
	for i := range len(m.text) {
		c := s[i]
		if m.tag && 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != m.text[i] {
			return false
		}
	}
	if !m.tag {
		return true
	}
	return len(s) > len(m.text) && strings.IndexByte("> \t\r\n/", s[len(m.text)]) >= 0
}

// Replies returns how many replies were counted.
func (d *Detector) Replies() int { return int(d.total.Load()) }

// A Fit says how well a dialect fits the replies.
type Fit struct {
	Dialect string `json:"dialect"`
	Replies int    `json:"replies"` // have markers of its reasoning, or its headers
	Alone   int    `json:"alone"`   // of these, the ones without markers that it does not know
}

// Fits returns the dialects with markers in the replies, the best first: it has most
// replies without markers that it does not know, and then most replies. Of equal ones,
// the first in the list of dialects is the first.
func (d *Detector) Fits() []Fit {
	d.mu.Lock()
	defer d.mu.Unlock()
	var fits []Fit
	for _, r := range d.rows {
		fit := Fit{Dialect: r.name}
		for set, n := range d.sets {
			telling, whole := false, true
			for i := 0; i < len(set); i += 2 {
				number := int(set[i]) | int(set[i+1])<<8
				telling = telling || r.telling[number]
				whole = whole && r.knows[number]
			}
			if telling {
				fit.Replies += n
			}
			if telling && whole {
				fit.Alone += n
			}
		}
		if fit.Replies > 0 {
			fits = append(fits, fit)
		}
	}
	slices.SortStableFunc(fits, func(a, b Fit) int {
		return cmp.Or(cmp.Compare(b.Alone, a.Alone), cmp.Compare(b.Replies, a.Replies))
	})
	return fits
}
