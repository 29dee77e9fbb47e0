package servecmd

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite api/promises/metrics.txt")

// TestPromisedMetrics: the metrics and their labels are those that api/promises/metrics.txt
// lists. A metric that goes, and a label that goes or comes, breaks alerts and dashboards of
// users.
func TestPromisedMetrics(t *testing.T) {
	const name = root + "api/promises/metrics.txt"
	var list []string
	for metric, labels := range everyMetric(t) {
		list = append(list, strings.TrimSpace(metric+" "+strings.Join(slices.Sorted(slices.Values(labels)), " ")))
	}
	slices.Sort(list)
	got := strings.Join(list, "\n") + "\n"
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	promised := strings.Split(strings.TrimSpace(string(want)), "\n")
	for _, line := range promised {
		if !slices.Contains(list, line) {
			t.Errorf("promised, and no longer so: %s", line)
		}
	}
	for _, line := range list {
		if !slices.Contains(promised, line) {
			t.Errorf("not listed: %s", line)
		}
	}
	t.Error("if the change is meant: go test ./internal/cli/servecmd -run TestPromisedMetrics -update, and read the diff")
}
