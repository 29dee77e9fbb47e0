package cli

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
)

// A posed is one reply and what was asked. Its bytes are those of the line.
type posed struct {
	manner
	id      []byte // as it stands in the line; nil if there is none
	raw     string
	problem answer.Problem
	group   []byte // the problem that it is a sample of
	by      []byte
	logged  []byte // a verdict
	file    *source
	line    int // its number there
	outcome outcome
}

// fields are the flags that say where a line holds what. A path that is given
// must be there in every line; a default may be missing.
type fields struct {
	Field        string `default:"raw" placeholder:"PATH" setting:"SOTTO_FIELD" help:"With --jsonl: the field of the reply, such as raw or choices.0.message.content."`
	InputField   string `name:"input-field" placeholder:"PATH" help:"With --jsonl: the field of what was asked; default input. What is no string is taken as its JSON."`
	GoldField    string `name:"gold-field" placeholder:"PATH" help:"With --jsonl: the field of the right answer; default gold."`
	OptionsField string `name:"options-field" placeholder:"PATH" help:"With --jsonl: the field of the options of a choice, a list; default options."`
}

// A lineField is a field that a posedReader looks for.
type lineField struct {
	name     string
	required bool
}

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
	paths   [][]step // of the places that are looked for
	at      [placesEnd]int
	names   *catalogue
	finders sync.Pool
}

func (f *fields) reader(names *catalogue) (*posedReader, error) {
	r := &posedReader{names: names}
	r.places = [placesEnd]lineField{
		placeID: {"id", false}, placeRaw: {f.Field, true},
		placeDialect: {"dialect", false}, placeStart: {"start", false}, placeEnd: {"end", false},
		placeInput: placed(f.InputField, "input"), placeGold: placed(f.GoldField, "gold"),
		placeOptions: placed(f.OptionsField, "options"),
	}
	r.finders.New = func() any { return new(finder) }
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
		steps, err := parsePath(p.name)
		if err == nil && everywhere(steps) {
			err = fmt.Errorf("field %q: want the path of one field", p.name)
		}
		if err != nil {
			return usage(err, "want a path such as raw or messages.-1.content")
		}
		r.at[i] = len(r.paths)
		r.paths = append(r.paths, steps)
	}
	return nil
}

// value returns what a line holds at a place, nil for nothing.
func (r *posedReader) value(f *finder, i int) []byte {
	if r.at[i] < 0 {
		return nil
	}
	return f.last(r.at[i])
}

// read reads a line into p, whose bytes are the line's; what it does not say is as in e.
func (r *posedReader) read(p *posed, line []byte, e *extractor) error {
	f := r.finders.Get().(*finder)
	defer r.finders.Put(f)
	if err := f.find(line, r.paths...); err != nil {
		return err
	}
	for i := range r.places {
		if r.places[i].required && r.value(f, i) == nil {
			return fmt.Errorf("field %s %w", r.places[i].name, errMissing)
		}
	}
	raw := r.value(f, placeRaw)
	if raw[0] != '"' {
		return fmt.Errorf("field %s %w", r.places[placeRaw].name, errNotString)
	}
	*p = posed{manner: e.manner, problem: e.problem, raw: unquote(raw)}
	p.id, p.group, p.by, p.logged = r.value(f, placeID), r.value(f, placeGroup), r.value(f, placeBy), r.value(f, placeLogged)
	p.problem.Input = wording(r.value(f, placeInput), p.problem.Input)
	p.problem.Gold = wording(r.value(f, placeGold), p.problem.Gold)
	if err := r.readOptions(f, p); err != nil {
		return err
	}
	return r.readManner(f, p)
}

func (r *posedReader) readOptions(f *finder, p *posed) error {
	list := r.value(f, placeOptions)
	if list == nil || list[0] == 'n' {
		return nil
	}
	if list[0] != '[' {
		return fmt.Errorf("field %s is no list", r.places[placeOptions].name)
	}
	var err error
	p.problem.Options, err = elements(list)
	return err
}

func (r *posedReader) readManner(f *finder, p *posed) error {
	if text, err := f.text(r.at[placeDialect], "dialect"); err != nil {
		return err
	} else if text != nil && *text != "" {
		grammar, err := r.names.named(*text)
		if err != nil {
			return err
		}
		p.grammar, p.name = grammar, *text
		p.start = cmp.Or(ownStart(grammar), p.start)
	}
	if text, err := f.text(r.at[placeStart], "start"); err != nil {
		return err
	} else if text != nil && *text != "" {
		p.start = sotto.Start(*text)
		if _, err := p.grammar.NewSplitter(sotto.Options{Start: p.start}); err != nil {
			return err
		}
	}
	text, err := f.text(r.at[placeEnd], "end")
	if err != nil || text == nil || *text == "" {
		return err
	}
	return p.end.UnmarshalText([]byte(*text))
}

// textOf returns a value as one that may be compared: of strings the text.
func textOf(value []byte) string { return strings.ToValidUTF8(wording(value, "null"), "\ufffd") }
