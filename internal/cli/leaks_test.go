package cli

import (
	"strings"
	"testing"
)

// TestLeaksSaysWhatItRead: the report names the columns, a field or a log chooses one, and
// what is not text, or holds no reply, is an error.
func TestLeaksSaysWhatItRead(t *testing.T) {
	rows := writeFile(t, "rows.jsonl", `{"raw":"<think>a b c d</think>4","answer":"4","list":[{"said":"5"}]}`+"\n"+`{"raw":"5","answer":"5","list":[]}`+"\n")
	samples := writeFile(t, "samples.jsonl", `{"doc_id":0,"doc":{"answer":"4"},"target":"4","resps":[["<think>a b c d</think>4"],["4"]],"filter":"x"}`+"\n")
	for _, tt := range []struct {
		args   []string
		stdin  string
		out    string
		err    string
		status int
	}{
		{[]string{rows}, "", "1 of 2 replies leak (50.0%)\nread: raw 2 · answer 0\n", "", 0},
		{[]string{"--max-leaked", "0", rows}, "", "read: raw 2 · answer 0\n", "more than --max-leaked 0", 5},
		{[]string{"--field", "answer", rows}, "", "0 of 2 replies leak (0.0%)\nread: answer 2\n", "", 0},
		{[]string{"--field", "list.#.said", rows}, "", "0 of 1 reply leak (0.0%)\nread: list.#.said 1\n", "line 2: field list.#.said is missing", 1},
		{[]string{"--field", "nope", rows}, "", "read: nothing\n", "line 1: field nope is missing", 1},
		{[]string{"--from", "lm-eval", samples}, "", "1 of 2 replies leak (50.0%)\nread: lm-eval 2\n", "", 0},
		{[]string{samples}, "", "1 of 2 replies leak (50.0%)\nread: resps 2 · answer 0\n", "", 0},
		{nil, "<think>a b c d</think>4", "1 of 1 reply leak (100.0%)\nread: text 1\n", "", 0},
		{nil, "\xff\xfe{\x00", "", "it is UTF-16, not UTF-8", 1},
		{nil, "abc\x80", "", "it is not text: byte 3 is 0x80", 1},
		{nil, "abc\x00", "", "it is not text: byte 3 is 0x00", 1},
		{nil, "", "read: nothing\n", "no reply was found", 1},
		{[]string{rows, writeFile(t, "empty.jsonl", "")}, "", "1 of 2 replies leak", "empty.jsonl: no reply was found", 1},
		{[]string{"--from", "lm-eval", "--field", "raw", rows}, "", "", "give one of them", 2},
		{[]string{"--field", "a..b", rows}, "", "", "a part of the path is empty", 2},
	} {
		out, err, status := runSotto(t, tt.stdin, append([]string{"leaks"}, tt.args...)...)
		if !strings.Contains(out, tt.out) || !strings.Contains(err, tt.err) || tt.err == "" && err != "" || status != tt.status {
			t.Errorf("leaks %.60q: status %d, %q, %q; want %d, %q, %q", tt.args, status, out, err, tt.status, tt.out, tt.err)
		}
	}
}
