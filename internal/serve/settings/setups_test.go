package settings

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/bytesize"
	"github.com/sotto-llm/sotto/internal/net/serving"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

var update = flag.Bool("update", false, "write what is read now into testdata/setups.jsonl")

// Setups are configurations with their files, variables and flags, and what is read of
// them. Each was chosen because a change of the code alters what is read. After a change
// of the rules, run
//
//	go test ./internal/serve/settings -run TestSetups -update
//
// and read the lines that changed.
//
//go:embed testdata/setups.jsonl
var setupsFile []byte

// A setup is a configuration, and what is read of it.
type setup struct {
	Config string            `json:"config"`
	Files  map[string]string `json:"files,omitempty"`
	Env    map[string]string `json:"env,omitempty"`
	Flags  map[string]string `json:"flags,omitempty"`
	// Running is the configuration in use, if this one is that of a reload.
	Running string `json:"running,omitempty"`
	// Later are files that change after the configuration was read, and Rejected is a
	// configuration with faults that is not used: tokens and keys are read again.
	Later    map[string]string `json:"later,omitempty"`
	Rejected string            `json:"rejected,omitempty"`

	Gives []string `json:"gives"`
}

// give fills in what is read. folder has no files of an earlier one.
func (c *setup) give(folder string) error {
	for name, text := range c.Files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	c.Gives = nil
	say := func(format string, args ...any) {
		text := strings.ReplaceAll(fmt.Sprintf(format, args...), folder+string(filepath.Separator), "")
		text = strings.ReplaceAll(text, fmt.Sprint(bytesize.Format(serving.DefaultMemory())), "MEMORY") // of the machine
		if !slices.Contains(c.Gives, text) {
			c.Gives = append(c.Gives, text)
		}
	}
	var running *Setup
	if c.Running != "" {
		var err error
		if running, err = c.read(folder, "running.yaml", c.Running, nil); err != nil {
			return err
		}
	}
	s, err := c.read(folder, "sotto.yaml", c.Config, running)
	if err != nil {
		say("error: %v", err)
		return nil
	}
	s.tell(say)
	if running != nil {
		tellChanges(say, running, s)
		old, err := ReadOld(c.sources(filepath.Join(folder, "sotto.yaml"), folder), filepath.Join(folder, "running.yaml"))
		if err != nil {
			return err
		}
		for _, f := range old.Faults {
			say("old: %v", f)
		}
		for _, h := range old.Hints {
			say("old: hint: %s", h)
		}
		tellChanges(func(format string, args ...any) { say("old "+format, args...) }, old, s)
	} else {
		again := ReadRunning("there", s.YAML())
		for _, f := range again.Faults {
			say("printed: %v", f)
		}
		tellChanges(say, again, s)
	}
	if callers, err := ReadCallers(filepath.Join(folder, "sotto.yaml")); err != nil {
		say("no callers: %v", err)
	} else if len(callers) > 0 {
		say("callers: %+v", callers)
	}
	if c.Later == nil && c.Rejected == "" {
		return nil
	}
	for name, text := range c.Later {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return err
		}
		if text == "" {
			os.Remove(filepath.Join(folder, name))
		}
	}
	var rejected *Setup
	if c.Rejected != "" {
		if rejected, err = c.read(folder, "rejected.yaml", c.Rejected, s); err != nil {
			return err
		}
	}
	later := s.Refresh(rejected)
	say("later:")
	for _, f := range later.Faults {
		say("fault: %v", f)
	}
	later.tellSecrets(func(format string, args ...any) { say("later "+format, args...) })
	tellChanges(say, s, later)
	return nil
}

// read reads a configuration.
func (c *setup) read(folder, name, text string, running *Setup) (*Setup, error) {
	file := filepath.Join(folder, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	from := c.sources(file, folder)
	from.Running = running
	return Read(from, new(dialectset.Set))
}

// sources returns where the settings come from.
func (c *setup) sources(file, folder string) Sources {
	from := Sources{File: file, Getenv: func(v string) string {
		if v == "HOME" || v == "XDG_STATE_HOME" {
			return folder
		}
		return c.Env[v]
	}, Given: func(flag string) bool { _, is := c.Flags[flag]; return is }}
	for _, key := range slices.Sorted(maps.Keys(c.Flags)) {
		from.Overrides = append(from.Overrides, Override{Key: key, Name: "--" + key, Texts: strings.Split(c.Flags[key], "|")})
	}
	return from
}

// tell says what settings are, besides the defaults.
func (s *Setup) tell(say func(format string, args ...any)) {
	for _, f := range s.Faults {
		say("fault: %v", f)
	}
	for _, h := range s.Hints {
		say("hint: %s", h)
	}
	for _, w := range s.Warnings {
		say("warning: %s", w)
	}
	for _, f := range s.Waiting {
		say("waiting: %v", f)
	}
	usual := usualLines()
	inRoutes := false
	for line := range strings.SplitSeq(strings.TrimSpace(string(s.YAML())), "\n") {
		inRoutes = inRoutes || line == "routes:"
		if !inRoutes && !slices.Contains(usual, line) && !strings.HasPrefix(line, "data: ") {
			say("set: %s", line)
		}
	}
	for i, r := range s.Gateway.Routes {
		g := &r.Guard
		say("route %d: %q %q %q, %s %s %q %s %s %s %d %s %s %s %s %s %s, guard %v %v %q %d %v %v %s", i, r.Name, r.Models, r.Upstream,
			r.Dialect, r.Start, r.ReasoningFields, r.Display, r.Narration, r.History, r.ThinkingLimit, r.OnNoAnswer, r.OnThinkingLimit, r.OnThinkingLoop,
			r.ThinkingSwitch, r.ResponsesReasoning, r.Calls, g.Guard != nil, g.Off, g.Sees, g.Every, g.Wait, g.Timeout, g.OnFailure)
	}
	s.tellSecrets(say)
	say("closed %v, guarded %v, shut %v, encrypted %v, serves others %v, public %v", s.Closed(), s.Guarded(), s.Shut(), s.Encrypted(), s.ServesOthers(), s.Gateway.Public)
	if hosts := s.Hosts(); len(hosts) > 0 {
		say("hosts: %q", hosts)
	}
	if n := s.A2AMemory(); n > 0 {
		say("memory of A2A: %d of the gateway's", n*100/max(1, s.memory))
	}
	if text := s.WithoutOperator(); text != "" {
		say("%s", text)
	}
}

// usualLines are the lines of settings that nobody made.
var usualLines = sync.OnceValue(func() []string {
	var s Settings
	s.defaults(func(string) string { return "" })
	return strings.Split(string(s.YAML()), "\n")
})

// tellSecrets says which secrets there are.
func (s *Setup) tellSecrets(say func(format string, args ...any)) {
	for _, t := range s.Tokens() {
		say("token: %s %.12s %q %+v", t.Name, t.Secret, t.Scopes, t.Limits)
	}
	for _, u := range slices.Sorted(maps.Keys(s.Gateway.Upstreams)) {
		to := s.Gateway.Upstreams[u]
		say("upstream %s: %v %q %v %v %d", u, to.URL, to.Key, to.Silence, to.HeaderTimeout, to.Retries)
	}
	if secrets := slices.DeleteFunc(s.Secrets(), func(text string) bool { return text == "" }); len(secrets) > 0 {
		slices.Sort(secrets)
		say("secrets: %.40q", secrets)
	}
	if files := s.SecretFiles(); len(files) > 0 {
		say("files of secrets: %q", files)
	}
	if files := s.Files(""); len(files) > 0 {
		say("files: %q", files)
	}
}

// tellChanges says what differs between two setups.
func tellChanges(say func(format string, args ...any), old, next *Setup) {
	text := func(s *string) string {
		if s == nil {
			return "-"
		}
		return *s
	}
	for _, c := range Changes(old, next) {
		if c.Key != "data" {
			say("change: %s %s > %s, secret %v, restart %v, from %v to %v", c.Key, text(c.Old), text(c.New), c.Secret, c.Restart, c.Was, c.At)
		}
	}
}

func readSetups(t *testing.T) (list []setup) {
	lines := bufio.NewScanner(bytes.NewReader(setupsFile))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c setup
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("%s: %v", lines.Bytes(), err)
		}
		list = append(list, c)
	}
	return list
}

func TestSetups(t *testing.T) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	root := t.TempDir()
	for i, c := range readSetups(t) {
		folder := filepath.Join(root, fmt.Sprint(i))
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		now := c
		if err := now.give(folder); err != nil {
			t.Fatal(err)
		}
		if err := enc.Encode(now); err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Join(now.Gives, "\n"), strings.Join(c.Gives, "\n"); got != want && !*update {
			about, _ := json.Marshal(c)
			t.Errorf("%s\n got %s\nwant %s", about, got, want)
		}
	}
	if *update {
		if err := os.WriteFile("testdata/setups.jsonl", out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
