package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/_benchmark/internal/results"
	"github.com/sotto-llm/sotto/internal/testing/replies"
)

// A step measures some of the rows.
type step struct {
	name string
	rows func() ([]results.Row, error)
}

// rounds is the part of n rounds that is run.
func rounds(n int) string { return strconv.Itoa(max(1, int(math.Round(float64(n)**part)))) }

// span is the part of a time that is used, and not too short to measure anything.
func span(full, least time.Duration) string {
	return max(least, time.Duration(float64(full)*min(1, *part))).String()
}

// share is the part of a size that is used, and not too little to measure anything.
func share(full, least int) string {
	return strconv.Itoa(max(least, int(float64(full)*min(1, *part))))
}

func steps(root, dir string) []step {
	bench := filepath.Join(root, "_benchmark")
	program := func(name string, args ...string) step {
		return step{name, func() ([]results.Row, error) {
			to := filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".json")
			cmd := exec.Command("go", append([]string{"run", "./" + strings.Fields(name)[0], "-json", to}, args...)...)
			cmd.Dir, cmd.Stdout, cmd.Stderr = bench, os.Stderr, os.Stderr
			if err := cmd.Run(); err != nil {
				return nil, err
			}
			return results.Read(to)
		}}
	}
	return []step{
		program("ratios", "-rounds", rounds(9), "-time", span(10*time.Millisecond, time.Millisecond), "-big", share(16<<20, 1<<20)),
		program("load", append(rivals(bench, dir), "-rounds", rounds(5), "-time", span(2*time.Second, 500*time.Millisecond), "-many", share(5000, 300))...),
		program("score", "-lines", share(200_000, 20_000), "-rounds", rounds(7)),
		program("score tasks", "-tasks", "-lines", share(10_000, 2000), "-rounds", rounds(3)),
		{"strip", func() ([]results.Row, error) { return strip(root, dir) }},
		{"tables of a record", func() ([]results.Row, error) { return tables(root) }},
		{"the report of a study", func() ([]results.Row, error) { return study(root) }},
	}
}

// rivals are the flags for the gateway's rivals that this machine has: nginx, and the core of
// Bifrost, if its module can be had.
func rivals(bench, dir string) (flags []string) {
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		nginx, err = exec.LookPath("/usr/sbin/nginx")
	}
	if err == nil {
		flags = append(flags, "-nginx", nginx)
	}
	bifrost := filepath.Join(dir, "bifrost")
	if _, err := output(filepath.Join(bench, "load", "bifrost"), "go", "build", "-o", bifrost, "."); err != nil {
		fmt.Fprintln(os.Stderr, "without Bifrost:", err)
		return flags
	}
	return append(flags, "-bifrost", bifrost)
}

// strip compares sotto strip with jq, by the clock, on lines of which half have a thought.
func strip(root, dir string) ([]results.Row, error) {
	if _, err := exec.LookPath("jq"); err != nil {
		return nil, nil
	}
	sotto, lines := filepath.Join(dir, "sotto"), filepath.Join(dir, "lines.jsonl")
	if _, err := output(root, "go", "build", "-o", sotto, "./cmd/sotto"); err != nil {
		return nil, err
	}
	size := 87e6 * min(1, *part)
	if err := writeLines(lines, int(size)); err != nil {
		return nil, err
	}
	var base, value []float64
	n, _ := strconv.Atoi(rounds(7))
	for range n {
		for _, c := range []struct {
			to   *[]float64
			args []string
		}{{&value, []string{sotto, "strip", "--jsonl", "--field", "reply", lines}}, {&base, []string{"jq", "-c", ".", lines}}} {
			cmd := exec.Command(c.args[0], c.args[1:]...)
			cmd.Stderr = os.Stderr
			from := time.Now()
			if err := cmd.Run(); err != nil {
				return nil, fmt.Errorf("%s: %w", c.args[0], err)
			}
			*c.to = append(*c.to, time.Since(from).Seconds())
		}
	}
	ratios := make([]float64, n)
	for i := range ratios {
		ratios[i] = base[i] / value[i]
	}
	r := results.Ratios("strip/jq", fmt.Sprintf("`sotto strip --jsonl`, %.3g MB, by the clock", size/1e6), "`jq -c .` on the same file", ratios)
	r.Unit, r.Base, r.Value = "s", results.Round(results.Median(base)), results.Round(results.Median(value))
	return []results.Row{r}, nil
}

func writeLines(path string, size int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	out := bufio.NewWriter(f)
	for i := 0; size > 0; i++ {
		reply := replies.Text(2 << 10)
		if i%2 == 0 {
			reply = replies.Whole(2<<10, 0.5)
		}
		line, err := json.Marshal(map[string]any{"id": i, "reply": reply})
		if err != nil {
			return err
		}
		n, _ := out.Write(append(line, '\n'))
		size -= n
	}
	return out.Flush()
}

// benchmarks runs Go benchmarks, each for one time or some, and returns their lines: names,
// and figures by their units.
func benchmarks(root, pattern, pkg string) (map[string]map[string]float64, error) {
	out, err := output(root, "go", "test", "-run", "^$", "-bench", pattern, "-benchtime", rounds(3)+"x", pkg)
	if err != nil {
		return nil, err
	}
	found := map[string]map[string]float64{}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		name := f[0]
		if at := strings.LastIndexByte(name, '-'); at > 0 { // the number of cores
			if _, err := strconv.Atoi(name[at+1:]); err == nil {
				name = name[:at]
			}
		}
		found[name] = map[string]float64{}
		for i := 2; i+1 < len(f); i += 2 {
			v, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			found[name][f[i+1]] = v
		}
	}
	return found, nil
}

func tables(root string) (rows []results.Row, err error) {
	found, err := benchmarks(root, "^BenchmarkTable$/.*/.*/cores=1$", "./internal/lab/recordtable")
	for _, table := range []string{"replies", "thoughts", "calls"} {
		for _, format := range []string{"parquet", "csv"} {
			name := "BenchmarkTable/" + table + "/" + format + "/cores=1"
			v, ok := found[name]["MB/s"]
			if !ok && err == nil {
				return nil, fmt.Errorf("there is no benchmark %s", name)
			}
			rows = append(rows, results.Row{
				ID: "tables/" + table + "/" + format, What: "table `" + table + "` as " + format, Unit: "MB/s", Value: results.Round(v), Absolute: true,
			})
		}
	}
	return rows, err
}

func study(root string) (rows []results.Row, err error) {
	found, err := benchmarks(root, "^BenchmarkReport$", "./internal/lab/studyreport")
	for _, n := range []int{10_000, 100_000} {
		name := fmt.Sprintf("BenchmarkReport/%d_problems", n)
		v, ok := found[name]["ns/op"]
		if !ok && err == nil {
			return nil, fmt.Errorf("there is no benchmark %s", name)
		}
		rows = append(rows, results.Row{
			ID: fmt.Sprintf("study/%d", n), What: results.Number(float64(n)) + " problems, by the clock", Unit: "s", Value: results.Round(v / 1e9), Absolute: true,
		})
	}
	return rows, err
}
