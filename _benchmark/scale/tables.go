package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// scenarios are the numbers of streams that docs/scale.md answers for.
var scenarios = []float64{1e3, 1e5, 1e7}

// cell is how many streams are simulated one by one. More are cells of this size, each
// with its own balancer, as one balancer does not hold 10^7 connections either.
const cell = 1e5

// table writes a table of Markdown. The first column is text, the others are numbers.
func table(head []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(head)
	align := []string{"---"}
	for range head[1:] {
		align = append(align, "---:")
	}
	line(align)
	for _, r := range rows {
		line(r)
	}
	return b.String()
}

// number writes a number with two or three digits that count, and a unit's prefix where
// that is shorter.
func number(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1e15:
		return trim(v/1e15) + " P"
	case a >= 1e12:
		return trim(v/1e12) + " T"
	case a >= 1e9:
		return trim(v/1e9) + " G"
	case a >= 1e6:
		return trim(v/1e6) + " M"
	case a >= 1e4:
		return trim(v/1e3) + " k"
	}
	return trim(v)
}

func trim(v float64) string {
	if math.Abs(v) >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// bytes writes a number of bytes.
func bytes(v float64) string {
	s := number(v)
	if strings.Contains(s, " ") {
		return s + "B"
	}
	return s + " B"
}

func percent(v float64) string { return strconv.FormatFloat(100*v, 'g', 2, 64) + " %" }

func usd(v float64) string {
	digits := int(max(math.Floor(math.Log10(max(v, 1)))-1, 0))
	unit := math.Pow(10, float64(digits))
	text := strconv.FormatFloat(math.Round(v/unit)*unit, 'f', 0, 64)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return "$" + text
}

func power(v float64) string { return fmt.Sprintf("10^%.0f streams", math.Log10(v)) }

// tables are all tables of docs/scale.md, by name.
func tables(in *Inputs) map[string]string {
	return map[string]string{
		"answers": answers(in), "gateway": oneGateway(in), "checked": checked(in), "measured": validation(in),
		"batch": batches(in), "constants": constants(append(in.Measured, in.Together...)), "assumed": constants(in.Assumed),
	}
}

// answers is a column for each number of streams.
func answers(in *Inputs) string {
	head := []string{""}
	var plans []*Fleet
	for _, n := range scenarios {
		head = append(head, power(n))
		plans = append(plans, Plan(in, n))
	}
	var rows [][]string
	row := func(name string, value func(f *Fleet) string) {
		cells := []string{name}
		for _, f := range plans {
			cells = append(cells, value(f))
		}
		rows = append(rows, cells)
	}
	row("requests a second", func(f *Fleet) string { return number(f.Arrivals) })
	row("open streams at the peak", func(f *Fleet) string { return number(f.Peak) })
	row("saturates first in a gateway", func(f *Fleet) string { return f.Needs[0].Resource })
	row("gateways, one of which may be lost", func(f *Fleet) string { return number(f.Replicas) })
	row("cores that are busy on average", func(f *Fleet) string { return number(f.CPU) })
	row("share of the cores in the busy minutes", func(f *Fleet) string { return percent(f.Busy) })
	row("… after one gateway was lost", func(f *Fleet) string { return percent(f.AfterCPU) })
	row("a frame then waits for a core", func(f *Fleet) string { return fmt.Sprintf("%.3g µs", f.Wait*1e6) })
	row("streams that break if one gateway is killed", func(f *Fleet) string { return number(f.Killed) })
	row("streams that a rolling update breaks", func(f *Fleet) string { return percent(f.Rolling) })
	row("network, each way", func(f *Fleet) string { return bytes(f.Network) + "/s" })
	row("store: writes and reads a second", func(f *Fleet) string { return number(f.Store.Puts) + " and " + number(f.Store.Gets/2) })
	row("store: network", func(f *Fleet) string { return bytes(f.Store.Bytes) + "/s" })
	row("store: processor", func(f *Fleet) string { return trim(f.Store.CPU) + " cores" })
	row("store: memory, `restored-for: 6h`", func(f *Fleet) string { return bytes(f.Store.Memory) })
	row("… nodes, and what decides", func(f *Fleet) string { return number(f.Store.Nodes) + ", " + f.Store.By })
	row("store: memory, `restored-for: 10m`", func(f *Fleet) string { return bytes(f.Store.Short) })
	row("… nodes, and what decides", func(f *Fleet) string { return number(f.Store.ShortNodes) + ", " + f.Store.ShortBy })
	row("callers that there must be", func(f *Fleet) string { return number(f.Store.Callers) })
	row("record written", func(f *Fleet) string { return bytes(f.Record) + "/s" })
	row("bucket: writes a second", func(f *Fleet) string { return number(f.Writes) })
	row("bucket: prefixes", func(f *Fleet) string { return number(f.Prefixes) })
	row("bucket: kept, 30 days", func(f *Fleet) string { return bytes(f.Kept) })
	for i, c := range plans[0].Costs {
		row("a month: "+c.What, func(f *Fleet) string { return usd(f.Costs[i].USD) })
	}
	return table(head, rows)
}

// oneGateway says how far each resource of a gateway goes.
func oneGateway(in *Inputs) string {
	f := Plan(in, scenarios[0])
	var rows [][]string
	for _, n := range f.Needs {
		rows = append(rows, []string{n.Resource, number(n.Streams()), percent(f.Needs[0].Streams() * n.Each / n.Has)})
	}
	return table([]string{"resource of a gateway", "suffices for streams", "used when the first is at its target"}, rows)
}

// A Comparison is a figure of the closed form beside that of the simulation.
type Comparison struct {
	What          string
	Closed, Found float64
	Bound         float64 // of the relative difference, or, if Within, of the difference
	Within, Above bool    // Above: the closed form may be larger, and not smaller
	Why           string
}

// OK reports whether they agree.
func (c Comparison) OK() bool {
	scale := math.Abs(c.Closed)
	if c.Within {
		scale = 1
	}
	d := c.Found - c.Closed
	if c.Above && d < 0 {
		return true
	}
	return math.Abs(d) <= c.Bound*scale
}

// compare simulates what can be simulated of a number of streams.
func compare(in *Inputs, streams float64, seed uint64) []Comparison {
	f := Plan(in, streams)
	s := Simulate(in, f, seed)
	n := f.Peak / (f.Replicas - 1)
	wait, _ := SimulateFrames(in, int(n), seed)
	mean := streams * in.Get("burst")
	// Of a thousand seconds about one lies above the thousandth; the seconds of ten
	// minutes depend on each other, because a stream is open for many of them.
	return []Comparison{
		{What: "open streams, mean", Closed: mean, Found: s.Open, Bound: 3 / math.Sqrt(mean)},
		{What: "open streams, the most in ten minutes", Closed: f.Peak, Found: s.Peak, Bound: 0.02, Above: true, Why: "ten minutes are seven lifetimes of a stream: too few for the thousandth to be met"},
		{What: "seconds of a stream", Closed: f.Lasts, Found: s.Lasts, Bound: 0.05},
		{What: "share of the cores", Closed: f.Busy, Found: s.Busy, Bound: 0.05},
		{What: "writes to the store a second", Closed: f.Store.Puts, Found: s.Puts, Bound: 0.05},
		{What: "streams broken by a kill", Closed: f.Killed, Found: s.Killed, Bound: 0.1},
		{What: "the fullest gateway after it, beside what one takes", Closed: f.After / (f.Replicas - 1) / f.Each, Found: s.After, Bound: 0.05, Within: true},
		{What: "share broken by a rolling update", Closed: f.Rolling, Found: s.Rolling, Bound: 0.02, Within: true},
		{What: "µs that a frame waits at the peak, one lost", Closed: f.Wait * 1e6, Found: wait * 1e6, Bound: 0.15},
		{What: "seconds of work that wait after a kill", Closed: f.Backlog, Found: s.Backlog, Bound: 0.05, Within: true},
	}
}

func checked(in *Inputs) string {
	var rows [][]string
	for _, n := range []float64{1e3, cell} {
		for _, c := range compare(in, n, 1) {
			verdict := "yes"
			switch {
			case !c.OK():
				verdict = "**no**"
			case c.Above && c.Found < c.Closed*(1-c.Bound):
				verdict = "less: " + c.Why
			}
			rows = append(rows, []string{power(n) + ": " + c.What, trim(c.Closed), trim(c.Found), verdict})
		}
	}
	return strings.ReplaceAll(table([]string{"", "closed form", "simulation", "agree"}, rows), "---: |\n", "--- |\n")
}

// Predictions are what the model says of the measured run.
func predictions(in *Inputs) []Comparison {
	g := in.Get
	replies, frames := g("together_replies"), g("together_frames")
	text := g("together_text")
	cpu := replies * (frames*g("cpu_frame_full") + g("cpu_stream") + g("cpu_put") + g("cpu_record_reply") + g("cpu_record_byte")*text)
	return []Comparison{
		{What: "processor time of the gateway, s", Closed: cpu, Found: g("together_cpu")},
		{What: "memory of the gateway, MB", Closed: (g("memory_idle") + g("together_streams")*(g("memory_stream_full")+text)) / 1e6, Found: g("together_memory") / 1e6},
		{What: "descriptors", Closed: g("together_streams") * g("descriptors_stream"), Found: g("together_descriptors")},
		{What: "bytes of the record, MB", Closed: replies * (g("record_reply") + g("record_byte")*text) / 1e6, Found: g("together_record") / 1e6},
		{What: "writes to the store, those that were left out included", Closed: replies * g("store_puts"), Found: g("together_puts") + g("together_missed")},
		{What: "processor time of the store for a write, µs", Closed: 1e6 * g("store_cpu_put"), Found: 1e6 * g("together_store_cpu") / g("together_puts")},
	}
}

func validation(in *Inputs) string {
	var rows [][]string
	for _, c := range predictions(in) {
		rows = append(rows, []string{c.What, trim(c.Closed), trim(c.Found), fmt.Sprintf("%+.0f %%", 100*(c.Found/c.Closed-1))})
	}
	return table([]string{"", "predicted", "measured", "difference"}, rows)
}

func batches(in *Inputs) string {
	var rows [][]string
	for _, command := range []string{"strip", "score"} {
		for _, n := range []float64{1, 16, 100, 400} {
			b, s := PlanBatch(in, command, n), SimulateBatch(in, command, int(n), 1)
			rows = append(rows, []string{fmt.Sprintf("`%s`, %.0f tasks, bound by the %s", command, n, b.Bound), minutes(b.Seconds), minutes(s.Seconds), bytes(b.Rate) + "/s",
				number(math.Round(b.Reads)), number(math.Round(b.Writes)), fmt.Sprintf("$%.2f", b.USD)})
		}
	}
	return table([]string{"200 GB of replies", "takes", "simulated", "rate", "reads", "writes", "cost"}, rows)
}

func minutes(s float64) string {
	if s < 90 {
		return fmt.Sprintf("%.0f s", s)
	}
	return trim(s/60) + " min"
}

func constants(list []Constant) string {
	var rows [][]string
	for _, c := range list {
		rows = append(rows, []string{"`" + c.Name + "`", strings.TrimSpace(scientific(c.Value) + " " + c.Unit), c.From})
	}
	return strings.ReplaceAll(table([]string{"constant", "value", "from"}, rows), "---: |\n", "--- |\n")
}

func scientific(v float64) string {
	if a := math.Abs(v); v != 0 && a < 0.001 {
		return strconv.FormatFloat(v, 'e', 2, 64)
	}
	if v >= 1e4 {
		return number(v)
	}
	return strconv.FormatFloat(v, 'g', 5, 64)
}
