// Package labpart says what lets a console show experiments. The commands that serve the
// page know only this, so that a program without experiments has none of what they need.
package labpart

import (
	"filippo.io/age"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
)

// A Part has the screens of experiments.
type Part interface {
	// Folder returns the folder of the record that is shown of a folder: itself, that of a
	// study with one worker, or "" if it holds several records.
	Folder(dir string) string
	// Screens makes the screens. end closes what they read.
	Screens(s Shown) (x *console.Extension, end func(), err error)
}

// Shown is what the screens show.
type Shown struct {
	Dir        string // that may be a study, or hold several; "" for none
	Identities []age.Identity
	Record     *sidecar.Store // nil if there is none
	Name       string         // of the record on the page
	Named      func(string) (*sotto.Grammar, error)
	Scores     []string // scored files
	Replies    []string // the replies of them
	Memory     string   // the file of a memory
}
