package study

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func parse(t *testing.T, text string) *File {
	t.Helper()
	f, err := ParseFile("dir/s.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const policies = `v: 1
name: policies
base: {run: x.yaml, set: {cycles: 5, goal: "a # b"}}
grid:
  thoughts.policy: [strip, keep]
  model.name: [one, two]
  arm:
    - {label: plain, set: {memory: []}}
    - {label: with memory, set: {memory: [write, read], cycles: 7}}
exclude:
  - {model.name: two, arm: [plain]}
repetitions: 2
seed: {key: model.seed, first: 10}
`

// names describes cells by their values.
func names(list []Case) []string {
	var out []string
	for _, c := range list {
		var words []string
		for _, v := range c.Values {
			words = append(words, v.Label)
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}

// The model varies slowest and the repetitions fastest; excluded cells are left out.
func TestCases(t *testing.T) {
	f := parse(t, policies)
	got := names(f.Cases())
	want := []string{
		"strip one plain", "strip one plain", "strip one with memory", "strip one with memory",
		"keep one plain", "keep one plain", "keep one with memory", "keep one with memory",
		"strip two with memory", "strip two with memory", "keep two with memory", "keep two with memory",
	}
	if !slices.Equal(got, want) {
		t.Errorf("cells %q", got)
	}
	settings := map[string]string{}
	for _, s := range f.Cases()[3].Settings {
		settings[s.Key] += s.Flow() // each key once
	}
	for key, want := range map[string]string{
		"cycles": "7", "goal": "a # b", "thoughts.policy": "strip", "model.name": "one", "memory": `["write","read"]`, "model.seed": "11",
	} {
		if settings[key] != want {
			t.Errorf("%s: %q, want %q", key, settings[key], want)
		}
	}
	ordered := parse(t, policies+"order: [arm]\n")
	if got := names(ordered.Cases()); got[0] != "strip one plain" || got[2] != "keep one plain" || got[4] != "strip one with memory" {
		t.Errorf("with order: %q", got)
	}
}

// A cell keeps its ID when the grid grows, and its keys and values change places.
func TestCellIDs(t *testing.T) {
	ids := map[string]bool{}
	grown := `v: 1
name: policies
base: {run: x.yaml}
grid:
  model.name: [three, two, one]
  thoughts.policy: [keep, retrieve, strip]
  arm: [plain, with memory]
repetitions: 3
`
	for _, c := range parse(t, grown).Cases() {
		tail := c.ID[strings.LastIndexByte(c.ID, '-'):]
		if ids[tail] || checkID(c.ID) != nil {
			t.Fatalf("ID %s", c.ID)
		}
		ids[tail] = true
	}
	for _, c := range parse(t, policies).Cases() {
		if !ids[c.ID[strings.LastIndexByte(c.ID, '-'):]] {
			t.Errorf("%s is lost", c.ID)
		}
	}
}

func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"v: 1\nname: s\nbase: {run: x}\ngird: {}":                                            `s.yaml:4:1: gird: unknown key: did you mean "grid"`,
		"v: 1\nname: S\nbase: {run: x}":                                                      "s.yaml:2:7: name: ",
		"v: 1\nname: s":                                                                      "base: want {run: EXPERIMENT.yaml}",
		"v: 1\nname: s\nbase: {run: x, solve: {task: qa}}":                                   "s.yaml:3:7: base: want",
		"v: 1\nname: s\nbase: {run: x}\ngrid: {a: 3}":                                        "s.yaml:4:11: grid.a: want a list of values, not 3",
		"v: 1\nname: s\nbase: {run: x}\ngrid: {a: [1, 1]}":                                   `s.yaml:4:15: grid.a[1]: two values have the label "1"`,
		"v: 1\nname: s\nbase: {run: x}\ngrid: {a: [null]}":                                   "s.yaml:4:12: grid.a[0]: want a value",
		"v: 1\nname: s\nbase: {run: x}\ngrid: {a: [{label: x}]}":                             "grid.a[0]: want {label: …, value: …}",
		"v: 1\nname: s\nbase: {run: x}\ngrid: {a: [{label: x, sets: {}}]}":                   `grid.a[0].sets: unknown key: did you mean "set"`,
		"v: 1\nname: s\nbase: {run: x}\ngrid: {a: [1]}\nexclude: [{b: 1}]":                   "exclude[0].b: unknown key",
		"v: 1\nname: s\nbase: {run: x}\ngrid: {a: [1]}\nexclude: [{a: 2}]":                   `exclude[0].a: "2" is not a value of a`,
		"v: 1\nname: s\nbase: {run: x}\ngrid: {a: [1]}\nexclude: [{a: 1}]":                   "exclude: leaves no cell",
		"v: 1\nname: s\nbase: {run: x}\ngrid: {a: [1]}\ncompare: {by: a, baseline: 2}":       `compare.baseline: "2" is not a value of a`,
		"v: 1\nname: s\nbase: {run: x}\ngrid: {a: [1]}\norder: [b]":                          `order[0]: "b" is not a key of the grid`,
		"v: 1\nname: s\nbase: {run: x}\ngrid: {a: [1,2,3], b: [1,2,3,4]}\nrepetitions: 1000": "grid: more than 10000 cells",
		"v: 1\nname: s\nbase: {run: x}\nstart: 22:00":                                        "start: want both start and stop",
		"v: 1\nname: s\nbase: {run: x}\nstart: 22:00\nstop: late":                            `stop: "late": want a time of the day`,
		"v: 1\nname: s\nbase: {run: x}\nworkers: 1000":                                       "workers: 1000: want 1 to 256",
		"v: 1\nname: s\nbase: {run: x}\nbudget: {cost: 3}":                                   "budget.cost: needs prices",
		"v: 1\nname: s\nbase: {run: x}\nbudget: {tokens: -3}":                                "budget: is negative",
		"v: 1\nname: s\nbase: {run: x}\ngrid: {a: [&x 1, *x]}":                               "grid.a[0]: want a value, not an anchor",
	} {
		_, err := ParseFile("s.yaml", []byte(text))
		var faulty *Faulty
		if !errors.As(err, &faulty) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n  %v\n  want %s", text, err, want)
		}
	}
}

// A window over midnight, and one within a day.
func TestOpens(t *testing.T) {
	for hours, wants := range map[string]map[string]time.Duration{
		"start: 22:00\nstop: 06:00\n": {
			"21:59:59": time.Second, "22:00:00": 0, "23:59:59": 0, "00:00:00": 0, "05:59:59": 0, "06:00:00": 16 * time.Hour, "12:00:00": 10 * time.Hour,
		},
		"start: 08:05\nstop: 10:15\n": {
			"08:04:59": time.Second, "08:05:00": 0, "09:30:00": 0, "10:14:59": 0, "10:15:00": 21*time.Hour + 50*time.Minute, "23:59:59.25": 8*time.Hour + 5*time.Minute + 750*time.Millisecond, "00:00:00": 8*time.Hour + 5*time.Minute,
		},
	} {
		f := parse(t, "v: 1\nname: s\nbase: {run: x}\n"+hours)
		for at, want := range wants {
			now, err := time.ParseInLocation("2006-01-02 15:04:05", "2026-11-23 "+at, time.Local)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Opens(now); got != want {
				t.Errorf("%s: at %s: %v, want %v", hours, at, got, want)
			}
		}
	}
	if f := parse(t, "v: 1\nname: s\nbase: {run: x}\n"); f.Opens(time.Now()) != 0 {
		t.Error("a study without times waits")
	}
}
