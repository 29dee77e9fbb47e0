package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTypesetter: a style is the only control sequence that text in a style
// brings, and in a pipe there is none.
func TestTypesetter(t *testing.T) {
	write := func(out *os.File) {
		w := newTypesetter(newShell(nil, out, io.Discard, func(string) string { return "" }).out)
		w.set(dim, "a"+strange)
		fmt.Fprintf(w, "b%s", strange)
		w.set(unstyled, strange)
		if err := w.Flush(); err != nil {
			t.Error(err)
		}
	}
	shown := string(onTerminal(t, write))
	text, styled := strings.CutPrefix(shown, "\x1b[2ma"+safe(strange)+"\x1b[0m")
	if want := "b" + safe(strange) + safe(strange); !styled || text != want {
		t.Errorf("a terminal gets %q", shown)
	}
	pipe, err := os.Create(filepath.Join(t.TempDir(), "pipe"))
	if err != nil {
		t.Fatal(err)
	}
	write(pipe)
	piped, err := os.ReadFile(pipe.Name())
	if want := "a" + safe(strange) + text; err != nil || string(piped) != want {
		t.Errorf("a pipe gets %q, want %q", piped, want)
	}
}

// TestProgressBar: a bar shows the name of a file made visible, and writes no
// control sequence but those that draw it anew.
func TestProgressBar(t *testing.T) {
	shown := onTerminal(t, func(tty *os.File) {
		sh := newShell(nil, io.Discard, tty, func(string) string { return "" })
		bar := newCountProgress(sh, strange, 100, 0)
		bar.advance(60)
		bar.clear()
		fmt.Fprintf(barWriter{sh.err.terminal}, "\r\x1b[2K%s\r", strange)
	})
	for _, s := range barSequences {
		shown = bytes.ReplaceAll(shown, []byte(s), nil)
	}
	if bad := forbidden(shown); bad != "" || !bytes.Contains(shown, []byte("␛]0;owned")) {
		t.Errorf("the bar is %q, with %s", shown, bad)
	}
}
