// Package labscreens opens what the screens of experiments show: studies, scored files and
// memories.
package labscreens

import (
	"errors"
	"fmt"
	"os"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/cli/labpart"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/lab/runview"
	"github.com/sotto-llm/sotto/internal/lab/scoreview"
	"github.com/sotto-llm/sotto/internal/lab/screens"
	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/record"
)

// Part has the screens of experiments.
type Part struct{}

// Folder returns the folder of the record that is shown of a folder.
func (Part) Folder(dir string) string {
	if dir == "" || !(&screens.Studies{Dir: dir}).Any() {
		return dir
	}
	if set, err := recordset.Open(study.RecordsFolder(dir), record.ReadOptions{}); err == nil && !set.Several() {
		return set.Sources()[0].Dir
	}
	return ""
}

// Screens opens what is shown.
func (Part) Screens(s labpart.Shown) (x *console.Extension, end func(), err error) {
	c := screens.Config{Record: s.Record, Name: s.Name, Named: s.Named}
	if studies := (&screens.Studies{Dir: s.Dir, Identities: s.Identities}); s.Dir != "" && studies.Any() {
		c.Studies = studies
	}
	if c.Scores, err = scores(s.Scores, s.Replies); err != nil {
		return nil, nil, err
	}
	if c.Memory, end, err = memory(s.Memory); err != nil {
		return nil, nil, err
	}
	return screens.Screens(c), end, nil
}

// scores opens the scored files, if there are any.
func scores(scored, replies []string) (*scoreview.Files, error) {
	if len(scored) == 0 {
		if len(replies) > 0 {
			return nil, errorhint.Usage(errors.New("--replies: there is no scored file"), "name one with --scores FILE")
		}
		return nil, nil
	}
	var all scoreview.Files
	for _, name := range scored {
		f, err := scoreview.Open(name)
		if err != nil {
			return nil, fmt.Errorf("--scores: %w", err)
		}
		all.Scores = append(all.Scores, f)
	}
	for _, name := range replies {
		f, err := scoreview.Open(name)
		if err != nil {
			return nil, fmt.Errorf("--replies: %w", err)
		}
		all.Replies = append(all.Replies, f)
	}
	return &all, nil
}

// maxMemory bounds the file of a memory, since all of it is read.
const maxMemory = 256 << 20

// memory opens the memory that is shown, if one is named.
func memory(name string) (f *runview.File, end func(), err error) {
	if name == "" {
		return nil, func() {}, nil
	}
	if info, err := os.Stat(name); err == nil && info.Size() > maxMemory {
		return nil, nil, errorhint.Add(fmt.Errorf("--memory: %s has %d bytes: the console shows at most %d", shorttext.Quote(name), info.Size(), maxMemory), "sotto solve memory ls lists it")
	}
	g, err := metagraph.Open(name, metagraph.Options{ReadOnly: true})
	if err != nil {
		return nil, nil, fmt.Errorf("--memory: %w", err)
	}
	return runview.NewFile(g, name), func() { _ = g.Close() }, nil
}
