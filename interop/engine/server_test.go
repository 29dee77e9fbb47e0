package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/interop/gguf"
)

func TestAbsent(t *testing.T) {
	t.Setenv(EnvBinary, "")
	if _, err := Start(t.Context(), Config{}); !errors.Is(err, ErrAbsent) {
		t.Errorf("Start without a binary: %v", err)
	}
	t.Setenv(EnvBinary, t.TempDir())
	if _, err := Find(); err == nil || errors.Is(err, ErrAbsent) {
		t.Errorf("Find of a directory: %v", err)
	}
}

func TestServerThatEnds(t *testing.T) {
	_, err := Start(t.Context(), Config{Binary: "false"})
	if err == nil || !strings.Contains(err.Error(), "ended at once") {
		t.Errorf("Start of a program that only fails: %v", err)
	}
}

// The address is found wherever the log is cut, and only once.
func TestLog(t *testing.T) {
	const line = `level=INFO msg="Listening on 127.0.0.1:40123 (version 0.6.5)"` + "\n"
	for cut := range line {
		l := &log{listening: make(chan string, 1)}
		for _, p := range []string{line[:cut], line[cut:], line} {
			if n, err := l.Write([]byte(p)); n != len(p) || err != nil {
				t.Fatalf("cut at %d: Write: %d, %v", cut, n, err)
			}
		}
		if got := <-l.listening; got != "127.0.0.1:40123" {
			t.Errorf("cut at %d: %q", cut, got)
		}
	}
}

func TestLogKeepsTheEnd(t *testing.T) {
	l := &log{listening: make(chan string, 1)}
	for range 3 * keep {
		l.Write([]byte("x"))
	}
	l.Write([]byte("last"))
	if end := string(l.end()); len(end) != keep || !strings.HasSuffix(end, "xlast") {
		t.Errorf("%d bytes are kept, to …%q", len(end), end[max(0, len(end)-8):])
	}
}

// Every model can be written, and its parts are parts of its text.
func TestModels(t *testing.T) {
	names := map[string]bool{}
	for _, m := range Models() {
		if names[m.Name] {
			t.Errorf("two models %s", m.Name)
		}
		names[m.Name] = true
		if err := gguf.Write(new(strings.Builder), m.Script); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
		if got := strings.Join(m.Pieces, ""); got != m.Text || got == "" {
			t.Errorf("%s: pieces are %q, text %q", m.Name, got, m.Text)
		}
		if !strings.Contains(m.Text, m.Thinking) || !strings.HasSuffix(m.Text, m.Answer) {
			t.Errorf("%s: %q does not hold %q and %q", m.Name, m.Text, m.Thinking, m.Answer)
		}
	}
}
