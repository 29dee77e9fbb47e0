package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/cli/environment"
	"github.com/sotto-llm/sotto/internal/cli/shell"
)

// An environment variable has one meaning: it sets flags of one name, in every
// command that has them. Otherwise a variable for one command breaks another.
func TestVariablesHaveOneMeaning(t *testing.T) {
	var line commandLine
	parser, err := newParser(&line, shell.New(strings.NewReader(""), nil, nil, func(string) string { return "" }))
	if err != nil {
		t.Fatal(err)
	}
	flags := map[string]string{} // by variable
	err = kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok {
			name := flag.Tag.Get("setting")
			if other := flags[name]; name != "" && other != "" && other != flag.Name {
				t.Errorf("%s sets --%s and --%s", name, other, flag.Name)
			}
			flags[name] = flag.Name
		}
		return next(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	if flags["SOTTO_MODEL"] != "model" {
		t.Errorf("SOTTO_MODEL sets %q: the test sees too little", flags["SOTTO_MODEL"])
	}
	delete(flags, "")
	known := variables()
	for variable := range flags {
		if !slices.Contains(known, variable) {
			t.Errorf("%s sets --%s, and is not known", variable, flags[variable])
		}
	}
}

// Every variable that a file of the project names is known, or is one of the tests' own: a
// name that is missing in the list would be called misspelled.
func TestVariablesAreKnown(t *testing.T) {
	effort.OneGoroutine(t)
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = "../.."
	names, err := list.Output()
	if err != nil {
		t.Skipf("no source tree of git: %v", err)
	}
	seen := map[string]bool{}
	variable := regexp.MustCompile(`\bSOTTO_[A-Z0-9_]*[A-Z0-9]\b`)
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		switch filepath.Ext(name) {
		case ".jsonl": // messages in tables may be cut within a name
			continue
		case ".c", ".h": // constants of libsotto
			continue
		}
		data, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			continue // removed, and not yet committed
		}
		for _, found := range variable.FindAll(data, -1) {
			seen[string(found)] = true
		}
	}
	for name := range seen {
		if list := environment.Misspelled([]string{name + "=1"}, variables); len(list) > 0 {
			t.Error(list[0])
		}
	}
	if len(seen) < 100 {
		t.Errorf("%d variables: the test sees too little", len(seen))
	}
}

// A misspelled variable is told once, on standard error, with the name that was meant. A
// variable of the user's own is not.
func TestVariableMisspelled(t *testing.T) {
	const begin = "SOTTO_" // so that the test above does not find the names
	cmd := exec.Command("sotto", "version")
	cmd.Env = append(os.Environ(), begin+"UPSTRAEM=http://x", begin+"TOKENFILE=x", begin+"GUARD_TIME=1s", begin+"TICKETS_TOKEN=x", begin+"TOKEN_ALICE=x", begin+"LISTEN=127.0.0.1:1", begin+"EFFORT=", begin+"DATA=x")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil || out.Len() == 0 {
		t.Fatal(err, errs.String())
	}
	lines := strings.Split(strings.TrimSuffix(errs.String(), "\n"), "\n")
	slices.Sort(lines)
	var want []string
	for _, pair := range [][2]string{{"GUARD_TIME", "GUARD_TIMEOUT"}, {"TOKENFILE", "TOKEN_FILE"}, {"UPSTRAEM", "UPSTREAM"}} {
		want = append(want, "sotto: hint: nothing reads the variable "+begin+pair[0]+": did you mean "+begin+pair[1]+"?")
	}
	if !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}
}
