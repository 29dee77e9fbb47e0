package results

import (
	"fmt"
	"path"
)

// A Target is what the ratio of a row should be, or its value if that is absolute.
type Target struct {
	ID   string // of the rows, as a pattern of path.Match
	More bool   // at least Want is good; otherwise at most
	Want float64
}

// targets are the targets of every row. The first that matches counts.
var targets = []Target{
	// How many times as fast as the rival. For the first, the rival's deltas are the same.
	{"reading/*/4 bytes/*", true, 4},
	{"whole/95 % reasoning/lines", true, 0.5},
	{"whole/95 % text/lines", true, 0.25},
	{"growth/*/*", true, 0.5}, // about 1: a long reply does not fit the caches
	{"hostile/*/*", true, 0.1},
	{"hostile-growth/*/*/*", true, 0.5},
	{"strip/jq", true, 8},
	{"score/python", true, 3},
	{"score/jq", true, 2},
	{"score/cores", true, 1.7}, // one core by the clock over two
	// Absolute: allocations, MB of record a second, seconds, times the task gsm8k.
	{"allocations/*/*", false, 0},
	{"tables/*/*", true, 100},
	{"study/100000", false, 10},
	{"tasks/choice", false, 2},
	// The gateway, for a plain proxy.
	{"gateway/one-by-one/*/frame", false, 1},
	{"gateway/bursts/*/frame", false, 1.5},
	{"gateway/streams/*/rate", true, 0.95},
	{"gateway/many/*/memory", false, 1.15},
	{"gateway/delay/*/p99", false, 1.5},
	{"gateway/streams/*/bifrost/rate", true, 3},
	{"gateway/bridge-streams/*/bifrost/rate", true, 3},
	{"gateway/bridge-bursts/*/frame", false, 2},
	{"gateway/bridge-many/*/memory", false, 1.3},
	{"gateway/streams/*/recording/rate", true, 0.85},
	{"gateway/streams-whole/*/recording/rate", true, 0.85},
	{"gateway/bursts-whole/*/frame", false, 1.8},
	{"gateway/streams-whole/*/rate", true, 0.75},
}

// targetOf returns the target of a row, if it has one.
func targetOf(id string) (Target, bool) {
	for _, t := range targets {
		if ok, err := path.Match(t.ID, id); err != nil {
			panic(err)
		} else if ok {
			return t, true
		}
	}
	return Target{}, false
}

func (t Target) met(v float64) bool {
	if t.More {
		return v >= t.Want
	}
	return v <= t.Want
}

func (t Target) String() string {
	if t.More {
		return fmt.Sprintf("≥ %g", t.Want)
	}
	return fmt.Sprintf("≤ %g", t.Want)
}
