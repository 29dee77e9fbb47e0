// Load measures the gateway beside a plain reverse proxy, each in its own process,
// and checks every answer.
//
//	cd _benchmark && go run ./load                      # all cases, some minutes
//	cd _benchmark && go run ./load -case one-by-one     # one of them
//	go build -C load/bifrost -o /tmp/bifrost .          # a rival, for the case streams
//	go run ./load -case streams -bifrost /tmp/bifrost
//	go run ./load -case bridge-streams -bifrost /tmp/bifrost
//	go run ./load -case one-by-one -nginx /usr/sbin/nginx
//	go run ./load -case crowd -many 20000               # streams that are open at once, some minutes
//	go run ./load -case constants -sotto /tmp/sotto -o scale/measured.json
//	go run ./load -case together -sotto /tmp/sotto -o scale/together.json
//
// Its own upstream sends one reply of chat completions, half reasoning and half
// answer, in texts of about four bytes. In a round each proxy has its turn. The
// figures are medians over the rounds. The ratio is the median of the rounds'
// ratios, because the machine may be noisy.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/_benchmark/internal/results"
	"github.com/sotto-llm/sotto/_benchmark/internal/traffic"
)

var (
	only      = flag.String("case", "all", "one-by-one, bursts, streams, bursts-whole, streams-whole, delay, many, bridge-streams, bridge-bursts, bridge-many or all; crowd, which holds -many streams open at once; or constants, or together, for the model in scale")
	rounds    = flag.Int("rounds", 5, "rounds per row")
	period    = flag.Duration("time", 2*time.Second, "time of one proxy's turn")
	variants  = flag.String("variants", "", "variants of the reply, of tags, fields, text and prose; if empty, those of the case")
	bifrost   = flag.String("bifrost", "", "path of the rival that is built from load/bifrost")
	nginx     = flag.String("nginx", "", "path of nginx, as a proxy of the cases one-by-one, bursts, streams, many and those that are whole")
	streamsUp = flag.Int("many", 5000, "streams of the cases many, bridge-many and crowd")
	jsonTo    = flag.String("json", "", "also write the rows to this file")

	role       = flag.String("role", "", "what a child process plays: upstream, plain, gateway, bridge: a gateway whose clients speak the Messages API, recording: a gateway with a record, indexed: one that also makes its sidecars, or crowd: clients")
	recordTo   = flag.String("record", "", "… of a gateway with a record: its folder")
	upFlags    = traffic.UpstreamFlags(flag.CommandLine)
	to         = flag.String("to", "", "of a child that is a proxy: its upstream")
	profile    = flag.String("profile", "", "write a processor profile of the gateway to this file")
	recProfile = flag.String("record-profile", "", "write a processor profile of the gateway with a record to this file")
	heap       = flag.String("heap", "", "write a heap profile of the gateway to this file")
)

func main() {
	flag.Parse()
	if *role != "" {
		serve := serve
		if *role == "crowd" {
			serve = func(string) error { return joinCrowd() }
		}
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

// A loadCase is a way to load the proxies.
type loadCase struct {
	name     string
	variants []string
	args     []string // of the upstream
	rivals   bool     // the rival also runs
	records  bool     // a gateway with a record also runs
	nginx    bool     // nginx also runs
	bridge   bool     // a gateway whose clients speak another API runs, beside one without, in place of the plain proxy
	fresh    bool     // each turn starts new proxies
	shorter  int      // if set, turns are this many times shorter, and there are more of them
	turn     traffic.Turn
}

func cases() []loadCase {
	perStream := int(*period / (2 * time.Millisecond))
	const slow = 500 * time.Millisecond
	const shorter = 3 // the tail of a delay comes from other work on the machine: run many turns, close together
	return []loadCase{
		{name: "one-by-one", variants: []string{"tags", "fields"}, turn: traffic.OneByOne, nginx: true, rivals: true,
			args: []string{"-interval", "2ms", "-events", fmt.Sprint(perStream)}},
		{name: "bursts", variants: []string{"tags", "fields"}, turn: traffic.Bursts(*period), nginx: true, rivals: true, args: []string{"-events", "4000"}},
		{name: "streams", variants: []string{"tags", "fields"}, turn: traffic.Short(*period), rivals: true, nginx: true, records: true},
		{name: "bursts-whole", variants: []string{"tags", "fields"}, turn: traffic.Bursts(*period), nginx: true, rivals: true, args: []string{"-events", "4000", "-batch", "0"}},
		{name: "streams-whole", variants: []string{"tags", "fields"}, turn: traffic.Short(*period), rivals: true, nginx: true, records: true, args: []string{"-batch", "0"}},
		{name: "delay", variants: []string{"tags"}, turn: traffic.Delays, shorter: shorter,
			args: []string{"-interval", "10ms", "-stamped", "-events", fmt.Sprint(int(*period / shorter / (10 * time.Millisecond)))}},
		{name: "many", variants: []string{"tags"}, turn: traffic.Many(*streamsUp, slow), fresh: true, nginx: true, args: []string{"-interval", slow.String(), "-events", "16"}},
		{name: "bridge-streams", variants: []string{"tags", "fields"}, turn: traffic.Short(*period), rivals: true, bridge: true},
		{name: "bridge-bursts", variants: []string{"tags", "fields"}, turn: traffic.Bursts(*period), bridge: true, args: []string{"-events", "4000"}},
		{name: "bridge-many", variants: []string{"tags"}, turn: traffic.Many(*streamsUp, slow), bridge: true, fresh: true, args: []string{"-interval", slow.String(), "-events", "16"}},
	}
}

func measure() error {
	if err := traffic.ManyFiles(); err != nil {
		return err
	}
	if *only == "constants" || *only == "together" {
		return constants()
	}
	if *only == "crowd" {
		return crowd(*streamsUp)
	}
	fmt.Print(results.Head)
	var rows []results.Row
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
			some, err := c.run(v)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", c.name, v, err)
			}
			for _, r := range some {
				fmt.Print(r)
			}
			rows = append(rows, some...)
		}
	}
	if !found {
		return fmt.Errorf("%q is no case", *only)
	}
	if *jsonTo == "" {
		return nil
	}
	return results.Write(*jsonTo, rows)
}

func (c loadCase) run(v string) ([]results.Row, error) {
	b, err := traffic.NewBench(append([]string{"-variant", v}, c.args...)...)
	if err != nil {
		return nil, err
	}
	defer b.Up.Stop()
	for name, want := range map[string]traffic.Said{
		"plain": b.Script.Plain, "gateway": b.Script.Gateway, "recording": b.Script.Gateway, "indexed": b.Script.Gateway, "bifrost": b.Script.Plain, "nginx": b.Script.Plain,
	} {
		b.Judges[name] = &traffic.Judge{Want: want, Stamped: b.Script.Stamped}
	}
	b.Judges["bridge"] = &traffic.Judge{Want: b.Script.Gateway, Messages: true}
	b.Judges["bifrost-bridge"] = &traffic.Judge{Want: b.Script.Plain, Messages: true}
	names := c.proxies(v)
	measured, err := c.rounds(b, names)
	if err != nil {
		return nil, err
	}
	var rows []results.Row
	for _, name := range names[1:] {
		switch id := "gateway/" + c.name + "/" + v + "/"; name {
		case "gateway":
			rows = append(rows, c.compare(id, v, "a plain proxy", measured["plain"], measured[name])...)
		case "bridge":
			rows = append(rows, c.compare(id, v, "the gateway without a bridge", measured["gateway"], measured[name])...)
		case "bifrost-bridge":
			rows = append(rows, c.compare(id+"bifrost/", v, "bifrost", measured[name], measured["bridge"])...)
		case "recording", "indexed":
			rows = append(rows, c.compare(id+name+"/", v+", "+withRecord[name], "the gateway without a record", measured["gateway"], measured[name])...)
		default:
			rows = append(rows, c.compare(id+name+"/", v, name, measured[name], measured["gateway"])...)
		}
	}
	return rows, nil
}

// withRecord are the gateways with a record, and what the tables call them.
var withRecord = map[string]string{"recording": "recorded", "indexed": "recorded and indexed"}

// proxies are the names of those that run, the one that others are compared with first.
func (c loadCase) proxies(v string) []string {
	names, rival := []string{"plain", "gateway"}, "bifrost"
	if c.bridge {
		names, rival = []string{"gateway", "bridge"}, "bifrost-bridge"
	}
	if c.rivals && *bifrost != "" && v == "tags" { // it does not know a field for reasoning
		names = append(names, rival)
	}
	if c.records {
		names = append(names, "recording", "indexed")
	}
	if c.nginx && *nginx != "" {
		names = append(names, "nginx")
	}
	return names
}

// rounds gives each proxy its turn in each round, and returns their figures.
func (c loadCase) rounds(b *traffic.Bench, names []string) (map[string][][]traffic.Figure, error) {
	running := map[string]*traffic.Process{}
	defer func() {
		for _, p := range running {
			p.Stop()
		}
	}()
	measured := map[string][][]traffic.Figure{}
	for round := range *rounds * max(c.shorter, 1) {
		turns := slices.Clone(names)
		if round%2 == 1 {
			slices.Reverse(turns)
		}
		for _, name := range turns {
			p := running[name]
			if p == nil {
				var err error
				if p, err = proxy(b, name); err != nil {
					return nil, err
				}
				running[name] = p
			}
			figures, err := c.turn(b, p)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			measured[name] = append(measured[name], figures)
			if c.fresh {
				p.Stop()
				delete(running, name)
			}
		}
	}
	return measured, nil
}

// proxy starts a proxy and warms it up. The proxy opens its connections, and the
// gateway learns how replies begin.
func proxy(b *traffic.Bench, name string) (p *traffic.Process, err error) {
	up := "http://" + b.Up.Addr
	switch {
	case name == "bifrost", name == "bifrost-bridge":
		p, err = traffic.Run(name, *bifrost, up)
	case name == "nginx":
		p, err = startNginx(*nginx, b.Up.Addr)
	case withRecord[name] != "":
		dir, err := os.MkdirTemp("", "load-record")
		if err != nil {
			return nil, err
		}
		if p, err = traffic.Start(name, "-to", up, "-record", dir, "-profile", *recProfile); err != nil {
			return nil, err
		}
		p.Dir = dir
	case name == "gateway", name == "bridge":
		p, err = traffic.Start(name, "-to", up, "-profile", *profile, "-heap", *heap)
	default:
		p, err = traffic.Start(name, "-to", up)
	}
	if err != nil {
		return nil, err
	}
	if err := b.Warm(p); err != nil {
		p.Stop()
		return nil, fmt.Errorf("warming up: %w", err)
	}
	return p, nil
}

// compare makes the rows of a proxy against another.
func (c loadCase) compare(id, reply, against string, base, other [][]traffic.Figure) []results.Row {
	var rows []results.Row
	for i, f := range base[0] {
		var a, b []float64
		for r := range base {
			a, b = append(a, base[r][i].Value), append(b, other[r][i].Value)
		}
		rows = append(rows, results.Of(id+f.ID, f.Name+", "+c.name+", "+reply, against, f.Unit, a, b))
	}
	return rows
}
