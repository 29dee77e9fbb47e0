package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables into docs/scale.md, and its picture")

const page, drawing = "../../docs/scale.md", "../../docs/images/scale.svg"

func inputs(t *testing.T, settings ...string) *Inputs {
	t.Helper()
	in, err := ReadInputs(settings...)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// TestDocs: the tables and the picture of docs/scale.md are those of the program.
func TestDocs(t *testing.T) {
	in := inputs(t)
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	all := tables(in)
	found := 0
	marked := regexp.MustCompile(`(?s)<!-- scale: ([a-z]+) -->\n.*?<!-- end -->`)
	got := marked.ReplaceAllStringFunc(string(data), func(s string) string {
		name := marked.FindStringSubmatch(s)[1]
		text, ok := all[name]
		if !ok {
			t.Errorf("docs/scale.md asks for a table %q", name)
		}
		found++
		return "<!-- scale: " + name + " -->\n" + text + "<!-- end -->"
	})
	picture := draw(in)
	if *update {
		for name, text := range map[string]string{page: got, drawing: picture} {
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if found != len(all) {
		t.Errorf("docs/scale.md has %d tables of %d", found, len(all))
	}
	if got != string(data) && !*update {
		t.Error("docs/scale.md differs from what the program says: go test ./scale -update")
	}
	if drawn, err := os.ReadFile(drawing); !*update && (err != nil || string(drawn) != picture) {
		t.Errorf("the picture differs: go test ./scale -update (%v)", err)
	}
}

// TestAgree: where the closed form and the simulation differ by more than their bound,
// the test fails. A few seeds, so that it is not luck.
func TestAgree(t *testing.T) {
	in := inputs(t)
	for seed := range uint64(3) {
		for _, c := range compare(in, 1e3, seed) {
			if !c.OK() {
				t.Errorf("seed %d: %s: closed form %g, simulation %g", seed, c.What, c.Closed, c.Found)
			}
		}
	}
	for _, c := range compare(in, 2e4, 1) {
		if !c.OK() {
			t.Errorf("20,000 streams: %s: closed form %g, simulation %g", c.What, c.Closed, c.Found)
		}
	}
}

// TestDeterministic: a seed gives the same figures, and another one other figures.
func TestDeterministic(t *testing.T) {
	in := inputs(t)
	plan := Plan(in, 1e3)
	a, b, c := Simulate(in, plan, 7), Simulate(in, plan, 7), Simulate(in, plan, 8)
	if !reflect.DeepEqual(a, b) || reflect.DeepEqual(a, c) {
		t.Errorf("%+v\n%+v\n%+v", a, b, c)
	}
}

// TestBatchAgrees: shards that tasks take one by one need the predicted time, with kills
// that happen often enough to count.
func TestBatchAgrees(t *testing.T) {
	for _, settings := range [][]string{nil, {"batch_killed=5"}} {
		in := inputs(t, settings...)
		for _, command := range []string{"strip", "score"} {
			for _, tasks := range []int{1, 16, 100} {
				b := PlanBatch(in, command, float64(tasks))
				seconds, again := 0.0, 0.0
				const seeds = 40
				for seed := range uint64(seeds) {
					s := SimulateBatch(in, command, tasks, seed)
					seconds, again = seconds+s.Seconds/seeds, again+s.Again/seeds
				}
				// With many tasks, the last shard that was killed is waited for.
				last, _ := shard(in, command)
				if seconds < b.Seconds*0.97 || seconds > b.Seconds*1.03+last {
					t.Errorf("%v %s, %d tasks: predicted %g s, simulated %g s", settings, command, tasks, b.Seconds, seconds)
				}
				if math.Abs(again-b.Again) > 0.02+0.1*b.Again {
					t.Errorf("%v %s: %g of the shards begin again, simulated %g", settings, command, b.Again, again)
				}
			}
		}
	}
}

// TestPredicts: the model is within a third of the measured run, except for the
// processor time of the store, which docs/scale.md explains.
func TestPredicts(t *testing.T) {
	for _, c := range predictions(inputs(t)) {
		bound := 0.34
		if strings.Contains(c.What, "for a write") {
			bound = 1.5
		}
		if math.Abs(c.Found/c.Closed-1) > bound {
			t.Errorf("%s: predicted %g, measured %g", c.What, c.Closed, c.Found)
		}
	}
}

// TestErlang: known values of Erlang's C, and its limits.
func TestErlang(t *testing.T) {
	for _, c := range []struct{ servers, load, want float64 }{
		{1, 0.5, 0.5}, // the probability that a single server is busy
		{2, 1, 1.0 / 3},
		{10, 8, 0.409},
	} {
		if got := erlangC(c.servers, c.load); math.Abs(got-c.want) > 0.001 {
			t.Errorf("erlangC(%g, %g) = %g, want %g", c.servers, c.load, got, c.want)
		}
	}
	// M/D/1 at half load waits a half of its service (Pollaczek and Khinchine).
	if got := frameWait(1, 50, 100); math.Abs(got-0.005) > 1e-9 {
		t.Errorf("frameWait = %g", got)
	}
	if !math.IsInf(frameWait(2, 200, 100), 1) {
		t.Error("an overloaded gateway has a wait")
	}
}

// TestLengths: of lengths from 0 to 1, evenly spread, all moments are known.
func TestLengths(t *testing.T) {
	l := Lengths{0, 0.25, 0.5, 0.75, 1}
	for what, pair := range map[string][2]float64{
		"mean": {l.Mean(), 0.5}, "median": {l.At(0.5), 0.5}, "most": {l.At(1), 1}, "over": {l.Over(0.3), 0.7},
		// E[L²]/(2E[L]) = (1/3)/(2/2)
		"held": {l.Held(), 1.0 / 3},
		// x(1−x)/½ is largest in the middle.
		"restarted": {l.MostRestarted(1), 0.5},
		// ∫(1−x) from a to 1, divided by the mean: (1−a)².
		"left": {l.Left(0.4), 0.36}, "all left": {l.Left(0), 1}, "none left": {l.Left(1), 0},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-4 {
			t.Errorf("%s: %g, want %g", what, pair[0], pair[1])
		}
	}
}

// TestPlan: what must hold for any number of streams.
func TestPlan(t *testing.T) {
	in := inputs(t)
	before := 0.0
	for n := 1.0; n <= 1e8; n *= 10 {
		f := Plan(in, n)
		if f.Replicas < 2 || (f.Replicas-1)*f.Each < f.Peak {
			t.Errorf("%g streams: %g gateways of %g without one do not take %g", n, f.Replicas, f.Each, f.Peak)
		}
		if !f.fits(in, f.Replicas) || f.fits(in, f.Replicas-1) {
			t.Errorf("%g streams: %g gateways are too few or more than are needed", n, f.Replicas)
		}
		if f.AfterCPU > in.Get("busy") || f.Replicas < before {
			t.Errorf("%g streams: %+v", n, f)
		}
		before = f.Replicas
	}
	// A scarcer resource is found.
	for setting, want := range map[string]string{"descriptors=2000": "descriptors", "memory=400000000": "memory", "network=1e6": "network", "disk=1e4": "disk of the record", "limit_exchanges=10": "`limits.exchanges`"} {
		if f := Plan(inputs(t, setting), 1e5); !strings.Contains(f.Needs[0].Resource, want) && !(want == "descriptors" && f.Needs[0].Resource == "`limits.connections`") && !(want == "memory" && f.Needs[0].Resource == "`limits.memory`") {
			t.Errorf("%s: first is %s", setting, f.Needs[0].Resource)
		}
	}
}

// TestSettings: only constants that there are can be changed.
func TestSettings(t *testing.T) {
	if in := inputs(t, "cores=8"); in.Get("cores") != 8 {
		t.Error("cores=8 has no effect")
	}
	for _, wrong := range []string{"core=8", "cores=many", "cores"} {
		if _, err := ReadInputs(wrong); err == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
	for _, c := range append(inputs(t).Measured, inputs(t).Assumed...) {
		if c.From == "" {
			t.Errorf("%s comes from nowhere", c.Name)
		}
	}
}

// TestExample: with the smallest number of replicas of the example for Kubernetes and one
// of them lost, those that remain carry a burst; and the example does not waste half.
func TestExample(t *testing.T) {
	const folder = "../../examples/deploy/kubernetes/"
	find := func(file, pattern string) float64 {
		text, err := os.ReadFile(folder + file)
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(pattern).FindStringSubmatch(string(text))
		if m == nil {
			t.Fatalf("%s has no %s", file, pattern)
		}
		v, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	replicas, streams := find("autoscaler.yaml", `minReplicas: (\d+)`), find("autoscaler.yaml", `averageValue: "(\d+)"`)
	in := inputs(t, fmt.Sprintf("cores=%g", find("gateway.yaml", `requests: \{cpu: "(\d+)"`)), fmt.Sprintf("memory=%g", find("gateway.yaml", `limits: \{memory: (\d+)Gi`)*(1<<30)),
		fmt.Sprintf("shutdown_wait=%g", 60*find("gateway.yaml", `shutdown-wait: (\d+)m`)))
	each := Plan(in, 1e3).Each
	if peak := streams * replicas * in.Get("burst") / (replicas - 1); peak > each || peak < each/2 {
		t.Errorf("%g streams for each of %g replicas are %.0f at the peak without one; a gateway takes %g", streams, replicas, peak, each)
	}
	if in.Get("shutdown_wait") != inputs(t).Get("shutdown_wait") {
		t.Error("the model has another shutdown-wait than the example")
	}
}
