package textcmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/reply/painter"
)

// A blockWriter writes blocks as they stream in. It trims each block, leaves out
// blank ones, and puts a blank line between blocks. The zero blockWriter discards
// everything.
type blockWriter struct {
	w     io.Writer
	file  io.Closer
	block int    // the block last written to
	some  bool   // something was written to the file
	begun bool   // something of this block was written
	white []byte // white space held back until more of its block arrives
}

// openSink opens WHERE of --reasoning-to.
func openSink(sh *shell.Shell, where string) (*blockWriter, error) {
	number, isFD := strings.CutPrefix(where, "fd:")
	switch {
	case where == "":
		return new(blockWriter), nil
	case where == "stderr", where == "fd:2":
		return &blockWriter{w: sh.Err.Data()}, nil
	case where == "fd:1":
		return &blockWriter{w: sh.Out}, nil
	case isFD:
		fd, err := strconv.ParseUint(number, 10, 31)
		if err != nil {
			return nil, errorhint.Usage(fmt.Errorf("--reasoning-to %s: %q is not a file descriptor", where, number), "want FILE, fd:N or stderr")
		}
		file := os.NewFile(uintptr(fd), where)
		if _, err := file.Stat(); err != nil {
			return nil, errorhint.Usage(fmt.Errorf("--reasoning-to %s: %w", where, files.Cause(err)), "open it in the shell: sotto strip --reasoning-to fd:3 3>thoughts.txt")
		}
		return &blockWriter{w: shell.FilePrinter(file), file: file}, nil
	}
	file, err := sh.CreateFile(where, false)
	if err != nil {
		return nil, fmt.Errorf("--reasoning-to %s: %w", where, err)
	}
	return &blockWriter{w: shell.FilePrinter(file.Stream()), file: file}, nil
}

func (b *blockWriter) write(block int, p []byte) error {
	if b.w == nil {
		return nil
	}
	if block != b.block {
		b.block, b.begun, b.white = block, false, b.white[:0]
	}
	if !b.begun {
		p = bytes.TrimLeft(p, painter.WhiteSpace)
	}
	body := bytes.TrimRight(p, painter.WhiteSpace)
	if len(body) == 0 {
		b.white = append(b.white, p...)
		return nil
	}
	var out []byte
	if !b.begun && b.some {
		out = append(out, "\n\n"...)
	}
	out = append(append(out, b.white...), body...)
	b.white = append(b.white[:0], p[len(body):]...)
	b.begun, b.some = true, true
	_, err := b.w.Write(out)
	return err
}

// Close ends the last line.
func (b *blockWriter) Close() error {
	var errs []error
	if b.some {
		_, err := io.WriteString(b.w, "\n")
		errs = append(errs, err)
	}
	if p, ok := b.w.(*shell.Printer); ok {
		errs = append(errs, p.Flush())
	}
	if b.file != nil {
		errs = append(errs, b.file.Close())
	}
	return errors.Join(errs...)
}
