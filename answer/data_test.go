package answer_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
)

// These tests read real replies, which are not in the repository. SOTTO_DATA names
// their folder.

// A logged is a reply as its authors kept it, with their verdict.
type logged struct {
	ID        string          `json:"id"`
	Arm       string          `json:"arm"`
	Raw       string          `json:"raw"`
	Gold      json.RawMessage `json:"gold"`
	Verdict   json.RawMessage `json:"logged_verdict"`
	Truncated bool            `json:"truncated"`
}

func readLogged(t testing.TB, name string) []logged {
	t.Helper()
	dir := os.Getenv("SOTTO_DATA")
	if dir == "" {
		t.Skip("SOTTO_DATA is not set: the recorded replies are not in the repository")
	}
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	var list []logged
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var l logged
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		list = append(list, l)
	}
	return list
}

func (l logged) right() bool { return string(l.Verdict) == "1" }

func (l logged) text(t testing.TB) string {
	t.Helper()
	var s string
	if err := json.Unmarshal(l.Gold, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// tally sums up the replies of one arm.
type tally map[string]int

func (got tally) want(t *testing.T, arm string, want tally) {
	t.Helper()
	for k, n := range want {
		if got[k] != n {
			t.Errorf("%s: %s: got %d, want %d", arm, k, got[k], n)
		}
	}
	for k, n := range got {
		if _, ok := want[k]; !ok {
			t.Errorf("%s: %s: got %d, want none", arm, k, n)
		}
	}
}

// The logs of the Game of 24, reply by reply: methods, reasons and verdicts.
func TestDataGame24(t *testing.T) {
	got := map[string]tally{"IO": {}, "CoT": {}, "ToT": {}}
	solved := map[string]map[string]bool{"IO": {}, "CoT": {}, "ToT": {}}
	for _, l := range readLogged(t, "tot_game24.jsonl") {
		p := answer.Problem{Input: l.text(t)}
		x := answer.Extract(answer.Game24, l.Raw, p, answer.Options{End: sotto.EndStopped})
		v := answer.Game24.Validate(x.Candidate, p)
		n := got[l.Arm]
		n[x.Method]++
		reason := string(v.Reason)
		if v.Detail == answer.DivisionByZero {
			reason = v.Detail
		}
		n[reason]++
		if v.OK == l.right() {
			n["agree"]++
		} else {
			t.Errorf("%s: %+v, logged %s: %q", l.ID, v, l.Verdict, l.Raw)
		}
		if v.OK {
			solved[l.Arm][p.Input] = true
		}
	}
	got["IO"].want(t, "IO", tally{"ok": 734, "math_error": 8596, "wrong_numbers": 651, "division_by_zero": 5, "empty": 28,
		"marker:answer": 9724, "fallback_bottom_scan": 262, "agree": 10000})
	got["CoT"].want(t, "CoT", tally{"ok": 403, "math_error": 3385, "wrong_numbers": 3401, "illegal_tokens": 1962, "format_error": 10,
		"division_by_zero": 1, "empty": 2 * 838, "marker:answer": 9159, "fallback_bottom_scan": 3, "agree": 10000})
	for arm, want := range map[string]int{"IO": 33, "CoT": 49, "ToT": 69} {
		if n := len(solved[arm]); n != want {
			t.Errorf("%s: %d problems solved, want %d", arm, n, want)
		}
	}
	if n := got["ToT"]; n["ok"] != 119 || n["agree"] != 500 || n["marker:answer"] != 156 || n["empty"] != 2*344 {
		t.Errorf("ToT: %v", n)
	}
}

// The crosswords' logs count letters and words of the first five rows.
func TestDataCrosswords(t *testing.T) {
	for _, l := range readLogged(t, "tot_crosswords.jsonl") {
		p := answer.Problem{Gold: l.text(t)}
		x := answer.Extract(answer.Crossword, l.Raw, p, answer.Options{End: sotto.EndStopped})
		v := answer.Crossword.Validate(x.Candidate, p)
		var want struct {
			Letter float64 `json:"r_letter"`
			Word   float64 `json:"r_word"`
			Game   bool    `json:"r_game"`
		}
		if err := json.Unmarshal(l.Verdict, &want); err != nil {
			t.Fatal(err)
		}
		detail := fmt.Sprintf("letters %.0f/25, words %.0f/10", want.Letter*25, want.Word*10)
		if v.Detail != detail || want.Game && !v.OK {
			t.Errorf("%s: %+v, logged %s: %q: %q", l.ID, v, l.Verdict, x.Candidate, l.Raw)
		}
	}
}

// Countdown's log takes the contents of the last closed block unchanged. Cleaned,
// more of them are right.
func TestDataCountdown(t *testing.T) {
	strict, cut, clean, whole := 0, 0, 0, tally{}
	for _, l := range readLogged(t, "countdown_qwen.jsonl") {
		p := answer.Problem{Gold: string(l.Gold)}
		o := answer.Options{End: sotto.EndStopped}
		if l.Truncated {
			o.End = sotto.EndCut
		}
		x := answer.Extract(answer.Countdown, l.Raw, p, o)
		v := answer.Countdown.Validate(x.Candidate, p)
		whole[x.Method]++
		if v.OK {
			whole["ok"]++
		}
		written := ""
		if x.Method == "answer_block" {
			written = x.Written
		}
		right := answer.Countdown.Validate(written, p).OK
		if right != l.right() {
			t.Errorf("%s: %t, logged %s: %q", l.ID, right, l.Verdict, written)
		}
		before, _, _ := strings.Cut(written, "=")
		strict += count(right)
		cut += count(answer.Countdown.Validate(before, p).OK)
		clean += count(v.OK && written != "")
	}
	if strict != 1255 || cut != 1296 || clean != 1388 {
		t.Errorf("as it stands %d, cut at = %d, cleaned %d right, want 1255, 1296, 1388", strict, cut, clean)
	}
	t.Logf("whole replies: %v", whole)
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// The mean over the log's 20,500 replies, read, extracted and judged.
func BenchmarkGame24Log(b *testing.B) {
	list := readLogged(b, "tot_game24.jsonl")
	problems := make([]answer.Problem, len(list))
	for i, l := range list {
		problems[i].Input = l.text(b)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		x := answer.Extract(answer.Game24, list[i].Raw, problems[i], answer.Options{End: sotto.EndStopped})
		answer.Game24.Validate(x.Candidate, problems[i])
		i = (i + 1) % len(list)
	}
}
