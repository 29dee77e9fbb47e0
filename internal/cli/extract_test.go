package cli

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
)

// gameLines makes lines of replies of every kind, some of them broken.
func gameLines(n int) []string {
	replies := []string{
		`Answer: 3*8*1*1 = 24`, `<think>4*6</think>Answer: 3*8+1-1`, `Answer: 3+8+1+1 = 24`, `Answer: 3*8`,
		`I do not know.`, `Answer: 3/(1-1)*8`, `Answer: three times eight`, `<think>never closed`, `Output: (3*8)*1*1`,
	}
	var lines []string
	for i := range n {
		line := fmt.Sprintf(`{"id":"p%d#%d","input":"3 8 1 %d","arm":"a%d","raw":%q,"logged":%v}`, i/7, i, 1+i/7%9, i%2, replies[i%len(replies)], i%3 == 0)
		switch i % 97 {
		case 13:
			line = `not json`
		case 29:
			line = fmt.Sprintf(`{"id":%d,"input":"3 8 1 1"}`, i)
		case 51:
			line = ""
		}
		lines = append(lines, line)
	}
	return lines
}

// runSotto runs a command in this process.
func runSotto(t *testing.T, stdin string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	status = Run(args, strings.NewReader(stdin), &out, &errs, noEnv)
	return out.String(), errs.String(), status
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestResumeAtEveryKindOfCut cuts an output anywhere. The resumed run must complete
// it byte for byte, with the same summary.
func TestResumeAtEveryKindOfCut(t *testing.T) {
	lines := gameLines(600)
	first := writeFile(t, "a.jsonl", strings.Join(lines[:350], "\r\n"))
	second := writeFile(t, "b.json", "["+strings.Join(notBroken(lines[350:]), ",\n")+"]")
	out := filepath.Join(t.TempDir(), "out.jsonl")
	args := []string{"score", "--task", "game24", "--jsonl", "--json", "--k", "--by-field", "arm", "--logged-field", "logged", "-o", out, first, second}
	report, errs, status := runSotto(t, "", args...)
	if status != shell.StatusFailed {
		t.Fatalf("status %d: %s", status, errs)
	}
	want, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	cuts := []int{0, 1, len(want) - 1, len(want)}
	for range 20 {
		cuts = append(cuts, rng.IntN(len(want)))
	}
	for _, cut := range cuts {
		if err := os.WriteFile(out, want[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		again, _, status := runSotto(t, "", append(args, "--resume")...)
		got, _ := os.ReadFile(out)
		if !bytes.Equal(got, want) || status != shell.StatusFailed {
			t.Fatalf("cut at %d of %d: status %d, %d bytes: %s", cut, len(want), status, len(got), again)
		}
		if lastLine(again) != lastLine(report) {
			t.Fatalf("cut at %d: the summary is\n%s, want\n%s", cut, lastLine(again), lastLine(report))
		}
	}
}

func lastLine(text string) string {
	text = strings.TrimSuffix(text, "\n")
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// notBroken keeps the lines that may occur in an array.
func notBroken(lines []string) (kept []string) {
	for _, line := range lines {
		if strings.HasPrefix(line, "{") {
			kept = append(kept, line)
		}
	}
	return kept
}

// TestResumeRefusesAnotherInput expects an error, and an unchanged output.
func TestResumeRefusesAnotherInput(t *testing.T) {
	lines := notBroken(gameLines(40))
	out := filepath.Join(t.TempDir(), "out.jsonl")
	args := []string{"score", "--task", "game24", "--jsonl", "--resume", "-o", out}
	if _, report, _ := runSotto(t, strings.Join(lines[:20], "\n"), args...); !strings.Contains(report, "solved") {
		t.Fatal(report)
	}
	was, _ := os.ReadFile(out)
	for name, input := range map[string][]string{"shorter": lines[:10], "other": lines[1:], "empty": nil} {
		_, report, status := runSotto(t, strings.Join(input, "\n"), args...)
		if now, _ := os.ReadFile(out); status != shell.StatusFailed || !strings.Contains(report, "belongs to another input") || !bytes.Equal(now, was) {
			t.Errorf("%s: status %d: %s", name, status, report)
		}
	}
}

// TestResumeAfterKill kills a run in the middle of its work.
func TestResumeAfterKill(t *testing.T) {
	sotto, err := exec.LookPath("sotto")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(gameLines(20000), "\n")
	dir := t.TempDir()
	in, whole, killed := filepath.Join(dir, "in.jsonl"), filepath.Join(dir, "whole.jsonl"), filepath.Join(dir, "killed.jsonl")
	if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := func(out string, more ...string) []string {
		return append([]string{"score", "--task", "game24", "--jsonl", "-o", out}, more...)
	}
	runSotto(t, "", args(whole, in)...)
	want, _ := os.ReadFile(whole)

	cmd := exec.Command(sotto, args(killed)...)
	feed, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(feed, text[:len(text)/2]) // and no more: the run waits in the middle
	waitFor(t, func() bool { info, err := os.Stat(killed); return err == nil && info.Size() > int64(len(want)/4) })
	cmd.Process.Kill()
	cmd.Wait()
	if part, _ := os.ReadFile(killed); !bytes.HasPrefix(want, part) || len(part) == len(want) {
		t.Fatalf("the killed run wrote %d bytes that do not begin the whole", len(part))
	}
	for range 2 { // the second run finds nothing left to do
		runSotto(t, "", args(killed, "--resume", in)...)
		if got, _ := os.ReadFile(killed); !bytes.Equal(got, want) {
			t.Fatalf("the resumed run has %d bytes, want %d", len(got), len(want))
		}
	}
}

// waitFor waits for another process.
func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	waiting.Until(t, "another process", done)
}

// TestOneLongLine extracts from a line of 50 MB between short ones.
func TestOneLongLine(t *testing.T) {
	if effort.Brief() {
		t.Skip("50 MB: SOTTO_EFFORT=1 runs it")
	}
	t.Cleanup(func() { runtime.GC(); runtime.GC() }) // pools keep their contents for one cycle
	long := `{"id":2,"input":"3 8 1 1","raw":"` + strings.Repeat(`so it goes, <b> and on;\n`, 50<<20/24) + `Answer: 3*8*1*1"}` + "\n"
	short := `{"id":1,"input":"3 8 1 1","raw":"Answer: 3*8*1*1"}` + "\n"
	var out, errs bytes.Buffer
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		for {
			select {
			case <-stop:
				peak <- most
				return
			case <-time.After(10 * time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapInuse)
			}
		}
	}()
	in := io.MultiReader(strings.NewReader(short), strings.NewReader(long), strings.NewReader(short))
	status := Run([]string{"score", "--task", "game24", "--jsonl"}, in, &out, &errs, noEnv)
	close(stop)
	if status != shell.StatusDone || strings.Count(out.String(), `"ok":true`) != 3 {
		t.Errorf("status %d: %s\n%.2000s", status, errs.String(), out.String())
	}
	if most := <-peak; most > 1<<30 {
		t.Errorf("the heap grew to %d MB", most>>20)
	} else {
		t.Logf("the heap grew to %d MB", most>>20)
	}
}

// Lines that nest without end, or beyond the bound, are faults of their own, and
// the lines around them are processed. A parser that recurses into them would
// overflow its stack. That would end the process, and with it this whole test
// binary.
func TestNestedLines(t *testing.T) {
	effort.OneGoroutine(t)
	good := `{"id":"a","input":"3 8 1 1","raw":"Answer: 3*8*1*1"}`
	deep := `{"id":"b","a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`
	open := `{"id":"c","a":` + strings.Repeat(`{"a":`, 6<<20/5)
	stdout, stderr, status := runSotto(t, strings.Join([]string{good, deep, open, good}, "\n"), "extract", "--task", "game24", "--jsonl")
	if status != shell.StatusFailed || strings.Count(stdout, `"status":"ok"`) != 2 || strings.Count(stderr, "nested too deep") != 2 {
		t.Errorf("status %d: %.400s\n%.400s", status, stdout, stderr)
	}
	for _, text := range []string{
		open + "\n" + open, deep + "\n" + deep, strings.Repeat("[", 6<<20) + "\n[", // several lines, but one reply
	} {
		if _, stderr, status := runSotto(t, text, "extract", "--task", "game24", "--input", "3 8 1 1"); status != shell.StatusNoVisible {
			t.Errorf("status %d: %.400s", status, stderr)
		}
	}
}
