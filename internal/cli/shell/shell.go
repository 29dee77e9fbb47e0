// Package shell is the environment of a command: its streams, its environment
// variables, the terminal, the files that it writes, and the report of its errors.
// It does not know any command.
package shell

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/decompress"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/net/objects"
)

// A Shell is the environment of a command: its streams and its environment
// variables.
type Shell struct {
	In     io.Reader
	Out    *Printer // results that are data: in a pipe, byte for byte
	Text   *Printer // results for people, on the same stream
	Err    *Printer // everything else, for people
	Getenv func(string) string

	// Program is the name of the program in messages; if it is empty, sotto. Own, if it is
	// not nil, changes the texts of messages: the commands that they name are those of
	// that program.
	Program string
	Own     func(string) string
}

// Name is the name of the program in messages.
func (sh *Shell) Name() string { return cmp.Or(sh.Program, "sotto") }

// Named returns a text of ours in which the commands are those of this program.
func (sh *Shell) Named(text string) string {
	if sh.Own == nil {
		return text
	}
	return sh.Own(text)
}

// Log returns a log on standard error, of lines of this level and above.
func (sh *Shell) Log(level slog.Leveler) *slog.Logger {
	return slog.New(slog.NewTextHandler(sh.Err, sh.LogOptions(level)))
}

// LogOptions are options for a log. The commands that its lines name are those of this
// program.
func (sh *Shell) LogOptions(level slog.Leveler) *slog.HandlerOptions {
	o := &slog.HandlerOptions{Level: level}
	if sh.Own == nil {
		return o
	}
	o.ReplaceAttr = func(_ []string, a slog.Attr) slog.Attr {
		if err, ok := a.Value.Any().(error); ok {
			a.Value = slog.StringValue(err.Error())
		}
		if a.Value.Kind() == slog.KindString {
			a.Value = slog.StringValue(sh.Own(a.Value.String()))
		}
		return a
	}
	return o
}

// New returns a shell with these streams. An environment variable counts as unset
// if getenv returns "" for it.
func New(in io.Reader, out, err io.Writer, getenv func(string) string) *Shell {
	sh := &Shell{In: in, Err: &Printer{newTerminal(err, getenv), true}, Getenv: getenv}
	sh.Into(out)
	return sh
}

// Into redirects the results to a stream.
func (sh *Shell) Into(stream io.Writer) {
	t := newTerminal(stream, sh.Getenv)
	sh.Out, sh.Text = &Printer{t, false}, &Printer{t, true}
}

// Interactive reports whether standard input is a terminal, where a person can be asked.
func (sh *Shell) Interactive() bool { return isTerminal(sh.In) }

// Flush writes bytes held back because a chunk ended within a character.
func (sh *Shell) Flush() error {
	return cmp.Or(sh.Out.Flush(), sh.Err.Flush())
}

// Results returns the printer for results: the one for data, or the one for people.
func (sh *Shell) Results(data bool) *Printer {
	if data {
		return sh.Out
	}
	return sh.Text
}

// An Input is what a command reads, decompressed if it is compressed.
type Input struct {
	*decompress.Reader
	Name string
	file *os.File // nil for standard input and objects
	from io.Closer
}

// Close closes a file. Standard input stays open.
func (in *Input) Close() error {
	in.Reader.Close()
	if in.from == nil {
		return nil
	}
	return in.from.Close()
}

// File returns the file itself, and nil for standard input.
func (in *Input) File() *os.File { return in.file }

// size returns the length of a regular file that is not compressed, and 0 for
// anything else.
func (in *Input) size() int64 {
	if in.file == nil {
		return 0
	}
	info, err := in.file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	head := make([]byte, 4)
	n, _ := in.file.ReadAt(head, 0)
	if decompress.Compressed(head[:n]) {
		return 0
	}
	return info.Size()
}

// InputOf returns an input that is open. Closing it closes r.
func InputOf(name string, r io.ReadCloser) *Input {
	file, _ := r.(*os.File)
	return &Input{Reader: decompress.NewReader(r), Name: name, file: file, from: r}
}

// Open opens FILE: a file, or an object s3://BUCKET/NAME. "-" or "" is standard input. Files that gzip or zstd have
// compressed are decompressed, whatever their names are.
func (sh *Shell) Open(name string) (*Input, error) {
	if name == "" || name == "-" {
		if isTerminal(sh.In) {
			sh.Hintf("reading from the terminal; press ctrl-D to end")
		}
		return &Input{Reader: decompress.NewReader(sh.In), Name: "standard input"}, nil
	}
	if objects.Is(name) {
		return sh.openObject(name)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, files.Cause(err))
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		file.Close()
		return nil, fmt.Errorf("open %s: is a directory", name)
	}
	return InputOf(name, file), nil
}

// ReadAll reads FILE whole, within some bytes.
func (sh *Shell) ReadAll(name string, most int) (string, error) {
	in, err := sh.Open(name)
	if err != nil {
		return "", err
	}
	defer in.Close()
	data, err := files.ReadAll(in, int64(most))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", in.Name, err)
	}
	return string(data), nil
}

// Print writes the verdict on one reply.
func (sh *Shell) Print(object []byte) error {
	if _, err := sh.Out.Write(object); err != nil {
		return fmt.Errorf("write: %w", files.Cause(err))
	}
	return nil
}

// Token returns the token of the file, if it has a name, or else of the environment
// variable; "" if there is none. No error contains any part of it.
func (sh *Shell) Token(variable, file string) (string, error) {
	return sh.Secret(variable, "--token-file", file)
}

// Secret is Token for a flag of another name.
func (sh *Shell) Secret(variable, flag, file string) (string, error) {
	text, err := sh.secretText(variable, flag, file)
	if err != nil || text == "" {
		return "", err
	}
	return text, files.CheckSecret(text)
}

func (sh *Shell) secretText(variable, flag, file string) (string, error) {
	if file == "" {
		return sh.Getenv(variable), nil
	}
	data, err := files.ReadSecret(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}
