package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

type parquetMessage struct {
	Role    string `parquet:"role"`
	Content string `parquet:"content"`
}

type parquetRow struct {
	ID       int64            `parquet:"id"`
	Raw      string           `parquet:"raw"`
	Gold     string           `parquet:"gold,dict"`
	Messages []parquetMessage `parquet:"messages,list"`
}

var parquetRows = []parquetRow{
	{1, "<think>so</think>The answer is 5.", "5", []parquetMessage{{"user", "2+3?"}, {"assistant", "<think>so</think>5"}}},
	{2, "<think>no</think>The answer is 7.", "8", []parquetMessage{{"assistant", "<think>no</think>7"}}},
}

const parquetLines = `{"id":1,"raw":"<think>so</think>The answer is 5.","gold":"5","messages":[{"role":"user","content":"2+3?"},{"role":"assistant","content":"<think>so</think>5"}]}
{"id":2,"raw":"<think>no</think>The answer is 7.","gold":"8","messages":[{"role":"assistant","content":"<think>no</think>7"}]}
`

// parquetFile writes the rows to a file.
func parquetFile(t *testing.T, name string) string {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[parquetRow](&b, parquet.Compression(&parquet.Zstd))
	if _, err := w.Write(parquetRows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return writeFile(t, name, b.String())
}

// TestParquetIn: all commands give for a Parquet file what they give for the same
// records as JSON Lines, also by paths into lists, and need no --jsonl.
func TestParquetIn(t *testing.T) {
	rows, other, lines := parquetFile(t, "in.parquet"), parquetFile(t, "data"), writeFile(t, "in.jsonl", parquetLines)
	for _, args := range [][]string{
		{"strip", "--field", "raw"},
		{"strip", "--field", "messages.-1.content"},
		{"strip", "--field", "messages.#.content"},
		{"split"},
		{"split", "--field", "messages.-1.content"},
		{"extract", "--task", "math"},
		{"extract", "--task", "number", "--field", "messages.-1.content", "--input-field", "messages.0.content"},
		{"score", "--task", "math"},
	} {
		want, _, status := runSotto(t, "", append(args, "--jsonl", lines)...)
		leaks := args[0] == "strip" && args[2] != "raw" // in raw, which stays
		wantStatus := 0
		if leaks {
			wantStatus = 1
		}
		if status != wantStatus || strings.Count(want, "\n") != 2 || strings.Contains(want, "error") {
			t.Fatalf("%q: status %d: %s", args, status, want)
		}
		for _, in := range [][]string{{rows}, {"--jsonl", other}, {"--input-format", "parquet", other}} {
			if got, errs, status := runSotto(t, "", append(args, in...)...); status != wantStatus || got != want || leaks != strings.Contains(errs, "2 replies of the output still hold reasoning, in raw") {
				t.Errorf("%q, %q: status %d: %s%s", args, in, status, errs, got)
			}
		}
	}
}

// TestParquetFaults: what cannot be read is said, with the name of the file.
func TestParquetFaults(t *testing.T) {
	name := parquetFile(t, "in.parquet")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for what, test := range map[string]struct{ stdin, file, want string }{
		"a pipe":     {string(whole), "", "standard input: parquet: its end must be read first"},
		"compressed": {"", string(gzipped(t, string(whole))), "parquet: the file does not begin with PAR1"},
		"cut off":    {"", string(whole[:len(whole)-10]), "in.parquet: parquet: the end of the file is missing"},
		"empty":      {"", "", "parquet: the file does not begin with PAR1"},
		"damaged":    {"", string(whole[:5]) + strings.Repeat("\xff", 50) + string(whole[55:]), "row group 1: column "},
	} {
		args := []string{"score", "--task", "math", "--jsonl"}
		if test.stdin == "" {
			if err := os.WriteFile(name, []byte(test.file), 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, name)
		}
		if _, errs, status := runSotto(t, test.stdin, args...); status != 1 || !strings.Contains(errs, test.want) || strings.Contains(errs, "goroutine") {
			t.Errorf("%s: status %d: %s, want %s", what, status, errs, test.want)
		}
	}
}
