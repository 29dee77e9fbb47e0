// Package boltfile copies and checks files of bbolt, the database in which servers of
// A2A keep their tasks.
//
// bbolt maps a file into memory and trusts what it finds there: a page that leads to
// itself, or past the end of the file, ends the process. So a file from elsewhere is
// checked by [Verify], which reads it as any other file, before bbolt opens it.
package boltfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// ErrInUse is the error of a file that a process has open to write.
var ErrInUse = errors.New("another process writes the file")

const magic = 0xED0CDAED

// Copy writes a copy of a file that no process writes. The error is [ErrInUse] if one
// does.
func Copy(file string, to io.Writer) error {
	return View(file, func(tx *bbolt.Tx) error {
		_, err := tx.WriteTo(to)
		return err
	})
}

// View reads a file that no process writes. The error is [ErrInUse] if one does.
func View(file string, read func(*bbolt.Tx) error) error {
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{ReadOnly: true, Timeout: 100 * time.Millisecond})
	if errors.Is(err, berrors.ErrTimeout) {
		return ErrInUse
	}
	if err != nil {
		return err
	}
	return errors.Join(db.View(read), db.Close())
}

// Check reads all of a file and returns the first fault: first by [Verify], then by
// bbolt's own check.
func Check(file string) error {
	if err := Verify(file); err != nil {
		return err
	}
	return View(file, func(tx *bbolt.Tx) error {
		var first error
		for err := range tx.Check() { // to the end, or its goroutine stays
			if first == nil {
				first = err
			}
		}
		return first
	})
}

// The layout of a file, as bbolt writes it: pages, the first two of which are meta
// pages. Numbers have the byte order of the machine.
const (
	pageHeader    = 16 // id 8, flags 2, count 2, overflow 4
	metaSize      = 64
	branchElement = 16 // position 4, size of the key 4, page 8
	leafElement   = 16 // flags 4, position 4, sizes of key and value 4 each
	bucketHeader  = 16 // root page 8, sequence 8

	flagBranch, flagLeaf, flagMeta, flagFreelist = 0x01, 0x02, 0x04, 0x10

	noFreelist = ^uint64(0)

	minPage, maxPage = 512, 64 << 10
	// maxExtent bounds a page with those that it overflows to.
	maxExtent = 1 << 30
	// maxDepth bounds how deep pages lead to pages. A tree of 2^64 pages is not as deep.
	maxDepth = 100
)

// A meta is what a meta page says.
type meta struct {
	pageSize           int64
	root, freelist, at uint64 // pages; at is the first one that is not used
	tx                 uint64
}

// A verifier walks the pages of a file.
type verifier struct {
	file io.ReaderAt
	meta
	seen map[uint64]bool
}

// Verify checks, without bbolt, that the pages of a file lead to one another as they
// must. It never reads outside the file, and reads no page twice.
func Verify(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	m, err := readMeta(f)
	if err != nil {
		return err
	}
	if pages := uint64(info.Size() / m.pageSize); m.at > pages {
		return fmt.Errorf("the file has %d pages, and its meta page names %d: the end is missing", pages, m.at)
	}
	v := &verifier{f, m, map[uint64]bool{}}
	if err := v.tree(m.root, 0); err != nil {
		return err
	}
	return v.free()
}

// readMeta returns the newer one of the valid meta pages.
func readMeta(f io.ReaderAt) (meta, error) {
	best, found := metaAt(f, 0)
	if found {
		if second, ok := metaAt(f, best.pageSize); ok && second.tx > best.tx && second.pageSize == best.pageSize {
			best = second
		}
		return best, nil
	}
	for size := int64(minPage); size <= maxPage && !found; size *= 2 {
		best, found = metaAt(f, size)
		found = found && best.pageSize == size
	}
	if !found {
		return best, errors.New("neither meta page is valid, at byte 0")
	}
	return best, nil
}

func metaAt(f io.ReaderAt, at int64) (m meta, ok bool) {
	b := make([]byte, pageHeader+metaSize)
	if _, err := f.ReadAt(b, at); err != nil {
		return m, false
	}
	n := binary.NativeEndian
	flags, b := n.Uint16(b[8:]), b[pageHeader:]
	m = meta{int64(n.Uint32(b[8:])), n.Uint64(b[16:]), n.Uint64(b[32:]), n.Uint64(b[40:]), n.Uint64(b[48:])}
	ok = flags == flagMeta && n.Uint32(b) == magic && n.Uint32(b[4:]) == 2 && n.Uint64(b[56:]) == fnv64a(b[:56]) &&
		m.pageSize >= minPage && m.pageSize <= maxPage && m.pageSize&(m.pageSize-1) == 0
	return m, ok
}

// fnv64a is the checksum of a meta page.
func fnv64a(b []byte) uint64 {
	sum := uint64(14695981039346656037)
	for _, c := range b {
		sum = (sum ^ uint64(c)) * 1099511628211
	}
	return sum
}

// A page is a page with those that it overflows to.
type page struct {
	id    uint64
	at    int64 // of the file
	flags uint16
	count int
	data  []byte // with its header
}

func (p *page) fault(format string, args ...any) error {
	return fmt.Errorf("page %d at byte %d: %s", p.id, p.at, fmt.Sprintf(format, args...))
}

// page reads a page that no other leads to.
func (v *verifier) page(id uint64) (*page, error) {
	p := &page{id: id}
	if id < 2 || id >= v.at {
		return nil, fmt.Errorf("a page leads to page %d, and there are %d", id, v.at)
	}
	p.at = int64(id) * v.pageSize
	head := make([]byte, pageHeader)
	if _, err := v.file.ReadAt(head, p.at); err != nil {
		return nil, p.fault("%v", err)
	}
	n := binary.NativeEndian
	p.flags, p.count = n.Uint16(head[8:]), int(n.Uint16(head[10:]))
	pages := 1 + uint64(n.Uint32(head[12:]))
	switch {
	case n.Uint64(head) != id:
		return nil, p.fault("it says that it is page %d", n.Uint64(head))
	case id+pages > v.at || int64(pages) > maxExtent/v.pageSize:
		return nil, p.fault("it says that it has %d pages", pages)
	}
	for i := range pages {
		if v.seen[id+i] {
			return nil, p.fault("two pages lead to page %d", id+i)
		}
		v.seen[id+i] = true
	}
	p.data = make([]byte, int64(pages)*v.pageSize)
	if _, err := v.file.ReadAt(p.data, p.at); err != nil {
		return nil, p.fault("%v", err)
	}
	return p, nil
}

// tree walks a page and those below it.
func (v *verifier) tree(id uint64, depth int) error {
	p, err := v.page(id)
	if err != nil {
		return err
	}
	switch {
	case depth > maxDepth:
		return p.fault("more than %d pages lead to one another", maxDepth)
	case p.flags == flagLeaf:
		return v.leaf(p, depth)
	case p.flags != flagBranch:
		return p.fault("it is of kind %#x, in the place of a branch or a leaf", p.flags)
	case p.count == 0:
		return p.fault("it is an empty branch")
	}
	var before []byte
	for i := range p.count {
		e, key, err := p.element(i, branchElement, 0, 4)
		if err != nil {
			return err
		}
		if i > 0 && bytes.Compare(before, key) >= 0 {
			return p.fault("element %d is not in its order", i)
		}
		before = key
		if err := v.tree(binary.NativeEndian.Uint64(e[8:]), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// leaf walks the elements of a leaf, and the buckets among them.
func (v *verifier) leaf(p *page, depth int) error {
	var before []byte
	for i := range p.count {
		e, key, err := p.element(i, leafElement, 4, 8)
		if err != nil {
			return err
		}
		if i > 0 && bytes.Compare(before, key) >= 0 {
			return p.fault("element %d is not in its order", i)
		}
		before = key
		n := binary.NativeEndian
		from := int64(i*leafElement+pageHeader) + int64(n.Uint32(e[4:])) + int64(len(key))
		to := from + int64(n.Uint32(e[12:]))
		switch {
		case to > int64(len(p.data)):
			return p.fault("the value of element %d ends after the page", i)
		case n.Uint32(e) == 0:
		case n.Uint32(e) != 1:
			return p.fault("element %d is of kind %#x", i, n.Uint32(e))
		default:
			if err := v.bucket(p, i, p.data[from:to], depth); err != nil {
				return err
			}
		}
	}
	return nil
}

// element returns an element of a page, and its key. at and size say where in the
// element the position and the size of the key are.
func (p *page) element(i, length, at, size int) (e, key []byte, err error) {
	from := pageHeader + i*length
	if from+length > len(p.data) {
		return nil, nil, p.fault("element %d is after the end of the page", i)
	}
	e = p.data[from : from+length]
	start := int64(from) + int64(binary.NativeEndian.Uint32(e[at:]))
	end := start + int64(binary.NativeEndian.Uint32(e[size:]))
	if end > int64(len(p.data)) {
		return nil, nil, p.fault("the key of element %d ends after the page", i)
	}
	return e, p.data[start:end], nil
}

// bucket walks a bucket: its root page, or the page that is in the value itself.
func (v *verifier) bucket(p *page, i int, value []byte, depth int) error {
	if len(value) < bucketHeader {
		return p.fault("element %d is a bucket of %d bytes", i, len(value))
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		return v.tree(root, depth+1)
	}
	value = value[bucketHeader:]
	if len(value) < pageHeader {
		return p.fault("element %d is a bucket without its page", i)
	}
	n := binary.NativeEndian
	inner := &page{p.id, p.at, n.Uint16(value[8:]), int(n.Uint16(value[10:])), value}
	if inner.flags != flagLeaf || depth > maxDepth {
		return p.fault("the bucket in element %d has a page of kind %#x", i, inner.flags)
	}
	return v.leaf(inner, depth+1)
}

// free checks the list of free pages.
func (v *verifier) free() error {
	if v.freelist == noFreelist {
		return nil
	}
	p, err := v.page(v.freelist)
	if err != nil {
		return err
	}
	if p.flags != flagFreelist {
		return p.fault("it is of kind %#x, in the place of the list of free pages", p.flags)
	}
	ids, count := p.data[pageHeader:], uint64(p.count)
	if count == 0xFFFF { // the first entry is the number
		count, ids = binary.NativeEndian.Uint64(ids), ids[8:]
	}
	if count > uint64(len(ids)/8) {
		return p.fault("it lists %d free pages, in %d bytes", count, len(ids))
	}
	for i := range count {
		if id := binary.NativeEndian.Uint64(ids[8*i:]); id < 2 || id >= v.at || v.seen[id] {
			return p.fault("it lists page %d as free", id)
		}
	}
	return nil
}
