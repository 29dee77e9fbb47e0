// Command mutate breaks the code that reads replies, one statement or operator at a
// time. It reports the changes that no test notices.
//
//	go run ./internal/mutate                      every mutant of the files below
//	go run ./internal/mutate -sample 40 -seed 3   40 of them
//	go run ./internal/mutate -only holds.go       those of one file
//	go run ./internal/mutate -match 'pads.go settle' those whose name holds this text
//	go run ./internal/mutate -all -sample 40      40 of those of all files that read a reply
//	go run ./internal/mutate -list                what would be broken
//	go run ./internal/mutate -quick               what TestShortReplies does not find
//
// All mutants are in one program. Each changed place reads at run time whether it
// is the one that is broken, so that the tests are compiled once. A change that
// cannot be written as a choice at run time is compiled alone. Neither changes the
// tree: the changed files are an overlay.
//
// A survivor that survivors.txt does not list with a reason is a failure. So is a
// line of survivors.txt that no longer names a mutant, or names one that a test
// finds.
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// files are the files whose survivors are all listed: holds, rewinds, the pads of G7a,
// and the view.
var files = []string{"state.go", "pads.go", "holds.go", "view.go"}

// moreFiles are the other files that read a reply. What compiles and checks a dialect is
// not among them, nor is held.go, which the tests of the gateway cover.
var moreFiles = []string{
	"blocks.go", "calls.go", "channel.go", "coderuns.go", "diagnostics.go", "easy.go", "events.go", "filter.go",
	"header.go", "lexer.go", "lookahead.go", "markers.go", "parse.go", "prompttail.go", "reasoning.go", "splice.go",
	"splitter.go", "text.go", "tokens.go",
}

//go:embed survivors.txt
var survivors string

// options are the command line.
type options struct {
	only, match string
	sample      int
	seed        uint64
	list, quick bool
	all         bool
	parallel    int
	limit       time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "break this file alone")
	flag.StringVar(&o.match, "match", "", "break only mutants whose name holds this text")
	flag.IntVar(&o.sample, "sample", 0, "break this many places; 0 for all")
	flag.Uint64Var(&o.seed, "seed", 1, "of the sample")
	flag.BoolVar(&o.all, "all", false, "break every file that reads a reply; not all of their survivors are listed")
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
	names := files
	if o.all {
		names = slices.Concat(files, moreFiles)
	}
	p, err := load(".", names)
	if err != nil {
		return err
	}
	if err := checkListed(known, p.mutants); err != nil {
		return err
	}
	mutants := o.choose(p.mutants)
	if o.list {
		for _, m := range mutants {
			fmt.Println(m.key)
		}
		return nil
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b, err := newBench(p, suites, dir, o.limit, 1500*time.Millisecond)
	if err != nil {
		return err
	}
	if err := b.screen(mutants); err != nil {
		return err
	}
	if o.quick {
		for _, m := range mutants {
			if _, is := b.screened[m.n]; !is {
				fmt.Println(m.key)
			}
		}
		return nil
	}
	if err := b.measure(); err != nil {
		return err
	}
	var r report
	var wg sync.WaitGroup
	work := make(chan mutant)
	for range o.parallel {
		wg.Go(func() {
			for m := range work {
				result, err := b.try(m)
				r.add(m, result, known[m.key], err)
			}
		})
	}
	for _, m := range mutants {
		work <- m
	}
	close(work)
	wg.Wait()
	return r.finish()
}

// choose returns the mutants that the command line asks for.
func (o options) choose(all []mutant) []mutant {
	mutants := slices.Clone(all)
	mutants = slices.DeleteFunc(mutants, func(m mutant) bool {
		return o.only != "" && m.file != o.only || !strings.Contains(m.key, o.match)
	})
	if o.sample > 0 && o.sample < len(mutants) {
		rand.New(rand.NewPCG(o.seed, 0)).Shuffle(len(mutants), func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
		mutants = mutants[:o.sample]
	}
	return mutants
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

// checkListed refuses lines of survivors.txt that name no mutant. It says nothing of files
// that only -all loads, while they are not loaded.
func checkListed(known map[string]string, mutants []mutant) error {
	names, loaded := map[string]bool{}, map[string]bool{}
	for _, m := range mutants {
		names[m.key], loaded[m.file] = true, true
	}
	for key := range known {
		file, _, _ := strings.Cut(key, " ")
		if !names[key] && (loaded[file] || !slices.Contains(moreFiles, file)) {
			return fmt.Errorf("survivors.txt lists %q, which is no longer a mutant: remove the line", key)
		}
	}
	return nil
}

// A report counts the results.
type report struct {
	mu       sync.Mutex
	counts   map[result]int
	listed   int
	unlisted int
	stale    []string // listed, but found by a test
	errs     []error
}

func (r *report) add(m mutant, got result, reason string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s: %w", m.key, err))
		return
	}
	if r.counts == nil {
		r.counts = map[result]int{}
	}
	switch {
	case reason != "" && got == survived:
		r.listed++
		fmt.Printf("%-9s %s\n", "listed", m.key)
		return
	case reason != "":
		r.stale = append(r.stale, m.key)
	case got == survived:
		r.unlisted++
	}
	r.counts[got]++
	fmt.Printf("%-9s %s\n", got, m.key)
}

// finish prints the counts. It returns an error if the lists and the results differ.
func (r *report) finish() error {
	total := r.listed
	for _, n := range r.counts {
		total += n
	}
	fmt.Printf("%d mutants: %d found by a test, %d that took too long, %d that do not compile, %d listed, %d survived\n",
		total, r.counts[found], r.counts[late], r.counts[broken], r.listed, r.unlisted)
	err := errors.Join(r.errs...)
	if r.unlisted > 0 {
		err = errors.Join(err, errors.New("some survivors are not listed: write a test that finds them, or list them with a reason in internal/mutate/survivors.txt"))
	}
	for _, key := range r.stale {
		err = errors.Join(err, fmt.Errorf("survivors.txt lists %q, which a test finds: remove the line", key))
	}
	return err
}
