package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/record"
)

// A recordedLine is what a record holds about one line.
type recordedLine struct {
	raw, candidate, written, reason string
	replies, extractions            int
}

// recordedLines reads a record by runs and lines. An extraction must refer to the
// reply before it.
func recordedLines(t *testing.T, dir string) (lines map[string]recordedLine, runs []string) {
	t.Helper()
	r, err := record.OpenReader(dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	lines = map[string]recordedLine{}
	digests, replies := map[uint64]record.Digest{}, map[uint64]record.Content{}
	for e, err := range r.Events(record.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		at := fmt.Sprint(e.Run, " ", e.Cycle)
		l := lines[at]
		switch p := e.Payload.(type) {
		case record.RunStart:
			runs = append(runs, "start "+e.Run)
			continue
		case record.RunEnd:
			runs = append(runs, "end "+p.Status)
			continue
		case record.Invocation:
			l.raw, l.replies = string(p.Replies[0].Raw.Text), l.replies+1
			digests[e.Seq], replies[e.Seq] = p.Replies[0].Digest, p.Replies[0].Raw
		case record.Extraction:
			l.candidate, l.written, l.extractions = string(p.Candidate.Text), string(p.Written.Text), l.extractions+1
			if p.Verdict != nil {
				l.reason = p.Verdict.Reason
			}
			if d, ok := digests[p.Of.Seq]; !ok || d != p.Of.Digest {
				t.Errorf("%s: the extraction is of %+v", at, p.Of)
			}
			if p.Span != nil {
				if text, ok := replies[p.Of.Seq].Span(p.Span.Start, p.Span.End); !ok || text != l.written {
					t.Errorf("%s: the span is of %q, not %q", at, text, l.written)
				}
			}
		default:
			continue
		}
		lines[at] = l
	}
	return lines, runs
}

// replyLines writes n lines, and returns the replies in them.
func replyLines(t *testing.T, n int) (file string, raws []string) {
	t.Helper()
	var b strings.Builder
	for i := range n {
		raws = append(raws, fmt.Sprintf("<think>try %d</think>Answer: 3*8*%d\nso", i, 1+i%2))
		fmt.Fprintf(&b, "{\"id\":%d,\"raw\":%q,\"input\":\"3 8 1 1\"}\n", i, raws[i])
	}
	file = filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, raws
}

// TestEvidence: score and extract record the raw reply of each line once, and the
// extraction from it, with the verdict.
func TestEvidence(t *testing.T) {
	const n = 50
	in, raws := replyLines(t, n)
	for _, command := range []string{"extract", "score"} {
		dir := filepath.Join(t.TempDir(), "audit")
		_, stderr, status := runSotto(t, "", command, "--task", "game24", "--jsonl", "--record", dir, "--model", "qwen3:8b", in)
		if status != 0 {
			t.Fatal(stderr)
		}
		lines, runs := recordedLines(t, dir)
		if len(lines) != n || len(runs) != 2 || runs[1] != "end done" {
			t.Errorf("%s: %d lines, runs %q", command, len(lines), runs)
		}
		seen := map[string]bool{}
		for at, l := range lines {
			seen[l.raw] = true
			if l.replies != 1 || l.extractions != 1 || !strings.HasPrefix(l.candidate, "3*8*") || (l.reason != "") != (command == "score") {
				t.Errorf("%s: %s: %+v", command, at, l)
			}
		}
		for _, raw := range raws {
			if !seen[raw] {
				t.Errorf("%s: %q is not recorded", command, raw)
			}
		}
	}
}

// TestEvidenceModel records the model of each line: that of its field, that of the flag, or
// the usual member.
func TestEvidenceModel(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in.jsonl")
	writeText(t, in, `{"raw":"Answer: 4","gold":"4","model":"qwen3:8b","arm":"one"}
{"raw":"Answer: 4","gold":"4","model":"gpt-oss:20b","arm":"two"}
`)
	for flags, want := range map[string]string{
		"": "qwen3:8b gpt-oss:20b", "--model-field arm --model qwen3:8b": "one two", "--model deepseek-r1": "deepseek-r1 deepseek-r1",
		"--dialect default": "qwen3:8b gpt-oss:20b",
	} {
		dir := filepath.Join(t.TempDir(), "audit")
		args := append([]string{"score", "--task", "math", "--jsonl", "--record", dir, in}, strings.Fields(flags)...)
		if _, stderr, status := runSotto(t, "", args...); status != 0 {
			t.Fatal(stderr)
		}
		r, err := record.OpenReader(dir, record.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var models [2]string // by line
		for e, err := range r.Events(record.Query{Types: []record.Type{record.TypeInvocation}}) {
			if err != nil {
				t.Fatal(err)
			}
			models[e.Cycle-1] = e.Payload.(record.Invocation).Model
		}
		if got := strings.Join(models[:], " "); got != want {
			t.Errorf("%q: %q, want %q", flags, got, want)
		}
	}
}

// TestEvidenceOne also records a reply in plain text, whose reasoning may be
// withheld.
func TestEvidenceOne(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	const raw = "<think>secret thought</think>Answer: 3*8"
	if _, stderr, status := runSotto(t, raw, "score", "--task", "game24", "--input", "3 8 1 1", "--record", dir, "--record-reasoning", "off"); status != 0 {
		t.Fatal(stderr)
	}
	lines, runs := recordedLines(t, dir)
	if len(lines) != 1 || len(runs) != 2 {
		t.Errorf("%v %v", lines, runs)
	}
	for _, l := range lines {
		if l.raw != "<think></think>Answer: 3*8" || l.written != "3*8" || l.reason != "wrong_numbers" {
			t.Errorf("%+v", l)
		}
	}
	if r, err := sotto.Default().Parse(raw, sotto.BeginAuto, sotto.EndUnknown); err != nil || len(r.Reasoning()) != 1 {
		t.Error(err)
	}
}

// TestEvidenceResume cuts an output and a record anywhere, as a kill does. After
// the run is resumed, every line must be recorded once, and the output must be
// complete.
func TestEvidenceResume(t *testing.T) {
	const n = 12
	in, _ := replyLines(t, n)
	folder := t.TempDir()
	out := filepath.Join(folder, "out.jsonl")
	args := []string{"score", "--task", "game24", "--jsonl", "-o", out}
	run := func(dir string, more ...string) {
		t.Helper()
		if _, stderr, status := runSotto(t, "", append(append(args, "--record", dir), more...)...); status != 0 {
			t.Fatal(stderr)
		}
	}
	run(filepath.Join(folder, "whole"), in)
	want, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	events, step := 2+2*n, 3
	if effort.Brief() {
		step = 11
	}
	for kept := 1; kept <= events; kept += step { // events that were written
		for lines := 0; lines <= min(n, max(0, kept-1)/2); lines += 4 { // objects that were output: recorded before
			dir := filepath.Join(folder, fmt.Sprint("cut", kept, "-", lines))
			os.Remove(out)
			run(dir, in)
			cutLines(t, filepath.Join(dir, "00000000000000000001.jsonl"), kept)
			if err := os.Remove(filepath.Join(dir, "00000000000000000001.index")); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			cutLines(t, out, lines)
			run(dir, "--resume", in)
			if got, err := os.ReadFile(out); err != nil || string(got) != string(want) {
				t.Fatalf("%d events, %d objects: the output is %q", kept, lines, got)
			}
			seen, runs := recordedLines(t, dir)
			if len(seen) != n || len(runs) < 2 || strings.HasPrefix(strings.Join(runs[1:], " "), "start") {
				t.Fatalf("%d events, %d objects: %d lines, runs %q", kept, lines, len(seen), runs)
			}
			for at, l := range seen {
				if l.replies != 1 || l.extractions != 1 {
					t.Fatalf("%d events, %d objects: %s: %+v", kept, lines, at, l)
				}
			}
		}
	}
}

// cutLines keeps the first lines of a file, and a part of the next.
func cutLines(t *testing.T, name string, n int) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	left := strings.Join(lines[:n], "")
	if n < len(lines) {
		left += lines[n][:len(lines[n])/2]
	}
	if err := os.WriteFile(name, []byte(left), 0o600); err != nil {
		t.Fatal(err)
	}
}
