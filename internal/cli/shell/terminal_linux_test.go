package shell

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/typeset"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/testing/terminaltest"
)

// TestTypesetter: the only control sequences in styled text are the styles, and in
// a pipe there are none.
func TestTypesetter(t *testing.T) {
	write := func(out *os.File) {
		w := New(nil, out, io.Discard, func(string) string { return "" }).Out.Typesetter()
		w.Set(typeset.Dim, "a"+terminaltest.Strange)
		fmt.Fprintf(w, "b%s", terminaltest.Strange)
		w.Set(typeset.Unstyled, terminaltest.Strange)
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

// TestMessageOnItsOwnLine: a message does not continue the line of a result that goes
// to the same place. The results stay as they are.
func TestMessageOnItsOwnLine(t *testing.T) {
	say := func(out, errs io.Writer, result string) {
		sh := New(nil, out, errs, func(string) string { return "" })
		fmt.Fprint(sh.Out, result)
		sh.Errorf("oops")
		sh.Hintf("look")
	}
	const message = "sotto: error: oops\nsotto: hint: look\n"
	for result, want := range map[string]string{"": message, "text": "text\n" + message, "text\n": "text\n" + message} {
		shown := terminaltest.OnTerminal(t, func(tty *os.File) { say(tty, tty, result) })
		if got := string(bytes.ReplaceAll(shown, []byte("\r\n"), []byte("\n"))); got != want {
			t.Errorf("a terminal gets %q, want %q", got, want)
		}
		dir := t.TempDir()
		read := func(name string) string {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
		file := func(name string) *os.File {
			f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			return f
		}
		say(file("both"), file("both"), result) // as after 2>&1
		if got := read("both"); got != want {
			t.Errorf("one file for both gets %q, want %q", got, want)
		}
		say(file("out"), file("errs"), result)
		if out, errs := read("out"), read("errs"); out != result || errs != message {
			t.Errorf("two files get %q and %q", out, errs)
		}
	}
}

// TestMore: on a terminal, an error that has an entry ends with the command that explains it. A
// pipe gets the same lines as before, and an error without an entry has none.
func TestMore(t *testing.T) {
	for _, err := range []error{errors.New("r: another writer has the record open"), errors.New("nothing of the kind")} {
		report := func(out *os.File) { New(nil, io.Discard, out, func(string) string { return "" }).Report(err) }
		want := "sotto: error: " + err.Error() + "\n"
		pipe, fault := os.Create(filepath.Join(t.TempDir(), "pipe"))
		if fault != nil {
			t.Fatal(fault)
		}
		report(pipe)
		if piped, fault := os.ReadFile(pipe.Name()); fault != nil || string(piped) != want {
			t.Errorf("a pipe gets %q, want %q", piped, want)
		}
		if strings.Contains(want, "writer") {
			want += "sotto: more: sotto explain record-locked\n"
		}
		if shown := strings.ReplaceAll(string(terminaltest.OnTerminal(t, report)), "\r", ""); shown != want {
			t.Errorf("a terminal gets %q, want %q", shown, want)
		}
	}
}
