package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A part is what one run of a test binary runs: a suite, or one test of it.
type part struct {
	suite
	test string        // the one test; empty if the suite is the part
	used time.Duration // the processor time that it needs
	wall time.Duration // the time by the clock that it needs
	seen map[int]bool  // the mutants that change something in it
}

// measure checks that the tests pass while nothing is broken. It notes how much time
// they use, and which mutants would change something in them. Without suites, each test
// is a part that runs alone, so that it is known which test reaches which place.
func (b *bench) measure() error {
	for _, s := range b.suites {
		b.parts = append(b.parts, part{suite: s})
	}
	if len(b.parts) == 0 {
		out, err := b.command(b.binaries["."], "-test.list", ".*").Output()
		if err != nil {
			return fmt.Errorf("the list of tests: %w", err)
		}
		for name := range strings.FieldsSeq(string(out)) {
			if !strings.HasPrefix(name, "Benchmark") {
				b.parts = append(b.parts, part{suite: suite{pkg: ".", args: runOnly(name)}, test: name})
			}
		}
	}
	var wg sync.WaitGroup
	errs := make([]error, len(b.parts))
	next := make(chan int)
	for range max(1, b.parallel) {
		wg.Go(func() {
			for i := range next {
				errs[i] = b.measurePart(i)
			}
		})
	}
	for i := range b.parts {
		next <- i
	}
	close(next)
	wg.Wait()
	for i := len(errs) - 1; i >= 0; i-- {
		switch {
		case errs[i] == nil:
		case b.parts[i].test == "":
			return errs[i]
		default: // the other tests decide
			fmt.Println("left out:", errs[i])
			b.parts = slices.Delete(b.parts, i, i+1)
		}
	}
	slices.SortStableFunc(b.parts, func(x, y part) int {
		if x.test == "" || y.test == "" {
			return 0 // suites are in their own order
		}
		return int(x.wall - y.wall)
	})
	return nil
}

// runOnly returns the arguments that run these tests.
func runOnly(names ...string) []string {
	return []string{"-test.run", "^(" + strings.Join(names, "|") + ")$"}
}

// measurePart runs part i while nothing is broken; a second time if it fails.
func (b *bench) measurePart(i int) error {
	p := &b.parts[i]
	path := filepath.Join(b.dir, "seen"+strconv.Itoa(i))
	var got result
	for range 2 {
		_ = os.Remove(path)
		from := time.Now()
		var err error
		got, p.used, err = b.run(p.suite, b.binaries, "SOTTO_MUTANTS_SEEN="+path, b.limit, b.limit)
		if err != nil {
			return err
		}
		p.wall = time.Since(from)
		if got == survived {
			p.seen, err = readSeen(path)
			return err
		}
	}
	return fmt.Errorf("the tests fail on the unchanged code, %s %v: %s; fix that first", p.pkg, p.args, got)
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

// reaching returns the parts that a mutant may change, in the order to run them. Tests
// are joined, the quick ones first: each part takes about four times as long as all
// before it, so that few processes start and a quick test that fails saves the slow.
func (b *bench) reaching(m mutant) []part {
	var list []part
	total := time.Duration(0)
	for _, p := range b.parts {
		if !p.seen[m.n] || m.choice != nil && p.screened && b.screened != nil {
			continue // it would change nothing, or changed nothing
		}
		last := len(list) - 1
		if p.test != "" && last >= 0 && list[last].wall < max(time.Second, 3*total) {
			list[last].test += "|" + p.test
			list[last].args = runOnly(list[last].test)
			list[last].used += p.used
			list[last].wall += p.wall
			continue
		}
		if last >= 0 {
			total += list[last].wall
		}
		list = append(list, p)
	}
	return list
}

// command is a test binary in the folder of its package, with processor time for one.
func (b *bench) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = b.p.dir
	cmd.Env = append(os.Environ(), "SOTTO_DEPTH=3", "GOMAXPROCS=1", "TMPDIR="+b.dir)
	return cmd
}
