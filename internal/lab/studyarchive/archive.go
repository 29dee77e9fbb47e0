// Package studyarchive packs a finished study into one file, and reads such files from others.
//
// An archive is a tar file. Its first member is archive.json, the list of all others with their
// sizes and SHA-256 digests; they follow in the order of the list. The same study has the same
// archive, to the byte: members have no times and no owners. The digests show that an archive is
// whole. They do not show who made it; a signature of the file would.
package studyarchive

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
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/lab/study"
)

// A Manifest is the first member of an archive.
type Manifest struct {
	V    int    `json:"v"`
	Type string `json:"type"` // study
	Name string `json:"name"`
	// Sealed says that the study is encrypted. Then the archive has no inputs: they hold
	// prompts in plain.
	Sealed bool `json:"sealed,omitempty"`
	// Sotto and Go are the versions that ran the study, and Made what else it was made with.
	// A sealed study has them in its own manifest.
	Sotto string      `json:"sotto,omitempty"`
	Go    string      `json:"go,omitempty"`
	Made  *study.Made `json:"made,omitempty"`
	// Inputs are the files that the study read: prompts, problems, prices.
	Inputs []Input `json:"inputs,omitempty"`
	Files  []File  `json:"files"`
}

// An Input is a file that the study read.
type Input struct {
	study.Input
	// File is the member that holds it; "" if it is not in the archive, because it has
	// changed or is gone since the study ran.
	File string `json:"file,omitempty"`
}

// A File is a member of the archive.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`

	from string // on disk
}

// Bounds of an archive.
const (
	maxFiles    = 200_000
	maxManifest = 64 << 20
	// MaxBytes bounds what all members hold, unless a caller allows more.
	MaxBytes = 16 << 30

	manifestName = "archive.json"
	inputsFolder = "inputs"
)

// folders are those of a study that an archive has. What earlier attempts left in old is not a
// part of the study.
var folders = []string{"cells", "logs", "memory", "records", "streams"}

// ErrUnfinished is in the error of a study with cells that wait or run.
var ErrUnfinished = errors.New("the study is not finished")

// Describe lists what the archive of a study has.
func Describe(dir string) (*Manifest, error) {
	s, err := study.Open(dir)
	if err != nil {
		return nil, err
	}
	n := s.Counts()
	if left := n[study.Waiting] + n[study.Running]; left > 0 || study.Busy(dir) {
		return nil, fmt.Errorf("%s: %w: %d of %d cells wait or run", dir, ErrUnfinished, left, len(s.Cells))
	}
	m := &Manifest{V: 1, Type: "study", Name: s.Name, Sealed: s.Sealed}
	list := []File{{Name: "study.json", from: study.ManifestFile(dir)}}
	for _, folder := range folders {
		if err := addFolder(&list, dir, folder); err != nil {
			return nil, err
		}
	}
	if !s.Sealed {
		m.Sotto, m.Go, m.Made = s.Sotto, s.Go, s.Made
		for i, in := range s.Inputs {
			x := Input{Input: in}
			if now, err := study.InputOf(in.Name); err == nil && now.SHA256 == in.SHA256 {
				x.File = fmt.Sprintf("%s/%03d-%s", inputsFolder, i+1, plainName(in.Name))
				list = append(list, File{Name: x.File, from: in.Name})
			}
			m.Inputs = append(m.Inputs, x)
		}
	}
	if len(list) > maxFiles {
		return nil, fmt.Errorf("%s: %d files; an archive has at most %d", dir, len(list), maxFiles)
	}
	for i := range list {
		in, err := study.InputOf(list[i].from)
		if err != nil {
			return nil, err
		}
		list[i].Bytes, list[i].SHA256 = in.Bytes, in.SHA256
	}
	m.Files = list
	return m, nil
}

// addFolder adds the regular files below a folder, in the order of their names.
func addFolder(list *[]File, dir, folder string) error {
	return filepath.WalkDir(filepath.Join(dir, folder), func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is not a regular file", name)
		case d.Name() == "LOCK" || strings.HasPrefix(d.Name(), ".") || strings.HasSuffix(d.Name(), "-shm") || strings.HasSuffix(d.Name(), ".new"):
			return nil
		}
		within, err := filepath.Rel(dir, name)
		*list = append(*list, File{Name: filepath.ToSlash(within), from: name})
		return err
	})
}

// plainName is the last part of a path, of characters that every system takes.
func plainName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, filepath.Base(name))
	return strings.TrimLeft(name[:min(len(name), 100)], ".")
}

// Write writes an archive that Describe has listed. A file that has changed since is an error.
func (m *Manifest) Write(to io.Writer) error {
	head, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	w := tar.NewWriter(to)
	if err := member(w, manifestName, int64(len(head))+1); err != nil {
		return err
	}
	if _, err := w.Write(append(head, '\n')); err != nil {
		return err
	}
	for _, f := range m.Files {
		if err := member(w, f.Name, f.Bytes); err != nil {
			return err
		}
		if err := f.copy(w); err != nil {
			return err
		}
	}
	return w.Close()
}

func member(w *tar.Writer, name string, size int64) error {
	return w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, Format: tar.FormatPAX})
}

func (f *File) copy(to io.Writer) error {
	in, err := os.Open(f.from)
	if err != nil {
		return fmt.Errorf("open %s: %w", f.from, files.Cause(err))
	}
	defer in.Close()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, h), io.LimitReader(in, f.Bytes))
	if err != nil {
		return err
	}
	if n != f.Bytes || hex.EncodeToString(h.Sum(nil)) != f.SHA256 {
		return fmt.Errorf("%s changed while it was packed", f.from)
	}
	return nil
}

// Read reads an archive, in memory that does not depend on its size, and checks all of it.
// Unless it is nil, visit gets each member; what it leaves is read after it. most bounds the
// bytes of all members; 0 means [MaxBytes].
func Read(ctx context.Context, from io.Reader, most int64, visit func(File, io.Reader) error) (*Manifest, error) {
	r := tar.NewReader(from)
	m, err := readManifest(r, most)
	if err != nil {
		return nil, err
	}
	for i := range m.Files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := readMember(r, &m.Files[i], visit); err != nil {
			return nil, err
		}
	}
	switch h, err := r.Next(); {
	case err == nil:
		return nil, fmt.Errorf("member %.200q: the list does not have it", h.Name)
	case !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("after the last member: %w", err)
	}
	return m, nil
}

// readManifest reads and checks the first member.
func readManifest(r *tar.Reader, most int64) (*Manifest, error) {
	h, err := r.Next()
	if err != nil || h.Name != manifestName || h.Typeflag != tar.TypeReg {
		return nil, fmt.Errorf("not the archive of a study: it does not begin with %s", manifestName)
	}
	data, err := files.ReadAll(r, maxManifest)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifestName, err)
	}
	if err := (foreignjson.Limits{Members: 8 * maxFiles}).Check(data); err != nil {
		return nil, fmt.Errorf("%s: %w", manifestName, err)
	}
	m := new(Manifest)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("%s: %w", manifestName, err)
	}
	if m.V != 1 || m.Type != "study" {
		return nil, fmt.Errorf("%s: version %d of %.40q; this program reads version 1 of a study", manifestName, m.V, m.Type)
	}
	return m, m.check(most)
}

// check refuses a list that no study has.
func (m *Manifest) check(most int64) error {
	if most == 0 {
		most = MaxBytes
	}
	if len(m.Files) == 0 || len(m.Files) > maxFiles {
		return fmt.Errorf("%s: %d files; want 1 to %d", manifestName, len(m.Files), maxFiles)
	}
	seen := map[string]bool{}
	var sum int64
	for _, f := range m.Files {
		switch folded := strings.ToLower(f.Name); {
		case !allowed(f.Name):
			return fmt.Errorf("%s: %.200q is not a file of a study", manifestName, f.Name)
		case seen[folded]:
			return fmt.Errorf("%s: %.200q comes twice", manifestName, f.Name)
		case f.Bytes < 0 || f.Bytes > most-sum:
			return fmt.Errorf("%s: the files hold more than %d bytes", manifestName, most)
		case len(f.SHA256) != 2*sha256.Size:
			return fmt.Errorf("%s: %.200q has no digest", manifestName, f.Name)
		default:
			seen[folded] = true
			sum += f.Bytes
		}
	}
	if !seen["study.json"] {
		return fmt.Errorf("%s: there is no study.json", manifestName)
	}
	for _, in := range m.Inputs {
		if in.File != "" && !slices.ContainsFunc(m.Files, func(f File) bool { return f.Name == in.File && f.SHA256 == in.SHA256 }) {
			return fmt.Errorf("%s: the input %.200q is not the member that it names", manifestName, in.Name)
		}
	}
	return nil
}

// allowed reports whether a name is that of a file of a study.
func allowed(name string) bool {
	if !fs.ValidPath(name) || len(name) > 1000 || strings.ContainsAny(name, "\\:\x00") || path.Clean(name) != name {
		return false
	}
	for r := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(r, ".") {
			return false
		}
	}
	folder, _, below := strings.Cut(name, "/")
	return name == "study.json" || below && (folder == inputsFolder || slices.Contains(folders, folder))
}

// readMember reads a member, which must be the next of the list.
func readMember(r *tar.Reader, want *File, visit func(File, io.Reader) error) error {
	h, err := r.Next()
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("member %q is missing", want.Name)
	}
	if err != nil {
		return fmt.Errorf("before member %q: %w", want.Name, err)
	}
	switch {
	case h.Name != want.Name:
		return fmt.Errorf("member %.200q is where %q belongs", h.Name, want.Name)
	case h.Typeflag != tar.TypeReg:
		return fmt.Errorf("member %q is not a regular file", h.Name)
	case h.Size != want.Bytes:
		return fmt.Errorf("member %q has %d bytes; the list says %d", h.Name, h.Size, want.Bytes)
	}
	sum := sha256.New()
	body := io.TeeReader(r, sum)
	if visit != nil {
		if err := visit(*want, body); err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, body); err != nil {
		return fmt.Errorf("member %q: %w", h.Name, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want.SHA256 {
		return fmt.Errorf("member %q has the SHA-256 digest %s; the list says %s", h.Name, got, want.SHA256)
	}
	return nil
}

// Extract writes the files of an archive into a folder, which is empty.
func Extract(ctx context.Context, from io.Reader, most int64, dir string) (*Manifest, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return Read(ctx, from, most, func(f File, r io.Reader) error {
		if folder := path.Dir(f.Name); folder != "." {
			if err := root.MkdirAll(folder, 0o700); err != nil {
				return err
			}
		}
		out, err := root.OpenFile(f.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, r)
		return errors.Join(err, out.Close())
	})
}
