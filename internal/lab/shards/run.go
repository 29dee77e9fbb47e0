package shards

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"

	"github.com/sotto-llm/sotto/internal/base/files"
)

// A Run is the work of one shard.
type Run struct {
	Job    Job
	Folder Folder
	Out    *Draft // the output
}

// The ends of the names of what a shard writes.
const (
	OutputEnd   = ".jsonl"
	GroupsEnd   = ".groups.jsonl"
	ManifestEnd = ".manifest.json"
)

// Begin begins the work of a shard. If an earlier run of the same job has done it, done is
// its manifest, and there is nothing to do. An earlier run of another job is an error.
func Begin(ctx context.Context, job Job, folder Folder) (run *Run, done *Manifest, err error) {
	if done, err = earlier(ctx, &job, folder); done != nil || err != nil {
		return nil, done, err
	}
	out, err := folder.Begin(job.Shard.Name() + OutputEnd)
	return &Run{job, folder, out}, nil, err
}

// earlier returns the manifest of an earlier run of the job, if its output is there too.
func earlier(ctx context.Context, job *Job, folder Folder) (*Manifest, error) {
	name := job.Shard.Name() + ManifestEnd
	m, err := Load(ctx, folder, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := job.Against(&m.Job); err != nil {
		return nil, fmt.Errorf("%s is that of another run: %w", folder.Where(name), err)
	}
	out, err := folder.Open(ctx, m.Output.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return m, out.Close()
}

// Load reads the manifest of this name.
func Load(ctx context.Context, folder Folder, name string) (*Manifest, error) {
	r, err := folder.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := files.ReadAll(r, MaxManifest)
	var m *Manifest
	if err == nil {
		m, err = ReadManifest(data)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder.Where(name), err)
	}
	return m, nil
}

// End puts the output and then the manifest, which says that the shard is done. there
// reports whether another process has done both.
func (r *Run) End(ctx context.Context, m *Manifest) (there bool, err error) {
	m.Job, m.Output = r.Job, r.Out.Describe()
	was, err := r.Out.Put(ctx)
	if err != nil {
		return false, err
	}
	text, err := m.Append(nil)
	if err != nil {
		return false, err
	}
	d, err := r.Folder.Begin(r.Job.Shard.Name() + ManifestEnd)
	if err != nil {
		return false, err
	}
	if _, err := d.Write(text); err != nil {
		d.Discard()
		return false, fmt.Errorf("write %s: %w", r.Folder.Where(d.name), files.Cause(err))
	}
	there, err = d.Put(ctx)
	return there && was, err
}

// OpenFile opens a file that a manifest names. A file with other content is an error at
// the end of what is read.
func OpenFile(ctx context.Context, folder Folder, f File) (io.ReadCloser, error) {
	r, err := folder.Open(ctx, f.Name)
	if err != nil {
		return nil, err
	}
	return &checked{r, sha256.New(), f, folder.Where(f.Name)}, nil
}

// A checked reader has the content that a manifest says.
type checked struct {
	io.ReadCloser
	hash  hash.Hash
	file  File
	where string
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.hash.Write(p[:n])
	if errors.Is(err, io.EOF) && digest(c.hash.Sum(nil)) != c.file.Digest {
		err = fmt.Errorf("%s does not have the content that its manifest says", c.where)
	}
	return n, err
}
