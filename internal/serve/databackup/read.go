package databackup

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/datafolder"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
)

// The bounds of an archive.
const (
	maxFiles    = 1 << 18
	maxName     = 1024 // bytes
	maxFolders  = 32   // in a name
	maxAbout    = 4 << 10
	maxEntry    = 8 << 10 // a line of the manifest
	maxPadding  = 1 << 20 // after the end of the tar file
	maxManifest = maxFiles * 512

	// DefaultBytes bounds the files of an archive together, unless the caller says
	// another bound.
	DefaultBytes = 64 << 30
)

// An ArchiveError says what is wrong with an archive, and where.
type ArchiveError struct {
	Name string // the file of the archive; "" if no file of it is at fault
	At   int64  // how many bytes had been read, decompressed
	Err  error
}

func (e *ArchiveError) Error() string {
	where := fmt.Sprintf("byte %d", e.At)
	if e.Name != "" {
		where = e.Name + ", " + where
	}
	return where + ": " + e.Err.Error()
}

func (e *ArchiveError) Unwrap() error { return e.Err }

// checkName refuses names that are not of a file below a folder on every system, or
// that cannot be shown.
func checkName(name string) error {
	switch {
	case len(name) > maxName:
		return fmt.Errorf("its name is longer than %d bytes", maxName)
	case strings.Count(name, "/") > maxFolders:
		return fmt.Errorf("it is in more than %d folders", maxFolders)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return errors.New("its name is not plain text")
	case strings.Contains(name, `\`) || name != path.Clean(name) || name == "." || !filepath.IsLocal(filepath.FromSlash(name)):
		return errors.New("its name does not stay below the folder")
	}
	return nil
}

// A reader reads an archive, whose bytes are already decompressed, into a folder.
type reader struct {
	in    counted
	tar   *tar.Reader
	into  *os.Root // nil to only read
	sync  bool     // files survive a loss of power
	bytes int64    // that files may still have

	about   About
	entries []Entry
	byName  map[string]bool

	databases Databases // that are checked
}

// A counted reader counts what it reads.
type counted struct {
	io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// newReader returns a reader of an archive that has at most so many bytes in files; 0
// stands for the default.
func newReader(from io.Reader, bytes int64) *reader {
	if bytes == 0 {
		bytes = DefaultBytes
	}
	r := &reader{in: counted{Reader: from}, bytes: bytes, byName: map[string]bool{}}
	r.tar = tar.NewReader(&r.in)
	return r
}

// unpack reads all of the archive, and compares it with its manifest.
func (r *reader) unpack(ctx context.Context) error {
	name, err := "", r.begin()
	for more := true; err == nil && more; {
		if err = ctx.Err(); err != nil {
			return err
		}
		name, more, err = r.next()
	}
	if err == nil {
		name, err = "", r.end()
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errorhint.Add(fmt.Errorf("the archive ends here: it is not whole (%w)", io.ErrUnexpectedEOF), "use another backup: this one was cut, or its writing did not end")
	}
	return &ArchiveError{name, r.in.n, err}
}

// begin reads what the archive says about itself.
func (r *reader) begin() error {
	h, err := r.header()
	if err != nil {
		if errors.Is(err, tar.ErrHeader) {
			return errors.New("not a backup of sotto: it is not a tar file")
		}
		return err
	}
	if h.Name != aboutName {
		return fmt.Errorf("not a backup of sotto: it begins with %.100q", h.Name)
	}
	data, err := files.ReadAll(r.tar, maxAbout)
	if err == nil {
		err = decode(data, &r.about)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", aboutName, err)
	}
	if r.about.V < 1 || r.about.Format < 0 || len(r.about.WrittenBy) > 128 {
		return fmt.Errorf("%s does not describe a backup", aboutName)
	}
	for _, c := range []datafolder.NewerError{
		{What: "the backup", Has: r.about.V, Reads: archiveVersion, By: r.about.WrittenBy},
		{What: "the folder in the backup", Has: r.about.Format, Reads: datafolder.Format(), By: r.about.WrittenBy},
	} {
		if c.Has > c.Reads {
			return &c
		}
	}
	return nil
}

// header reads the header of the next file, which must be one that [Backup] writes.
func (r *reader) header() (*tar.Header, error) {
	h, err := r.tar.Next()
	if err != nil {
		return nil, err
	}
	if h.Typeflag != tar.TypeReg {
		return h, fmt.Errorf("%.100q is not a regular file", h.Name)
	}
	for key := range h.PAXRecords {
		if key != "mtime" && key != "path" && key != "size" {
			return h, fmt.Errorf("%.100q has the property %.40q, which no backup has", h.Name, key)
		}
	}
	return h, nil
}

// next reads a file, or the manifest, after which there are no more.
func (r *reader) next() (name string, more bool, err error) {
	h, err := r.header()
	if err != nil {
		return "", false, err
	}
	if h.Name == manifestName {
		return manifestName, false, r.manifest()
	}
	name, ok := strings.CutPrefix(h.Name, dataPrefix)
	if !ok {
		return "", false, fmt.Errorf("%.100q is not below %s", h.Name, dataPrefix)
	}
	if err := checkName(name); err != nil {
		return "", false, fmt.Errorf("%.100q: %w", name, err)
	}
	switch {
	case r.byName[name]:
		return name, false, errors.New("it is there twice")
	case len(r.entries) == maxFiles:
		return name, false, fmt.Errorf("there are more than %d files", maxFiles)
	case h.Size > r.bytes:
		return name, false, errorhint.Add(errors.New("the files have more bytes than are allowed"), "allow more with --max-size")
	}
	r.bytes -= h.Size
	e := Entry{Name: name, Size: h.Size, Modified: h.ModTime.UTC()}
	if e.SHA256, err = r.file(&e); err != nil {
		return name, false, err
	}
	r.entries, r.byName[name] = append(r.entries, e), true
	return name, true, nil
}

// file writes a file of the archive, and returns its digest.
func (r *reader) file(e *Entry) (digest string, err error) {
	sum := sha256.New()
	if r.into == nil {
		_, err = io.Copy(sum, r.tar)
		return hex.EncodeToString(sum.Sum(nil)), err
	}
	name := filepath.FromSlash(e.Name)
	if err := r.into.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return "", files.Cause(err)
	}
	f, err := r.into.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", files.Cause(err)
	}
	_, err = io.Copy(io.MultiWriter(f, sum), r.tar)
	if err == nil && r.sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	point("file restored")
	return hex.EncodeToString(sum.Sum(nil)), r.into.Chtimes(name, e.Modified, e.Modified)
}

// manifest compares the manifest with what was read.
func (r *reader) manifest() error {
	lines := bufio.NewReaderSize(io.LimitReader(r.tar, maxManifest), maxEntry)
	for i := 0; ; i++ {
		line, err := lines.ReadSlice('\n')
		if err == io.EOF && len(line) == 0 {
			if i < len(r.entries) {
				return fmt.Errorf("line %d: %s is missing", i+1, r.entries[i].Name)
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", i+1, err)
		}
		var e Entry
		if err := decode(line, &e); err != nil {
			return fmt.Errorf("line %d: %w", i+1, err)
		}
		if i >= len(r.entries) {
			return fmt.Errorf("line %d: the archive has no file %.100q", i+1, e.Name)
		}
		is := &r.entries[i]
		switch {
		case e.Name != is.Name:
			return fmt.Errorf("line %d: the archive has the file %s in the place of %.100q", i+1, is.Name, e.Name)
		case e.Size != is.Size:
			return fmt.Errorf("line %d: %s has %d bytes, and had %d when it was copied", i+1, e.Name, is.Size, e.Size)
		case e.SHA256 != is.SHA256:
			return fmt.Errorf("line %d: %s was changed: its SHA-256 is %s, and was %.64q when it was copied", i+1, e.Name, is.SHA256, e.SHA256)
		case !e.Modified.Equal(is.Modified):
			return fmt.Errorf("line %d: %s has the time %v, and had %v when it was copied", i+1, e.Name, is.Modified, e.Modified)
		}
		is.Part = e.Part
	}
}

// end reads what follows the manifest: the end of the tar file, and zeros.
func (r *reader) end() error {
	if _, err := r.tar.Next(); err == nil {
		return errors.New("a file follows the manifest")
	} else if err != io.EOF {
		return err
	}
	buf, left := make([]byte, 4<<10), maxPadding
	for {
		n, err := r.in.Read(buf)
		if left -= n; left < 0 || len(bytes.Trim(buf[:n], "\x00")) > 0 {
			return errors.New("bytes follow the end of the backup")
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// decode reads JSON of an archive.
func decode(data []byte, into any) error {
	if err := foreignjson.Check(data); err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}
