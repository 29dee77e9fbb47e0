package main

import (
	"fmt"
	"strings"
	"time"
)

// most is how many tests the list may name. A longer one forgives instead of telling.
const most = 20

// A testName is a test of a package. The package is its path below the module, and "." is
// the package at the module's root.
type testName struct{ pkg, test string }

func (n testName) String() string { return n.pkg + " " + n.test }

// A reason says since when a test is on the list, and why.
type reason struct{ since, why string }

// readList reads lines "PACKAGE TEST DATE REASON". A line that begins with # is a comment.
func readList(text string) (map[testName]reason, error) {
	known := map[testName]reason{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 4 {
			return nil, fmt.Errorf("list.txt:%d: write PACKAGE TEST DATE REASON", n)
		}
		if _, err := time.Parse(time.DateOnly, fields[2]); err != nil {
			return nil, fmt.Errorf("list.txt:%d: %q is not a date: write 2026-01-31", n, fields[2])
		}
		name := testName{fields[0], fields[1]}
		if _, is := known[name]; is {
			return nil, fmt.Errorf("list.txt:%d: %s is on the list twice", n, name)
		}
		known[name] = reason{fields[2], strings.Join(fields[3:], " ")}
	}
	if len(known) > most {
		return nil, fmt.Errorf("list.txt names %d tests, more than %d: mend one", len(known), most)
	}
	return known, nil
}
