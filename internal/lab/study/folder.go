package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
)

const (
	// MaxCells bounds the cells of a study.
	MaxCells = 10000

	maxManifest = 64 << 20
	maxState    = 1 << 20
)

// ErrNone is in the error of a folder that has no study.
var ErrNone = errors.New("no study")

// A Study is a study as it is on disk at one moment.
type Study struct {
	Dir string
	Manifest
	states map[string]*State
}

// Open reads a study, also while it runs.
func Open(dir string) (*Study, error) {
	s := &Study{Dir: dir, states: map[string]*State{}}
	switch err := readJSON(ManifestFile(dir), maxManifest, &s.Manifest); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w: it has no file study.json", dir, ErrNone)
	case err != nil:
		return nil, err
	case s.V != 1:
		return nil, fmt.Errorf("%s: version %d of a study; this program reads version 1", ManifestFile(dir), s.V)
	case len(s.Cells) > MaxCells:
		return nil, fmt.Errorf("%s: %d cells; at most %d are read", ManifestFile(dir), len(s.Cells), MaxCells)
	}
	for i := range s.Cells {
		state, err := readState(dir, &s.Cells[i])
		if err != nil {
			return nil, err
		}
		s.states[s.Cells[i].ID] = state
	}
	return s, nil
}

// State returns what became of a cell.
func (s *Study) State(c *Cell) *State { return s.states[c.ID] }

// IsDone reports whether a cell is done with the settings that the study has.
func (s *Study) IsDone(cell string) bool {
	state := s.states[cell]
	return state != nil && state.Status == Done
}

// Counts returns how many cells have each status.
func (s *Study) Counts() map[Status]int {
	n := map[Status]int{}
	for i := range s.Cells {
		n[s.State(&s.Cells[i]).Status]++
	}
	return n
}

// readState reads the state of a cell. A cell that has no file is waiting.
func readState(dir string, c *Cell) (*State, error) {
	if err := checkID(c.ID); err != nil {
		return nil, fmt.Errorf("%s: cell %w", ManifestFile(dir), err)
	}
	state := &State{}
	err := readJSON(StateFile(dir, c.ID), maxState, state)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &State{V: 1, Cell: c.ID, Status: Waiting, Settings: c.Settings}, nil
	case err != nil:
		return nil, err
	case state.V != 1 || state.Cell != c.ID:
		return nil, fmt.Errorf("%s: not the state of cell %s", StateFile(dir, c.ID), c.ID)
	}
	if state.Settings != c.Settings {
		state.Status = Changed
	}
	return state, nil
}

// checkID refuses a name that is not safe as a part of a path.
func checkID(id string) error {
	if id == "" || len(id) > 64 || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || id[0] == '-' {
		return fmt.Errorf("%q: want 1 to 64 small letters, digits and hyphens, and no hyphen first", id)
	}
	return nil
}

// WriteManifest replaces the manifest of the study in dir.
func WriteManifest(dir string, m *Manifest) error { return writeJSON(ManifestFile(dir), m) }

// WriteState replaces the state of a cell.
func WriteState(dir string, state *State) error {
	return writeJSON(StateFile(dir, state.Cell), state)
}

func readJSON(name string, most int64, into any) error {
	data, err := files.Read("study", name, most)
	if err != nil {
		return err
	}
	if err := foreignjson.Check(data); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// writeJSON replaces a file as a whole: after a crash it is the old one or the new
// one.
func writeJSON(name string, v any) (err error) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(append(data, '\n')); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
