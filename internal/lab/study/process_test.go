package study

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What a person would type, and what the study adds to it.
func TestCommands(t *testing.T) {
	for base, c := range map[string]struct {
		command   []string
		arguments [3][]string // by generation
	}{
		"{run: x}": {
			[]string{"sotto", "a", "b", "--name=ID"},
			[3][]string{
				{"a", "b", "--name=ID", "--record=dir/records/worker-7", "--json"},
				{"a", "b", "--name=ID", "--name=ID-g1", "--record=dir/records/worker-7", "--json"},
				{"a", "b", "--name=ID", "--name=ID-g2", "--record=dir/records/worker-7", "--json"},
			},
		},
		"{solve: {task: qa}}": {
			[]string{"sotto", "a", "b", "--output=dir/streams/ID.jsonl", "--memory=dir/memory/ID.db", "--resume"},
			[3][]string{
				{"a", "b", "--output=dir/streams/ID.jsonl", "--memory=dir/memory/ID.db", "--resume", "--record=dir/records/worker-7", "--quiet"},
				{"a", "b", "--output=dir/streams/ID.jsonl", "--memory=dir/memory/ID.db", "--resume", "--record=dir/records/worker-7", "--quiet"},
				{"a", "b", "--output=dir/streams/ID.jsonl", "--memory=dir/memory/ID.db", "--resume", "--record=dir/records/worker-7", "--quiet"},
			},
		},
	} {
		f := parse(t, "v: 1\nname: s\nbase: "+base)
		p, err := f.Plan(func(Case) (*Plan, error) { return &Plan{Args: []string{"a", "b"}}, nil })
		if err != nil {
			t.Fatal(err)
		}
		p.Commands("dir")
		cell := &p.Manifest.Cells[0]
		named := func(list []string) []string {
			return strings.Split(strings.ReplaceAll(filepath.ToSlash(strings.Join(list, "\n")), cell.ID, "ID"), "\n")
		}
		if got := named(cell.Command); !slices.Equal(got, c.command) {
			t.Errorf("%s: command %q, want %q", base, got, c.command)
		}
		r := &Runner{Dir: "dir", File: f, Program: "program"}
		for generation, want := range c.arguments {
			got := r.process(cell, &State{Worker: 7, Generation: generation})
			if args := named(got.args); got.program != "program" || !slices.Equal(args, want) {
				t.Errorf("%s: generation %d: %s %q, want %q", base, generation, got.program, args, want)
			}
			folders := []string{"dir/logs", "dir/streams", "dir/memory", "dir/records"}
			if log := named([]string{got.log}); log[0] != "dir/logs/ID.txt" || !slices.Equal(named(got.folders), folders) {
				t.Errorf("%s: log %s, folders %q", base, log, got.folders)
			}
		}
		s := &Study{Manifest: *p.Manifest, states: map[string]*State{cell.ID: {Generation: 1}}}
		if got, want := s.RunName(cell), cell.ID+"-g1"; got != want {
			t.Errorf("the run is %s, want %s", got, want)
		}
	}
}

// What keeps a command from starting is the reason of its cell.
func TestProcessFails(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*process{
		"no program":              {program: filepath.Join(dir, "none"), log: filepath.Join(dir, "log")},
		"a folder that is a file": {program: program, log: filepath.Join(dir, "log"), folders: []string{dir, file}},
		"a log that is a folder":  {program: program, log: dir},
	} {
		p.seal = func(w io.Writer) io.Writer { return w }
		if e := p.run(t.Context()); e.Err == nil || e.Reason != e.Err.Error() {
			t.Errorf("%s: %v, for the reason %q", name, e.Err, e.Reason)
		}
	}
}

// Of what a command writes, the first bytes are kept, and the reason is the last error
// among the last bytes.
func TestOutputIsBounded(t *testing.T) {
	for _, most := range []int{0, 1, 5, 6, 7} {
		var own, file strings.Builder
		b := &bounded{most: most}
		to := &bounded{w: &file, most: most}
		for _, word := range []string{"ab", "", "cd", "ef"} {
			for _, w := range []*bounded{b, to} {
				if n, err := w.Write([]byte(word)); n != len(word) || err != nil {
					t.Errorf("%d bytes: wrote %d, %v", most, n, err)
				}
			}
		}
		own.Write(b.buf.Bytes())
		if want := "abcdef"[:min(most, 6)]; own.String() != want || file.String() != want {
			t.Errorf("%d bytes: kept %q and %q, want %q", most, own.String(), file.String(), want)
		}
	}
	full := &bounded{w: fullDisk{}, most: 5}
	if n, err := full.Write([]byte("abc")); n != 0 || err == nil {
		t.Errorf("a full disk: wrote %d, %v", n, err)
	}
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"panic: x\n", ""},
		{"sotto: error: one", "one"},
		{"sotto: error: one\nsotto: error: two\nmore\n", "two"},
		{"x sotto: error: one\n" + strings.Repeat("y", tailSize-len("sotto: error: one\n")), "one"},
		{"x sotto: error: one\n" + strings.Repeat("y", tailSize-len("sotto: error: one\n")+1), ""},
	} {
		for _, size := range []int{1, 3, tailSize, 3 * tailSize} {
			var passed strings.Builder
			w := &tailWriter{to: &passed}
			for rest := c.text; rest != ""; rest = rest[min(size, len(rest)):] {
				fmt.Fprint(w, rest[:min(size, len(rest))])
			}
			if got := w.reason(); got != c.want || passed.String() != c.text {
				t.Errorf("%.60q in pieces of %d: %q, want %q", c.text, size, got, c.want)
			}
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, fmt.Errorf("no space") }

// Measures say what more of them means, and never both.
func TestMeasures(t *testing.T) {
	want := map[Kind]string{
		Runs:    "cycles answered_share+ repeated_share- invocations- tool_calls tool_errors- input_tokens- output_tokens- thought_share saved_tokens+ ms-",
		Streams: "solved_share+ solved+ problems attempts- by_template with_paths tokens- cost- ms-",
	}
	for kind, want := range want {
		var list []string
		for _, m := range Measures(kind) {
			name := m.Name
			if m.Higher {
				name += "+"
			}
			if m.Lower {
				name += "-"
			}
			if m.Unit == "" || m.Help == "" {
				t.Errorf("%s has no unit or no help", m.Name)
			}
			list = append(list, name)
		}
		if got := strings.Join(list, " "); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
}
