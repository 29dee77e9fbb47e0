package cli

import (
	"io"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/cli/shell"
)

// TestStripIsPrompt checks that certain text is written before more is read.
func TestStripIsPrompt(t *testing.T) {
	r, w := io.Pipe()
	out := make(chan string, 16)
	done := make(chan int)
	go func() {
		done <- Run([]string{"strip"}, r, shell.WriterTo(func(b []byte) error { out <- string(b); return nil }), io.Discard, noEnv)
	}()
	var got string
	for _, s := range []struct{ in, want string }{
		{"<think>hm</think>\n\nAll", "All"}, {" is w", "All is w"}, {"ell", "All is well"},
	} {
		io.WriteString(w, s.in)
		for len(got) < len(s.want) {
			select {
			case more := <-out:
				got += more
			case <-time.After(time.Minute):
				t.Fatalf("after %q nothing comes; so far %q", s.in, got)
			}
		}
		if got != s.want {
			t.Errorf("after %q: %q, want %q", s.in, got, s.want)
		}
	}
	w.Close()
	if status := <-done; status != shell.StatusDone {
		t.Errorf("status %d", status)
	}
}
