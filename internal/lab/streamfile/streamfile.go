// Package streamfile reads the outputs of sotto solve: files with a line of JSON for each
// problem, after a head. It reads only the members that its caller asks for, so that replies in
// the lines cost little.
package streamfile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
	"github.com/sotto-llm/sotto/internal/data/sealing"
)

// Paths parses the paths of members, such as memory.size.traces. One that is wrong is a bug.
func Paths(names ...string) (paths [][]jsonpath.Step) {
	for _, name := range names {
		path, err := jsonpath.Parse(name)
		if err != nil {
			panic("streamfile: " + err.Error())
		}
		paths = append(paths, path)
	}
	return paths
}

// Open opens an output, and decrypts it if it is sealed.
func Open(name string, ids []age.Identity) (io.ReadCloser, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, files.Cause(err))
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	return struct {
		io.Reader
		io.Closer
	}{sealing.NewReader(f, ids), f}, nil
}

// Lines visits the lines of an output, the head too, with the members that the paths name. An
// error of visit ends it.
func Lines(ctx context.Context, name string, ids []age.Identity, paths [][]jsonpath.Step, visit func(*jsonpath.Finder) error) error {
	f, err := Open(name, ids)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 256<<10)
	var find jsonpath.Finder
	for number := 1; ctx.Err() == nil; number++ {
		line, err := batch.NextLine(lines, batch.OwnLine)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if errors.Is(err, sealing.ErrSealed) {
			return sealing.Hint(fmt.Errorf("%s: %w", name, err))
		}
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", name, number, err)
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if err := find.Find(line, paths...); err != nil {
			return fmt.Errorf("%s: line %d: %w", name, number, err)
		}
		if err := visit(&find); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Is reports whether a member is true.
func Is(f *jsonpath.Finder, member int) bool { return string(f.Last(member)) == "true" }
