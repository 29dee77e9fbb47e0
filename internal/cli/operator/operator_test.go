package operator

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto/internal/cli"
	"github.com/sotto-llm/sotto/record"
)

// run runs the program in an empty environment.
func run(args ...string) (out, errs string, status int) {
	var stdout, stderr bytes.Buffer
	status = Run(args, strings.NewReader(""), &stdout, &stderr, func(string) string { return "" })
	return stdout.String(), stderr.String(), status
}

// described lists what a command takes, by its path below the program.
func described(n *kong.Node) map[string]string {
	all := map[string]string{}
	_ = kong.Visit(n, func(v kong.Visitable, next kong.Next) error {
		if n, ok := v.(*kong.Node); ok {
			_, path, _ := strings.Cut(n.FullPath(), " ")
			var b strings.Builder
			for _, p := range n.Positional {
				fmt.Fprintf(&b, "%s %v %q\n", p.Summary(), p.Enum, p.Help)
			}
			for _, f := range n.Flags {
				fmt.Fprintf(&b, "--%s -%c %q %q %q %q %v %q\n", f.Name, f.Short, f.PlaceHolder, f.Default, f.Enum, f.Tag.Get("setting"), f.Required, f.Help)
			}
			b.WriteString(n.Help + n.Detail)
			all[path] = b.String()
		}
		return next(nil)
	})
	return all
}

// TestSameCommands: a command of this program takes what it takes in the program with all
// commands, and says the same, except for the name of the program. Every command is in one of
// the programs only if a list says so.
func TestSameCommands(t *testing.T) {
	all, err := cli.Tree()
	if err != nil {
		t.Fatal(err)
	}
	own, err := Tree()
	if err != nil {
		t.Fatal(err)
	}
	whole, part := described(all.Node), described(own.Node)
	for path, text := range part {
		if path != "" && strings.ReplaceAll(text, Name+" ", "sotto ") != whole[path] {
			t.Errorf("%s takes\n%s\nand in sotto\n%s", path, text, whole[path])
		}
	}
	if len(part) < 25 {
		t.Errorf("the program has only %d commands", len(part))
	}
	var missing []string
	for _, c := range all.Children {
		if !slices.ContainsFunc(own.Children, func(o *kong.Node) bool { return o.Name == c.Name }) {
			missing = append(missing, c.Name)
		}
	}
	if slices.Sort(missing); !slices.Equal(missing, elsewhere) {
		t.Errorf("sotto alone has %v; the list says %v", missing, elsewhere)
	}
}

// TestOwnName: the help of a command names this program, and the messages do.
func TestOwnName(t *testing.T) {
	own, err := Tree()
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range described(own.Node) {
		for _, c := range own.Children {
			if strings.Contains(text, "sotto "+c.Name+" ") {
				t.Errorf("%s names sotto %s", path, c.Name)
			}
		}
	}
	for _, args := range [][]string{{}, {"nosuch"}, {"serve", "--nosuch"}, {"console", "--identity", "x"}} {
		_, errs, status := run(args...)
		if status != 2 || !strings.HasPrefix(errs, Name+": error: ") || !strings.Contains(errs, Name+": hint: ") || strings.Contains(errs, "sotto console ") || strings.Contains(errs, `"sotto `) {
			t.Errorf("%v: status %d: %s", args, status, errs)
		}
	}
	file := filepath.Join(t.TempDir(), "sotto.yaml")
	out, errs, status := run("init", "--upstream", "http://127.0.0.1:9", file)
	text, err := os.ReadFile(file)
	if err != nil || status != 0 {
		t.Fatalf("init: status %d: %s, %v", status, errs, err)
	}
	for _, said := range []string{out, errs, string(text)} {
		if !strings.Contains(said, Name+" ") || strings.Contains(said, "sotto serve ") || strings.Contains(said, "sotto doctor ") {
			t.Errorf("init says %s", said)
		}
	}
	if out, _, status := run("version"); status != 0 || !strings.HasPrefix(out, Name+" ") {
		t.Errorf("version: status %d: %s", status, out)
	}
	if out, _, status := run("completion", "bash"); status != 0 || !strings.Contains(out, "complete -o filenames -F _sotto_gateway sotto-gateway\n") {
		t.Errorf("completion: status %d: %.200s", status, out)
	}
}

// TestMissingParts: what this program has no part for is refused by name, and the error says
// which program has it.
func TestMissingParts(t *testing.T) {
	dir := t.TempDir()
	audit := filepath.Join(dir, "audit")
	w, err := record.Open(audit, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Append(t.Context(), record.Event{Run: "r", Payload: record.RunStart{Agent: "a"}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "log.jsonl")
	if err := os.WriteFile(log, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string][]string{
		"--scores":         {"console", "--scores", log},
		"--replies":        {"console", "--replies", log},
		"--memory":         {"console", "--memory", "m.db"},
		"--format parquet": {"record", "table", "replies", audit, "--output", filepath.Join(dir, "t.parquet")},
		"--as contreact":   {"record", "table", "events", audit, "--as", "contreact"},
		"--as graphbot":    {"record", "table", "events", audit, "--as", "graphbot"},
		"--from contreact": {"record", "import", log, "--from", "contreact", "--record", filepath.Join(dir, "new")},
	}
	for _, name := range elsewhere {
		cases[name] = []string{name}
	}
	for what, args := range cases {
		out, errs, status := run(args...)
		want := Name + ": error: " + what + `: this program does not have it; the program "sotto" does` + "\n"
		if status != 2 || out != "" || errs != want {
			t.Errorf("%v: status %d: %s%s; want %s", args, status, out, errs, want)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("a command that was refused has written something: %v, %v", left, err)
	}
	if out, errs, status := run("record", "table", "cycles", audit); status != 0 || !strings.Contains(out, "summary") {
		t.Errorf("a table in CSV: status %d: %s%s", status, out, errs)
	}
}

// TestAgentsAreRefused: a setting of agents is a fault at its place, in a check and in a start.
func TestAgentsAreRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sotto.yaml")
	for text, want := range map[string]string{
		"v: 1\nagents: [a.yaml]\n":            file + ":2:9: agents: ",
		"v: 1\na2a: true\na2a-name: x\n":      file + ":2:6: a2a: ",
		"v: 1\nlisten: :0\na2a-agent: a.yaml": file + ":3:12: a2a-agent: ",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, more := range [][]string{{"--check"}, nil} {
			_, errs, status := run(append([]string{"serve", "--listen=127.0.0.1:0", "--config", file}, more...)...)
			if status == 0 || !strings.Contains(errs, want+`this program has no agents; the program "sotto" has them`) || strings.Contains(errs, "2 faults") {
				t.Errorf("%q %v: status %d: %s", text, more, status, errs)
			}
		}
	}
	_, errs, status := run("serve", "--agent", "a.yaml", "--check")
	if status != 1 || !strings.Contains(errs, `--agent: this program has no agents; the program "sotto" has them`) {
		t.Errorf("a flag: status %d: %s", status, errs)
	}
	if err := os.WriteFile(file, []byte("v: 1\na2a: false\na2a-name: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, status := run("serve", "--config", file, "--check"); status != 0 || !strings.Contains(out, "a2a: false") {
		t.Errorf("agents that are turned off: status %d: %s%s", status, out, errs)
	}
}
