package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A suite is a part of the tests of a package.
type suite struct {
	pkg      string
	args     []string
	screened bool // bench.screen runs these tests on all choices at once
}

// suites are the tests that a mutant must fail, the quick ones first. TestReadme
// builds another program, in which nothing is broken.
var suites = []suite{
	{"./dialecttest", []string{"-test.run", "^TestEveryCut$"}, false},
	{".", []string{"-test.skip", "^(TestReadme|TestData.*|TestCorpus|TestDiagnosticsAreBounded|TestFarCloses|TestResetReadsAfresh|Fuzz.*)$"}, false},
	{"./dialecttest", []string{"-test.run", "^TestShortReplies$/^[12]/"}, true},
	{"./dialecttest", []string{"-test.run", "^(TestDefault|TestShortLiterals|TestSeveralMarkersOfARole|TestFound|TestLateOutput|TestALaterPadTakesOver|TestExpiryReleases)$"}, false},
	{".", []string{"-test.run", "^(TestData.*|TestCorpus|TestDiagnosticsAreBounded|TestFarCloses|TestResetReadsAfresh|Fuzz.*)$"}, false},
	{"./dialecttest", []string{"-test.run", "^TestShortReplies$/^3/"}, true},
	{"./dialecttest", []string{"-test.run", "^TestGenerated$"}, false},
}

// A result says what the tests made of a mutant.
type result string

const (
	found    result = "found"
	survived result = "SURVIVED"
	broken   result = "broken" // it does not compile
	late     result = "late"   // the tests took too much processor time: the mutant loops
)

//go:embed choice.go.txt
var choiceSource []byte

//go:embed screen.go.txt
var screenSource []byte

// A bench runs the suites on mutants.
type bench struct {
	p        *program
	suites   []suite
	dir      string
	limit    time.Duration     // of the tests of one mutant
	spare    time.Duration     // processor time that a mutant has beyond twice what the tests need
	binaries map[string]string // the tests of each package, with all choices
	seconds  []int             // the processor time that each suite may use
	seen     []map[int]bool    // the mutants that change something in each suite
	screened map[int]result    // what the screen made of them, if it has run
}

// newBench compiles the tests with all choices in them.
func newBench(p *program, suites []suite, dir string, limit, spare time.Duration) (*bench, error) {
	b := &bench{p: p, suites: suites, dir: dir, limit: limit, spare: spare}
	changed := map[string][]byte{"mutant_choice.go": append([]byte("package "+p.name+"\n\n"), choiceSource...)}
	if slices.ContainsFunc(suites, func(s suite) bool { return s.screened }) {
		changed["dialecttest/mutants_test.go"] = screenSource
	}
	for file := range p.sources {
		changed[file] = p.together(file)
	}
	var err error
	if b.binaries, err = b.compile("all", changed); err != nil {
		return nil, err
	}
	return b, nil
}

// measure checks that the suites pass while nothing is broken. It notes how much
// time they use, and which mutants would change something in them.
func (b *bench) measure() error {
	for i, s := range b.suites {
		b.seconds = append(b.seconds, 600)
		list := filepath.Join(b.dir, "seen"+strconv.Itoa(i))
		got, used, err := b.runSuite(i, b.binaries, "SOTTO_MUTANTS_SEEN="+list)
		if err != nil {
			return err
		}
		if got != survived {
			return fmt.Errorf("the tests fail on the unchanged code, %s %v: %s; fix that first", s.pkg, s.args, got)
		}
		b.seconds[i] = int((2*used + b.spare).Seconds())
		seen, err := readSeen(list)
		if err != nil {
			return err
		}
		b.seen = append(b.seen, seen)
	}
	return nil
}

// readSeen reads the numbers of mutants, one a line.
func readSeen(path string) (map[int]bool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	seen := map[int]bool{}
	for _, field := range strings.Fields(string(text)) {
		n, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		seen[n] = true
	}
	return seen, nil
}

// compile builds the tests of each package with some files changed.
func (b *bench) compile(name string, changed map[string][]byte) (map[string]string, error) {
	dir := filepath.Join(b.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	replace := map[string]string{}
	for file, text := range changed {
		path, err := filepath.Abs(filepath.Join(b.p.dir, file))
		if err != nil {
			return nil, err
		}
		replace[path] = filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(replace[path], text, 0o600); err != nil {
			return nil, err
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, data, 0o600); err != nil {
		return nil, err
	}
	binaries := map[string]string{}
	for _, s := range b.suites {
		if binaries[s.pkg] != "" {
			continue
		}
		binary := filepath.Join(dir, strconv.Itoa(len(binaries))+".test")
		cmd := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, s.pkg)
		cmd.Dir = b.p.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, &compileError{fmt.Errorf("%w\n%s", err, out)}
		}
		binaries[s.pkg] = binary
	}
	return binaries, nil
}

// A compileError says that changed code does not compile.
type compileError struct{ error }

// try runs the suites on the mutant until one fails.
func (b *bench) try(m mutant) (result, error) {
	binaries := b.binaries
	if m.choice == nil {
		name := strconv.Itoa(m.n)
		var err error
		binaries, err = b.compile(name, map[string][]byte{m.file: b.p.alone(m)})
		defer os.RemoveAll(filepath.Join(b.dir, name))
		var no *compileError
		if errors.As(err, &no) {
			return broken, nil
		} else if err != nil {
			return "", err
		}
	}
	if got, known := b.screened[m.n]; known {
		return got, nil
	}
	for i, s := range b.suites {
		if m.choice != nil && (!b.seen[i][m.n] || s.screened && b.screened != nil) {
			continue // it would change nothing, or changed nothing
		}
		if got, _, err := b.runSuite(i, binaries, "SOTTO_MUTANT="+strconv.Itoa(m.n)); err != nil || got != survived {
			return got, err
		}
	}
	return survived, nil
}

// screen reads the replies of the screened suites with all given mutants in one
// process, which takes a fraction of the time that a process for each takes.
func (b *bench) screen(mutants []mutant) error {
	b.screened = map[int]result{}
	wanted := map[int]bool{}
	for _, m := range mutants {
		wanted[m.n] = m.choice != nil
	}
	for again := true; again; {
		var leftOut []string
		for _, m := range b.p.mutants {
			if _, known := b.screened[m.n]; known || !wanted[m.n] {
				leftOut = append(leftOut, strconv.Itoa(m.n))
			}
		}
		cmd := exec.Command(b.binaries["./dialecttest"], "-test.run", "^TestMutants$", "-test.timeout", "0")
		cmd.Dir = filepath.Join(b.p.dir, "dialecttest")
		cmd.Env = append(os.Environ(), "SOTTO_MUTANTS_LEFT_OUT="+strings.Join(leftOut, " "), "SOTTO_DEPTH=3", "GOMAXPROCS=1")
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("screen: %w\n%s", err, out)
		}
		again = false
		for line := range strings.Lines(string(out)) {
			word, number, _ := strings.Cut(strings.TrimSpace(line), " ")
			n, err := strconv.Atoi(number)
			switch {
			case err != nil:
			case word == "found":
				b.screened[n] = found
			case word == "late": // the process ended there
				b.screened[n], again = late, true
			}
		}
	}
	return nil
}

// memory is how much memory the tests of a mutant may use, in KiB.
const memory = 4 << 20

// runSuite runs suite i with a variable in its environment. It also returns how much
// processor time it used.
func (b *bench) runSuite(i int, binaries map[string]string, variable string) (result, time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), b.limit)
	defer cancel()
	s := b.suites[i]
	limits := fmt.Sprintf(`ulimit -t %d; ulimit -v %d; exec "$0" "$@"`, b.seconds[i], memory)
	args := append([]string{"-c", limits, binaries[s.pkg], "-test.short", "-test.failfast", "-test.count=1"}, s.args...)
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Dir = filepath.Join(b.p.dir, s.pkg)
	cmd.Env = append(os.Environ(), variable, "SOTTO_DEPTH=3", "GOMAXPROCS=1")
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return "", 0, err
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	switch status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); {
	case err == nil:
		return survived, used, nil
	case ctx.Err() != nil, ok && status.Signaled():
		return late, used, nil
	case cmd.ProcessState.ExitCode() > 2: // not that of a test that fails or panics
		return "", 0, fmt.Errorf("%s: %w", binaries[s.pkg], err)
	}
	return found, used, nil
}
