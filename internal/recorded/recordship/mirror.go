package recordship

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/sotto-llm/sotto/internal/base/diskroom"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/filelock"
	"github.com/sotto-llm/sotto/internal/net/objects"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// A Copy is a local copy of a record that is in a store.
type Copy struct {
	ID  string
	Dir string // a record
	URL string // where it is in the store
	// Away has the segments that are not in Dir; nil if all are.
	Away sidecar.Away
	// Head is the newest head that was kept beside the record; nil without one.
	Head *record.Head
	// Faults are what is wrong with the objects.
	Faults []Fault

	mirror *mirror
	stored *stored
}

// A Fault is an object that is not as a shipper wrote it.
type Fault struct {
	URL  string
	What string // such as changed or added
}

func (f Fault) String() string { return f.URL + ": " + f.What }

// Bounds of a store that is read.
const (
	maxObjects = 2_000_000 // besides heads
	maxRecords = 512
	// maxWindow bounds the memory that a compressed object may ask for.
	maxWindow = 32 << 20
	// spare is the room of the disk that copies leave.
	spare = 256 << 20
)

// Copies brings the records below a location into a folder, which it makes, and which
// holds nothing else. What is there is not read again, unless all is.
//
// The copy of a segment whose object was changed has one line that is not an event, so
// that reading says where something is missing.
//
// If all, the sidecars are brought too; else a copy has none but those made there.
func Copies(ctx context.Context, from objects.Location, folder string, all bool, o objects.Options) ([]*Copy, error) {
	bucket, err := objects.Open(ctx, from.Bucket, o)
	if err != nil {
		return nil, err
	}
	defer bucket.Close()
	return brought(ctx, from, &mirror{bucket: bucket, folder: folder, all: all})
}

// Reach is Copies, but leaves in the store the segments that are not in the folder yet.
// [Copy.Away] reads parts of them and brings those that are needed, until the program ends.
func Reach(ctx context.Context, from objects.Location, folder string, o objects.Options) ([]*Copy, error) {
	bucket, err := objects.Open(ctx, from.Bucket, o)
	if err != nil {
		return nil, err
	}
	return brought(ctx, from, &mirror{bucket: bucket, folder: folder, reach: true})
}

func brought(ctx context.Context, from objects.Location, as *mirror) ([]*Copy, error) {
	folder := as.folder
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	held, err := hold(folder)
	if err != nil {
		return nil, err
	}
	defer held.Close()
	lost := map[string]int{}
	for {
		m := &mirror{bucket: as.bucket, folder: folder, all: as.all, reach: as.reach, records: map[string]*stored{}, lost: lost}
		m.prefix, m.only = split(from)
		list, err := m.bring(ctx)
		var gone *goneError
		if errors.As(err, &gone) && len(lost) < 1000 { // most often, a segment has replaced its parts since they were listed
			lost[gone.name]++
			continue
		}
		if err == nil && len(list) == 0 {
			err = errorhint.Add(fmt.Errorf("%s holds no record", from), "sotto record ship and sotto serve --record-ship copy records to such a place")
		}
		return list, err
	}
}

// bring copies what the store has now.
func (m *mirror) bring(ctx context.Context) (list []*Copy, err error) {
	if err := m.list(ctx); err != nil {
		return nil, err
	}
	if err := m.checkRoom(); err != nil {
		return nil, err
	}
	if err := m.clean(); err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(m.records)) {
		c, err := m.copy(ctx, m.records[id])
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// split divides the name of a location into the prefix of records, and the identity of
// one of them if the location is of one.
func split(at objects.Location) (prefix, id string) {
	prefix = under(at.Name)
	if id = path.Base(prefix); idPattern.MatchString(id) {
		return strings.TrimSuffix(prefix, id+"/"), id
	}
	return prefix, ""
}

// Folder returns where copies of the records below a location are kept: in
// SOTTO_CACHE_DIR, or else in the user's folder for such files.
func Folder(at objects.Location, getenv func(string) string) (string, error) {
	root := getenv("SOTTO_CACHE_DIR")
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", errorhint.Add(fmt.Errorf("there is no folder for copies of objects: %w", err), "set SOTTO_CACHE_DIR")
		}
		root = filepath.Join(cache, "sotto")
	}
	prefix, _ := split(at)
	from := strings.Join([]string{getenv("AWS_ENDPOINT_URL_S3"), getenv("AWS_ENDPOINT_URL"), at.Bucket, prefix}, "\n")
	return filepath.Join(root, "records", fmt.Sprintf("%x", sha256.Sum256([]byte(from)))), nil
}

// hold makes this process the only one that changes a folder of copies.
func hold(folder string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(folder, "copies.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := filelock.Try(f); err != nil {
		f.Close()
		if errors.Is(err, filelock.ErrHeld) {
			err = errorhint.Add(fmt.Errorf("another process brings records to %s", folder), "try again when it has ended")
		}
		return nil, err
	}
	return f, nil
}

// A mirror is a store that is being copied.
type mirror struct {
	bucket  *objects.Bucket
	prefix  string
	only    string // the identity of the record that is wanted; "" is all
	folder  string
	all     bool
	reach   bool // segments stay in the store
	records map[string]*stored
	lost    map[string]int // how often objects that were listed were not found
}

// maxLost is how often an object that is listed is looked for. A store that was killed
// during a write may list a name without an object.
const maxLost = 3

// A goneError is the error of an object that was listed and is not there.
type goneError struct{ name string }

func (e *goneError) Error() string { return e.name + " is listed and not there" }

// checkRoom refuses records that are larger than the room of the disk, by what their
// names say. The copy of an object is never larger than its name says.
func (m *mirror) checkRoom() error {
	free := diskroom.Free(m.folder)
	if free == 0 {
		return nil
	}
	need := int64(0)
	for id, r := range m.records {
		for first, c := range r.segments {
			if m.reach {
				break
			}
			if info, err := os.Stat(filepath.Join(m.folder, id, record.SegmentName(first))); err == nil && info.Size() == c.size {
				continue
			}
			need = min(need+min(c.size, free), free)
		}
		for first, list := range r.parts {
			if r.replaced(first) {
				continue
			}
			for _, c := range chain(list) {
				need = min(need+min(c.size, free), free)
			}
		}
	}
	if need > free-spare && need > 0 {
		return errorhint.Add(fmt.Errorf("%s: the records need more room than the disk of %s has", m.bucket.URL(m.prefix), m.folder),
			"read one record, s3://BUCKET/PREFIX/ID, or set SOTTO_CACHE_DIR to a folder of a larger disk")
	}
	return nil
}

// clean removes copies of what is not in the store.
func (m *mirror) clean() error {
	entries, err := os.ReadDir(m.folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		id := e.Name()
		if !e.IsDir() || !idPattern.MatchString(id) || m.only != "" && id != m.only {
			continue
		}
		r := m.records[id]
		if r == nil {
			if err := os.RemoveAll(filepath.Join(m.folder, id)); err != nil {
				return err
			}
			continue
		}
		list, err := record.Files(filepath.Join(m.folder, id))
		if err != nil {
			return err
		}
		for _, f := range list {
			_, segment := r.segments[f.First]
			_, stone := r.stones[f.First]
			if f.Tombstone && stone || !f.Tombstone && (segment || !stone && len(r.parts[f.First]) > 0) {
				continue
			}
			if err := os.Remove(f.Path); err != nil {
				return err
			}
		}
		if err := record.SweepSidecars(filepath.Join(m.folder, id)); err != nil {
			return err
		}
	}
	return nil
}

// copy brings one record.
func (m *mirror) copy(ctx context.Context, r *stored) (*Copy, error) {
	dir := filepath.Join(m.folder, r.id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	for _, first := range slices.Sorted(maps.Keys(r.stones)) {
		if err := m.whole(ctx, r, r.stones[first], filepath.Join(dir, record.TombstoneName(first))); err != nil {
			return nil, err
		}
	}
	for _, first := range slices.Sorted(maps.Keys(r.segments)) {
		if err := m.segment(ctx, r, r.segments[first], dir); err != nil {
			return nil, err
		}
	}
	for _, first := range slices.Sorted(maps.Keys(r.parts)) {
		if r.replaced(first) {
			continue
		}
		if err := m.grown(ctx, r, first, filepath.Join(dir, record.SegmentName(first))); err != nil {
			return nil, err
		}
	}
	if m.all {
		for _, g := range r.groups() {
			if _, _, err := m.read(ctx, r, g.side); err != nil {
				return nil, err
			}
		}
	}
	c := &Copy{ID: r.id, Dir: dir, URL: m.bucket.URL(m.prefix + r.id), Head: r.head, Faults: r.faults, mirror: m, stored: r}
	if m.reach {
		c.Away = &away{m: m, r: r, dir: dir, frames: map[uint64][]int{}}
	}
	return c, nil
}

// segment brings a segment, unless it stays in the store. What is there of it from before it
// was whole goes.
func (m *mirror) segment(ctx context.Context, r *stored, c content, dir string) error {
	file := filepath.Join(dir, record.SegmentName(c.first))
	if !m.reach {
		if err := m.whole(ctx, r, c, file); err != nil || !m.all {
			return err
		}
		return m.sidecar(ctx, r, c, dir)
	}
	if info, err := os.Stat(file); err == nil && info.Size() != c.size {
		return os.Remove(file)
	}
	return nil
}

// replaced reports whether the parts of a segment do not count any more: it is there as
// a whole, or it was pruned before it was.
func (r *stored) replaced(first uint64) bool {
	_, whole := r.segments[first]
	_, pruned := r.stones[first]
	return whole || pruned
}

// whole brings a segment or a tombstone.
func (m *mirror) whole(ctx context.Context, r *stored, c content, file string) error {
	if info, err := os.Stat(file); err == nil && info.Size() == c.size && !m.all {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".tmp-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // if it was not renamed
	err = m.fetch(ctx, r, c, f)
	var bad *damage
	if errors.As(err, &bad) {
		m.fault(r, c.name, bad.what)
		if err = f.Truncate(0); err == nil {
			_, err = f.WriteAt([]byte(bad.line(c.name)), 0)
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

// grown brings the segment that grows, of parts. What a copy has is continued.
func (m *mirror) grown(ctx context.Context, r *stored, first uint64, file string) error {
	list := chain(r.parts[first])
	for _, c := range r.parts[first] {
		if len(list) == 0 || c.from+c.size > list[len(list)-1].from+list[len(list)-1].size {
			m.fault(r, c.name, "out of reach, because an object before it is missing")
		}
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(list, func(c content) bool { return c.from+c.size == info.Size() })
	if m.all || at < 0 {
		if err := f.Truncate(0); err != nil {
			return err
		}
	}
	if !m.all {
		list = list[at+1:]
	}
	if len(list) > 0 && list[0].from > 0 {
		if _, err := f.Seek(list[0].from, io.SeekStart); err != nil {
			return err
		}
	}
	for _, c := range list {
		err := m.fetch(ctx, r, c, f)
		var bad *damage
		if errors.As(err, &bad) {
			m.fault(r, c.name, bad.what)
			if err = f.Truncate(c.from); err == nil {
				_, err = f.WriteAt([]byte(bad.line(c.name)), c.from)
			}
			return err // what follows does not fit to it
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// chain returns the parts that together reach furthest from the beginning of a
// segment. After a crash, parts may overlap: each begins and ends at a line.
func chain(parts []content) []content {
	slices.SortFunc(parts, func(a, b content) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.size, a.size)) })
	by := map[int64]content{} // the part that ends at a place
	furthest := int64(0)
	for _, c := range parts {
		_, reached := by[c.from]
		if c.from > 0 && !reached {
			continue
		}
		if _, other := by[c.from+c.size]; !other {
			by[c.from+c.size] = c
		}
		furthest = max(furthest, c.from+c.size)
	}
	var list []content
	for at := furthest; at > 0; at = by[at].from {
		list = append(list, by[at])
	}
	slices.Reverse(list)
	return list
}

// damage is the error of an object that is not what its name says.
type damage struct{ what string }

func (d *damage) Error() string { return d.what }

// line stands in a copy for what is missing.
func (d *damage) line(name string) string { return "object " + name + " was " + d.what + "\n" }

// fetch reads an object, decompresses it, and compares it with its name. It never
// writes more than the name says.
func (m *mirror) fetch(ctx context.Context, r *stored, c content, to io.Writer) error {
	name := m.prefix + r.id + "/" + c.name
	body, _, err := m.bucket.Get(ctx, name, objects.Range{}, "")
	if errors.Is(err, fs.ErrNotExist) {
		return &goneError{name}
	}
	if err != nil {
		return err
	}
	defer body.Close()
	read := &remembering{r: body}
	plain := io.Reader(read)
	if strings.HasSuffix(c.name, ".zst") {
		z, err := zstd.NewReader(read, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return err
		}
		defer z.Close()
		plain = z
	}
	h := sha256.New()
	out := &remembering{w: to}
	n, err := io.Copy(io.MultiWriter(out, h), io.LimitReader(plain, c.size))
	switch {
	case read.err != nil:
		return read.err // of the connection, not of the object
	case out.err != nil:
		return out.err
	case err != nil, n != c.size, [sha256.Size]byte(h.Sum(nil)) != c.digest:
		return &damage{"changed"}
	}
	if more, _ := io.ReadFull(plain, make([]byte, 1)); more > 0 {
		return &damage{"changed"}
	}
	return nil
}

// remembering keeps an error that a decompressor or a copy would mix with its own.
type remembering struct {
	r   io.Reader
	w   io.Writer
	err error
}

func (k *remembering) Read(p []byte) (int, error) {
	n, err := k.r.Read(p)
	if err != nil && err != io.EOF {
		k.err = err
	}
	return n, err
}

func (k *remembering) Write(p []byte) (int, error) {
	n, err := k.w.Write(p)
	if err != nil {
		k.err = err
	}
	return n, err
}
