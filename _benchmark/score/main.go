// Command score compares sotto score with Python's json, re and fractions doing
// the same check, and with jq -c . over the same lines. It prints the median of
// rounds run in turn: A B C A B C …
//
//	cd _benchmark && go run ./score [-rounds 5] [-lines 200000] [-field input] [FILE]
//	cd _benchmark && go run ./score -tasks [-command extract] [-rounds 5] [-lines 10000]
//	cd _benchmark && go run ./score -cores [-rounds 5] [-lines 400000]
//
// FILE holds replies to the game of 24 as JSON Lines, with the numbers in field.
// Without FILE, lines are generated. Rivals that are not installed are left out.
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/_benchmark/internal/results"
)

//go:embed check.py
var check string

func main() {
	log.SetFlags(0)
	rounds := flag.Int("rounds", 5, "how often each is run")
	lines := flag.Int("lines", 200_000, "how many lines are made")
	field := flag.String("field", "input", "the field of the numbers")
	every := flag.Bool("tasks", false, "measure every task, on made lines")
	command := flag.String("command", "score", "with -tasks: score, or extract")
	cores := flag.Bool("cores", false, "compare one core with two, on made lines")
	jsonTo := flag.String("json", "", "also write the rows of docs/performance.md to this file; not with -cores")
	flag.Parse()
	dir, err := os.MkdirTemp("", "score")
	if err != nil {
		log.Fatal(err)
	}
	var rows []results.Row
	switch {
	case *every:
		rows, err = runTasks(dir, *command, *lines, *rounds)
	case *cores:
		err = runCores(dir, *lines, *rounds)
	default:
		rows, err = run(dir, flag.Arg(0), *field, *lines, *rounds)
	}
	os.RemoveAll(dir)
	if err == nil && *jsonTo != "" {
		err = results.Write(*jsonTo, rows)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// A rival is a command that reads the same lines.
type rival struct {
	name  string
	args  []string
	env   []string
	times []took
	said  string
}

type took struct{ wall, cpu time.Duration }

func run(dir, file, field string, lines, rounds int) ([]results.Row, error) {
	if file == "" {
		file = filepath.Join(dir, "lines.jsonl")
		if err := os.WriteFile(file, made(lines), 0o600); err != nil {
			return nil, err
		}
	}
	rivals, err := build(dir, file, field)
	if err != nil {
		return nil, err
	}
	var twins rival
	for range rounds {
		for _, r := range rivals {
			if err := r.run(); err != nil {
				return nil, err
			}
		}
		if err := twins.runTwice(rivals[0]); err != nil {
			return nil, err
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	report(rivals, len(text), bytes.Count(text, []byte{'\n'}))
	reportCores(rivals[0], rivals[1], &twins)
	return rowsOf(rivals, &twins), nil
}

// calm is how many times as fast as one process two must be. If they are, the
// machine had two cores to spare.
const calm = 1.8

// reportCores reports the gain from two cores, over the rounds in which two were
// free.
func reportCores(one, two, twins *rival) {
	ratios := gains(one, two, twins)
	fmt.Printf("two processes of one core were %.1f times as fast as one, or more, in %d of %d rounds", calm, len(ratios), len(one.times))
	if len(ratios) > 0 {
		slices.Sort(ratios)
		fmt.Printf("; there two cores were %.2f times as fast as one (%.2f … %.2f)", ratios[len(ratios)/2], ratios[0], ratios[len(ratios)-1])
	}
	fmt.Println()
}

// gains are how many times as fast two cores are as one, in the rounds in which two were free.
func gains(one, two, twins *rival) (ratios []float64) {
	for i := range one.times {
		wall := one.times[i].wall.Seconds()
		if wall/twins.times[i].wall.Seconds() >= calm {
			ratios = append(ratios, wall/two.times[i].wall.Seconds())
		}
	}
	return ratios
}

// rowsOf compares one core of sotto with the rivals, and with two cores.
func rowsOf(rivals []*rival, twins *rival) (rows []results.Row) {
	const what = "`sotto score --task game24` on one core, "
	pairs := func(r *rival, of func(took) time.Duration) (ratios []float64) {
		for i, t := range r.times {
			ratios = append(ratios, float64(of(t))/float64(of(rivals[0].times[i])))
		}
		return ratios
	}
	for _, r := range rivals[2:] {
		switch r.name {
		case "python3":
			rows = append(rows, results.Ratios("score/python", what+"processor time", "Python doing the same check",
				pairs(r, func(t took) time.Duration { return t.cpu })))
		default:
			rows = append(rows, results.Ratios("score/jq", what+"by the clock", "`jq -c .`, which reads and writes the lines",
				pairs(r, func(t took) time.Duration { return t.wall })))
		}
	}
	if free := gains(rivals[0], rivals[1], twins); len(free) > 0 {
		rows = append(rows, results.Ratios("score/cores", "`sotto score` on two cores, when both are free", "on one", free))
	}
	return rows
}

func build(dir, file, field string) ([]*rival, error) {
	sotto, script := filepath.Join(dir, "sotto"), filepath.Join(dir, "check.py")
	if err := compile(sotto); err != nil {
		return nil, err
	}
	if err := os.WriteFile(script, []byte(check), 0o600); err != nil {
		return nil, err
	}
	score := []string{sotto, "score", "--task", "game24", "--jsonl", "--json", "--input-field", field, file}
	rivals := []*rival{
		{name: "sotto score, one core", args: score, env: []string{"GOMAXPROCS=1"}},
		{name: "sotto score, two cores", args: score, env: []string{"GOMAXPROCS=2"}},
	}
	// The name alone is not enough: it may be a script that first looks for the
	// interpreter.
	if python, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output(); err == nil {
		rivals = append(rivals, &rival{name: "python3", args: []string{strings.TrimSpace(string(python)), script, file, field}})
	}
	if _, err := exec.LookPath("jq"); err == nil {
		rivals = append(rivals, &rival{name: "jq -c .", args: []string{"jq", "-c", ".", file}})
	}
	return rivals, nil
}

// compile builds the command.
func compile(sotto string) error {
	build := exec.Command("go", "build", "-o", sotto, "./cmd/sotto")
	build.Dir = ".." // in the module of the command, because that has its requirements
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w: %s", err, out)
	}
	return nil
}

func (r *rival) run() error {
	cmd := exec.Command(r.args[0], r.args[1:]...)
	cmd.Env = append(os.Environ(), r.env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if r.name != "jq -c ." { // the others print their counts
		cmd.Stdout = &said
	}
	from := time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", r.name, err, said.String())
	}
	r.times = append(r.times, took{time.Since(from), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()})
	r.said = said.String()
	return nil
}

// runTwice runs a command twice at the same time, and records half the time. This
// is the best that two cores could do, whatever else the machine does.
func (r *rival) runTwice(twin *rival) error {
	from, other := time.Now(), rival{name: twin.name, args: twin.args, env: twin.env}
	done := make(chan error, 1)
	go func() { done <- other.run() }()
	own := rival{name: twin.name, args: twin.args, env: twin.env}
	err := own.run()
	err = errors.Join(err, <-done)
	r.times = append(r.times, took{wall: time.Since(from) / 2})
	return err
}

// median returns the median of a time over the rounds.
func (r *rival) median(of func(took) time.Duration) time.Duration {
	var all []time.Duration
	for _, t := range r.times {
		all = append(all, of(t))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func (r *rival) wall() time.Duration { return r.median(func(t took) time.Duration { return t.wall }) }
func (r *rival) cpu() time.Duration  { return r.median(func(t took) time.Duration { return t.cpu }) }

func report(rivals []*rival, size, lines int) {
	one := rivals[0]
	fmt.Printf("%d lines, %.1f MB\n", lines, float64(size)/1e6)
	fmt.Printf("%-24s %10s %10s %12s %8s   %s\n", "", "wall", "CPU", "CPU a reply", "MB/s", "one core of sotto is times as fast, by CPU")
	for _, r := range rivals {
		fmt.Printf("%-24s %10v %10v %12v %8.1f   %.2f\n", r.name, r.wall().Round(time.Millisecond), r.cpu().Round(time.Millisecond),
			(r.cpu() / time.Duration(lines)).Round(10*time.Nanosecond), float64(size)/1e6/r.wall().Seconds(), float64(r.cpu())/float64(one.cpu()))
	}
	two := rivals[1]
	fmt.Printf("two cores take %.2f times the CPU of one\n", float64(two.cpu())/float64(one.cpu()))
	var sum struct{ Solved struct{ Count, Of int } }
	if err := json.Unmarshal([]byte(one.said), &sum); err == nil {
		fmt.Printf("sotto: %d replies, %d right\n", sum.Solved.Of, sum.Solved.Count)
	}
	for _, r := range rivals {
		if r.name == "python3" {
			fmt.Printf("python3: %s", r.said)
		}
	}
}

// made makes lines with the lengths and kinds of real replies.
func made(n int) []byte {
	prose := []string{
		"", "Steps:\n4 + 8 = 12 (left: 6 8 12)\n6 - 4 = 2 (left: 2 8 12)\n", strings.Repeat("Let me try another pair of numbers and see what is left of them. ", 4) + "\n",
	}
	answers := []string{
		"Answer: (4 + 8) * (6 - 4) = 24", "Answer: 4 * 6 * (8 - 4) / 4 = 24", "Answer: 6 * 4 + 8 - 8 = 24", "Answer: (8 - 6) * (4 + 8) = 24",
		"Answer: four times six", "Answer: 4 * (8 - 6) + 8 = 24", "I do not find one.", "Answer: (4 + 8) / (6 - 4) = 24",
	}
	var out []byte
	for i := range n {
		raw, _ := json.Marshal(prose[i%len(prose)] + answers[i%len(answers)])
		out = fmt.Appendf(out, `{"id":"made-%d","task":"game24","input":"4 4 6 8","raw":%s,"arm":"made"}`+"\n", i, raw)
	}
	return out
}
