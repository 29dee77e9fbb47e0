package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/internal/lab/solve"
	"github.com/sotto-llm/sotto/internal/lab/solvereport"
)

// A carrier is what objects carry of a reply.
type carrier struct {
	Raw        *string         `json:"raw"`
	RawBase64  []byte          `json:"raw_base64"`
	RawOmitted int             `json:"raw_omitted"`
	Reading    json.RawMessage `json:"reading"`
}

// attacks are replies that are hard to carry.
func attacks() []string {
	long := 2 << 20
	if effort.Brief() {
		long = 1 << 16
	}
	return []string{
		"", "<think>2+3</think>The answer is 5.", `","raw":"x","memory":{}` + "\n{}", "base64:PHRoaW5rPg==",
		"\x00\x1b[2J\u2028\u202e\ufeff</think>\\boxed{5}", "<think>\xff\xfe\xc0</think>\\boxed{5}", "\xc0\x80 5", "\xf4\x90\x80\x80",
		strings.Repeat("<think>a</think>", 2000) + "\\boxed{5}", strings.Repeat("long ", long) + "\\boxed{5}",
	}
}

// What an object carries is the reply byte for byte, and what sotto split prints
// for it.
func TestCarry(t *testing.T) {
	var lines []byte
	for i, raw := range attacks() {
		lines = append(lines, `{"id":`+string(rune('0'+i))+`,"gold":"5","raw":`...)
		lines = append(jsontext.AppendVerbatim(lines, raw), "}\n"...)
	}
	readings, _, _ := runSotto(t, string(lines), "split", "--jsonl")
	split := strings.Split(readings, "\n")
	for _, args := range [][]string{
		{"extract", "--task", "math", "--jsonl", "--with", "raw,reading"}, {"score", "--task", "math", "--jsonl", "--with", "reading", "--with", "raw"},
		{"extract", "--task", "math", "--jsonl", "--with", "raw"}, {"score", "--task", "math", "--jsonl"},
	} {
		out, errs, status := runSotto(t, string(lines), args...)
		if status != 0 {
			t.Fatalf("%v: status %d: %s", args, status, errs)
		}
		for i, line := range strings.Split(strings.TrimSpace(out), "\n") {
			var c carrier
			if err := json.Unmarshal([]byte(line), &c); err != nil {
				t.Fatalf("%v: %v: %.200s", args, err, line)
			}
			raw := attacks()[i]
			if len(args) > 4 && strings.Contains(args[len(args)-1], "raw") {
				checkRaw(t, raw, c)
			} else if c.Raw != nil || c.RawBase64 != nil {
				t.Errorf("%v: carries %.200q", args, *c.Raw)
			}
			want := strings.Replace(split[i], `"id":`+string(rune('0'+i))+`,`, "", 1)
			if with := strings.Contains(strings.Join(args, " "), "reading"); with && string(c.Reading) != want || !with && c.Reading != nil {
				t.Errorf("%v: reading\n%.200s\nwant\n%.200s", args, c.Reading, want)
			}
		}
	}
}

func checkRaw(t *testing.T, raw string, c carrier) {
	t.Helper()
	text := strings.ToValidUTF8(raw, "")
	switch {
	case c.Raw == nil:
		t.Errorf("no raw for %.100q", raw)
	case text == raw && (*c.Raw != raw || c.RawBase64 != nil):
		t.Errorf("%.100q is carried as %.100q", raw, *c.Raw)
	case text != raw && string(c.RawBase64) != raw:
		t.Errorf("%.100q is carried as %.100q", raw, c.RawBase64)
	}
}

// A reply whose members would make a line too long to be read again is not carried.
func TestCarryIsBounded(t *testing.T) {
	if effort.Brief() {
		t.Skip("a line of 72 MiB: SOTTO_EFFORT=1 runs it")
	}
	line := append(jsontext.AppendVerbatim([]byte(`{"id":1,"raw":`), strings.Repeat("\x01", 12<<20)), '}')
	out, errs, status := runSotto(t, string(line), "extract", "--task", "math", "--jsonl", "--max-line", "128MiB", "--with", "raw")
	var c carrier
	if err := json.Unmarshal([]byte(out), &c); err != nil || status != 0 || c.Raw != nil || c.RawOmitted != 12<<20 {
		t.Errorf("status %d: %v: %.200s %s", status, err, out, errs)
	}
}

// Objects that carry replies can be resumed and compared, as those that do not.
func TestCarryAndNeighbours(t *testing.T) {
	in := writeFile(t, "in.jsonl", strings.Join(notBroken(gameLines(60)), "\n"))
	out := filepath.Join(t.TempDir(), "out.jsonl")
	args := []string{"score", "--task", "game24", "--jsonl", "--with", "raw,reading", "-o", out, in}
	if _, errs, status := runSotto(t, "", args...); status != shell.StatusFailed {
		t.Fatal(errs)
	}
	want, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []int{len(want) / 3, len(want) - 2} {
		if err := os.WriteFile(out, want[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		runSotto(t, "", append(args, "--resume")...)
		if got, _ := os.ReadFile(out); !bytes.Equal(got, want) {
			t.Errorf("cut at %d: %d bytes, want %d", cut, len(got), len(want))
		}
	}
	changes, errs, _ := runSotto(t, "", "score", "--task", "game24", "--jsonl", "--compare", out, in)
	if changes != "" || !strings.Contains(errs, "same") {
		t.Errorf("the same lines differ: %s %s", changes, errs)
	}
	if _, errs, status := runSotto(t, "", "score", "--task", "game24", "--jsonl", "--compare", out, "--with", "raw", in); status != shell.StatusUsage {
		t.Errorf("status %d: %s", status, errs)
	}
	rescored, _, _ := runSotto(t, "", "extract", "--task", "game24", "--jsonl", "--with", "raw", out)
	if n := strings.Count(rescored, `"raw":`); n != bytes.Count(want, []byte(`,"raw":`)) {
		t.Errorf("%d replies of an output were read again", n)
	}
}

// A stream that is killed between what memory learns and what the output says keeps
// the reply, and no reply is in the memory.
func TestSolveCarries(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out.jsonl")
	args := []string{"solve", "-q", "-n", "12", "--memory", filepath.Join(dir, "memory.db"), "-o", out}
	if _, errs, status := runSotto(t, "", args...); status != 0 {
		t.Fatal(errs)
	}
	want, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	attempts, carried := bytes.Count(want, []byte(`"temperature":`)), bytes.Count(want, []byte(`,"raw":"`))
	if attempts == 0 || carried != attempts || bytes.Contains(want, []byte(`"reading"`)) {
		t.Errorf("%d of %d attempts carry the reply", carried, attempts)
	}
	thought := []byte("I am sure that it is")
	files, _ := filepath.Glob(filepath.Join(dir, "memory.db*"))
	for _, name := range files {
		if data, _ := os.ReadFile(name); len(files) == 0 || bytes.Contains(data, thought) {
			t.Errorf("%s holds a thought", name)
		}
	}
	if !bytes.Contains(want, thought) {
		t.Fatal("the output holds no thought to look for")
	}
	// the last problem with attempts is cut in its last member, and at its start
	end := bytes.LastIndex(want, []byte(`,"raw":"`))
	end += bytes.IndexByte(want[end:], '\n')
	member := bytes.LastIndex(want[:end], []byte(`,"memory":`))
	for _, cut := range []int{member, member + 3, end - 5, end} {
		if err := os.WriteFile(out, want[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, errs, status := runSotto(t, "", "solve", "report", out); status != 0 {
			t.Errorf("cut at %d: %s", cut, errs)
		}
		_, errs, status := runSotto(t, "", append(args, "--resume")...)
		if got, _ := os.ReadFile(out); status != 0 || !bytes.Equal(got, want) {
			t.Errorf("cut at %d of %d, member at %d: status %d: %s\n%s\nwant\n%s", cut, len(want), member, status, errs, got[min(member-1000, len(got)):], want[member-1000:])
		}
	}
}

// Results without replies are those with, and nothing else.
func TestSolveWithout(t *testing.T) {
	read := func(with string) (head *solvereport.Head, first solve.Result) {
		out, errs, status := runSotto(t, "", "solve", "-q", "-n", "1", "--mode", "cot", "--with", with)
		if status != 0 {
			t.Fatal(errs)
		}
		line := strings.Split(out, "\n")[1]
		r, err := solve.ReadResult([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		head, _, err = solvereport.ReadResults(strings.NewReader(out))
		if err != nil {
			t.Fatal(err)
		}
		return head, r
	}
	head, r := read("none")
	if _, ok := r.Attempts[0].Reply(); ok || r.Attempts[0].Reading != nil || head.With != nil {
		t.Errorf("%+v carries a reply", r.Attempts[0])
	}
	head, r = read("raw,reading")
	raw, ok := r.Attempts[0].Reply()
	split, _, _ := runSotto(t, raw, "split")
	if !ok || string(r.Attempts[0].Reading) != strings.TrimSpace(split) || len(head.With) != 2 {
		t.Errorf("%q\nis read as %s\nwant %s", raw, r.Attempts[0].Reading, split)
	}
	if _, _, status := runSotto(t, "", "solve", "--with", "none,raw"); status != shell.StatusUsage {
		t.Errorf("status %d", status)
	}
}
