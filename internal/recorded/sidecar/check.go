package sidecar

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/record"
)

// A Checked is what Check or CheckSums found.
type Checked struct {
	Compared int // sidecars
	// Unfit are those that are not of their segments, so that no search uses them. Check counts
	// them as wrong.
	Unfit int
	// Unread are those that no identity opens.
	Unread int
	// Wrong are those that are not what their segments say.
	Wrong []Wrong
}

// A Wrong sidecar is not what its segment says. First and Last are the events of the segment.
type Wrong struct {
	Name        string
	First, Last uint64
}

// Check makes the sidecars of a record again, as far as each covers its segment, and compares
// them with what is there. One that does not fit its segment is wrong too, unless it is only
// of fewer lines.
func Check(dir string, ids []age.Identity) (Checked, error) { return check(dir, ids, checkOne) }

// CheckSums compares the sidecars that searches use with their own checksums, which takes
// little time. It finds what was damaged, not what was forged.
func CheckSums(dir string, ids []age.Identity) (Checked, error) { return check(dir, ids, sumsOf) }

// errUnfit is the error of a sidecar that is not of its segment.
var errUnfit = errors.New("the sidecar is not of its segment")

func check(dir string, ids []age.Identity, one func(record.File, []age.Identity) error) (Checked, error) {
	var c Checked
	files, err := record.Files(dir)
	if err != nil {
		return c, err
	}
	files = slices.DeleteFunc(files, func(f record.File) bool { return f.Tombstone })
	for i, f := range files {
		err := one(f, ids)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case errors.Is(err, ErrNoKey):
			c.Unread++
			continue
		case errors.Is(err, errUnfit):
			c.Unfit++
			continue
		case err != nil:
			w := Wrong{filepath.Base(sidecarPath(f)), f.First, f.First}
			if i+1 < len(files) {
				w.Last = files[i+1].First - 1
			}
			c.Wrong = append(c.Wrong, w)
		}
		c.Compared++
	}
	return c, nil
}

// both opens a segment and its sidecar, and gives them to a check. The error of a sidecar that
// does not fit is errUnfit.
func both(f record.File, ids []age.Identity, check func(segment io.ReaderAt, size int64, x *file) error) error {
	g := segment{File: f}
	defer g.close()
	if err := g.segment(); err != nil {
		return err
	}
	side, size, err := openSide(f)
	if err != nil {
		return err
	}
	defer side.Close()
	x, err := openFile(side, size, g.data, g.size, f.First, ids)
	if err != nil {
		return errors.Join(errUnfit, err)
	}
	return check(g.data, g.size, x)
}

func sumsOf(f record.File, ids []age.Identity) error {
	return both(f, ids, func(_ io.ReaderAt, _ int64, x *file) error {
		for name := range x.h.Sections {
			if _, err := x.section(name); err != nil {
				return err
			}
		}
		return nil
	})
}

func checkOne(f record.File, ids []age.Identity) error {
	err := both(f, ids, func(segment io.ReaderAt, size int64, x *file) error {
		b := newBuilder(f.First, record.ReadOptions{Identities: ids})
		if err := b.read(io.NewSectionReader(segment, 0, x.h.Covered)); err != nil {
			return errors.Join(errStale, err)
		}
		again, err := b.file()
		if err != nil {
			return err
		}
		y, err := openFile(bytes.NewReader(again), int64(len(again)), segment, size, f.First, nil)
		if err != nil {
			return err
		}
		return same(x, y)
	})
	if errors.Is(err, errUnfit) && !errors.Is(err, ErrNoKey) {
		return errStale
	}
	return err
}

// same compares the contents of two sidecars. The bytes may differ where another release of
// the library compressed them.
func same(x, y *file) error {
	h, k := x.h, y.h
	if !slices.Equal(slices.Sorted(maps.Keys(h.Sections)), slices.Sorted(maps.Keys(k.Sections))) {
		return errStale
	}
	for name := range h.Sections {
		a, err := x.content(name)
		if err != nil {
			return err
		}
		b, err := y.content(name)
		if err != nil {
			return err
		}
		if !bytes.Equal(a, b) {
			return errStale
		}
	}
	h.Sections, k.Sections = nil, nil
	a, _ := h.bytes()
	b, _ := k.bytes()
	if !bytes.Equal(a, b) {
		return errStale
	}
	return nil
}

// content returns what a section holds, without its compression.
func (f *file) content(name string) ([]byte, error) {
	switch name {
	case "ids", "grams":
		return f.section(name)
	case "terms", "posts", "chunks":
		x := &finder{f: f}
		if err := x.index(); err != nil {
			return nil, err
		}
		var out []byte
		for _, c := range x.chunks {
			part := c.terms
			switch name {
			case "posts":
				part = c.posts
			case "chunks":
				out = append(append(out, c.first...), '\n')
				continue
			}
			plain, err := x.part(name, part)
			if err != nil {
				return nil, err
			}
			out = append(out, plain...)
		}
		return out, nil
	}
	return f.plain(name, 8*f.h.Covered+4096)
}
