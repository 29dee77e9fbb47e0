package cli

import (
	"fmt"
	"slices"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/modelname"
)

// A catalogue is every dialect at hand: the built-in rows, and those of
// --dialect-file, which go before a built-in row of their name.
type catalogue struct {
	added []added
}

type added struct {
	row     sotto.Dialect
	grammar *sotto.Grammar
}

func loadCatalogue(names []string) (*catalogue, error) {
	c := new(catalogue)
	for _, name := range names {
		data, err := readFile("dialect file", name, maxDialects)
		if err != nil {
			return nil, err
		}
		rows, err := sotto.ReadDialects(data)
		if err != nil {
			return nil, fmt.Errorf("read dialect file %s: %w", name, err)
		}
		for _, row := range rows {
			grammar, err := sotto.Compile(row)
			if err != nil {
				return nil, fmt.Errorf("read dialect file %s: dialect %q: %w", name, row.Name, err)
			}
			c.added = append(c.added, added{row, grammar})
		}
	}
	return c, nil
}

// join adds the dialects that were added to another catalogue.
func (c *catalogue) join(other *catalogue) { c.added = append(c.added, other.added...) }

// named returns the grammar of a dialect; "" is the default one.
func (c *catalogue) named(name string) (*sotto.Grammar, error) {
	if name == "" {
		name = "default"
	}
	for _, a := range slices.Backward(c.added) {
		if a.row.Name == name {
			return a.grammar, nil
		}
	}
	return sotto.Named(name)
}

// forModel returns the grammar of a model's name; an added row goes before a
// built-in one.
func (c *catalogue) forModel(model string) (*sotto.Grammar, bool) {
	for _, a := range slices.Backward(c.added) {
		if modelname.Match(a.row.Models, model) >= 0 {
			return a.grammar, true
		}
	}
	return sotto.ForModel(model)
}

// dialects returns every row, the added ones last.
func (c *catalogue) dialects() []sotto.Dialect {
	rows := sotto.Dialects()
	for _, a := range c.added {
		rows = slices.DeleteFunc(rows, func(d sotto.Dialect) bool { return d.Name == a.row.Name })
		rows = append(rows, a.row)
	}
	return rows
}

// unknownDialect makes a usage error of a name that no dialect has.
func unknownDialect(err error) error {
	return usage(err, `run "sotto dialects" for the names`)
}

// row returns one dialect as it was written, its defaults left out.
func (c *catalogue) row(name string) (sotto.Dialect, error) {
	for _, d := range c.dialects() {
		if d.Name == name {
			return d, nil
		}
	}
	g, err := c.named(name)
	if err != nil {
		return sotto.Dialect{}, unknownDialect(err)
	}
	return g.Dialect(), nil
}
