package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
)

// An event is a line of "go test -json" and of test2json.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// module is the path that testName leaves out of packages.
const module = "github.com/sotto-llm/sotto"

// A result is what a run of tests came to.
type result struct {
	passed, skipped int
	took            map[testName]float64 // seconds of each test that passed or failed
	failed          map[testName]string  // what each test printed that failed; of subtests too
	broken          []string             // why a failure is not one of a test: a race, a panic, a package that does not build
}

// The texts that the runtime and the race detector print. A test that prints one of them
// failed by more than its own judgement.
var wreckage = []string{"WARNING: DATA RACE", "panic: ", "fatal error: "}

// An eventReader reads the events of packages that may run at the same time.
type eventReader struct {
	out      io.Writer // gets each result of a package as it comes, and the output of what failed
	res      result
	printed  map[testName]*strings.Builder // by package and top test, until the end of the test
	wrecked  map[string]bool               // packages that printed a text of wreckage and have no end yet
	failures map[string]int                // tests by package
}

// readEvents reads events up to the end. Events without a package are of pkg.
func readEvents(r io.Reader, pkg string, out io.Writer) (result, error) {
	er := eventReader{out, result{took: map[testName]float64{}, failed: map[testName]string{}}, map[testName]*strings.Builder{}, map[string]bool{}, map[string]int{}}
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				e = event{Action: "output", Output: string(line)}
			}
			e.Package = short(cmp.Or(e.Package, pkg))
			er.note(e)
		}
		if err == nil {
			continue
		}
		for pkg := range er.wrecked {
			er.end(event{Action: "fail", Package: pkg})
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return er.res, err
	}
}

func (er *eventReader) note(e event) {
	top, _, sub := strings.Cut(e.Test, "/")
	name := testName{e.Package, top}
	switch e.Action {
	case "build-output":
		fmt.Fprint(er.out, e.Output)
	case "output":
		b := er.printed[name]
		if b == nil {
			b = &strings.Builder{}
			er.printed[name] = b
		}
		b.WriteString(e.Output)
		if slices.ContainsFunc(wreckage, func(text string) bool { return strings.HasPrefix(strings.TrimLeft(e.Output, " "), text) }) {
			er.wrecked[name.pkg] = true
		}
	case "pass", "skip", "fail":
		switch {
		case e.Test == "":
			er.end(e)
		case !sub:
			er.endTest(e, name)
		}
	}
}

func (er *eventReader) endTest(e event, name testName) {
	if e.Action != "skip" {
		er.res.took[name] = e.Elapsed
	}
	switch e.Action {
	case "pass":
		er.res.passed++
	case "skip":
		er.res.skipped++
	case "fail":
		er.failures[name.pkg]++
		er.res.failed[name] = text(er.printed[name])
		fmt.Fprint(er.out, er.res.failed[name])
	}
	delete(er.printed, name)
}

// end notes the result of a package.
func (er *eventReader) end(e event) {
	rest := text(er.printed[testName{e.Package, ""}])
	if e.Action != "fail" {
		if lines := strings.Split(strings.TrimSpace(rest), "\n"); strings.HasPrefix(lines[len(lines)-1], "ok") {
			fmt.Fprintln(er.out, lines[len(lines)-1])
		}
		return
	}
	switch {
	case er.wrecked[e.Package]:
		er.res.broken = append(er.res.broken, e.Package+": a data race or a panic")
	case er.failures[e.Package] == 0:
		er.res.broken = append(er.res.broken, e.Package+": it does not build, or it ended early")
	}
	delete(er.wrecked, e.Package)
	for name, b := range er.printed { // of tests that had no end
		if name.pkg == e.Package && name.test != "" {
			fmt.Fprint(er.out, b.String())
		}
	}
	fmt.Fprint(er.out, rest)
}

func text(b *strings.Builder) string {
	if b == nil {
		return ""
	}
	return b.String()
}

func short(pkg string) string {
	pkg = strings.TrimPrefix(strings.TrimPrefix(pkg, module), "/")
	if pkg == "" {
		return "."
	}
	return pkg
}

func long(pkg string) string {
	if pkg == "." {
		return module
	}
	return module + "/" + pkg
}

// A rule says which failures count.
type rule struct {
	known map[testName]reason
	dir   string // where go test runs
	out   io.Writer
}

// test runs go test, and what the list names once more if it failed.
func (r rule) test(args []string) error {
	first, err := r.goTest(args)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.out, "%d tests passed, %d were skipped, %d failed\n", first.passed, first.skipped, len(first.failed))
	first.printSlowest(r.out)
	again, err := r.judge(first)
	if err != nil || len(again) == 0 {
		return err
	}
	var flags []string
	for _, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			break
		}
		flags = append(flags, arg)
	}
	for pkg, tests := range again {
		second, err := r.goTest(slices.Concat(flags, []string{"-count=3", "-run", "^(" + strings.Join(tests, "|") + ")$", long(pkg)}))
		if err != nil {
			return err
		}
		if len(second.failed)+len(second.broken) > 0 {
			return fmt.Errorf("a test of %s that is known to be unsteady fails again: %s", pkg, strings.Join(tests, ", "))
		}
	}
	return nil
}

// slowest is how many tests printSlowest lists.
const slowest = 20

// printSlowest lists the tests that took the longest, with their seconds. Other tests ran at
// the same time.
func (res *result) printSlowest(out io.Writer) {
	names := slices.SortedFunc(maps.Keys(res.took), func(a, b testName) int {
		return cmp.Or(cmp.Compare(res.took[b], res.took[a]), strings.Compare(a.String(), b.String()))
	})
	for _, name := range names[:min(slowest, len(names))] {
		fmt.Fprintf(out, "%8.1f s  %s\n", res.took[name], name)
	}
}

// judge returns the tests that get more runs, by their package, or why the run failed.
func (r rule) judge(res result) (map[string][]string, error) {
	var faults []error
	for _, why := range res.broken {
		faults = append(faults, errors.New(why))
	}
	again := map[string][]string{}
	for _, name := range slices.SortedFunc(maps.Keys(res.failed), func(a, b testName) int { return strings.Compare(a.String(), b.String()) }) {
		why, is := r.known[name]
		if !is {
			faults = append(faults, fmt.Errorf("%s failed", name))
			continue
		}
		fmt.Fprintf(r.out, "unsteady since %s: %s: %s\n", why.since, name, why.why)
		again[name.pkg] = append(again[name.pkg], name.test)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return again, nil
}

// goTest runs go test. That tests failed is in the result, and no error.
func (r rule) goTest(args []string) (result, error) {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	var complaint bytes.Buffer // a buffer of its own: it is written while out is
	cmd.Dir, cmd.Stderr = r.dir, &complaint
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return result{}, err
	}
	if err := cmd.Start(); err != nil {
		return result{}, err
	}
	res, readErr := readEvents(stdout, "", r.out)
	err = cmd.Wait()
	_, _ = complaint.WriteTo(r.out)
	if err != nil && len(res.failed)+len(res.broken) == 0 {
		return res, fmt.Errorf("go test: %w", err)
	}
	return res, readErr
}
