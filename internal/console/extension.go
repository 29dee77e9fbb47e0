package console

import (
	"context"
	"encoding/base64"
	"html/template"
	"io/fs"
	"slices"
	"time"

	"github.com/sotto-llm/sotto/internal/console/trace"
	"github.com/sotto-llm/sotto/record"
)

// An Extension has screens beside those of this package, and what their pages need.
type Extension struct {
	Screens []Screen
	// Steps returns what an agent did for an answer, by the identifier of the answer; it may
	// be nil.
	Steps func(ctx context.Context, response string) ([]trace.Step, error)
	// Files has a template for each page, as templates/NAME.html, and style sheets and scripts
	// in the folder assets.
	Files fs.FS
	// Style comes after all style sheets.
	Style string
	// Functions are what the templates call in addition to those of this package.
	Functions template.FuncMap
}

// screens are those of this console: its own that have something to show, and those of the
// extension in their places.
func (c *Console) screens() []Screen {
	list := slices.DeleteFunc(screens(), func(s Screen) bool {
		if s.shown == nil {
			return c.config.Record == nil
		}
		return !s.shown(&c.config)
	})
	if c.config.Extension == nil {
		return list
	}
	rail := screens()
	place := func(path string) int { return slices.IndexFunc(rail, func(s Screen) bool { return s.Path == path }) }
	for _, s := range c.config.Extension.Screens {
		at := slices.IndexFunc(list, func(other Screen) bool { return place(other.Path) >= place(s.Before) })
		if at < 0 {
			at = len(list)
		}
		list = slices.Insert(list, at, s)
	}
	return list
}

// has reports whether the console has a screen.
func (c *Console) has(path string) bool {
	return slices.ContainsFunc(c.screens(), func(s Screen) bool { return s.Path == path })
}

// Now is the time by the clock of the console.
func (c *Console) Now() time.Time { return c.config.Now() }

// RunToken is a run's name as a segment of a path. Names that no run should have, as
// a hostile record may hold them, are written in base64 behind a ~, which no name has.
func RunToken(name string) string {
	if name != "" && record.CheckRun(name) == nil {
		return name
	}
	return "~" + base64.RawURLEncoding.EncodeToString([]byte(name))
}
