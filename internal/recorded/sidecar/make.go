package sidecar

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/record"
)

// Options say how sidecars are made.
type Options struct {
	// Identities decrypt the segments of an encrypted record, and Recipients can read their
	// sidecars. If there are no recipients, those of the identities.
	Identities []age.Identity
	Recipients []age.Recipient
	// Again makes also those that fit again.
	Again bool
	// Small makes also those of segments that are read as fast without.
	Small bool
}

// small is the size below which a segment is read as fast without a sidecar, which has some
// kilobytes of its own.
const small = 256 << 10

// Made says what was made.
type Made struct {
	Segments int   `json:"segments"` // that have a sidecar now
	Made     int   `json:"made"`
	Bytes    int64 `json:"bytes"` // of the segments with a sidecar, as far as it covers them
	Sidecars int64 `json:"sidecar_bytes"`
	// Skipped are segments that have none: encrypted without an identity, or damaged.
	Skipped []Skipped `json:"skipped,omitempty"`
}

// A Skipped segment has no sidecar.
type Skipped struct {
	Segment string `json:"segment"`
	Why     string `json:"why"`
}

// Make makes the sidecars of a record, also that of the segment that grows, as far as it has
// got. It may run beside the writer. An error of one segment is among those skipped.
func Make(ctx context.Context, dir string, o Options) (Made, error) {
	var m Made
	if err := record.SweepSidecars(dir); err != nil {
		return m, err
	}
	files, err := record.Files(dir)
	if err != nil {
		return m, err
	}
	for _, f := range files {
		if ctx.Err() != nil {
			return m, ctx.Err()
		}
		if f.Tombstone {
			continue
		}
		covered, size, made, err := makeOne(f, o)
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && covered == 0: // pruned meanwhile, or empty
		case err != nil:
			m.Skipped = append(m.Skipped, Skipped{filepath.Base(f.Path), err.Error()})
		default:
			m.Segments++
			m.Bytes += covered
			m.Sidecars += size
			if made {
				m.Made++
			}
		}
	}
	return m, nil
}

// makeOne makes the sidecar of a segment, unless it has one that covers all of it.
func makeOne(f record.File, o Options) (covered, size int64, made bool, err error) {
	data, err := f.Open()
	if err != nil {
		return 0, 0, false, err
	}
	defer data.Close()
	if info, err := data.Stat(); err == nil && info.Size() < small && !o.Small {
		return 0, 0, false, nil
	}
	if !o.Again {
		if covered, size := fresh(f, data, o.Identities); covered > 0 {
			return covered, size, false, nil
		}
	}
	b := newBuilder(f.First, record.ReadOptions{Identities: o.Identities})
	if err := b.read(data); err != nil || b.lines == 0 {
		return 0, 0, false, err
	}
	size, err = b.put(f, o)
	return b.covered, size, err == nil, err
}

// fresh returns how much of a segment its sidecar covers, if that is all of its lines.
func fresh(f record.File, data *os.File, ids []age.Identity) (covered, size int64) {
	side, size, err := openSide(f)
	if err != nil {
		return 0, 0
	}
	defer side.Close()
	info, err := data.Stat()
	if err != nil {
		return 0, 0
	}
	x, err := openFile(side, size, data, info.Size(), f.First, ids)
	if err != nil || x.h.Covered != info.Size() {
		return 0, 0
	}
	return x.h.Covered, size
}

// read adds the complete lines of a segment that were not added yet.
func (b *builder) read(data io.ReaderAt) error {
	r := bufio.NewReaderSize(io.NewSectionReader(data, b.covered, 1<<62), 1<<20)
	var long []byte
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case err == io.EOF:
			return nil // what is left is not a whole line
		case err == bufio.ErrBufferFull:
			if long = append(long, part...); len(long) > maxLine {
				return errIrregular
			}
			continue
		case err != nil:
			return err
		}
		if len(long) > 0 {
			part = append(long, part...)
			long = nil
		}
		if err := b.add(part); err != nil {
			return err
		}
	}
}

// put writes the sidecar beside the segment. It is not synced: it can be made again.
func (b *builder) put(f record.File, o Options) (size int64, err error) {
	data, err := b.file()
	if err == nil && b.sealed {
		data, err = encrypted(data, o)
	}
	if err != nil {
		return 0, err
	}
	path := sidecarPath(f)
	if err := Put(path, data); err != nil {
		return 0, err
	}
	// Nothing may be left of a segment that was pruned meanwhile.
	if _, err := os.Lstat(f.Path); err != nil {
		os.Remove(path)
		return 0, err
	}
	return int64(len(data)), nil
}

// Put writes a sidecar as a file, whole or not at all.
func Put(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), record.SidecarTemp+"*") // 0600
	if err != nil {
		return err
	}
	point("begun")
	_, err = tmp.Write(data)
	point("written")
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	point("named")
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

// atPoint, which only tests set, is called at every place where a kill must be survived.
var atPoint func(name string)

func point(name string) {
	if atPoint != nil {
		atPoint(name)
	}
}

// encrypted returns a sidecar that only the readers of the segment can read.
func encrypted(data []byte, o Options) ([]byte, error) {
	var out bytes.Buffer
	err := encryptTo(&out, bytes.NewReader(data), o)
	return out.Bytes(), err
}

func encryptTo(out io.Writer, data io.Reader, o Options) error {
	to := o.Recipients
	if len(to) == 0 {
		for _, id := range o.Identities {
			switch id := id.(type) {
			case *age.X25519Identity:
				to = append(to, id.Recipient())
			case *age.HybridIdentity:
				to = append(to, id.Recipient())
			}
		}
	}
	w, err := age.Encrypt(out, to...)
	if err == nil {
		_, err = io.Copy(w, data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return fmt.Errorf("encrypt the sidecar: %w", err)
	}
	return nil
}

// A spool is a temporary file that is written and then read. It remembers an error, the size and
// the CRC-32C.
type spool struct {
	f   *os.File
	n   int64
	sum uint32
	err error
}

func newSpool(folder string) (*spool, error) {
	f, err := os.CreateTemp(folder, record.SidecarTemp+"*") // 0600
	if err != nil {
		return nil, err
	}
	return &spool{f: f}, nil
}

func (s *spool) Write(p []byte) (n int, err error) {
	if s.err != nil {
		return 0, s.err
	}
	n, s.err = s.f.Write(p)
	s.n += int64(n)
	s.sum = crc32.Update(s.sum, castagnoli, p[:n])
	return n, s.err
}

// Close removes the file.
func (s *spool) Close() error {
	err := s.f.Close()
	if gone := os.Remove(s.f.Name()); !errors.Is(gone, fs.ErrNotExist) { // another program may have swept it
		err = errors.Join(err, gone)
	}
	return err
}

// A Keeper makes the sidecars of a record while it is written.
type Keeper struct {
	dir  string
	o    Options
	open *builder        // of the segment that grows
	done map[uint64]bool // segments that nothing more is made of
}

// growth is how many bytes the last segment grows before its sidecar is written again.
const growth = 8 << 20

// NewKeeper returns a keeper. An encrypted record has no sidecars until somebody with an
// identity calls [Make].
func NewKeeper(dir string) *Keeper { return &Keeper{dir: dir, done: map[uint64]bool{}} }

// Run makes sidecars until ctx ends, and looks for new lines every so often.
func (k *Keeper) Run(ctx context.Context, every time.Duration, failed func(error)) {
	if err := record.SweepSidecars(k.dir); err != nil {
		failed(err)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := k.Step(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Step makes the sidecars that are missing: of the segments that have ended, and of the last
// one if it grew enough. It reads each line of the last segment once.
func (k *Keeper) Step(ctx context.Context) error {
	files, err := record.Files(k.dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, f := range files {
		if ctx.Err() != nil {
			break
		}
		if f.Tombstone || k.done[f.First] {
			continue
		}
		err := k.one(f)
		switch {
		case errors.Is(err, ErrNoKey), errors.Is(err, errIrregular), err == nil && f.Sealed:
			k.done[f.First] = true
		case err == nil || errors.Is(err, fs.ErrNotExist):
		default:
			errs = append(errs, fmt.Errorf("%s: %w", filepath.Base(f.Path), err))
		}
	}
	return errors.Join(errs...)
}

func (k *Keeper) one(f record.File) error {
	if f.Sealed && (k.open == nil || k.open.first != f.First) {
		_, _, _, err := makeOne(f, k.o)
		return err
	}
	data, err := f.Open()
	if err != nil {
		return err
	}
	defer data.Close()
	if k.open == nil || k.open.first != f.First || !k.open.stands(data) {
		k.open = newBuilder(f.First, record.ReadOptions{})
	}
	b := k.open
	if err := b.read(data); err != nil {
		k.open = nil
		return err
	}
	if f.Sealed {
		k.open = nil
	} else if b.covered-b.written < growth {
		return nil
	}
	if b.lines == 0 {
		return nil
	}
	_, err = b.put(f, k.o)
	b.written = b.covered
	return err
}

// stands reports whether the segment still has the lines that were added: a writer takes
// lines back if they do not reach the disk.
func (b *builder) stands(data io.ReaderAt) bool {
	if b.lines == 0 {
		return true
	}
	line := make([]byte, b.covered-b.last.at)
	_, err := data.ReadAt(line, b.last.at)
	m, bad := record.MarkOf(line)
	return (err == nil || err == io.EOF) && bad == nil && m.Head.Digest == b.last.sum
}
