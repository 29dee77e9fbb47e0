package study

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/yamlfile"
)

// A Plan is what the command of a cell would do.
type Plan struct {
	// Args are the arguments of sotto, without those that name the cell's outputs.
	Args []string
	// Settings decide the results, together with what Files hold.
	Settings any
	// Files are the files that the command reads. Read are further ones, of which
	// Settings has all that counts.
	Files, Read []string
	// Roles say what some of the files are for.
	Roles map[string]string
	// Server is the URL of the model's server. It and Model are empty if the model
	// needs none.
	Server, Model string
	// Remembers says that the cell is a stream with a memory.
	Remembers bool
	// Calls is how many replies the cell needs at most.
	Calls int64
	// Check asks the model's server whether the cell can run; nil if there is nothing
	// to ask. Cells with the same CheckKey get the same answer.
	Check    func(context.Context) error
	CheckKey string
}

// A Planner makes the plan of a cell. Its error is a [*Faulty] if the file is the
// cause.
type Planner func(Case) (*Plan, error)

// Plans are the manifest of a study, and the plans of its cells by their IDs.
type Plans struct {
	Manifest *Manifest
	Of       map[string]*Plan
}

// Plan plans all cells. The cells of the manifest have no commands yet; see
// [Plans.Commands].
func (f *File) Plan(planner Planner) (*Plans, error) {
	p := &Plans{Of: map[string]*Plan{}, Manifest: &Manifest{
		V: 1, Name: f.Name, Kind: f.Kind, Question: f.Question, File: f.Text, Keys: f.Keys(), Compare: f.Compare,
	}}
	digests := inputs{}
	var faults []yamlfile.Fault
	for _, c := range f.Cases() {
		plan, err := planner(c)
		if err != nil {
			var faulty *Faulty
			if !errors.As(err, &faulty) {
				return nil, fmt.Errorf("cell %s: %w", c.ID, err)
			}
			faults = addFaults(faults, faulty.Faults)
			continue
		}
		settings, err := digests.settings(f.Kind, plan)
		if err != nil {
			return nil, err
		}
		if p.Of[c.ID] != nil {
			return nil, fmt.Errorf("two cells have the ID %s: give a value another label", c.ID)
		}
		p.Of[c.ID] = plan
		p.Manifest.Cells = append(p.Manifest.Cells, Cell{ID: c.ID, Values: c.Values, Repetition: c.Repetition, Settings: settings})
	}
	if len(faults) > 0 {
		return nil, &Faulty{faults}
	}
	for _, plan := range p.Of {
		for name, role := range plan.Roles {
			digests.role(name, role)
		}
	}
	if f.Prices != "" {
		if _, err := digests.of(f.Path(f.Prices)); err != nil {
			return nil, err
		}
		digests.role(f.Path(f.Prices), "prices")
	}
	p.Manifest.Made = f.made(p.Of)
	for _, name := range slices.Sorted(maps.Keys(digests)) {
		p.Manifest.Inputs = append(p.Manifest.Inputs, digests[name])
	}
	return p, nil
}

// made says what the study is made with. The caller adds the digest of the dialects.
func (f *File) made(plans map[string]*Plan) *Made {
	m := &Made{Repetitions: f.Repetitions}
	if s := f.Seed; s != nil {
		m.Seed, m.First = s.Key, 1
		if s.First != nil {
			m.First = *s.First
		}
	}
	for _, p := range plans {
		if p.Model != "" && !slices.Contains(m.Models, p.Model) {
			m.Models = append(m.Models, p.Model)
		}
	}
	slices.Sort(m.Models)
	return m
}

// addFaults adds the faults of a cell. Those of a value appear in each cell that has it.
func addFaults(list, more []yamlfile.Fault) []yamlfile.Fault {
	const most = 100
	for _, f := range more {
		same := func(g yamlfile.Fault) bool { return f.Error() == g.Error() }
		if len(list) < most && !slices.ContainsFunc(list, same) {
			list = append(list, f)
		}
	}
	return list
}

// inputs are the files of a study, by name. Each is read once.
type inputs map[string]Input

func (d inputs) of(name string) (Input, error) {
	if in, ok := d[name]; ok {
		return in, nil
	}
	in, err := InputOf(name)
	if err == nil {
		d[name] = in
	}
	return in, err
}

// role says what an input is for.
func (d inputs) role(name, role string) {
	if in, ok := d[name]; ok {
		in.Role = role
		d[name] = in
	}
}

// InputOf describes a file as it is now.
func InputOf(name string) (Input, error) {
	f, err := os.Open(name)
	if err != nil {
		return Input{}, fmt.Errorf("open %s: %w", name, files.Cause(err))
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return Input{}, fmt.Errorf("read %s: %w", name, files.Cause(err))
	}
	return Input{Name: name, SHA256: hex.EncodeToString(h.Sum(nil)), Bytes: n}, nil
}

// settings returns the digest of the settings of a cell.
func (d inputs) settings(kind Kind, p *Plan) (string, error) {
	all := struct {
		Kind     Kind
		Settings any
		Files    []string // digests
	}{Kind: kind, Settings: p.Settings}
	for _, name := range p.Files {
		in, err := d.of(name)
		if err != nil {
			return "", err
		}
		all.Files = append(all.Files, in.SHA256)
	}
	for _, name := range p.Read {
		if _, err := d.of(name); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return "", fmt.Errorf("settings: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}
