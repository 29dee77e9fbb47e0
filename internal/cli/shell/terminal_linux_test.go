package shell

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/terminaltest"
	"github.com/sotto-llm/sotto/internal/visible"
)

// TestTypesetter: the only control sequences in styled text are the styles, and in
// a pipe there are none.
func TestTypesetter(t *testing.T) {
	write := func(out *os.File) {
		w := NewTypesetter(New(nil, out, io.Discard, func(string) string { return "" }).Out)
		w.Set(Dim, "a"+terminaltest.Strange)
		fmt.Fprintf(w, "b%s", terminaltest.Strange)
		w.Set(Unstyled, terminaltest.Strange)
		if err := w.Flush(); err != nil {
			t.Error(err)
		}
	}
	shown := string(terminaltest.OnTerminal(t, write))
	text, styled := strings.CutPrefix(shown, "\x1b[2ma"+visible.Text(terminaltest.Strange)+"\x1b[0m")
	if want := "b" + visible.Text(terminaltest.Strange) + visible.Text(terminaltest.Strange); !styled || text != want {
		t.Errorf("a terminal gets %q", shown)
	}
	pipe, err := os.Create(filepath.Join(t.TempDir(), "pipe"))
	if err != nil {
		t.Fatal(err)
	}
	write(pipe)
	piped, err := os.ReadFile(pipe.Name())
	if want := "a" + visible.Text(terminaltest.Strange) + text; err != nil || string(piped) != want {
		t.Errorf("a pipe gets %q, want %q", piped, want)
	}
}

// TestProgressBar: a bar shows the name of a file with control characters made
// visible. It writes only the control sequences that redraw it.
func TestProgressBar(t *testing.T) {
	shown := terminaltest.OnTerminal(t, func(tty *os.File) {
		sh := New(nil, io.Discard, tty, func(string) string { return "" })
		bar := NewCountProgress(sh, terminaltest.Strange, 100, 0)
		bar.Advance(60)
		bar.Clear()
		fmt.Fprintf(barWriter{sh.Err.terminal}, "\r\x1b[2K%s\r", terminaltest.Strange)
	})
	for _, s := range barSequences {
		shown = bytes.ReplaceAll(shown, []byte(s), nil)
	}
	if bad := terminaltest.Forbidden(shown); bad != "" || !bytes.Contains(shown, []byte("␛]0;owned")) {
		t.Errorf("the bar is %q, with %s", shown, bad)
	}
}
