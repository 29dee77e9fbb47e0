package databackup

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/datafolder"
)

// archiveVersion is the version of the archives that this package writes.
const archiveVersion = 1

// The names in an archive.
const (
	aboutName    = "sotto-data.json"
	dataPrefix   = "data/"
	manifestName = "manifest.jsonl"
)

// An About is what an archive says about itself, before its files.
type About struct {
	V         int       `json:"v"`
	Format    int       `json:"format"` // of the folder
	WrittenBy string    `json:"written_by"`
	Created   time.Time `json:"created"`
}

// An Entry is a file of an archive: a line of its manifest.
type Entry struct {
	Name     string    `json:"name"`
	Part     Part      `json:"part"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	SHA256   string    `json:"sha256"`
}

// Options say how a backup is made.
type Options struct {
	// Temp is a folder for copies of databases. If empty, the one of the system.
	Temp string
	// Now is the clock. If nil, time.Now.
	Now func() time.Time
	// Databases are those that can be copied. A folder with another one is refused.
	Databases Databases
}

// A Summary says what was copied.
type Summary struct {
	About   About
	Entries []Entry
	LeftOut []LeftOut
}

// Bytes returns the bytes of all files.
func (s *Summary) Bytes() (n int64) {
	for _, e := range s.Entries {
		n += e.Size
	}
	return n
}

// Backup writes an archive of a data folder. Programs may write to the folder meanwhile.
func Backup(ctx context.Context, dir string, to io.Writer, o Options) (*Summary, error) {
	if err := datafolder.Check(dir); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("the data folder %s: %w", dir, files.Cause(err))
	}
	defer root.Close()
	temp, err := os.MkdirTemp(o.Temp, ".sotto-backup-")
	if err != nil {
		return nil, fmt.Errorf("a folder for copies of databases: %w", err)
	}
	defer os.RemoveAll(temp)
	if o.Now == nil {
		o.Now = time.Now
	}
	z, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	w := &writer{tar: tar.NewWriter(z), copier: copier{dir, root, temp, o.Databases}}
	if err := w.folder(ctx, o.Now().UTC().Truncate(time.Second)); err != nil {
		return nil, err // z is not closed, so the archive has no end
	}
	if err := errors.Join(w.tar.Close(), z.Close()); err != nil {
		return nil, err
	}
	return &w.Summary, nil
}

// A writer writes an archive.
type writer struct {
	Summary
	copier
	tar  *tar.Writer
	have map[string]bool
}

func (w *writer) folder(ctx context.Context, now time.Time) error {
	format, err := datafolder.FormatOf(w.dir)
	if err != nil {
		return err
	}
	w.About = About{archiveVersion, format, datafolder.Version(), now}
	if err := w.json(aboutName, w.About); err != nil {
		return err
	}
	all, out, err := list(w.root)
	if err != nil {
		return fmt.Errorf("the data folder %s: %w", w.dir, files.Cause(err))
	}
	w.LeftOut, w.have = out, map[string]bool{}
	for _, p := range all {
		if err := w.file(ctx, p); err != nil {
			return err
		}
	}
	return w.manifest()
}

// file copies a file. One that was removed meanwhile is left out; in the place of a
// segment that was pruned comes its tombstone.
func (w *writer) file(ctx context.Context, p place) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.have[p.name] {
		return nil
	}
	s, err := w.open(ctx, p)
	if errors.Is(err, fs.ErrNotExist) {
		if stone, ok := tombstone(p); ok {
			return w.file(ctx, stone)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", p.name, files.Cause(err))
	}
	defer s.close()
	point("file opened")
	e := Entry{Name: p.name, Part: p.part, Size: s.size, Modified: s.modified.UTC()}
	if err := w.header(dataPrefix+p.name, s.size, e.Modified); err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(w.tar, sum), s)
	if err == nil && n < s.size {
		err = errorhint.Add(fmt.Errorf("it got shorter while it was copied, from %d to %d bytes", s.size, n), "run the backup again")
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", p.name, err)
	}
	e.SHA256 = hex.EncodeToString(sum.Sum(nil))
	w.Entries, w.have[p.name] = append(w.Entries, e), true
	point("file copied")
	return nil
}

// header begins a file of the archive.
func (w *writer) header(name string, size int64, modified time.Time) error {
	return w.tar.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: modified, Format: tar.FormatPAX,
	})
}

func (w *writer) json(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := w.header(name, int64(len(data))+1, w.About.Created); err != nil {
		return err
	}
	_, err = w.tar.Write(append(data, '\n'))
	return err
}

// manifest writes the manifest. Its size has to be known first, so it is made twice.
func (w *writer) manifest() error {
	var size counter
	if err := w.lines(&size); err != nil {
		return err
	}
	if err := w.header(manifestName, int64(size), w.About.Created); err != nil {
		return err
	}
	return w.lines(w.tar)
}

func (w *writer) lines(to io.Writer) error {
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	for i := range w.Entries {
		if err := e.Encode(&w.Entries[i]); err != nil {
			return err
		}
	}
	return nil
}

// A counter counts what is written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// Within reports whether a file would be in a folder.
func Within(dir, file string) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		return false
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return false
	}
	if parent, err = filepath.Abs(parent); err != nil {
		return false
	}
	rel, err := filepath.Rel(dir, parent)
	return err == nil && filepath.IsLocal(rel)
}
