package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/sealing"
	"github.com/sotto-llm/sotto/internal/lab/streamfile"
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
	// Sealed says that the study is encrypted, and Closed that it was opened without an
	// identity: then it has no more than IDs, states and measures.
	Sealed, Closed bool
	states         map[string]*State
	ids            []age.Identity
}

// Open reads a study, also while it runs. Of a sealed one it reads what needs no identity, if
// there is none.
func Open(dir string, ids ...age.Identity) (*Study, error) {
	s := &Study{Dir: dir, ids: ids, states: map[string]*State{}}
	var err error
	switch s.Sealed, err = readJSON(ManifestFile(dir), maxManifest, ids, &s.Manifest); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w: it has no file study.json", dir, ErrNone)
	case err != nil:
		return nil, err
	case s.V != 1:
		return nil, fmt.Errorf("%s: version %d of a study; this program reads version 1", ManifestFile(dir), s.V)
	case len(s.Cells) > MaxCells:
		return nil, fmt.Errorf("%s: %d cells; at most %d are read", ManifestFile(dir), len(s.Cells), MaxCells)
	}
	s.Closed = s.Sealed && len(ids) == 0
	for i := range s.Cells {
		state, err := readState(dir, &s.Cells[i], ids)
		if err != nil {
			return nil, err
		}
		s.states[s.Cells[i].ID] = state
	}
	return s, nil
}

// OpenWhole reads a study as [Open] does, and refuses a sealed one without an identity.
func OpenWhole(dir string, ids ...age.Identity) (*Study, error) {
	s, err := Open(dir, ids...)
	if err == nil && s.Closed {
		return nil, sealing.Hint(fmt.Errorf("%s: the study is sealed: %w", dir, sealing.ErrSealed))
	}
	return s, err
}

// Stream opens the output of a cell, and decrypts it.
func (s *Study) Stream(cell string) (io.ReadCloser, error) {
	return streamfile.Open(StreamFile(s.Dir, cell), s.ids)
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
func readState(dir string, c *Cell, ids []age.Identity) (*State, error) {
	if err := checkID(c.ID); err != nil {
		return nil, fmt.Errorf("%s: cell %w", ManifestFile(dir), err)
	}
	state := &State{}
	_, err := readJSON(StateFile(dir, c.ID), maxState, ids, state)
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

// WriteManifest replaces the manifest of the study in dir. For recipients it is encrypted,
// except for what a run of the study and its status need: IDs, and digests of settings.
func WriteManifest(dir string, m *Manifest, to ...age.Recipient) error {
	plain := &Manifest{V: m.V, Name: m.Name, Kind: m.Kind, Began: m.Began, Sotto: m.Sotto, Go: m.Go, Cells: make([]Cell, len(m.Cells))}
	for i, c := range m.Cells {
		plain.Cells[i] = Cell{ID: c.ID, Repetition: c.Repetition, Settings: c.Settings}
	}
	return writeJSON(ManifestFile(dir), m, plain, to)
}

// WriteState replaces the state of a cell. For recipients its reason is encrypted: it can quote
// what a server said.
func WriteState(dir string, state *State, to ...age.Recipient) error {
	plain := *state
	plain.Reason = ""
	return writeJSON(StateFile(dir, state.Cell), state, &plain, to)
}

// readJSON reads a file of the study. Of a sealed one, into has what is in plain if there is no
// identity.
func readJSON(name string, most int64, ids []age.Identity, into any) (sealed bool, err error) {
	data, err := files.Read("study", name, most)
	if err != nil {
		return false, err
	}
	if sealed = sealing.Is(data); sealed {
		line, err := sealing.Parse(data)
		if err != nil {
			return sealed, fmt.Errorf("%s: %w", name, err)
		}
		data = line.Plain
		if len(ids) > 0 {
			if data, err = line.Open(ids); err != nil {
				return sealed, sealing.Hint(fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	if err := foreignjson.Check(data); err != nil {
		return sealed, fmt.Errorf("%s: %w", name, err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return sealed, fmt.Errorf("%s: %w", name, err)
	}
	return sealed, nil
}

// encode writes a value, or for recipients a sealed line with what is in plain beside it.
func encode(v, plain any, to []age.Recipient) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil || len(to) == 0 {
		return append(data, '\n'), err
	}
	open, err := json.Marshal(plain)
	if err != nil {
		return nil, err
	}
	return sealing.AppendLine(nil, open, data, to)
}

// writeJSON replaces a file as a whole: after a crash it is the old one or the new
// one.
func writeJSON(name string, v, plain any, to []age.Recipient) (err error) {
	data, err := encode(v, plain, to)
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
	if _, err := f.Write(data); err != nil {
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
