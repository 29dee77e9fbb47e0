// Command mutate breaks the code of the packages that matter most, one statement or
// operator at a time. It reports the changes that no test notices.
//
//	go run ./internal/testing/mutate -sample 200 -seed 3   200 of them, an equal part of each package
//	go run ./internal/testing/mutate -only gateway         those of one package; "." is the root
//	go run ./internal/testing/mutate -only holds.go        those of one file
//	go run ./internal/testing/mutate -match 'pads.go settle' those whose name holds this text
//	go run ./internal/testing/mutate -again out.txt        the survivors in the output of an earlier run
//	go run ./internal/testing/mutate                       every mutant, which takes days
//	go run ./internal/testing/mutate -list                 what would be broken
//	go run ./internal/testing/mutate -only . -quick        what TestShortReplies does not find
//
// All mutants of a package are in one program. Each changed place reads at run time
// whether it is the one that is broken, so that the tests are compiled once. A change
// that cannot be written as a choice at run time is compiled alone. Neither changes the
// tree: the changed files are an overlay.
//
// The tests of a package first run with nothing broken, each in a process of its own. Each
// place notes that it was reached with values for which the change would matter. Of a
// mutant only the tests that reach it run, the quick ones first. A place that no test
// reaches is a survivor at once. The root has suites instead, which run whole.
//
// The command fails if a survivor of the root is not listed with a reason in
// survivors.txt, if more than 15 % of the mutants of the other packages survive without
// one, or if a line of survivors.txt no longer names a mutant, or names one that a test
// finds.
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

//go:embed survivors.txt
var survivors string

// options are the command line.
type options struct {
	only, match string
	again       string
	earlier     map[string]bool // the keys of again; nil for all
	sample      int
	seed        uint64
	list, quick bool
	parallel    int
	limit       time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "break this package or file alone")
	flag.StringVar(&o.match, "match", "", "break only mutants whose name holds this text")
	flag.StringVar(&o.again, "again", "", "break only the survivors in this file, the output of an earlier run")
	flag.IntVar(&o.sample, "sample", 0, "break this many places, equally many of each package; 0 for all")
	flag.Uint64Var(&o.seed, "seed", 1, "of the sample")
	flag.BoolVar(&o.list, "list", false, "print the mutants and stop")
	flag.BoolVar(&o.quick, "quick", false, "run only TestShortReplies, on all mutants at once, and print what it does not find")
	flag.IntVar(&o.parallel, "parallel", 2, "how many mutants are tested at once")
	flag.DurationVar(&o.limit, "timeout", 10*time.Minute, "of the tests of one mutant; their processor time has a limit of its own")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	known, err := readSurvivors(survivors)
	if err != nil {
		return err
	}
	lists, err := listAll(".")
	if err != nil {
		return err
	}
	if err := checkListed(known, lists); err != nil {
		return err
	}
	if o.again != "" {
		text, err := os.ReadFile(o.again)
		if err != nil {
			return err
		}
		o.earlier = readResults(string(text))
	}
	choices := o.choose(lists)
	if o.list {
		for _, c := range choices {
			for _, key := range slices.Sorted(maps.Keys(c.keys)) {
				fmt.Println(key)
			}
		}
		return nil
	}
	if o.sample > 0 {
		fmt.Printf("A sample of %d with seed %d.\n", o.sample, o.seed)
	}
	r := report{known: known}
	for _, c := range choices {
		if err := o.tryAll(c, &r); err != nil {
			r.errs = append(r.errs, fmt.Errorf("%s: %w", c.target.dir, err))
		}
	}
	if o.quick {
		return errors.Join(r.errs...)
	}
	return r.finish()
}

// listAll returns the keys of each target's mutants.
func listAll(root string) ([][]string, error) {
	lists := make([][]string, len(targets))
	for i, t := range targets {
		p, err := list(root, t)
		if err != nil {
			return nil, err
		}
		for _, m := range p.mutants {
			lists[i] = append(lists[i], m.key)
		}
	}
	return lists, nil
}

// tryAll tries the chosen mutants of one package.
func (o options) tryAll(c choice, r *report) error {
	p, err := load(".", c.target)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mut")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{
		p: p, mutants: c.pick(p.mutants, o.seed), suites: c.target.suites, dir: dir,
		limit: o.limit, spare: 1500 * time.Millisecond, parallel: o.parallel,
	}
	fmt.Printf("== %s: %d mutants\n", c.target.dir, len(b.mutants))
	if err := b.prepare(); err != nil {
		return err
	}
	screens := slices.ContainsFunc(b.suites, func(s suite) bool { return s.screened })
	if screens {
		if err := b.screen(); err != nil {
			return err
		}
	}
	if o.quick {
		for _, m := range b.mutants {
			if _, is := b.screened[m.n]; !is && screens {
				fmt.Println(m.key)
			}
		}
		return nil
	}
	from := time.Now()
	if err := b.measure(); err != nil {
		return err
	}
	fmt.Printf("== %s: %d parts pass unchanged in %.0f s\n", c.target.dir, len(b.parts), time.Since(from).Seconds())
	n := r.begin(c.target)
	var wg sync.WaitGroup
	work := make(chan mutant)
	for range o.parallel {
		wg.Go(func() {
			for m := range work {
				got, err := b.try(m)
				r.count(n, m, got, err)
			}
		})
	}
	for _, m := range b.mutants {
		work <- m
	}
	close(work)
	wg.Wait()
	return nil
}

// readSurvivors reads lines "KEY — REASON". A line that begins with # is a comment.
func readSurvivors(text string) (map[string]string, error) {
	known := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		key, reason, ok := strings.Cut(line, " — ")
		if !ok || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("survivors.txt: %q gives no reason: write KEY — REASON", line)
		}
		known[key] = reason
	}
	return known, nil
}

// readResults returns the keys of the survivors in the output of a run.
func readResults(text string) map[string]bool {
	keys := map[string]bool{}
	for line := range strings.Lines(text) {
		word, key, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == string(survived) || word == string(unreached) {
			keys[strings.TrimSpace(key)] = true
		}
	}
	return keys
}

// checkListed refuses lines of survivors.txt that name no mutant.
func checkListed(known map[string]string, lists [][]string) error {
	for key := range known {
		if !slices.ContainsFunc(lists, func(keys []string) bool { return slices.Contains(keys, key) }) {
			return fmt.Errorf("survivors.txt lists %q, which is no longer a mutant: remove the line", key)
		}
	}
	return nil
}
