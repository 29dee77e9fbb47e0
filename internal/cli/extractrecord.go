package cli

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/catalogue"
	"github.com/sotto-llm/sotto/internal/hint"
	"github.com/sotto-llm/sotto/internal/jsonpath"
)

// A posed is one reply and what was asked. Its bytes are those of the line.
type posed struct {
	catalogue.Manner
	id      []byte // as it stands in the line; nil if there is none
	raw     string
	problem answer.Problem
	group   []byte // the problem that it is a sample of
	by      []byte
	logged  []byte // a verdict
	file    *origin
	line    int // its number there
	outcome outcome
}

// An origin is the input that a line is from.
type origin struct {
	name  string
	unit  string // what its lines are called: line, element
	order int    // which of the inputs it is
}

// A lineField is a field that a posedReader looks for.
type lineField struct {
	name     string
	required bool
}

// placed returns the field of a path, or of another name where no path is given.
func placed(path, otherwise string) lineField {
	return lineField{cmp.Or(path, otherwise), path != ""}
}

// The places of a posedReader, in order.
const (
	placeID = iota
	placeRaw
	placeInput
	placeGold
	placeOptions
	placeDialect
	placeStart
	placeEnd
	placeGroup
	placeBy
	placeLogged
	placesEnd
)

// A posedReader reads lines; it is safe for concurrent use.
type posedReader struct {
	places  [placesEnd]lineField
	paths   [][]jsonpath.Step // of the places that are looked for
	at      [placesEnd]int
	names   *catalogue.Catalogue
	finders sync.Pool
}

// newPosedReader returns a reader of lines that hold the reply, what was asked, the
// right answer and the options in these fields.
func newPosedReader(names *catalogue.Catalogue, raw string, input, gold, options lineField) (*posedReader, error) {
	r := &posedReader{names: names}
	r.places = [placesEnd]lineField{
		placeID: {"id", false}, placeRaw: {raw, true},
		placeDialect: {"dialect", false}, placeStart: {"start", false}, placeEnd: {"end", false},
		placeInput: input, placeGold: gold, placeOptions: options,
	}
	r.finders.New = func() any { return new(jsonpath.Finder) }
	return r, r.compile()
}

// look sets the place of a further field.
func (r *posedReader) look(i int, p lineField) error {
	r.places[i] = p
	return r.compile()
}

// compile reads the paths of the places that are looked for.
func (r *posedReader) compile() error {
	r.paths = r.paths[:0]
	for i, p := range r.places {
		r.at[i] = -1
		if p.name == "" {
			continue
		}
		steps, err := jsonpath.Parse(p.name)
		if err == nil && jsonpath.Many(steps) {
			err = fmt.Errorf("field %q: want the path of one field", p.name)
		}
		if err != nil {
			return hint.Usage(err, "want a path such as raw or messages.-1.content")
		}
		r.at[i] = len(r.paths)
		r.paths = append(r.paths, steps)
	}
	return nil
}

// value returns what a line holds at a place, nil for nothing.
func (r *posedReader) value(f *jsonpath.Finder, i int) []byte {
	if r.at[i] < 0 {
		return nil
	}
	return f.Last(r.at[i])
}

// read reads a line into p, whose bytes are the line's; what it does not say is as in e.
func (r *posedReader) read(p *posed, line []byte, e *extractor) error {
	f := r.finders.Get().(*jsonpath.Finder)
	defer r.finders.Put(f)
	if err := f.Find(line, r.paths...); err != nil {
		return err
	}
	for i := range r.places {
		if r.places[i].required && r.value(f, i) == nil {
			return fmt.Errorf("field %s %w", r.places[i].name, jsonpath.ErrMissing)
		}
	}
	raw := r.value(f, placeRaw)
	if raw[0] != '"' {
		return fmt.Errorf("field %s %w", r.places[placeRaw].name, jsonpath.ErrNotString)
	}
	*p = posed{Manner: e.Manner, problem: e.problem, raw: jsonpath.Unquote(raw)}
	p.id, p.group, p.by, p.logged = r.value(f, placeID), r.value(f, placeGroup), r.value(f, placeBy), r.value(f, placeLogged)
	p.problem.Input = jsonpath.TextOr(r.value(f, placeInput), p.problem.Input)
	p.problem.Gold = jsonpath.TextOr(r.value(f, placeGold), p.problem.Gold)
	if err := r.readOptions(f, p); err != nil {
		return err
	}
	return r.readManner(f, p)
}

func (r *posedReader) readOptions(f *jsonpath.Finder, p *posed) error {
	list := r.value(f, placeOptions)
	if list == nil || list[0] == 'n' {
		return nil
	}
	if list[0] != '[' {
		return fmt.Errorf("field %s is no list", r.places[placeOptions].name)
	}
	var err error
	p.problem.Options, err = jsonpath.Elements(list)
	return err
}

func (r *posedReader) readManner(f *jsonpath.Finder, p *posed) error {
	if text, err := f.Text(r.at[placeDialect], "dialect"); err != nil {
		return err
	} else if text != nil && *text != "" {
		grammar, err := r.names.Named(*text)
		if err != nil {
			return err
		}
		p.Grammar, p.Name = grammar, *text
		p.Start = cmp.Or(catalogue.OwnStart(grammar), p.Start)
	}
	if text, err := f.Text(r.at[placeStart], "start"); err != nil {
		return err
	} else if text != nil && *text != "" {
		p.Start = sotto.Start(*text)
		if _, err := p.Grammar.NewSplitter(sotto.Options{Start: p.Start}); err != nil {
			return err
		}
	}
	text, err := f.Text(r.at[placeEnd], "end")
	if err != nil || text == nil || *text == "" {
		return err
	}
	return p.End.UnmarshalText([]byte(*text))
}

// textOf returns a value as one that may be compared: of strings the text.
func textOf(value []byte) string {
	return strings.ToValidUTF8(jsonpath.TextOr(value, "null"), "\ufffd")
}
