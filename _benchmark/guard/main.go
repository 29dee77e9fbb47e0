// Guard says whether the working tree (HEAD) is slower or larger than a commit (BASE). It
// builds both and runs them in turn, BASE HEAD BASE, BASE HEAD BASE, so that it sees both
// how HEAD differs from BASE and how BASE differs from itself.
//
//	go run -C _benchmark ./guard              # every figure, some five minutes
//	go run -C _benchmark ./guard -short       # the most telling ones, a minute with a warm cache
//	go run -C _benchmark ./guard -base v1.2.0 -only gateway
//
// BASE is by default the commit at which docs/performance.md was measured, so that many small
// losses show as well as one large one. Figures are processor time by the kernel's clock, and
// resident memory; never time by the wall clock. It exits with 1 if a figure is worse, and with
// 3 if this clone does not have BASE.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/_benchmark/internal/traffic"
)

var (
	base  = flag.String("base", "", "the commit to compare with; if empty, that of docs/performance.md")
	short = flag.Bool("short", false, "only the most telling figures, each for a short time")
	only  = flag.String("only", "", "the figures whose name contains this")
	most  = flag.Duration("time", 0, "the longest that a figure may take; if zero, 30 s, or 5 s with -short")
)

const (
	exitWorse  = 1
	exitFailed = 2
	exitNoBase = 3
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "-role" {
		if err := traffic.Play(os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, "guard:", err)
			os.Exit(exitFailed)
		}
		return
	}
	flag.Parse()
	if *most == 0 {
		*most = 30 * time.Second
		if *short {
			*most = 5 * time.Second
		}
	}
	worse, err := run()
	switch {
	case errors.Is(err, errNoBase):
		fmt.Println("guard: nothing is compared:", err)
		os.Exit(exitNoBase)
	case err != nil:
		fmt.Fprintln(os.Stderr, "guard:", err)
		os.Exit(exitFailed)
	case len(worse) > 0:
		fmt.Printf("guard: worse than BASE: %s. If that is worth it, measure docs/performance.md again, which moves BASE.\n", strings.Join(worse, "; "))
		os.Exit(exitWorse)
	}
}

func run() (worse []string, err error) {
	if err := traffic.ManyFiles(); err != nil {
		return nil, err
	}
	root, err := git(".", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	commit, err := baseOf(root, *base)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "guard")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	g := &guard{root: root, dir: dir, head: &tree{name: "HEAD", dir: root}, base: &tree{name: "BASE", dir: filepath.Join(dir, "tree")}}
	from := time.Now()
	if err := g.prepare(commit); err != nil {
		return nil, err
	}
	fmt.Printf("BASE is %.12s, HEAD is the working tree; built in %.0f s\n", commit, time.Since(from).Seconds())
	fmt.Printf("%-44s %14s %14s %7s %17s %17s %6s  %s\n", "figure", "BASE", "HEAD", "ratio", "99 %", "BASE to itself", "pairs", "")
	for _, f := range figures() {
		if *short && !f.short || !strings.Contains(f.name, *only) {
			continue
		}
		v, err := g.compare(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if v == slower {
			worse = append(worse, f.name)
		}
	}
	return worse, nil
}

// A guard is what the figures share.
type guard struct {
	root, dir  string
	base, head *tree
	made       map[string]string // files, by their names
}

func (g *guard) prepare(commit string) error {
	if err := os.Mkdir(g.base.dir, 0o700); err != nil {
		return err
	}
	if err := checkOut(g.root, commit, g.base.dir); err != nil {
		return err
	}
	for _, t := range []*tree{g.base, g.head} {
		if err := t.build(g.root, g.dir, !*short); err != nil {
			return err
		}
	}
	return nil
}

// compare takes pairs until they decide, or the time is over, and prints the line.
func (g *guard) compare(f figure) (verdict, error) {
	var ratios, noise, bases, heads []float64
	var change, floor interval
	v := cannotTell
	for end := time.Now().Add(*most); v == cannotTell && (len(ratios) < leastPairs || time.Now().Before(end)); {
		three, err := g.openAll(f)
		if err != nil {
			return "", err
		}
		for i := range f.rounds {
			values, err := three.measure(f, i%2 == 1)
			if err != nil {
				three.close()
				return "", err
			}
			a, b, again := values[0], values[1], values[2]
			mean := (a + again) / 2
			ratios, noise = append(ratios, b/mean), append(noise, again/a)
			bases, heads = append(bases, mean), append(heads, b)
		}
		three.close()
		change, floor, v = decide(ratios, noise, f.tolerance)
	}
	amount := func(v []float64) string { return fmt.Sprintf("%.4g %s", intervalOf(v).mid, f.unit) }
	fmt.Printf("%-44s %14s %14s %7.3f %17s %17s %6d  %s\n", f.name, amount(bases), amount(heads), change.mid, change, floor, len(ratios), v)
	return v, nil
}

func (x interval) String() string { return fmt.Sprintf("%.3f … %.3f", x.low, x.high) }

// leastPairs is how many pairs an interval needs.
const leastPairs = 8

// A trio is BASE, HEAD and BASE again, running.
type trio [3]session

func (g *guard) openAll(f figure) (trio, error) {
	var three trio
	for i, t := range []*tree{g.base, g.head, g.base} {
		s, err := f.open(g, t)
		if err != nil {
			three.close()
			return three, err
		}
		three[i] = s
	}
	return three, nil
}

func (t trio) close() {
	for _, s := range t {
		if s.close != nil {
			s.close()
		}
	}
}

// measure gives each its turn, forwards or backwards; or all at once, if that does not change
// the figure.
func (t trio) measure(f figure, backwards bool) (values [3]float64, err error) {
	var errs [3]error
	one := func(i int) { values[i], errs[i] = t[i].measure() }
	if f.abreast {
		var wg sync.WaitGroup
		for i := range t {
			wg.Go(func() { one(i) })
		}
		wg.Wait()
		return values, errors.Join(errs[:]...)
	}
	for i := range t {
		if backwards {
			i = len(t) - 1 - i
		}
		one(i)
	}
	return values, errors.Join(errs[:]...)
}
