//go:build unix

package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/lab/study"
)

// studyFile is 3 models × 3 policies × 5 seeds × 10 cycles, or a part of that.
const studyFile = `v: 1
name: killed
base: {run: policies/experiment.yaml, set: {cycles: %d}}
grid:
  model.name: [%s]
  thoughts.policy: [%s]
repetitions: %d
seed: {key: model.seed, first: 1}
workers: 2
outages: {wait: 10ms}
`

// A study that is killed with SIGKILL at random moments, alone or with its cells, and
// then resumed, has the same results as one that is not, and all its records verify.
func TestStudyKilled(t *testing.T) {
	if effort.Brief() {
		t.Skip("processes that are killed: SOTTO_EFFORT=1 runs it")
	}
	text, kills := fmt.Sprintf(studyFile, 10, "brief, careful, circling", "strip, keep, retrieve", 5), 12
	if effort.Brief() {
		text, kills = fmt.Sprintf(studyFile, 4, "careful, circling", "keep", 2), 2
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(exampleFolder, "studies"))); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "killed.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	straight, killed := filepath.Join(dir, "straight"), filepath.Join(dir, "killed")
	if out, err := exec.Command("sotto", "study", file, "-q", "-o", straight).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r := rand.New(rand.NewPCG(4, 5))
	for kill := range kills {
		begun := len(logsOf(killed))
		c := exec.Command("sotto", "study", file, "-q", "-o", killed)
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		next := begun + 1 + r.IntN(3)
		for len(logsOf(killed)) < next && len(ended) == 0 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Duration(r.IntN(40)) * time.Millisecond)
		who := c.Process.Pid
		if kill%2 == 1 {
			who = -who // its cells too
		}
		if err := syscall.Kill(who, syscall.SIGKILL); err != nil && len(ended) == 0 {
			t.Fatal(err)
		}
		<-ended
	}
	if out, err := exec.Command("sotto", "study", file, "-q", "-o", killed).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sameResults(t, straight, killed)
	records, _ := filepath.Glob(filepath.Join(killed, "records", "*"))
	for _, record := range records {
		if status, out, errs := runWith(nil, "record", "verify", record); status != 0 {
			t.Errorf("%s: %s%s", record, out, errs)
		}
	}
	if len(records) != 2 {
		t.Errorf("records %q", records)
	}
}

// logsOf returns the logs of the cells that were begun.
func logsOf(dir string) []string {
	list, _ := filepath.Glob(filepath.Join(dir, "logs", "*"))
	return list
}

// sameResults compares two studies, except for times.
func sameResults(t *testing.T, wantDir, gotDir string) {
	t.Helper()
	want, err := study.Open(wantDir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := study.Open(gotDir)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Cells) != len(want.Cells) {
		t.Fatalf("%d cells, want %d", len(got.Cells), len(want.Cells))
	}
	resumed := 0
	for i := range want.Cells {
		w, g := want.State(&want.Cells[i]), got.State(&got.Cells[i])
		if g.Attempts > 1 {
			resumed++
		}
		delete(w.Measures, "ms")
		delete(g.Measures, "ms")
		if w.Cell != g.Cell || w.Status != study.Done || g.Status != w.Status || len(g.Measures) < 6 || !reflect.DeepEqual(g.Measures, w.Measures) {
			t.Errorf("cell %s: %+v\nwant %+v", w.Cell, g, w)
		}
	}
	if resumed == 0 {
		t.Error("no cell was killed")
	}
}

// The published comparison, on the logged replies: two studies print the same, to the
// byte. The log has 734 right replies of 10,000 for IO and 403 for CoT; the study takes
// 500 of each.
func TestGame24Study(t *testing.T) {
	data := os.Getenv("SOTTO_DATA")
	if data == "" {
		t.Skip("SOTTO_DATA names no folder with the logged replies")
	}
	if effort.Brief() {
		t.Skip("takes half a minute; SOTTO_EFFORT=1 runs it")
	}
	dir := t.TempDir()
	var reports, measures []string
	for _, m := range study.Measures(study.Streams) {
		if m.Unit != "ms" {
			measures = append(measures, "--measure="+m.Name)
		}
	}
	for _, name := range []string{"a", "b"} {
		out := filepath.Join(dir, name)
		status, _, errs := runStudy("study", filepath.Join(exampleFolder, "studies", "game24.yaml"), "--set", "replies="+filepath.Join(data, "tot_game24.jsonl"), "-q", "-o", out)
		if status != 0 {
			t.Fatalf("status %d: %s", status, errs)
		}
		status, report, errs := runWith(nil, append([]string{"study", "report", out}, measures...)...)
		if status != 0 {
			t.Fatal(errs)
		}
		reports = append(reports, report)
	}
	if reports[0] != reports[1] {
		t.Errorf("two studies differ:\n%s\n%s", reports[0], reports[1])
	}
	for _, line := range []string{
		`IO +1 reply +5 +0\.066 .* … `, `IO +10 replies +5 +0\.186 .* … `, `CoT +1 reply +5 +0\.036 .* … `, `CoT +10 replies +5 +0\.224 .* … `,
		`memory \(replies written without memory\) +1 reply +5 +0\.072 .* … `, `memory \(replies written without memory\) +10 replies +5 +0\.36 .* … `,
	} {
		if !regexp.MustCompile(line).MatchString(reports[0]) {
			t.Errorf("no line %q in\n%s", line, reports[0])
		}
	}
}

func runStudy(args ...string) (status int, out, errs string) {
	var stdout, stderr strings.Builder
	c := exec.Command("sotto", args...)
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		status = 1
	}
	return status, stdout.String(), stderr.String()
}
