//go:build unix

package cli

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/base/decompress"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
)

// An output is compressed as its name says, and holds the bytes that it holds
// otherwise.
func TestCompressedOutput(t *testing.T) {
	replies := writeFile(t, "replies.jsonl", strings.Repeat(`{"id":1,"input":"3 8 1 1","raw":"<think>t</think>Answer: 3*8*1*1"}`+"\n", 50))
	run := filepath.Join(t.TempDir(), "data")
	if _, errs, _ := runSotto(t, "", "run", "--data="+run, "--name=demo", "--quiet"); strings.Contains(errs, "hint") {
		t.Fatal(errs)
	}
	for what, args := range map[string][]string{
		"strip":               {"strip", "--jsonl", "--field", "raw", replies},
		"split":               {"split", "--jsonl", replies},
		"split --add-columns": {"split", "--jsonl", "--add-columns", replies},
		"extract":             {"extract", "--task", "game24", "--jsonl", replies},
		"score":               {"score", "--task", "game24", "--jsonl", replies},
		"record table":        {"record", "table", "replies", "--format", "jsonl", filepath.Join(run, "runs")},
	} {
		for _, ending := range []string{".gz", ".zst", ".GZ", ""} {
			name := filepath.Join(t.TempDir(), "out.jsonl"+ending)
			want, errs, status := runSotto(t, "", args...)
			if _, errs, status := runSotto(t, "", append(args, "-o", name)...); status != 0 {
				t.Fatalf("%s: status %d: %s", what, status, errs)
			}
			if status != 0 || len(want) < 50 {
				t.Fatalf("%s: status %d, %q: %s", what, status, want, errs)
			}
			raw, err := os.ReadFile(name)
			if err != nil || decompress.Compressed(raw) != (ending != "") {
				t.Errorf("%s%s: compressed: %v, %v", what, ending, decompress.Compressed(raw), err)
			}
			got, err := io.ReadAll(decompress.NewReader(strings.NewReader(string(raw))))
			if err != nil || string(got) != want {
				t.Errorf("%s%s: %v, %q, want %q", what, ending, err, got, want)
			}
		}
	}
}

// The formats that a name says are found before the ending of the compression, and the
// results of a stream can be read while it runs.
func TestCompressedFormats(t *testing.T) {
	dir := t.TempDir()
	solved, graph := filepath.Join(dir, "s.jsonl.zst"), filepath.Join(dir, "g.graphml.gz")
	if _, errs, status := runSotto(t, "", "solve", "-n", "3", "-q", "--data", dir, "-o", solved); status != 0 {
		t.Fatal(errs)
	}
	if out, errs, status := runSotto(t, "", "solve", "report", solved, "--json"); status != 0 || !strings.Contains(out, `"problems":3`) {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
	if _, errs, status := runSotto(t, "", "solve", "memory", "graph", solved, "-o", graph); status != 0 {
		t.Fatal(errs)
	}
	file, err := os.Open(graph)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if got, err := io.ReadAll(decompress.NewReader(file)); err != nil || !strings.Contains(string(got), "<graphml") {
		t.Errorf("%v, %.80q", err, got)
	}
}

// A name that cannot be kept is refused, and what has the name stays.
func TestOutputNamesRefused(t *testing.T) {
	replies := writeFile(t, "replies.jsonl", `{"id":1,"input":"3 8 1 1","raw":"Answer: 3*8*1*1"}`+"\n")
	for _, tt := range []struct{ name, want, args string }{
		{"o.jsonl.bz2", ".gz or .zst", "strip --jsonl --field raw"},
		{"o.jsonl.xz", ".gz or .zst", "split --jsonl"},
		{"o.zip", ".gz or .zst", "score --jsonl --task game24"},
		{"o.jsonl.gz", "leave out --resume", "extract --jsonl --task game24 --resume"},
		{"o.parquet.gz", "compressed inside", "split --jsonl"},
	} {
		name := filepath.Join(t.TempDir(), tt.name)
		if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, errs, status := runSotto(t, "", append(strings.Fields(tt.args), "-o", name, replies)...)
		if old, err := os.ReadFile(name); status != 2 || !strings.Contains(errs, tt.want) || string(old) != "old" || err != nil {
			t.Errorf("%s -o %s: status %d, %q, %v: %s", tt.args, tt.name, status, old, err, errs)
		}
	}
}

// A signal ends a command as it did, leaves nothing of its output, and leaves what had
// the name before. One that the process ignores, as with nohup, ends nothing.
func TestSignalLeavesNothing(t *testing.T) {
	for _, tt := range []struct {
		signal  syscall.Signal
		ignored string
		to      string
	}{
		{syscall.SIGINT, "", "out.jsonl"}, {syscall.SIGTERM, "", "out.jsonl.gz"}, {syscall.SIGHUP, "", "out.jsonl"},
		{syscall.SIGHUP, "HUP", "out.jsonl"},
	} {
		if tt.ignored == "" && signal.Ignored(tt.signal) {
			t.Logf("%v is ignored where this test runs, so the commands that it starts ignore it too", tt.signal)
			continue
		}
		dir := t.TempDir()
		name := filepath.Join(dir, tt.to)
		if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", "-c", `trap "" `+tt.ignored+`; exec sotto strip --jsonl --field raw -o "$0"`, name)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		io.WriteString(in, `{"raw":"<think>a</think>b"}`+"\n")
		waiting.Until(t, "the beginning of an output", func() bool {
			list, _ := filepath.Glob(filepath.Join(dir, ".*.partial-*"))
			return len(list) == 1
		})
		cmd.Process.Signal(tt.signal)
		late := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
		if tt.ignored != "" {
			in.Close()
		}
		err = cmd.Wait()
		late.Stop()
		want := "old"
		if tt.ignored != "" {
			want = `{"raw":"b"}` + "\n"
		}
		exit, _ := errors.AsType[*exec.ExitError](err)
		if died := exit != nil && exit.Sys().(syscall.WaitStatus).Signal() == tt.signal; died != (tt.ignored == "") {
			t.Errorf("%v, ignored %q: %v", tt.signal, tt.ignored, err)
		}
		if list, err := os.ReadDir(dir); len(list) != 1 || err != nil {
			t.Errorf("%v: the folder has %v, %v", tt.signal, list, err)
		}
		if got, err := os.ReadFile(name); string(got) != want || err != nil {
			t.Errorf("%v: the file has %q, %v", tt.signal, got, err)
		}
		in.Close()
	}
}
