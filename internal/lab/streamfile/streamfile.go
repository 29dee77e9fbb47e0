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

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
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

// Lines visits the lines of a file, the head too, with the members that the paths name. An
// error of visit ends it.
func Lines(ctx context.Context, name string, paths [][]jsonpath.Step, visit func(*jsonpath.Finder) error) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, files.Cause(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", name)
	}
	lines := bufio.NewReaderSize(f, 256<<10)
	var find jsonpath.Finder
	for number := 1; ctx.Err() == nil; number++ {
		line, err := batch.NextLine(lines, batch.OwnLine)
		if errors.Is(err, io.EOF) {
			return nil
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
