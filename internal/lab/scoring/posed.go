// Package scoring extracts candidates from lines of replies, judges them, and
// counts. It writes the object for each line, the summary of a run, and its page.
package scoring

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// A Posed is one reply and its question. Its bytes are those of the line.
type Posed struct {
	dialectset.Manner
	id      []byte // as it stands in the line; nil if there is none
	Raw     string
	Problem answer.Problem
	// separated is the reasoning that a server has separated, if it may count or is
	// carried.
	separated string
	golds     []string    // further right answers
	gold      placedValue // where the right answer was looked for
	group     []byte      // the problem that it is a sample of
	by        []byte
	logged    []byte // a verdict
	File      *Origin
	Line      int // its number in the input
	outcome   Result
}

// An Origin is the input that a line comes from.
type Origin struct {
	Name  string
	Unit  string // the name of its lines: line, element
	Order int    // the input's number
}

// A LineField is a field that a LineReader reads.
type LineField struct {
	Name     string
	Required bool
}

// Placed returns the field for a path. If no path is given, it returns the field of
// the default name.
func Placed(path, otherwise string) LineField {
	return LineField{cmp.Or(path, otherwise), path != ""}
}

// The places of a LineReader, in order.
const (
	placeID = iota
	placeRaw
	PlaceInput
	placeGold
	placeOptions
	PlaceGroup
	PlaceBy
	PlaceLogged
	placesEnd
)

// A LineReader reads lines. It is safe for concurrent use.
type LineReader struct {
	Places  [placesEnd]LineField
	Lines   *dialectset.LineReader
	paths   [][]jsonpath.Step // of the places to read
	beside  [][]jsonpath.Step // and of the reasoning beside the reply
	at      [placesEnd]int
	manner  int // the first path of what says how to read the reply
	finders sync.Pool

	// Golds has the right answers, and the options of lines that do not have them.
	// May be nil.
	Golds *GoldFile
}

// NewLineReader returns a reader of lines that hold the id, the reply, the question,
// the right answer and the options in these fields.
func NewLineReader(lines *dialectset.LineReader, id LineField, raw string, input, gold, options LineField) (*LineReader, error) {
	r := &LineReader{Lines: lines}
	r.Places = [placesEnd]LineField{
		placeID: id, placeRaw: {raw, true},
		PlaceInput: input, placeGold: gold, placeOptions: options,
	}
	r.finders.New = func() any { return new(jsonpath.Finder) }
	return r, r.compile()
}

// Look sets the place of a further field.
func (r *LineReader) Look(i int, p LineField) error {
	r.Places[i] = p
	return r.compile()
}

// compile parses the paths of the places to read.
func (r *LineReader) compile() error {
	r.paths = r.paths[:0]
	for i, p := range r.Places {
		r.at[i] = -1
		if p.Name == "" {
			continue
		}
		steps, err := onePath(p.Name)
		if err != nil {
			return err
		}
		r.at[i] = len(r.paths)
		r.paths = append(r.paths, steps)
	}
	r.manner = len(r.paths)
	r.paths = append(r.paths, r.Lines.Paths...)
	r.beside = slices.Clone(r.paths)
	raw := r.paths[r.at[placeRaw]]
	for _, name := range separated {
		r.beside = append(r.beside, append(slices.Clone(raw[:len(raw)-1]), jsonpath.Step{Name: name}))
	}
	return nil
}

// separated are the members beside a reply in which servers put its reasoning. The
// first that a line has counts.
var separated = []string{"reasoning_content", "reasoning", "thinking"}

// readSeparated reads the reasoning beside the reply.
func (r *LineReader) readSeparated(f *jsonpath.Finder) string {
	for i := range separated {
		if v := f.Last(len(r.paths) + i); v != nil && v[0] == '"' {
			return jsontext.Unquote(v)
		}
	}
	return ""
}

// value returns what a line holds at a place, or nil if it holds nothing.
func (r *LineReader) value(f *jsonpath.Finder, i int) []byte {
	if r.at[i] < 0 {
		return nil
	}
	return f.Last(r.at[i])
}

// Read reads a line into p, whose bytes are the line's. What the line does not set
// is taken from e.
func (r *LineReader) Read(p *Posed, line []byte, e *Extractor) error {
	f := r.finders.Get().(*jsonpath.Finder)
	defer r.finders.Put(f)
	paths := r.paths
	separated := e.Options.FromReasoning || e.With.Reading
	if separated {
		paths = r.beside
	}
	if err := f.Find(line, paths...); err != nil {
		return err
	}
	for i := range r.Places {
		if r.Places[i].Required && r.value(f, i) == nil {
			return fmt.Errorf("field %s %w", r.Places[i].Name, jsonpath.ErrMissing)
		}
	}
	raw := r.value(f, placeRaw)
	if raw[0] != '"' {
		return fmt.Errorf("field %s %w", r.Places[placeRaw].Name, jsonpath.ErrNotString)
	}
	*p = Posed{Manner: e.Manner, Problem: e.Problem, Raw: jsontext.Unquote(raw)}
	if separated {
		p.separated = r.readSeparated(f)
	}
	p.id, p.group, p.by, p.logged = r.value(f, placeID), r.value(f, PlaceGroup), r.value(f, PlaceBy), r.value(f, PlaceLogged)
	p.Problem.Input = jsonpath.TextOr(r.value(f, PlaceInput), p.Problem.Input)
	if err := r.readGold(f, p, e.Task); err != nil {
		return err
	}
	if err := r.Lines.Read(f, r.manner, &p.Manner); err != nil {
		return err
	}
	r.Lines.Choose(&p.Manner, p.Raw)
	return nil
}

// readGold reads the options, and the right answers, which may name them.
func (r *LineReader) readGold(f *jsonpath.Finder, p *Posed, t answer.Task) error {
	gold, options := placedValue{r.value(f, placeGold), r.Places[placeGold].Name, nil}, placedValue{r.value(f, placeOptions), r.Places[placeOptions].Name, nil}
	if r.Golds != nil {
		var err error
		if gold, options, err = r.Golds.join(p.id, r.Places[placeID].Name, options); err != nil {
			return err
		}
	}
	choices, err := ReadChoices(options.value)
	if err != nil {
		return fmt.Errorf("field %s: %w", options.place(), err)
	}
	p.Problem.Options = choices.Texts
	golds, err := Golds(t, gold.value, choices)
	if err != nil {
		return &GoldError{error: fmt.Errorf("the gold cannot be read: field %s: %w", gold.place(), err)}
	}
	p.gold = gold
	if len(golds) > 0 {
		p.Problem.Gold, p.golds = golds[0], golds[1:]
	}
	return nil
}

// A GoldError is the error of a line whose gold is missing or cannot be read.
type GoldError struct {
	error
	kind string // what all these errors have in common; "" for a gold that cannot be read
}

func (e *GoldError) Unwrap() error { return e.error }

// Kind names what all these errors have in common.
func (e *GoldError) Kind() string { return cmp.Or(e.kind, "a gold that cannot be read") }

// textOf returns a value in a form that can be compared: the text, if it is a
// string.
func textOf(value []byte) string {
	return strings.ToValidUTF8(jsonpath.TextOr(value, "null"), "\ufffd")
}
