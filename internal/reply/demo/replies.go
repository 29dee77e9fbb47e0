// Package demo has scripted replies with faults of real models, and shows how they are
// separated as they stream.
package demo

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sotto-llm/sotto"
)

//go:embed demo.jsonl
var lines string

// Lines returns the scripted replies as JSON Lines.
func Lines() string { return lines }

// A Reply is a reply that is shown.
type Reply struct {
	Number  int    // its line in the file, from 1
	ID      string // its id in the file, as JSON; may be empty
	Caption string
	Dialect string
	Grammar *sotto.Grammar
	Start   sotto.Beginning
	End     sotto.Ending
	Deltas  []string
	Err     error // why the line cannot be read
}

// Scripted returns a function that gives one scripted reply after another, and io.EOF
// after the last. It reads them with the dialects that are built in.
func Scripted() func() (Reply, error) {
	d := json.NewDecoder(strings.NewReader(lines))
	number := 0
	return func() (Reply, error) {
		var line struct {
			Caption, Dialect string
			Start            sotto.Beginning
			End              sotto.Ending
			Deltas           []string
		}
		if err := d.Decode(&line); err != nil {
			return Reply{}, err
		}
		number++
		g, err := sotto.Named(line.Dialect)
		if err != nil {
			return Reply{}, fmt.Errorf("line %d: %w", number, err)
		}
		return Reply{Number: number, Caption: line.Caption, Dialect: line.Dialect, Grammar: g, Start: line.Start, End: line.End, Deltas: line.Deltas}, nil
	}
}

// text returns the raw reply.
func (r *Reply) text() string { return strings.Join(r.Deltas, "") }

// pieces returns the deltas. A reply that is given whole is cut at places as awkward as
// the boundaries of tokens.
func (r *Reply) pieces() []string {
	if len(r.Deltas) != 1 {
		return r.Deltas
	}
	var cuts []string
	rest := r.Deltas[0]
	for i := 0; rest != ""; i++ {
		n := min([...]int{3, 5, 1, 7, 2, 4}[i%6], len(rest))
		cuts, rest = append(cuts, rest[:n]), rest[n:]
	}
	return cuts
}
