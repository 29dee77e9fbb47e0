// Load measures the gateway beside a plain reverse proxy, each in its own process,
// and checks every answer.
//
//	cd _benchmark && go run ./load                      # all cases, some minutes
//	cd _benchmark && go run ./load -case one-by-one     # one of them
//	go build -C load/bifrost -o /tmp/bifrost .          # a rival, for the case streams
//	go run ./load -case streams -bifrost /tmp/bifrost
//	go run ./load -case one-by-one -nginx /usr/sbin/nginx
//	go run ./load -case constants -sotto /tmp/sotto -o scale/measured.json
//	go run ./load -case together -sotto /tmp/sotto -o scale/together.json
//
// Its own upstream sends one reply of chat completions, half reasoning and half
// answer, in texts of about four bytes. In a round each proxy has its turn. The
// figures are medians over the rounds. The ratio is the median of the rounds'
// ratios, because the machine may be noisy.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

var (
	only      = flag.String("case", "all", "one-by-one, bursts, streams, bursts-whole, streams-whole, delay, many or all; or constants, or together, for the model in scale")
	rounds    = flag.Int("rounds", 5, "rounds per row")
	period    = flag.Duration("time", 2*time.Second, "time of one proxy's turn")
	variants  = flag.String("variants", "", "variants of the reply, of tags, fields, text and prose; if empty, those of the case")
	bifrost   = flag.String("bifrost", "", "path of the rival that is built from load/bifrost")
	nginx     = flag.String("nginx", "", "path of nginx, as a proxy of the case one-by-one")
	streamsUp = flag.Int("many", 5000, "streams of the case many")

	role       = flag.String("role", "", "what a child process plays: upstream, plain, gateway, or recording: a gateway with a record")
	recordTo   = flag.String("record", "", "… of a gateway with a record: its folder")
	variant    = flag.String("variant", "tags", "of a child that is the upstream: its reply")
	events     = flag.Int("events", 144, "… the reply's events")
	interval   = flag.Duration("interval", 0, "… the time before each; if zero, full speed")
	batch      = flag.Int("batch", 1, "… at full speed, the frames of a write; 0 for all")
	stamped    = flag.Bool("stamped", false, "… whether texts say when they were sent")
	to         = flag.String("to", "", "of a child that is a proxy: its upstream")
	profile    = flag.String("profile", "", "write a processor profile of the gateway to this file")
	recProfile = flag.String("record-profile", "", "write a processor profile of the gateway with a record to this file")
	heap       = flag.String("heap", "", "write a heap profile of the gateway to this file")
)

func main() {
	flag.Parse()
	if *role != "" {
		if err := serve(*role); err != nil {
			fmt.Fprintln(os.Stderr, *role+":", err)
			os.Exit(1)
		}
		return
	}
	if err := measure(); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// A figure is one measurement of a turn. If more is better, the ratio must be at
// least want, otherwise at most want. If want is 0, the figure has no target.
type figure struct {
	name  string
	unit  string
	value float64
	want  float64
	more  bool
}

// A loadCase is a way to load the proxies.
type loadCase struct {
	name     string
	variants []string
	args     []string // of the upstream
	rivals   bool     // the rival also runs
	records  bool     // a gateway with a record also runs
	nginx    bool     // nginx also runs
	fresh    bool     // each turn starts new proxies
	shorter  int      // if set, turns are this many times shorter, and there are more of them
	turn     func(b *bench, p *process) ([]figure, error)
}

func cases() []loadCase {
	perStream := int(*period / (2 * time.Millisecond))
	const shorter = 3 // the tail of a delay comes from other work on the machine: run many turns, close together
	return []loadCase{
		{name: "one-by-one", variants: []string{"tags", "fields"}, turn: oneByOne, nginx: true,
			args: []string{"-interval", "2ms", "-events", fmt.Sprint(perStream)}},
		{name: "bursts", variants: []string{"tags", "fields"}, turn: bursts, args: []string{"-events", "4000"}},
		{name: "streams", variants: []string{"tags", "fields"}, turn: streams(0.85), rivals: true, records: true},
		{name: "bursts-whole", variants: []string{"tags", "fields"}, turn: bursts, args: []string{"-events", "4000", "-batch", "0"}},
		{name: "streams-whole", variants: []string{"tags", "fields"}, turn: streams(0.75), rivals: true, records: true, args: []string{"-batch", "0"}},
		{name: "delay", variants: []string{"tags"}, turn: delays, shorter: shorter,
			args: []string{"-interval", "10ms", "-stamped", "-events", fmt.Sprint(int(*period / shorter / (10 * time.Millisecond)))}},
		{name: "many", variants: []string{"tags"}, turn: many, fresh: true, args: []string{"-interval", "500ms", "-events", "16"}},
	}
}

func measure() error {
	if err := manyFiles(); err != nil {
		return err
	}
	if *only == "constants" || *only == "together" {
		return constants()
	}
	fmt.Print("| case | reply | figure | plain proxy | gateway | ratio | lowest … highest | target | |\n| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n")
	found := false
	for _, c := range cases() {
		if *only != "all" && c.name != *only {
			continue
		}
		found = true
		if *variants != "" {
			c.variants = strings.Split(*variants, ",")
		}
		for _, v := range c.variants {
			if err := c.run(v); err != nil {
				return fmt.Errorf("%s, %s: %w", c.name, v, err)
			}
		}
	}
	if !found {
		return fmt.Errorf("%q is no case", *only)
	}
	return nil
}

// A bench is what the turns of a case share.
type bench struct {
	script *script
	judges map[string]*judge // of each proxy's answers
	up     *process
}

func (c loadCase) run(v string) (err error) {
	args := append([]string{"-variant", v}, c.args...)
	b := &bench{judges: map[string]*judge{}}
	if b.up, err = start("upstream", args...); err != nil {
		return err
	}
	defer b.up.stop()
	if b.script, err = scriptOf(args); err != nil {
		return err
	}
	for name, want := range map[string]said{
		"plain": b.script.plain, "gateway": b.script.gw, "recording": b.script.gw, "bifrost": b.script.plain, "nginx": b.script.plain,
	} {
		b.judges[name] = &judge{want: want, stamped: b.script.stamped}
	}

	names := []string{"plain", "gateway"}
	if c.rivals && *bifrost != "" && v == "tags" { // it does not know a field for reasoning
		names = append(names, "bifrost")
	}
	if c.records {
		names = append(names, "recording")
	}
	if c.nginx && *nginx != "" {
		names = append(names, "nginx")
	}
	running := map[string]*process{}
	defer func() {
		for _, p := range running {
			p.stop()
		}
	}()
	results := map[string][][]figure{}
	for round := range *rounds * max(c.shorter, 1) {
		turns := slices.Clone(names)
		if round%2 == 1 {
			slices.Reverse(turns)
		}
		for _, name := range turns {
			p := running[name]
			if p == nil {
				if p, err = b.proxy(name); err != nil {
					return err
				}
				running[name] = p
			}
			figures, err := c.turn(b, p)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			results[name] = append(results[name], figures)
			if c.fresh {
				p.stop()
				delete(running, name)
			}
		}
	}
	for _, name := range names[1:] {
		than := "plain"
		if name == "recording" {
			than = "gateway"
		}
		report(c.name, v, name, results[than], results[name])
	}
	return nil
}

// scriptOf makes the script that the upstream makes from the same flags.
func scriptOf(args []string) (*script, error) {
	f := flag.NewFlagSet("", flag.ContinueOnError)
	v := f.String("variant", "tags", "")
	n := f.Int("events", 144, "")
	stamped := f.Bool("stamped", false, "")
	f.Duration("interval", 0, "")
	f.Int("batch", 0, "")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	return newScript(*v, *n, *stamped)
}

// proxy starts a proxy and warms it up. The proxy opens its connections, and the
// gateway learns how replies begin.
func (b *bench) proxy(name string) (p *process, err error) {
	up := "http://" + b.up.addr
	switch {
	case name == "bifrost":
		p, err = run(name, *bifrost, up)
	case name == "nginx":
		p, err = startNginx(*nginx, b.up.addr)
	case name == "recording":
		dir, err := os.MkdirTemp("", "load-record")
		if err != nil {
			return nil, err
		}
		if p, err = start(name, "-to", up, "-record", dir, "-profile", *recProfile); err != nil {
			return nil, err
		}
		p.dir = dir
	case name == "gateway":
		p, err = start(name, "-to", up, "-profile", *profile, "-heap", *heap)
	default:
		p, err = start(name, "-to", up)
	}
	if err != nil {
		return nil, err
	}
	const each = 3
	warm := newClient(p.addr, b.judges[name], unpacedHeader+": 1\r\n")
	if err := together([]*client{warm}, func(c *client) error {
		var all error
		for range each {
			all = errors.Join(all, c.exchange())
		}
		return all
	}); err != nil {
		p.stop()
		return nil, fmt.Errorf("warming up: %w", err)
	}
	return p, nil
}

// report prints the rows of a proxy beside the plain one.
func report(name, variant, who string, plain, other [][]figure) {
	switch who {
	case "gateway":
	case "recording":
		name += ", recording, beside the gateway without"
	default:
		name += ", " + who
	}
	for i, f := range plain[0] {
		var a, b, ratios []float64
		for r := range plain {
			a = append(a, plain[r][i].value)
			b = append(b, other[r][i].value)
			ratios = append(ratios, other[r][i].value/plain[r][i].value)
		}
		target, verdict := "", ""
		if who == "recording" && f.more {
			f.want = 0.85
		}
		if f.want > 0 && (who == "gateway" || who == "recording" && f.more) {
			sign, met := "≤", median(ratios) <= f.want
			if f.more {
				sign, met = "≥", median(ratios) >= f.want
			}
			target, verdict = fmt.Sprintf("%s %.4g", sign, f.want), "**missed**"
			if met {
				verdict = "met"
			}
		}
		fmt.Printf("| %s | %s | %s | %.4g %s | %.4g %s | %.2f | %.2f … %.2f | %s | %s |\n", name, variant, f.name,
			median(a), f.unit, median(b), f.unit, median(ratios), slices.Min(ratios), slices.Max(ratios), target, verdict)
	}
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}
