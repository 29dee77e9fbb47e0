package textcmd

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto/internal/data/jsonpath"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// A replyLine is one reply of a JSON line, and how to read it.
type replyLine struct {
	dialectset.Manner
	id      []byte // as it stands in the line; nil if there is none
	caption string
	native  string // what the member reasoning says
	deltas  []string
}

// text returns the raw reply.
func (r *replyLine) text() string {
	if len(r.deltas) == 1 {
		return r.deltas[0]
	}
	return strings.Join(r.deltas, "")
}

// A replyLineReader reads reply lines. It is safe for concurrent use.
type replyLineReader struct {
	field   string
	paths   [][]jsonpath.Step
	manner  *dialectset.LineReader
	finders sync.Pool
}

// The members of a reply line, in the order of a replyLineReader's paths.
const (
	memberID = iota
	memberRaw
	memberDeltas
	memberEachDelta
	memberEnd
	memberCaption
	memberNative
	memberManner // and the members of a dialectset.LineReader after it
)

// newReplyLineReader returns a reader of lines that hold the reply in field. field
// is a path that jsonpath.Parse has accepted.
func newReplyLineReader(field string, manner *dialectset.LineReader) *replyLineReader {
	r := &replyLineReader{field: field, manner: manner}
	for _, path := range []string{"id", field, "deltas", "deltas.#", "end", "caption", "reasoning"} {
		steps, _ := jsonpath.Parse(path)
		r.paths = append(r.paths, steps)
	}
	r.paths = append(r.paths, manner.Paths...)
	r.finders.New = func() any { return new(jsonpath.Finder) }
	return r
}

// parse reads a line. What the line does not set is taken from m.
func (r *replyLineReader) parse(line []byte, m dialectset.Manner) (*replyLine, error) {
	f := r.finders.Get().(*jsonpath.Finder)
	defer r.finders.Put(f)
	if err := f.Find(line, r.paths...); err != nil {
		return nil, err
	}
	rec := &replyLine{Manner: m}
	if id := f.Last(memberID); id != nil {
		rec.id = append(rec.id, id...)
	}
	if native, err := f.Text(memberNative, "reasoning"); err == nil && native != nil {
		rec.native = *native
	}
	if err := r.readDeltas(f, rec); err != nil {
		return nil, err
	}
	if err := r.readManner(f, rec); err != nil {
		return rec, err
	}
	r.manner.Choose(&rec.Manner, rec.text())
	return rec, nil
}

func (r *replyLineReader) readDeltas(f *jsonpath.Finder, rec *replyLine) error {
	raw, err := f.Text(memberRaw, r.field)
	switch {
	case err != nil:
		return err
	case raw != nil:
		rec.deltas = []string{*raw}
		return nil
	case f.Last(memberDeltas) == nil:
		return fmt.Errorf("field %s %w", r.field, jsonpath.ErrMissing)
	case f.Last(memberDeltas)[0] != '[':
		return errors.New("field deltas is not a list of strings")
	}
	for _, at := range f.Found[memberEachDelta] {
		quoted := f.Data[at.Start:at.End]
		if quoted[0] != '"' {
			return errors.New("field deltas is not a list of strings")
		}
		rec.deltas = append(rec.deltas, jsontext.Unquote(quoted))
	}
	return nil
}

func (r *replyLineReader) readManner(f *jsonpath.Finder, rec *replyLine) error {
	caption, err := f.Text(memberCaption, "caption")
	if err != nil {
		return err
	}
	if caption != nil {
		rec.caption = *caption
	}
	return r.manner.Read(f, memberManner, &rec.Manner)
}

// A deltaLine is a delta of a reply, its end, or both.
type deltaLine struct {
	dialectset.Manner
	id, text string
	ends     bool
}

// readDelta reads a line of a stream of deltas. What the line does not set is taken
// from m.
func (r *replyLineReader) readDelta(line []byte, m dialectset.Manner) (*deltaLine, error) {
	f := r.finders.Get().(*jsonpath.Finder)
	defer r.finders.Put(f)
	if err := f.Find(line, r.paths...); err != nil {
		return nil, err
	}
	d := &deltaLine{id: "null", ends: f.Last(memberEnd) != nil}
	if id := f.Last(memberID); id != nil {
		if id[0] == '{' || id[0] == '[' {
			return nil, errors.New("field id is not a string or a number")
		}
		d.id = string(id)
	}
	text, err := f.Text(memberRaw, r.field)
	switch {
	case err != nil:
		return nil, err
	case text != nil:
		d.text = *text
	case !d.ends:
		return nil, fmt.Errorf("field %s %w", r.field, jsonpath.ErrMissing)
	}
	rec := &replyLine{Manner: m}
	err = r.readManner(f, rec)
	d.Manner = rec.Manner
	return d, err
}
