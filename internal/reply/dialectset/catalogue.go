// Package dialectset is the set of dialects that a run knows: the built-in ones and
// those from files.
package dialectset

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/dialect/dialectfile"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/modelname"
)

// A Set is all known dialects: the built-in rows and those of --dialect-file.
// A row from a file takes precedence over a built-in row of the same name.
type Set struct {
	added []added

	once      sync.Once
	byMarkers *chooser

	mu     sync.Mutex
	models map[string]knownGrammar // of the names that were asked for
}

type knownGrammar struct {
	grammar *sotto.Grammar
	known   bool
}

type added struct {
	row     dialect.Dialect
	grammar *sotto.Grammar
}

// Load reads files of dialects. A later file takes precedence.
func Load(names []string) (*Set, error) {
	c := new(Set)
	for _, name := range names {
		data, err := files.Read("dialect file", name, files.MaxDialects)
		if err != nil {
			return nil, err
		}
		rows, err := dialectfile.Parse(data)
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

// Join adds the dialects that were added to another catalogue.
func (c *Set) Join(other *Set) {
	c.added = append(c.added, other.added...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.models = nil
}

// Named returns the grammar of a dialect; "" is the default one.
func (c *Set) Named(name string) (*sotto.Grammar, error) {
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

// ForModel returns the grammar for a model's name. An added row takes precedence
// over a built-in one. Names are remembered: a log asks for few of them, once a line.
func (c *Set) ForModel(model string) (*sotto.Grammar, bool) {
	c.mu.Lock()
	found, seen := c.models[model]
	c.mu.Unlock()
	if seen {
		return found.grammar, found.known
	}
	found.grammar, found.known = c.find(model)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.models == nil {
		c.models = map[string]knownGrammar{}
	}
	if len(c.models) < maxModels && len(model) <= modelname.Most {
		c.models[strings.Clone(model)] = found
	}
	return found.grammar, found.known
}

func (c *Set) find(model string) (*sotto.Grammar, bool) {
	for _, a := range slices.Backward(c.added) {
		if modelname.Match(a.row.Models, model) >= 0 {
			return a.grammar, true
		}
	}
	return sotto.ForModel(model)
}

// Dialects returns every row, the added ones last.
func (c *Set) Dialects() []dialect.Dialect {
	rows := dialect.All()
	for _, a := range c.added {
		rows = slices.DeleteFunc(rows, func(d dialect.Dialect) bool { return d.Name == a.row.Name })
		rows = append(rows, a.row)
	}
	return rows
}

// UnknownDialect returns a usage error for a name that no dialect has.
func UnknownDialect(err error) error {
	return errorhint.Usage(err, `run "sotto dialects" for the names`)
}

// Row returns one dialect as it was written, without its defaults.
func (c *Set) Row(name string) (dialect.Dialect, error) {
	for _, d := range c.Dialects() {
		if d.Name == name {
			return d, nil
		}
	}
	g, err := c.Named(name)
	if err != nil {
		return dialect.Dialect{}, UnknownDialect(err)
	}
	return g.Dialect(), nil
}
