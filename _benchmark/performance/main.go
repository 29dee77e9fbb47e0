// Performance measures everything that docs/performance.md says, on the commit that is checked
// out, and writes the results and the document.
//
//	go run -C _benchmark ./performance             # some 20 minutes on a quiet machine
//	go run -C _benchmark ./performance -part 0.1   # a trial, with a tenth of the rounds
//	go run -C _benchmark ./performance -write      # the document again, from the results
//
// The prose is in performance.md.tmpl, the targets are in internal/results. jq and python3, if
// they are not installed, are left out with the rows that need them.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/_benchmark/internal/results"
)

var (
	part  = flag.Float64("part", 1, "the part of the rounds that is run")
	write = flag.Bool("write", false, "measure nothing, and write the document from the results")
	keep  = flag.Bool("trial", false, "leave the results and the document as they are, and print the document")
)

const document = "docs/performance.md"

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "performance:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := output(".", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	var r results.Run
	if *write {
		r, err = results.Load(filepath.Join(root, results.File))
	} else {
		r, err = measure(root)
	}
	if err != nil {
		return err
	}
	text, err := generate(r)
	if err != nil {
		return err
	}
	if *keep {
		_, err := os.Stdout.WriteString(text)
		return err
	}
	return errors.Join(r.Save(filepath.Join(root, results.File)), os.WriteFile(filepath.Join(root, document), []byte(text), 0o644))
}

// output runs a program and returns what it prints.
func output(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), err
}

// measured are the files that have an effect on the figures, as arguments of git.
var measured = []string{"--", ".", ":(exclude)_benchmark", ":(exclude)docs", ":(exclude).ci", ":(exclude).github", ":(exclude,glob)**/*.md", ":(exclude,glob)**/*_test.go"}

// commit is the last one that changed what is measured.
func commit(root string) (string, error) {
	changed, err := output(root, "git", append([]string{"status", "--porcelain"}, measured...)...)
	if err != nil {
		return "", err
	}
	if changed != "" {
		return "", fmt.Errorf("these files are not committed, so no commit would stand for the figures:\n%s", changed)
	}
	return output(root, "git", append([]string{"log", "-1", "--format=%H"}, measured...)...)
}

func measure(root string) (results.Run, error) {
	from := time.Now()
	r := results.Run{Date: from.UTC().Format(time.DateOnly), Go: runtime.Version(), Machine: machine(), Part: *part}
	r.Load[0] = load()
	var err error
	if r.Commit, err = commit(root); err != nil {
		return r, err
	}
	dir, err := os.MkdirTemp("", "performance")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	for _, s := range steps(root, dir) {
		fmt.Fprintf(os.Stderr, "== %s, after %s\n", s.name, time.Since(from).Round(time.Second))
		rows, err := s.rows()
		if err != nil {
			return r, fmt.Errorf("%s: %w", s.name, err)
		}
		r.Rows = append(r.Rows, rows...)
	}
	r.Load[1], r.Minutes = load(), results.Round(time.Since(from).Minutes())
	return r, nil
}

// load is the average number of runnable processes in the last minute.
func load() (v float64) {
	data, _ := os.ReadFile("/proc/loadavg")
	_, _ = fmt.Sscan(string(data), &v)
	return v
}

func machine() string {
	name := runtime.GOARCH
	data, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(data)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == "model name" {
			name = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%s/%s, %d cores (%s)", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), name)
}
