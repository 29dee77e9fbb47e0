package scoring

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
)

// A GoldFile holds right answers, and options, that replies in another file are
// joined with by id. After the last Add it is safe for concurrent use.
type GoldFile struct {
	Unit   string // the name of its lines: line, element
	name   string
	fields [goldFieldsEnd]string
	paths  [][]jsonpath.Step
	finder jsonpath.Finder
	byID   map[string]*goldRow
	rows   []*goldRow
}

// The fields of a gold file, in the order of NewGoldFile.
const (
	goldID = iota
	goldGold
	goldOptions
	goldFieldsEnd
)

// A goldRow is one line of a gold file.
type goldRow struct {
	file          *GoldFile
	id            string
	line          int
	gold, options []byte
	asked         atomic.Bool // a reply has its id
}

// NewGoldFile returns a gold file without lines. Its lines have the id, the right
// answer and the options in these fields.
func NewGoldFile(name, id, gold, options string) (*GoldFile, error) {
	g := &GoldFile{Unit: "line", name: name, fields: [goldFieldsEnd]string{id, gold, options}, byID: map[string]*goldRow{}}
	for _, field := range g.fields {
		steps, err := onePath(field)
		if err != nil {
			return nil, err
		}
		g.paths = append(g.paths, steps)
	}
	return g, nil
}

// onePath parses the path of one field.
func onePath(field string) ([]jsonpath.Step, error) {
	steps, err := jsonpath.Parse(field)
	if err == nil && jsonpath.Many(steps) {
		err = fmt.Errorf("field %q: want the path of one field", field)
	}
	if err != nil {
		return nil, errorhint.Usage(err, "want a path such as raw or messages.-1.content")
	}
	return steps, nil
}

// Name returns the name of the file.
func (g *GoldFile) Name() string { return g.name }

// Add reads a line.
func (g *GoldFile) Add(line []byte, number int) error {
	if err := g.finder.Find(line, g.paths...); err != nil {
		return err
	}
	id, err := joinID(g.finder.Last(goldID), g.fields[goldID])
	if err != nil {
		return err
	}
	if was := g.byID[id]; was != nil {
		return fmt.Errorf("the id %s is in %s %d already: want one right answer per id", shownID(id), g.Unit, was.line)
	}
	gold := g.finder.Last(goldGold)
	if gold == nil || gold[0] == 'n' {
		return fmt.Errorf("id %s: field %s %w", shownID(id), g.fields[goldGold], jsonpath.ErrMissing)
	}
	row := &goldRow{file: g, id: id, line: number, gold: append([]byte(nil), gold...), options: append([]byte(nil), g.finder.Last(goldOptions)...)}
	g.byID[id] = row
	g.rows = append(g.rows, row)
	return nil
}

// Unasked yields the lines whose id no reply has.
func (g *GoldFile) Unasked(yield func(number int, err error) bool) {
	for _, row := range g.rows {
		if !row.asked.Load() && !yield(row.line, fmt.Errorf("no reply has the id %s", shownID(row.id))) {
			return
		}
	}
}

// Asked returns which rows replies have asked for: a bit for each, the first in the lowest
// bit of the first byte.
func (g *GoldFile) Asked() []byte {
	asked := make([]byte, (len(g.rows)+7)/8)
	for i, row := range g.rows {
		if row.asked.Load() {
			asked[i/8] |= 1 << (i % 8)
		}
	}
	return asked
}

// Ask notes that replies have asked for rows in other processes.
func (g *GoldFile) Ask(asked []byte) error {
	if len(asked) != (len(g.rows)+7)/8 {
		return fmt.Errorf("%s does not have the rows that it had", g.name)
	}
	for i, row := range g.rows {
		if asked[i/8]&(1<<(i%8)) != 0 {
			row.asked.Store(true)
		}
	}
	return nil
}

// A placedValue is a value, the field that it comes from and, if it comes from a gold
// file, the line there.
type placedValue struct {
	value []byte
	field string
	row   *goldRow
}

// place names the field, and the line in the gold file, for an error.
func (v placedValue) place() string {
	if v.row == nil {
		return v.field
	}
	return fmt.Sprintf("%s of %s %d of %s, id %s", v.field, v.row.file.Unit, v.row.line, v.row.file.name, shownID(v.row.id))
}

// join returns the right answer to a reply, and its options: those of its own line, or
// those of the gold file.
func (g *GoldFile) join(id []byte, field string, own placedValue) (gold, options placedValue, err error) {
	text, err := joinID(id, field)
	if err != nil {
		return gold, options, err
	}
	row := g.byID[text]
	if row == nil {
		return gold, options, fmt.Errorf("the id %s is not in %s", shownID(text), g.name)
	}
	row.asked.Store(true)
	if own.value == nil && len(row.options) > 0 {
		own = placedValue{row.options, g.fields[goldOptions], row}
	}
	return placedValue{row.gold, g.fields[goldGold], row}, own, nil
}

var errIDKind = errors.New("is not a string or a number")

// joinID returns the text of an id. The number 1 and the string "1" are one id, since
// one of the files is often made from a table.
func joinID(id []byte, field string) (string, error) {
	switch {
	case id == nil || id[0] == 'n':
		return "", fmt.Errorf("field %s %w", field, jsonpath.ErrMissing)
	case id[0] == '{' || id[0] == '[' || id[0] == 't' || id[0] == 'f':
		return "", fmt.Errorf("field %s %w", field, errIDKind)
	}
	return jsonpath.TextOr(id, ""), nil
}

func shownID(id string) string { return fmt.Sprintf("%q", shorttext.Ellipsis(id, maxShown)) }
