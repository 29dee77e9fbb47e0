package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
)

// A shell is what surrounds a command: its streams and its environment.
type shell struct {
	in     io.Reader
	out    *printer // results that are data: in a pipe, byte for byte
	text   *printer // results for people, on the same stream
	err    *printer // everything else, for people
	getenv func(string) string
}

func newShell(in io.Reader, out, err io.Writer, getenv func(string) string) *shell {
	sh := &shell{in: in, err: &printer{newTerminal(err, getenv), true}, getenv: getenv}
	sh.into(out)
	return sh
}

// into sends the results to a stream.
func (sh *shell) into(stream io.Writer) {
	t := newTerminal(stream, sh.getenv)
	sh.out, sh.text = &printer{t, false}, &printer{t, true}
}

// flush writes what a character cut by a chunk has held back.
func (sh *shell) flush() error {
	return cmp.Or(sh.out.Flush(), sh.err.Flush())
}

// results returns what results go to: data, or what is for people.
func (sh *shell) results(data bool) *printer {
	if data {
		return sh.out
	}
	return sh.text
}

// An input is what a command reads.
type input struct {
	io.Reader
	name string
	file *os.File // nil for standard input
}

func (in *input) Close() error {
	if in.file == nil {
		return nil
	}
	return in.file.Close()
}

// size returns the length of a regular file, and 0 of everything else.
func (in *input) size() int64 {
	if in.file == nil {
		return 0
	}
	if info, err := in.file.Stat(); err == nil && info.Mode().IsRegular() {
		return info.Size()
	}
	return 0
}

// open opens FILE; "-" or nothing is standard input.
func (sh *shell) open(name string) (*input, error) {
	if name == "" || name == "-" {
		if isTerminal(sh.in) {
			sh.hintf("reading from the terminal; end with ctrl-D")
		}
		return &input{Reader: sh.in, name: "standard input"}, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, cause(err))
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		file.Close()
		return nil, fmt.Errorf("open %s: is a directory", name)
	}
	return &input{Reader: file, name: name, file: file}, nil
}

// readAll reads FILE whole.
func (sh *shell) readAll(name string) (string, error) {
	in, err := sh.open(name)
	if err != nil {
		return "", err
	}
	defer in.Close()
	data, err := readBounded(in, maxReply)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", in.name, err)
	}
	return string(data), nil
}

// print writes the verdict on one reply.
func (sh *shell) print(object []byte) error {
	if _, err := sh.out.Write(object); err != nil {
		return fmt.Errorf("write: %w", cause(err))
	}
	return nil
}
