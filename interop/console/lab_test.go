package console

import (
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/lab/screens"
)

// newConsole makes a console with the screens of experiments, as the program with all
// commands does.
func newConsole(c console.Config, x screens.Config) *console.Console {
	x.Record, x.Name, x.Named = c.Record, c.Name, c.Named
	c.Extension = screens.Screens(x)
	return console.New(c)
}
