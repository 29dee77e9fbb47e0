// Ratios runs Sotto and its rivals in pairs, A B A B …, and prints a Markdown table
// of the medians of their ratios. These stay comparable on a noisy machine.
//
//	cd _benchmark && go run ./ratios
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sotto-llm/sotto"
	rivals "github.com/sotto-llm/sotto/_benchmark"
	"github.com/sotto-llm/sotto/internal/replies"
)

var (
	rounds = flag.Int("rounds", 15, "pairs per row")
	slice  = flag.Duration("time", 10*time.Millisecond, "time per half of a pair")
	only   = flag.String("only", "", "run the rows whose text contains this")
	big    = flag.Int("big", 64<<20, "bytes of the longest hostile reply")
)

// A row compares a with b. a passes if it is at least want times as fast.
type row struct {
	what, against string
	a, b          func() rivals.Run // made when the row's turn comes
	want          float64
	scale         float64 // bytes of a over bytes of b, where they differ
	series        string  // rows in a series take longer and longer; it ends with the first that is far too slow
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
	for _, s := range sections {
		title := false
		slow := map[string]bool{}
		for _, r := range s.rows {
			if slow[r.series] || !strings.Contains(s.title+": "+r.what+" | "+r.against, *only) {
				continue
			}
			if !title {
				fmt.Printf("\n%s\n\n| what | against | times as fast | middle half | target | |\n| --- | --- | ---: | ---: | ---: | --- |\n", s.title)
				title = true
			}
			if m := r.print(); r.series != "" && m < r.want/4 {
				slow[r.series] = true
			}
		}
	}
	allocations()
}

// print measures the row and returns its ratio.
func (r row) print() float64 {
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
	slices.Sort(ratios)
	m := ratios[len(ratios)/2]
	target, verdict := "", ""
	if r.want > 0 {
		target, verdict = fmt.Sprintf("%.3g", r.want), "met"
		if m < r.want {
			verdict = "**missed**"
		}
	}
	fmt.Printf("| %s | %s | %.3g | %.3g–%.3g | %s | %s |\n", r.what, r.against, m,
		ratios[len(ratios)/4], ratios[len(ratios)*3/4], target, verdict)
	return m
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
				r := row{
					what:    fmt.Sprintf("%s, %d bytes, `%s`", in.name, size, g.name),
					against: "Ollama's parser",
					a:       func() rivals.Run { return rivals.Deltas(g.g, in.head, deltas) },
					b:       func() rivals.Run { return rivals.OllamaDeltas(in.head, deltas) },
				}
				if size == 4 {
					r.want = 4
				}
				rows = append(rows, r)
			}
		}
	}
	return rows
}

func replyRows() []row {
	var rows []row
	for _, in := range []struct {
		name  string
		part  float64
		lines float64
	}{{"half reasoning", 0.5, 0}, {"95 % reasoning", 0.95, 0.5}, {"95 % text", 0.05, 0.25}} {
		reply := replies.Whole(1<<20, in.part)
		cut := replies.Deltas(reply, 4)
		whole := func() rivals.Run { return rivals.Reply(rivals.Qwen3(), sotto.Options{}, reply) }
		add := func(what, against string, a func() rivals.Run, b rivals.Run, want float64) {
			rows = append(rows, row{what: in.name + what, against: against, a: a, b: once(b), want: want})
		}
		add(", one `Feed`", "Ollama's parser, one call", whole, rivals.OllamaReply(reply), 8)
		add(", one `Feed`", "a line walk by `IndexByte`", whole, rivals.Lines(reply), in.lines)
		add(", one `Feed`", "an `IndexByte` walk of `<`", whole, rivals.Angles(reply), 0)
		add(", one `Feed`", "the regexp, once", whole, rivals.Regexp(reply), 0)
		add(", `Parse`, `Visible`, `Reasoning`", "Ollama's parser, one call",
			func() rivals.Run { return rivals.Parse(rivals.Qwen3(), reply) }, rivals.OllamaReply(reply), 0)
		add(", in deltas of 4", "Ollama's parser, the same deltas",
			func() rivals.Run { return rivals.Reply(rivals.Qwen3(), sotto.Options{}, cut...) }, rivals.OllamaReply(cut...), 0)
	}
	small := replies.Deltas(replies.Whole(16<<10, 0.5), 16)
	return append(rows, row{
		what: "16 KiB, half reasoning, in deltas of 16", against: "the regexp, on what has come, at each",
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
				what: fmt.Sprintf("%s, half reasoning, %s", long(n), how(size)), against: "16 KiB",
				a: of(rivals.Qwen3(), replies.Whole(n, 0.5), size), b: of(rivals.Qwen3(), replies.Whole(16<<10, 0.5), size),
				scale: float64(n) / (16 << 10), want: 0.5,
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
				what: h.Name + ", " + how(size), against: "ordinary, in deltas of 4",
				a: of(sotto.Default(), reply, size), b: of(sotto.Default(), ordinary, 4), want: 0.1,
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
					what: fmt.Sprintf("%s, %s, %s", h.Name, long(n), how(size)), against: "1 KiB",
					a:    func() rivals.Run { return of(sotto.Default(), h.Of(n), size)() },
					b:    of(sotto.Default(), h.Of(1<<10), size),
					want: 0.5, scale: float64(len(h.Of(n))) / float64(len(h.Of(1<<10))),
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

// allocations prints the allocations of a delta in steady state.
func allocations() {
	if *only != "" && !strings.Contains("allocations", *only) {
		return
	}
	fmt.Printf("\nAllocations of 64 KiB in deltas, steady state\n\n| what | Sotto | Ollama's parser | target | |\n| --- | ---: | ---: | ---: | --- |\n")
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
			verdict := "met"
			if most > 0 {
				verdict = "**missed**"
			}
			fmt.Printf("| %s, %d bytes | %.0f | %.0f | 0 | %s |\n", in.name, size, most,
				testing.AllocsPerRun(5, func() { other() }), verdict)
		}
	}
	fmt.Fprintln(os.Stderr, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
