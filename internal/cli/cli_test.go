package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/tools/txtar"

	"github.com/sotto-llm/sotto/internal/base/bytesize"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/net/serving"
	"github.com/sotto-llm/sotto/internal/testing/race"
)

// mainForMemory is the command line for tests of memory, where there are any.
var mainForMemory func()

func TestMain(m *testing.M) {
	commands := map[string]func(){"sotto": func() { os.Exit(Main()) }}
	if mainForMemory != nil {
		commands["sotto-peak"] = mainForMemory
	}
	testscript.Main(m, commands)
}

// TestScripts runs the command line as a shell would.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Files:               scripts(t),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error { // state derived from the machine
			e.Setenv("MEMORY", fmt.Sprint(bytesize.Format(serving.DefaultMemory())))
			e.Setenv("CONNECTIONS", strconv.Itoa(serving.DefaultConnections()))
			e.Setenv("GOGC", "400") // the collector is a third of the work of a command that ends at once
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"agekey":   agekey,
			"clobber":  clobber,
			"exits":    exits,
			"has":      has,
			"mkrecord": mkrecord,
			"put":      put,
		},
	})
}

// scripts lists the scripts: without SOTTO_EFFORT so many that each command runs. Under the
// race detector, -short keeps only those whose commands have several goroutines.
func scripts(t *testing.T) []string {
	list, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(list) == 0 {
		t.Fatal(err, "no scripts")
	}
	if race.Enabled && testing.Short() {
		list = slices.DeleteFunc(list, func(name string) bool {
			command, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(name), ".txtar"), "_")
			return !slices.Contains([]string{"a2a", "demo", "run", "serve", "solve"}, command)
		})
	} else if effort.Brief() {
		return covering(t, list)
	}
	return list
}

// inScript finds the runs of a command in a script.
var inScript = lazyregexp.New(`(?m)^[^#\n]*\bsotto ([a-z][a-z0-9-]*)`)

// covering chooses scripts that together run every command that a script runs: again and
// again the one that adds most for each program that it starts.
func covering(t *testing.T, list []string) []string {
	t.Helper()
	type script struct {
		name   string
		starts int
		runs   map[string]bool
	}
	var left []script
	missing := map[string]bool{}
	for _, name := range list {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		s := script{name: name, runs: map[string]bool{}}
		for _, m := range inScript.FindAllStringSubmatch(string(archive.Comment), -1) {
			s.starts++
			s.runs[m[1]], missing[m[1]] = true, true
		}
		left = append(left, s)
	}
	gain := func(s script) float64 {
		n := 0
		for command := range s.runs {
			if missing[command] {
				n++
			}
		}
		return float64(n) / float64(s.starts+1)
	}
	var chosen []string
	for len(missing) > 0 {
		best := slices.MaxFunc(left, func(a, b script) int { return cmp.Compare(gain(a), gain(b)) })
		chosen = append(chosen, best.name)
		for command := range best.runs {
			delete(missing, command)
		}
	}
	t.Logf("%d of %d scripts; SOTTO_EFFORT=1 runs all", len(chosen), len(list))
	return chosen
}

// exits STATUS COMMAND ARG… runs a command and checks its exit status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// has OUTPUT FILE checks that the lines of a file, with its variables, are lines of the output
// in the same order. The output may have more, such as settings that the script is not about.
func has(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: has OUTPUT FILE")
	}
	rest := ts.ReadFile(args[0])
	for line := range strings.Lines(os.Expand(ts.ReadFile(args[1]), ts.Getenv)) {
		_, after, found := strings.Cut("\n"+rest, "\n"+line)
		if !found {
			ts.Fatalf("%s lacks %q after the lines before it:\n%s", args[0], line, rest)
		}
		rest = after
	}
}

// put FILE TEXT writes a file. TEXT may contain the escapes of Go strings.
func put(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: put FILE TEXT")
	}
	text, err := unescape(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// unescape decodes Go's escapes. A double quote stands for itself.
func unescape(text string) (string, error) {
	var out []byte
	for text != "" {
		r, multi, rest, err := strconv.UnquoteChar(text, 0)
		if err != nil {
			return "", err
		}
		if r < 0x80 || !multi {
			out = append(out, byte(r))
		} else {
			out = append(out, string(r)...)
		}
		text = rest
	}
	return string(out), nil
}
