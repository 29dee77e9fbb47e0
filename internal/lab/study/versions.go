package study

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/data/yamlfile"
)

// Versions are what a study's file says that it must be run with. What it leaves out may be any.
type Versions struct {
	Sotto    string   `yaml:"sotto"`
	Dialects string   `yaml:"dialects"`
	Models   []string `yaml:"models"`
	// Files are the SHA-256 digests of files that the study reads, by their paths: prompts,
	// prices, problems.
	Files map[string]string `yaml:"files"`
}

// CheckVersions compares what the file says with a manifest of now. The error is a [*Faulty].
func (f *File) CheckVersions(m *Manifest) error {
	v := f.Versions
	var list []yamlfile.Fault
	fault := func(key, format string, args ...any) {
		key = "versions." + key
		list = append(list, yamlfile.Fault{Place: f.document.PlaceOf(key), Key: key, Err: fmt.Errorf(format, args...)})
	}
	if v.Sotto != "" && v.Sotto != m.Sotto {
		fault("sotto", "this is %s", m.Sotto)
	}
	if v.Dialects != "" && v.Dialects != m.Made.Dialects {
		fault("dialects", "the digest of this program's table of dialects is %s", m.Made.Dialects)
	}
	for _, name := range m.Made.Models {
		if len(v.Models) > 0 && !slices.Contains(v.Models, name) {
			fault("models", "the study asks %s too", name)
		}
	}
	for name, digest := range v.Files {
		i := slices.IndexFunc(m.Inputs, func(in Input) bool { return in.Name == f.Path(name) })
		switch {
		case i < 0:
			fault("files", "%s: the study does not read it", name)
		case m.Inputs[i].SHA256 != strings.ToLower(digest):
			fault("files", "%s has the SHA-256 digest %s", name, m.Inputs[i].SHA256)
		}
	}
	if len(list) > 0 {
		slices.SortFunc(list, func(a, b yamlfile.Fault) int { return strings.Compare(a.Error(), b.Error()) })
		return &Faulty{list}
	}
	return nil
}

// Since lists what is otherwise now than when the study ran, so that a difference between its
// results and those of a new run can have a cause: the program, its table of dialects, and the
// files that the study read, such as prompts and prices. find returns a file as it is now.
func (s *Study) Since(sotto, dialects string, find func(Input) (Input, error)) (list []string) {
	if s.Sotto != sotto && released(s.Sotto) && released(sotto) {
		list = append(list, fmt.Sprintf("the program was sotto %s, and is %s", s.Sotto, sotto))
	}
	if s.Made != nil && s.Made.Dialects != dialects {
		list = append(list, fmt.Sprintf("the table of dialects had the digest %.12s, and has %.12s", s.Made.Dialects, dialects))
	}
	for _, was := range s.Inputs {
		what := was.Name
		if was.Role != "" {
			what = was.Role + " " + was.Name
		}
		switch is, err := find(was); {
		case err != nil:
			list = append(list, what+" is not there any more")
		case is.SHA256 != was.SHA256:
			list = append(list, fmt.Sprintf("%s had the digest %.12s, and has %.12s", what, was.SHA256, is.SHA256))
		}
	}
	return list
}

// released reports whether a version says which program it is of.
func released(version string) bool { return version != "" && version != "(devel)" }
