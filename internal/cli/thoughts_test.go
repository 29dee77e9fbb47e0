package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/lab/thoughts"
	"github.com/sotto-llm/sotto/record"
)

// TestJudgeKilled kills the judge's work with SIGKILL at random moments, and runs it
// again: every score is there, as without a kill, and no reply that is in the record
// was asked for twice.
func TestJudgeKilled(t *testing.T) {
	kills, count := 6, 40
	if effort.Brief() {
		kills, count = 2, 10
	}
	dir := t.TempDir()
	var events []record.Event
	for i := range count {
		thought := fmt.Sprintf("<think>thought %d%s</think>x", i, []string{"", ", again"}[i%2])
		events = append(events, record.Event{Run: "r", Cycle: i + 1, Payload: record.Invocation{Model: "m", Replies: []record.Reply{spoken("", thought, 1)}}})
	}
	audit := writeRun(t, events, record.Options{})
	rubric, script := filepath.Join(dir, "rubric.yaml"), filepath.Join(dir, "judge.yaml")
	for name, text := range map[string]string{
		rubric: "v: 1\nname: r\nrepeat: 2\ncriteria: [{name: c, description: d, scale: [1, 5]}]\n",
		script: "- when: {user: again}\n  text: '{\"c\": 2}'\n  wait: 5ms\n- when: {user: 'could not'}\n  text: '{\"c\": 5}'\n- when: {user: 'thought [0-9]*7'}\n  text: 'seven'\n  wait: 5ms\n- text: '{\"c\": 3}'\n  wait: 5ms\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	judging := func(to string, workers string) *exec.Cmd {
		c := exec.Command("sotto", "thoughts", audit, "--rubric", rubric, "--judge-script", script, "--record", filepath.Join(dir, to), "--workers", workers, "--json")
		c.Stderr = os.Stderr
		return c
	}
	scores := func(out []byte) string {
		var r thoughts.Report
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal([]any{r.Judge.Each, r.Judge.Scores, r.Judge.Failed, r.Judge.Left})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	straight, err := judging("straight", "1").Output()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(2, 3))
	for range kills {
		before := calls(t, filepath.Join(dir, "killed"))
		c := judging("killed", "3")
		c.Stdout = nil
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { c.Wait(); close(ended) }()
		for more := 1 + r.IntN(count/2); calls(t, filepath.Join(dir, "killed")) < before+more; {
			select {
			case <-ended:
				more = 0
			case <-time.After(time.Millisecond):
			}
		}
		c.Process.Kill()
		<-ended
	}
	out, err := judging("killed", "3").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := scores(out), scores(straight); got != want {
		t.Errorf("after %d kills:\n%s\nwant\n%s", kills, got, want)
	}
	if a, b := calls(t, filepath.Join(dir, "killed")), calls(t, filepath.Join(dir, "straight")); a != b || b < 2*count {
		t.Errorf("%d replies of the judge after kills, %d without", a, b)
	}
}

// calls counts the replies of the judge in a record, which need not exist yet.
func calls(t *testing.T, dir string) int {
	t.Helper()
	rd, err := record.OpenReader(dir, record.ReadOptions{NoIndex: true})
	if err != nil {
		return 0
	}
	n := 0
	for e, err := range rd.Events(record.Query{}) {
		if err != nil {
			return n // a line is being written
		}
		if x, ok := e.Payload.(record.Invocation); ok && len(x.Replies) > 0 {
			n++
		}
	}
	return n
}
