package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/hint"
	"github.com/sotto-llm/sotto/internal/yamlfile"
)

// printChecked prints every fault, or else the settings as a configuration
// file.
func (s *serveSetup) printChecked(sh *shell.Shell) error {
	if len(s.faults) == 0 { // a fault may be what the warning comes from
		for _, w := range s.warnings {
			sh.Hintf("%s", w)
		}
		_, err := sh.Out.Write(s.yaml())
		return err
	}
	for _, f := range s.faults {
		fmt.Fprintln(sh.Err, f)
		if u, ok := errors.AsType[hint.UsageError](f.err); ok {
			sh.Hintf("%s", u.Hint())
		}
	}
	return s.count()
}

// count is the error of settings with faults.
func (s *serveSetup) count() error {
	return hint.Add(countFaults(len(s.faults)), strings.Join(s.hints, "; "))
}

func countFaults(n int) error {
	return errors.New(shell.Plural(n, "1 fault in the configuration", "%d faults in the configuration"))
}

// refuse is the error of a run whose settings are wrong. Other words on the
// command line mend it where no fault stands in the file, and for access control.
func (s *serveSetup) refuse(sh *shell.Shell) error {
	outside := true
	for _, f := range s.faults {
		if u, ok := errors.AsType[hint.UsageError](f.err); ok && len(s.faults) == 1 {
			return hint.Usage(f, u.Hint())
		}
		outside = outside && f.file == ""
	}
	last := s.faults[len(s.faults)-1]
	if outside {
		for _, f := range s.faults[:len(s.faults)-1] {
			sh.Errorf("%v", f)
		}
		return hint.Usage(last, `run "sotto serve --help"`)
	}
	for _, f := range s.faults {
		fmt.Fprintln(sh.Err, f)
	}
	return s.count()
}

// yaml writes the settings as a configuration file. A secret of the environment
// is only said to be there.
func (s *serveSettings) yaml() []byte {
	top := &yamlfile.Node{Kind: yamlfile.Mapping}
	top.Add("v", yamlfile.IntNode(1))
	for _, k := range s.keys() {
		switch {
		case k.name == "token-file" && s.token.file == "" && s.token.text != "":
			top.Add("token", yamlfile.TextNode("(set)"))
		case k.name == "upstream-key-file" && s.upstreamKey.file == "" && s.upstreamKey.text != "":
			top.Add("upstream-key", yamlfile.TextNode("(set)"))
		}
		addKey(top, k)
	}
	limits := &yamlfile.Node{Kind: yamlfile.Mapping}
	for _, k := range s.limitKeys() {
		addKey(limits, k)
	}
	top.Add("limits", limits)
	routes := yamlfile.ListNode()
	for i := range s.gateway.Routes {
		route := &yamlfile.Node{Kind: yamlfile.Mapping}
		for _, k := range routeKeys(&s.gateway.Routes[i]) {
			addKey(route, k)
		}
		routes.Items = append(routes.Items, route)
	}
	if len(routes.Items) > 0 {
		top.Add("routes", routes)
	}
	data, err := yamlfile.Write(top)
	if err != nil {
		panic(fmt.Sprintf("settings as YAML: %v", err)) // they are strings and numbers
	}
	return data
}

func addKey(m *yamlfile.Node, k key) {
	switch v := k.get().(type) {
	case nil:
	case bool:
		m.Add(k.name, yamlfile.BoolNode(v))
	case int:
		m.Add(k.name, yamlfile.IntNode(int64(v)))
	case int64:
		m.Add(k.name, yamlfile.IntNode(v))
	case string:
		m.Add(k.name, yamlfile.TextNode(v))
	case []string:
		list := yamlfile.ListNode()
		for _, text := range v {
			list.Items = append(list.Items, yamlfile.TextNode(text))
		}
		m.Add(k.name, list)
	default:
		panic(fmt.Sprintf("unreachable: %s is a %T", k.name, v))
	}
}
