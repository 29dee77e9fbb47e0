package cli

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestCompressedFiles runs commands on a file, on the same file compressed, under any
// name and from standard input. The results are the same.
func TestCompressedFiles(t *testing.T) {
	lines := strings.Repeat(`{"id":1,"input":"3 8 1 1","raw":"<think>t</think>Answer: 3*8*1*1","finish_reason":"stop"}`+"\n", 500)
	list := "[" + strings.TrimSuffix(strings.ReplaceAll(lines, "\n", ","), ",") + "]"
	for what, c := range map[string]struct {
		in   string
		args []string
	}{
		"strip":         {"<think>t</think>b", []string{"strip"}},
		"strip --jsonl": {lines, []string{"strip", "--jsonl", "--field", "raw"}},
		"split --jsonl": {lines, []string{"split", "--jsonl"}},
		"extract":       {lines, []string{"extract", "--task", "game24", "--jsonl"}},
		"score":         {lines, []string{"score", "--task", "game24", "--jsonl"}},
		"score a list":  {list, []string{"score", "--task", "game24", "--jsonl"}},
	} {
		name := writeFile(t, "in", c.in)
		want, errs, status := runSotto(t, "", append(c.args, name)...)
		if status != 0 || !strings.Contains(want, "b") && !strings.Contains(want, "3*8*1*1") && !strings.Contains(want, "500") {
			t.Fatalf("%s: status %d: %s%s", what, status, want, errs)
		}
		for format, data := range map[string][]byte{"gzip": gzipped(t, c.in), "zstd": zstded(t, c.in)} {
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if got, errs, status := runSotto(t, "", append(c.args, name)...); status != 0 || got != want {
				t.Errorf("%s, %s: status %d, %q: %s", what, format, status, got, errs)
			}
			if got, errs, status := runSotto(t, string(data), c.args...); status != 0 || strings.ReplaceAll(got, "standard input", name) != want {
				t.Errorf("%s, %s from standard input: status %d, %q: %s", what, format, status, got, errs)
			}
			if err := os.WriteFile(name, data[:len(data)-3], 0o600); err != nil {
				t.Fatal(err)
			}
			if _, errs, status := runSotto(t, "", append(c.args, name)...); status != 1 || !strings.Contains(errs, format+": ") {
				t.Errorf("%s, %s that was cut: status %d: %s", what, format, status, errs)
			}
		}
	}
}

func gzipped(t *testing.T, text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	return closed(t, &b, w, text)
}

func zstded(t *testing.T, text string) []byte {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	return closed(t, &b, w, text)
}

func closed(t *testing.T, b *bytes.Buffer, w io.WriteCloser, text string) []byte {
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
