package settings

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestPromisedSettings: the keys of the configuration file, their defaults and forms are
// those that api/promises/settings.txt lists. A key that goes, or whose values change, breaks
// configurations of users.
func TestPromisedSettings(t *testing.T) {
	const name = "../../../api/promises/settings.txt"
	var list []string
	for _, section := range sections() {
		for _, k := range section.keys {
			line := section.prefix + k.name + " " + cmp.Or(strings.ReplaceAll(k.def, " ", ""), "-") + " " + k.want
			if k.restart {
				line += " (restart)"
			}
			list = append(list, line)
		}
	}
	slices.Sort(list)
	got := strings.Join(list, "\n") + "\n"
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	promised := strings.Split(strings.TrimSpace(string(want)), "\n")
	for _, line := range promised {
		if !slices.Contains(list, line) {
			t.Errorf("promised, and no longer so: %s", line)
		}
	}
	for _, line := range list {
		if !slices.Contains(promised, line) {
			t.Errorf("not listed: %s", line)
		}
	}
	t.Error("if the change is meant: go test ./internal/serve/settings -run TestPromisedSettings -update, and read the diff")
}

// A section is the keys that stand together in the file, or flags without a key.
type section struct {
	prefix string // of their paths
	keys   []key
}

// sections are all settings.
func sections() []section {
	s := new(Settings)
	return []section{
		{"", s.keys()},
		{"limits.", s.limitKeys()},
		{"tokens.NAME.", tokenKeys(new(namedToken))},
		{"upstreams.NAME.", upstreamKeys(new(NamedUpstream))},
		{"routes[].", routeKeys(&s.Gateway.Default, &s.guard)},
		{"--", s.flagKeys()},
	}
}
