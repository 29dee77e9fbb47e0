// Ratios runs Sotto and its rivals in pairs, A B A B …, and prints a Markdown table
// of the medians of their ratios. These stay comparable on a noisy machine.
//
//	cd _benchmark && go run ./ratios                   # everything, some 15 minutes
//	cd _benchmark && go run ./ratios -only ' 4 bytes'  # the rows whose text contains this
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sotto-llm/sotto"
	rivals "github.com/sotto-llm/sotto/_benchmark"
	"github.com/sotto-llm/sotto/_benchmark/internal/results"
	"github.com/sotto-llm/sotto/internal/testing/replies"
)

var (
	rounds = flag.Int("rounds", 15, "pairs per row")
	slice  = flag.Duration("time", 10*time.Millisecond, "time per half of a pair")
	only   = flag.String("only", "", "run the rows whose text contains this")
	big    = flag.Int("big", 64<<20, "bytes of the longest hostile reply")
	jsonTo = flag.String("json", "", "also write the rows to this file")
)

// A row compares a with b.
type row struct {
	id            string
	what, against string
	a, b          func() rivals.Run // made when the row's turn comes
	scale         float64           // bytes of a over bytes of b, where they differ
	series        string            // rows in a series take longer and longer; it ends with the first that is far below its target
}

func main() {
	flag.Parse()
	sections := []struct {
		title string
		rows  []row
	}{
		{"Deltas, steady state", deltaRows()},
		{"A whole reply of 1 MiB", replyRows()},
		{"Growth: a byte of a long reply against a byte of a short one", growthRows()},
		{"Hostile replies of 64 KiB: a byte against a byte of an ordinary reply", hostileRows()},
		{"Hostile replies: a byte of a long one against a byte of 1 KiB", hostileGrowthRows()},
	}
	var all []results.Row
	for _, s := range sections {
		title := false
		slow := map[string]bool{}
		for _, r := range s.rows {
			if slow[r.series] || !strings.Contains(s.title+": "+r.what+" | "+r.against, *only) {
				continue
			}
			if !title {
				fmt.Printf("\n%s\n\n%s", s.title, results.Head)
				title = true
			}
			m := r.measure()
			fmt.Print(m)
			all = append(all, m)
			if t, _, ok := m.Target(); ok && r.series != "" && m.Ratio < t.Want/4 {
				slow[r.series] = true
			}
		}
	}
	all = append(all, allocations()...)
	if *jsonTo != "" {
		if err := results.Write(*jsonTo, all); err != nil {
			fmt.Fprintln(os.Stderr, "ratios:", err)
			os.Exit(1)
		}
	}
}

// measure runs the pairs. The ratio is how many times as fast Sotto is.
func (r row) measure() results.Row {
	a, b := r.a(), r.b()
	runtime.GC()
	nb, once := calibrate(b), spend(a, 1)
	na, pairs := 1, *rounds
	switch {
	case once > 1e9:
		pairs = 1
	case once > float64(*slice):
		pairs = max(3, pairs/3)
	default:
		na = calibrate(a)
	}
	scale := r.scale
	if scale == 0 {
		scale = 1
	}
	var ratios []float64
	for range pairs {
		ta := spend(a, na)
		tb := spend(b, nb)
		ratios = append(ratios, tb/ta*scale)
	}
	return results.Ratios(r.id, r.what, r.against, ratios)
}

// calibrate returns how many runs take a slice.
func calibrate(r rivals.Run) int {
	r() // warm
	for n := 1; ; n *= 2 {
		if t := spend(r, n) * float64(n); t >= float64(*slice) {
			return max(1, int(float64(n)*float64(*slice)/t))
		}
	}
}

// spend returns the processor time of a run in nanoseconds, the mean of n runs,
// including the garbage collector's.
func spend(r rivals.Run, n int) float64 {
	start := processorTime()
	for range n {
		r()
	}
	return float64(processorTime()-start) / float64(n)
}

// processorTime is the time of this process only; others on the machine do not
// count.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func once(r rivals.Run) func() rivals.Run { return func() rivals.Run { return r } }

var grammars = []struct {
	name string
	g    *sotto.Grammar
}{{"qwen3", rivals.Qwen3()}, {"default", sotto.Default()}}

var streams = []struct{ name, head, body string }{
	{"reasoning", "<think>\nSo ", replies.Reasoning(64 << 10)},
	{"text", "So ", replies.Text(64 << 10)},
	{"plain text", "So ", replies.Prose(64 << 10)},
}

func deltaRows() []row {
	var rows []row
	for _, in := range streams {
		for _, size := range []int{1, 4, 16, 64, 4096} {
			deltas := replies.Deltas(in.body, size)
			for _, g := range grammars {
				rows = append(rows, row{
					id:      fmt.Sprintf("reading/%s/%d bytes/%s", in.name, size, g.name),
					what:    fmt.Sprintf("%s, %d bytes, `%s`", in.name, size, g.name),
					against: "Ollama's parser",
					a:       func() rivals.Run { return rivals.Deltas(g.g, in.head, deltas) },
					b:       func() rivals.Run { return rivals.OllamaDeltas(in.head, deltas) },
				})
			}
		}
	}
	return rows
}

func replyRows() []row {
	var rows []row
	for _, in := range []struct {
		name string
		part float64
	}{{"half reasoning", 0.5}, {"95 % reasoning", 0.95}, {"95 % text", 0.05}} {
		reply := replies.Whole(1<<20, in.part)
		cut := replies.Deltas(reply, 4)
		whole := func() rivals.Run { return rivals.Reply(rivals.Qwen3(), sotto.Options{}, reply) }
		add := func(id, what, against string, a func() rivals.Run, b rivals.Run) {
			rows = append(rows, row{id: "whole/" + in.name + "/" + id, what: in.name + what, against: against, a: a, b: once(b)})
		}
		add("ollama", ", one `Feed`", "Ollama's parser, one call", whole, rivals.OllamaReply(reply))
		add("lines", ", one `Feed`", "a line walk by `IndexByte`", whole, rivals.Lines(reply))
		add("angles", ", one `Feed`", "an `IndexByte` walk of `<`", whole, rivals.Angles(reply))
		add("regexp", ", one `Feed`", "the regexp `(?s)<think>.*?</think>`, once", whole, rivals.Regexp(reply))
		add("parse", ", `Parse`, `Visible`, `Reasoning`", "Ollama's parser, one call",
			func() rivals.Run { return rivals.Parse(rivals.Qwen3(), reply) }, rivals.OllamaReply(reply))
		add("deltas", ", in deltas of 4", "Ollama's parser, the same deltas",
			func() rivals.Run { return rivals.Reply(rivals.Qwen3(), sotto.Options{}, cut...) }, rivals.OllamaReply(cut...))
	}
	small := replies.Deltas(replies.Whole(16<<10, 0.5), 16)
	return append(rows, row{
		id: "whole/16 KiB/regexp", what: "16 KiB, half reasoning, in deltas of 16", against: "the regexp on all that has come, at each delta",
		a: func() rivals.Run { return rivals.Reply(rivals.Qwen3(), sotto.Options{}, small...) },
		b: func() rivals.Run { return rivals.RegexpStream(small...) },
	})
}

// of reads a reply in deltas of size bytes, or in one delta if size is 0.
func of(g *sotto.Grammar, reply string, size int) func() rivals.Run {
	return func() rivals.Run {
		if size > 0 {
			return rivals.Reply(g, sotto.Options{}, replies.Deltas(reply, size)...)
		}
		return rivals.Reply(g, sotto.Options{MaxHold: -1}, reply)
	}
}

func how(size int) string {
	if size > 0 {
		return fmt.Sprintf("in deltas of %d", size)
	}
	return "one `Feed`"
}

func growthRows() []row {
	var rows []row
	for _, size := range []int{4, 0} {
		for _, n := range []int{64 << 10, 1 << 20, 16 << 20} {
			rows = append(rows, row{
				id:   fmt.Sprintf("growth/%s/%d", long(n), size),
				what: fmt.Sprintf("%s, half reasoning, %s", long(n), how(size)), against: "16 KiB",
				a: of(rivals.Qwen3(), replies.Whole(n, 0.5), size), b: of(rivals.Qwen3(), replies.Whole(16<<10, 0.5), size),
				scale: float64(n) / (16 << 10),
			})
		}
	}
	return rows
}

// hostileRows compare a hostile byte, in deltas of any size, with a byte of an
// ordinary reply in the deltas of a model: 4 bytes.
func hostileRows() []row {
	ordinary := replies.Whole(64<<10, 0.5)
	var rows []row
	for _, size := range []int{4, 0} {
		for _, h := range replies.Hostile {
			reply := h.Of(64 << 10)
			rows = append(rows, row{
				id:   fmt.Sprintf("hostile/%s/%d", h.Name, size),
				what: h.Name + ", " + how(size), against: "ordinary, in deltas of 4",
				a: of(sotto.Default(), reply, size), b: of(sotto.Default(), ordinary, 4),
				scale: float64(len(reply)) / (64 << 10),
			})
		}
	}
	return rows
}

func hostileGrowthRows() []row {
	var rows []row
	for _, size := range []int{4, 0} {
		for _, h := range replies.Hostile {
			for _, n := range []int{64 << 10, 1 << 20, *big} {
				if n > 1<<20 && size > 0 {
					continue
				}
				rows = append(rows, row{
					id:   fmt.Sprintf("hostile-growth/%s/%s/%d", h.Name, long(n), size),
					what: fmt.Sprintf("%s, %s, %s", h.Name, long(n), how(size)), against: "1 KiB",
					a:      func() rivals.Run { return of(sotto.Default(), h.Of(n), size)() },
					b:      of(sotto.Default(), h.Of(1<<10), size),
					scale:  float64(len(h.Of(n))) / float64(len(h.Of(1<<10))),
					series: fmt.Sprint(h.Name, size),
				})
			}
		}
	}
	return rows
}

func long(n int) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// allocations counts the allocations of 64 KiB in deltas, in steady state.
func allocations() (rows []results.Row) {
	if *only != "" && !strings.Contains("allocations", *only) {
		return nil
	}
	fmt.Printf("\nAllocations of 64 KiB in deltas, steady state\n\n%s", results.Head)
	for _, in := range streams {
		for _, size := range []int{1, 4, 16, 64} {
			deltas := replies.Deltas(in.body, size)
			most := 0.0
			for _, g := range grammars {
				run := rivals.Deltas(g.g, in.head, deltas)
				run()
				most = max(most, testing.AllocsPerRun(5, func() { run() }))
			}
			other := rivals.OllamaDeltas(in.head, deltas)
			r := results.Row{
				ID: fmt.Sprintf("allocations/%s/%d", in.name, size), What: fmt.Sprintf("%s, %d bytes", in.name, size), Against: "Ollama's parser",
				Unit: "allocations", Base: testing.AllocsPerRun(5, func() { other() }), Value: most, Absolute: true,
			}
			fmt.Print(r)
			rows = append(rows, r)
		}
	}
	return rows
}
