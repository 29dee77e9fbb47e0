package shards

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/net/objects"
)

// MaxInputs is the most inputs that a batch can have. A listing is what a server sends.
const MaxInputs = 1_000_000

// Sources list and read inputs: files, and objects of the buckets that their addresses
// name.
type Sources struct {
	Getenv  func(string) string
	buckets map[string]*objects.Bucket
}

// Bucket opens the bucket of an address.
func (s *Sources) Bucket(ctx context.Context, address string) (*objects.Bucket, string, error) {
	at, err := objects.Parse(address)
	if err != nil {
		return nil, "", err
	}
	b := s.buckets[at.Bucket]
	if b == nil {
		if b, err = objects.Open(ctx, at.Bucket, objects.Options{Getenv: s.Getenv}); err != nil {
			return nil, "", err
		}
		if s.buckets == nil {
			s.buckets = map[string]*objects.Bucket{}
		}
		s.buckets[at.Bucket] = b
	}
	return b, at.Name, nil
}

// meta are the characters that make a name a pattern.
const meta = "*?["

// List returns the inputs of the given names, in their order. The inputs of a pattern are
// in the order of their names as bytes. What is listed twice is an error, because its
// records would count twice.
func (s *Sources) List(ctx context.Context, names []string) ([]Input, error) {
	var all []Input
	seen := map[string]bool{}
	for _, name := range names {
		list := localInputs
		if objects.Is(name) {
			list = s.objects
		}
		found, err := list(ctx, name)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: there is no such file", name)
		}
		for _, in := range found {
			if seen[in.Name] {
				return nil, fmt.Errorf("the input %s is given twice", in.Name)
			}
			seen[in.Name] = true
		}
		if all = append(all, found...); len(all) > MaxInputs {
			return nil, fmt.Errorf("there are more than %d inputs", MaxInputs)
		}
	}
	return all, nil
}

// localInputs lists files. A name that no file has may be a pattern: the manifest of a
// container has no shell that would expand it.
func localInputs(_ context.Context, name string) ([]Input, error) {
	in, err := localInput(name)
	if !errors.Is(err, fs.ErrNotExist) || !strings.ContainsAny(name, meta) {
		return []Input{in}, err
	}
	names, err := filepath.Glob(name) // sorted
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var list []Input
	for _, name := range names {
		in, err := localInput(name)
		if err != nil {
			return nil, err
		}
		list = append(list, in)
	}
	return list, nil
}

func localInput(name string) (Input, error) {
	if name == "-" {
		return Input{}, errorhint.Usage(errors.New("standard input cannot be divided into shards"), "name files")
	}
	info, err := os.Stat(name)
	if err != nil {
		return Input{}, fmt.Errorf("open %s: %w", name, files.Cause(err))
	}
	if !info.Mode().IsRegular() {
		return Input{}, fmt.Errorf("%s is not a file that can be divided into shards", name)
	}
	return inputOf(name, info), nil
}

func inputOf(name string, info fs.FileInfo) Input {
	return Input{Name: name, Size: info.Size(), Version: "changed " + info.ModTime().UTC().Format(time.RFC3339Nano)}
}

// objects lists objects: one, all below an address that ends with a slash, or those of a
// pattern, in which * does not stand for a slash.
func (s *Sources) objects(ctx context.Context, address string) ([]Input, error) {
	b, name, err := s.Bucket(ctx, address)
	if err != nil {
		return nil, err
	}
	of := func(o objects.Object) Input {
		return Input{Name: b.URL(o.Name), Size: o.Size, Version: "etag " + o.ETag}
	}
	prefix, pattern := name, ""
	if i := strings.IndexAny(name, meta); i >= 0 {
		prefix, pattern = name[:i], name
	} else if name != "" && !strings.HasSuffix(name, "/") {
		o, err := b.Stat(ctx, name)
		return []Input{of(o)}, err
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, errorhint.Usage(fmt.Errorf("%s: %w", address, err), "")
	}
	var list []Input
	for o, err := range b.List(ctx, prefix, "", MaxInputs) {
		if err != nil {
			return nil, err
		}
		fits, _ := path.Match(cmp.Or(pattern, o.Name), o.Name)
		if pattern == "" {
			fits = !strings.HasSuffix(o.Name, "/") // the mark of an empty folder
		}
		if fits {
			list = append(list, of(o))
		}
	}
	return list, nil
}

// Read reads an input from a byte on. If it is not what was listed, that is an error.
func (s *Sources) Read(ctx context.Context, in Input, from, length int64) (io.ReadCloser, error) {
	if !objects.Is(in.Name) {
		file, err := openLocal(in)
		if err == nil {
			_, err = file.Seek(from, io.SeekStart)
		}
		return file, err
	}
	b, name, err := s.Bucket(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	if in.Size == 0 {
		return io.NopCloser(strings.NewReader("")), nil // no range of it can be asked for
	}
	r, _, err := b.Get(ctx, name, objects.Range{From: from, Length: length}, strings.TrimPrefix(in.Version, "etag "))
	return r, err
}

func openLocal(in Input) (*os.File, error) {
	file, err := os.Open(in.Name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", in.Name, files.Cause(err))
	}
	if info, err := file.Stat(); err != nil || inputOf(in.Name, info) != in {
		file.Close()
		return nil, errChanged(in)
	}
	return file, nil
}

func errChanged(in Input) error {
	return errorhint.Add(fmt.Errorf("%s has changed since it was listed", in.Name), "the inputs of a batch must stay as they are until all shards are done")
}

// Unchanged returns an error if a file has changed. An object that was read has not,
// because each request for a part of it names its version.
func (s *Sources) Unchanged(in Input) error {
	if objects.Is(in.Name) {
		return nil
	}
	if now, err := localInput(in.Name); err != nil || now != in {
		return errChanged(in)
	}
	return nil
}

// Head returns the first bytes of an input, n at most.
func (s *Sources) Head(ctx context.Context, in Input, n int64) ([]byte, error) {
	r, err := s.Read(ctx, in, 0, n)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	head, err := files.ReadAll(io.LimitReader(r, n), n)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", in.Name, files.Cause(err))
	}
	return head, nil
}

// File returns an input as a file, for formats that are not read from the beginning to
// the end. An object is copied to a file without a name in the folder for temporary files.
func (s *Sources) File(ctx context.Context, in Input) (*os.File, error) {
	if !objects.Is(in.Name) {
		return openLocal(in)
	}
	r, err := s.Read(ctx, in, 0, 0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	file, err := os.CreateTemp("", "sotto-object-*") // 0600: replies are private
	if err != nil {
		return nil, fmt.Errorf("copy %s: %w", in.Name, err)
	}
	os.Remove(file.Name())
	if _, err = io.Copy(file, r); err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("copy %s: %w", in.Name, files.Cause(err))
	}
	return file, nil
}

// Folder opens the folder that shards write to, and makes it if it is not there.
func (s *Sources) Folder(ctx context.Context, name string) (Folder, error) {
	if !objects.Is(name) {
		if err := os.MkdirAll(name, 0o700); err != nil {
			return nil, fmt.Errorf("--output %s: %w", name, files.Cause(err))
		}
		return Local(name), nil
	}
	b, prefix, err := s.Bucket(ctx, name)
	if err != nil {
		return nil, err
	}
	if prefix != "" && !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	return &remote{b, prefix}, b.Probe(ctx, prefix)
}

// A remote folder is a prefix in a bucket.
type remote struct {
	bucket *objects.Bucket
	prefix string
}

// Begin begins an object in the folder for temporary files.
func (f *remote) Begin(name string) (*Draft, error) { return newDraft(f, name, "", "sotto-shard-*") }

func (f *remote) put(ctx context.Context, d *Draft) error {
	_, err := f.bucket.PutNew(ctx, f.prefix+d.name, d.file, d.size, objects.Put{})
	if errors.Is(err, objects.ErrExists) {
		return fs.ErrExist
	}
	return err
}

func (f *remote) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	r, _, err := f.bucket.Get(ctx, f.prefix+name, objects.Range{}, "")
	return r, err
}

func (f *remote) Where(name string) string { return f.bucket.URL(f.prefix + name) }
