package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto"
)

// A replyLine is one reply of a JSON line, and how it is read.
type replyLine struct {
	manner
	id      []byte // as it stands in the line; nil if there is none
	caption string
	deltas  []string
}

// text returns the raw reply.
func (r *replyLine) text() string {
	if len(r.deltas) == 1 {
		return r.deltas[0]
	}
	return strings.Join(r.deltas, "")
}

// A replyLineReader reads reply lines; it is safe for concurrent use.
type replyLineReader struct {
	field   string
	paths   [][]step
	names   *catalogue
	finders sync.Pool
}

// The members of a reply line, in the order of a replyLineReader's paths.
const (
	memberID = iota
	memberRaw
	memberDeltas
	memberEachDelta
	memberDialect
	memberStart
	memberEnd
	memberCaption
)

// newReplyLineReader returns a reader of lines that hold the reply in field; the
// field is a path that parsePath has read without an error.
func newReplyLineReader(field string, names *catalogue) *replyLineReader {
	r := &replyLineReader{field: field, names: names}
	for _, path := range []string{"id", field, "deltas", "deltas.#", "dialect", "start", "end", "caption"} {
		steps, _ := parsePath(path)
		r.paths = append(r.paths, steps)
	}
	r.finders.New = func() any { return new(finder) }
	return r
}

// read reads a line; what it does not say is as in m.
func (r *replyLineReader) read(line []byte, m manner) (*replyLine, error) {
	f := r.finders.Get().(*finder)
	defer r.finders.Put(f)
	if err := f.find(line, r.paths...); err != nil {
		return nil, err
	}
	rec := &replyLine{manner: m}
	if id := f.last(memberID); id != nil {
		rec.id = append(rec.id, id...)
	}
	if err := r.readDeltas(f, rec); err != nil {
		return nil, err
	}
	return rec, r.readManner(f, rec)
}

func (r *replyLineReader) readDeltas(f *finder, rec *replyLine) error {
	raw, err := f.text(memberRaw, r.field)
	switch {
	case err != nil:
		return err
	case raw != nil:
		rec.deltas = []string{*raw}
		return nil
	case f.last(memberDeltas) == nil:
		return fmt.Errorf("field %s %w", r.field, errMissing)
	case f.last(memberDeltas)[0] != '[':
		return errors.New("field deltas is no list of strings")
	}
	for _, at := range f.found[memberEachDelta] {
		quoted := f.data[at.start:at.end]
		if quoted[0] != '"' {
			return errors.New("field deltas is no list of strings")
		}
		rec.deltas = append(rec.deltas, unquote(quoted))
	}
	return nil
}

func (r *replyLineReader) readManner(f *finder, rec *replyLine) error {
	text := make([]string, memberCaption+1)
	for i, name := range []string{memberDialect: "dialect", memberStart: "start", memberEnd: "end", memberCaption: "caption"} {
		if name == "" {
			continue
		}
		value, err := f.text(i, name)
		if err != nil {
			return err
		}
		if value != nil {
			text[i] = *value
		}
	}
	rec.caption = text[memberCaption]
	if text[memberDialect] != "" {
		var err error
		if rec.grammar, err = r.names.named(text[memberDialect]); err != nil {
			return err
		}
		rec.name = text[memberDialect]
		rec.start = cmp.Or(ownStart(rec.grammar), rec.start)
	}
	if text[memberStart] != "" {
		rec.start = sotto.Start(text[memberStart])
	}
	if text[memberEnd] != "" {
		return rec.end.UnmarshalText([]byte(text[memberEnd]))
	}
	return nil
}

// A deltaLine is a delta of a reply, its end, or both.
type deltaLine struct {
	manner
	id, text string
	ends     bool
}

// readDelta reads a line of a stream of deltas; what it does not say is as in m.
func (r *replyLineReader) readDelta(line []byte, m manner) (*deltaLine, error) {
	f := r.finders.Get().(*finder)
	defer r.finders.Put(f)
	if err := f.find(line, r.paths...); err != nil {
		return nil, err
	}
	d := &deltaLine{id: "null", ends: f.last(memberEnd) != nil}
	if id := f.last(memberID); id != nil {
		if id[0] == '{' || id[0] == '[' {
			return nil, errors.New("field id is no string or number")
		}
		d.id = string(id)
	}
	text, err := f.text(memberRaw, r.field)
	switch {
	case err != nil:
		return nil, err
	case text != nil:
		d.text = *text
	case !d.ends:
		return nil, fmt.Errorf("field %s %w", r.field, errMissing)
	}
	rec := &replyLine{manner: m}
	err = r.readManner(f, rec)
	d.manner = rec.manner
	return d, err
}
