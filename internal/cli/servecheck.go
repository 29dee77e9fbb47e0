package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
)

// printChecked prints every fault, or else the settings as a configuration
// file.
func (s *serveSetup) printChecked(sh *shell) error {
	if len(s.faults) == 0 { // a fault may be what the warning comes from
		for _, w := range s.warnings {
			sh.hintf("%s", w)
		}
		_, err := sh.out.Write(s.yaml())
		return err
	}
	for _, f := range s.faults {
		fmt.Fprintln(sh.err, f)
		if u, ok := errors.AsType[usageError](f.err); ok {
			sh.hintf("%s", u.hint)
		}
	}
	return s.count()
}

// count is the error of settings with faults.
func (s *serveSetup) count() error {
	return hinted{countFaults(len(s.faults)), strings.Join(s.hints, "; ")}
}

func countFaults(n int) error {
	return errors.New(plural(n, "1 fault in the configuration", "%d faults in the configuration"))
}

// refuse is the error of a run whose settings are wrong. Other words on the
// command line mend it where no fault stands in the file, and for access control.
func (s *serveSetup) refuse(sh *shell) error {
	usage := true
	for _, f := range s.faults {
		if u, ok := errors.AsType[usageError](f.err); ok && len(s.faults) == 1 {
			return usageError{f, u.hint}
		}
		usage = usage && f.file == ""
	}
	last := s.faults[len(s.faults)-1]
	if usage {
		for _, f := range s.faults[:len(s.faults)-1] {
			sh.errorf("%v", f)
		}
		return usageError{last, `run "sotto serve --help"`}
	}
	for _, f := range s.faults {
		fmt.Fprintln(sh.err, f)
	}
	return s.count()
}

// yaml writes the settings as a configuration file. A secret of the environment
// is only said to be there.
func (s *serveSettings) yaml() []byte {
	top := yaml.MapSlice{{Key: "v", Value: 1}}
	for _, k := range s.keys() {
		switch {
		case k.name == "token-file" && s.token.file == "" && s.token.text != "":
			top = append(top, yaml.MapItem{Key: "token", Value: "(set)"})
		case k.name == "upstream-key-file" && s.upstreamKey.file == "" && s.upstreamKey.text != "":
			top = append(top, yaml.MapItem{Key: "upstream-key", Value: "(set)"})
		}
		top = appendKey(top, k)
	}
	var limits yaml.MapSlice
	for _, k := range s.limitKeys() {
		limits = appendKey(limits, k)
	}
	top = append(top, yaml.MapItem{Key: "limits", Value: limits})
	var routes []yaml.MapSlice
	for i := range s.gateway.Routes {
		var route yaml.MapSlice
		for _, k := range routeKeys(&s.gateway.Routes[i]) {
			route = appendKey(route, k)
		}
		routes = append(routes, route)
	}
	if routes != nil {
		top = append(top, yaml.MapItem{Key: "routes", Value: routes})
	}
	data, err := yaml.MarshalWithOptions(top, yaml.IndentSequence(true))
	if err != nil {
		panic(fmt.Sprintf("settings as YAML: %v", err)) // they are strings and numbers
	}
	return data
}

func appendKey(m yaml.MapSlice, k key) yaml.MapSlice {
	if v := k.get(); v != nil {
		m = append(m, yaml.MapItem{Key: k.name, Value: v})
	}
	return m
}
