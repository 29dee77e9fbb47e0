package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// A result says what the tests made of a mutant.
type result string

const (
	found     result = "found"
	survived  result = "SURVIVED"
	unreached result = "UNREACHED" // it changes nothing in any test: a survivor
	broken    result = "broken"    // it does not compile
	late      result = "late"      // the tests took too much processor time: the mutant loops
)

//go:embed choice.go.txt
var choiceSource []byte

//go:embed screen.go.txt
var screenSource []byte

// A bench runs the tests of a package on its mutants.
type bench struct {
	p        *program
	mutants  []mutant
	suites   []suite // empty: each test that reaches a mutant
	dir      string
	limit    time.Duration     // of the tests of one mutant
	spare    time.Duration     // processor time that a mutant has beyond twice what the tests need
	parallel int               // how many parts are measured at once
	binaries map[string]string // the tests of each package, with all choices
	parts    []part
	screened map[int]result // what the screen made of them, if it has run
}

// prepare compiles the tests with all choices in them. What the compiler refuses as a
// choice is not one.
func (b *bench) prepare() error {
	for {
		changed := map[string][]byte{"mutant_choice.go": append([]byte("package "+b.p.name+"\n\n"), choiceSource...)}
		if slices.ContainsFunc(b.suites, func(s suite) bool { return s.screened }) {
			changed["dialecttest/mutants_test.go"] = screenSource
		}
		for file := range b.p.sources {
			changed[file] = b.p.together(file, b.mutants)
		}
		var err error
		b.binaries, err = b.compile("all", changed)
		var no *compileError
		if errors.As(err, &no) && b.refuse(err.Error()) {
			_ = os.RemoveAll(filepath.Join(b.dir, "all"))
			continue
		}
		return err
	}
}

// place is where the compiler found an error.
var place = regexp.MustCompile(`(?m)^([^\s:]+\.go):(\d+):`)

// refuse makes mutants that are choices in the lines of the compiler's errors compiled
// alone. It reports whether there was one.
func (b *bench) refuse(output string) bool {
	lines := map[string]bool{}
	for _, m := range place.FindAllStringSubmatch(output, -1) {
		lines[filepath.Base(m[1])+":"+m[2]] = true
	}
	any := false
	for i, m := range b.mutants {
		src := b.p.sources[m.file]
		first := 1 + bytes.Count(src[:m.from], []byte("\n"))
		last := first + bytes.Count(src[m.from:m.to], []byte("\n"))
		for line := first; line <= last && m.choice != nil; line++ {
			if lines[m.file+":"+strconv.Itoa(line)] {
				m.choice, b.mutants[i].choice, any = nil, nil, true
			}
		}
	}
	return any
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
	for _, s := range append([]suite{{pkg: "."}}, b.suites...) {
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

// try runs the tests that reach the mutant until one fails.
func (b *bench) try(m mutant) (result, error) {
	if got, known := b.screened[m.n]; known {
		return got, nil
	}
	parts := b.reaching(m)
	if len(parts) == 0 && (m.choice == nil || b.screened == nil) {
		return unreached, nil
	}
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
	for _, p := range parts {
		got, _, err := b.run(p.suite, binaries, "SOTTO_MUTANT="+strconv.Itoa(m.n), 2*p.used+b.spare, 4*p.wall+20*b.spare)
		if err != nil || got != survived {
			return got, err
		}
	}
	return survived, nil
}

// screen reads the replies of the screened suites with all given mutants in one
// process, which takes a fraction of the time that a process for each takes.
func (b *bench) screen() error {
	b.screened = map[int]result{}
	wanted := map[int]bool{}
	for _, m := range b.mutants {
		wanted[m.n] = m.choice != nil
	}
	for again := true; again; {
		var leftOut []string
		for _, m := range b.p.mutants {
			if _, known := b.screened[m.n]; known || !wanted[m.n] {
				leftOut = append(leftOut, strconv.Itoa(m.n))
			}
		}
		cmd := b.command(b.binaries["./dialecttest"], "-test.run", "^TestMutants$", "-test.timeout", "0")
		cmd.Dir = filepath.Join(b.p.dir, "dialecttest")
		cmd.Env = append(cmd.Env, "SOTTO_MUTANTS_LEFT_OUT="+strings.Join(leftOut, " "))
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

// run runs tests with a variable in their environment, within limits of processor time
// and of time by the clock. It also returns how much processor time they used.
func (b *bench) run(s suite, binaries map[string]string, variable string, cpu, wall time.Duration) (result, time.Duration, error) {
	limits := fmt.Sprintf(`ulimit -t %d; ulimit -v %d; exec "$0" "$@"`, int(cpu.Seconds()), memory)
	args := append([]string{"-c", limits, binaries[s.pkg], "-test.short", "-test.failfast", "-test.count=1", "-test.timeout=0"}, s.args...)
	cmd := b.command("sh", args...)
	cmd.Dir = filepath.Join(b.p.dir, s.pkg)
	cmd.Env = append(cmd.Env, variable)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what a test starts ends with it
	if err := cmd.Start(); err != nil {
		return "", 0, err
	}
	stop := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	timer := time.AfterFunc(wall, stop)
	err := cmd.Wait()
	expired := !timer.Stop()
	stop()
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	switch status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); {
	case err == nil:
		return survived, used, nil
	case expired, ok && status.Signaled():
		return late, used, nil
	case cmd.ProcessState.ExitCode() == 126, cmd.ProcessState.ExitCode() == 127: // of the shell
		return "", 0, fmt.Errorf("%s: %w", binaries[s.pkg], err)
	}
	return found, used, nil
}
