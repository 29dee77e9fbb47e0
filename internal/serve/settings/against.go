package settings

import (
	"fmt"
	"path/filepath"

	"github.com/sotto-llm/sotto/internal/base/files"
)

// ReadOld reads the settings that another file has made in place of the one in from, to
// compare the two. Relative paths begin in the folder of the file in from, because the other
// one may be an earlier text of it that stands elsewhere. Only what cannot be read is a
// fault: whether the settings could be used is not checked.
func ReadOld(from Sources, name string) (*Setup, error) {
	data, err := files.Read("configuration", name, files.MaxSettings)
	if err != nil {
		return nil, err
	}
	s := &Setup{places: map[string]Place{}}
	s.defaults(from.Getenv)
	folder := filepath.Dir(name)
	if from.File != "" {
		folder = filepath.Dir(from.File)
	}
	r := s.parseConfig(name, data, folder)
	s.places, s.Hints = r.places(), r.keyHints()
	s.override(append(s.keys(), s.flagKeys()...), from.Overrides)
	s.inherit()
	s.readAllSecrets(from)
	s.readTokens(from.Getenv)
	s.readUpstreams(from.Getenv)
	s.readGuards()
	s.Faults, s.Warnings = r.faults(), nil
	return s, nil
}

// ReadRunning reads the settings of a process that runs, as [Settings.YAML] wrote them there.
// name is where they come from. That a secret is set is known, and no more.
func ReadRunning(name string, data []byte) *Setup {
	s := &Setup{places: map[string]Place{}}
	s.defaults(func(string) string { return "" })
	s.Gateway.Data = "" // none, if the text has none
	r := s.parseConfig(name, data, "")
	s.inherit()
	for i := range s.guards {
		s.inheritGuard(&s.Gateway.Routes[i].Guard, &s.guards[i], s.guards[i].token.file != "")
	}
	set := map[string]*secret{}
	for _, k := range s.keys() {
		if t, is := k.secretOf(); is {
			set[secretName(k.name)] = t
		}
	}
	for _, f := range r.faults() {
		if to := set[f.key]; to != nil {
			to.Text = unknownSecret
		} else {
			s.Faults = append(s.Faults, f)
		}
	}
	s.forgetInherited()
	return s
}

// forgetInherited takes the places from keys of routes that say what stands at the top: the
// text has them, whether or not the file had.
func (s *Setup) forgetInherited() {
	top := s.tree()
	for i, route := range items(member(top, "routes")) {
		for _, m := range route.Members {
			if above, own := textOf(member(top, m.Key.Text)), textOf(m.Value); above != nil && *above == *own {
				delete(s.places, fmt.Sprintf("routes[%d].%s", i, m.Key.Text))
			}
		}
	}
}

// unknownSecret stands for a secret of which is known only that it is set.
const unknownSecret = "(a secret that is set)"
