// Package scoreview is what the console shows of the output of sotto score, as plain
// values: pages of lines by cursor, one line with its reply, and the comparison with
// another run. Of a file it keeps where each line is and what it counts as, so that
// the memory is some 30 bytes for each line.
package scoreview

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
)

const (
	// MaxLines bounds the lines of a file that are indexed.
	MaxLines = 4_000_000
	// maxLine bounds a line that is read, in bytes.
	maxLine = 32 << 20
	// maxNames bounds the distinct values of a facet; further ones are counted as
	// others.
	maxNames = 200
	// others is the name of a value beyond maxNames.
	others = "others"
)

// A facet is a member by which lines are counted and selected.
type facet int

const (
	methods facet = iota
	reasons
	models
	tasks
	facets
)

// names are the members of a line, by facet.
var names = [facets]string{"method", "reason", "model", "task"}

// An index says where the lines of a file are, and what each counts as.
type index struct {
	at         []int64  // where each line begins
	ids        []uint64 // the hash of the id; 0 if there is none
	ok         []bool
	codes      [facets][]uint8
	names      [facets][]string
	numbers    [facets]map[string]uint8
	unreadable int
	cut        bool // the file has more lines than MaxLines

	order []int32 // the lines by id, then by place
}

// A File is a file of lines that was named on the command line, or the verdicts of a
// record.
type File struct {
	Name   string
	record *sidecar.Store // nil for a file of lines

	mu    sync.Mutex
	index *index
	size  int64 // or the number of the record's last event
	time  time.Time
}

// Open checks that a file can be read. It is read when it is first shown.
func Open(name string) (*File, error) {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return &File{Name: name}, f.Close()
}

var seed = maphash.MakeSeed()

// load returns the index of a file. It is made again if the file has changed.
func (f *File) load(ctx context.Context) (*index, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.record != nil {
		return f.loadRecord(ctx)
	}
	in, err := os.Open(f.Name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, err
	}
	if f.index != nil && info.Size() == f.size && info.ModTime().Equal(f.time) {
		return f.index, nil
	}
	x := newIndex()
	err = eachLine(in, func(at int64, line []byte) error {
		if len(x.at)%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if len(x.at) >= MaxLines {
			x.cut = true
			return io.EOF
		}
		x.add(at, line)
		return nil
	})
	if err != nil {
		return nil, err
	}
	x.sort()
	f.index, f.size, f.time = x, info.Size(), info.ModTime()
	return x, nil
}

func (f *File) loadRecord(ctx context.Context) (*index, error) {
	store := f.record.For(ctx)
	last, err := store.Last()
	if err != nil {
		return nil, err
	}
	if f.index != nil && !judgedAfter(store, uint64(f.size)) {
		f.size = int64(last)
		return f.index, nil
	}
	x := newIndex()
	if err := x.indexRecord(ctx, store); err != nil {
		return nil, err
	}
	x.sort()
	f.index, f.size = x, int64(last)
	return x, nil
}

func newIndex() *index {
	x := &index{}
	for i := range x.numbers {
		x.numbers[i] = map[string]uint8{}
	}
	return x
}

// eachLine gives each line that is not empty, and nil for one that is too long. The
// error io.EOF ends the reading early.
func eachLine(in io.Reader, give func(at int64, line []byte) error) error {
	r := bufio.NewReaderSize(in, 256<<10)
	var long []byte
	at, from, over := int64(0), int64(0), false
	for {
		part, err := r.ReadSlice('\n')
		at += int64(len(part))
		if over = over || len(long)+len(part) > maxLine; !over {
			long = append(long, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if over {
			long = nil
		}
		if over || len(trimmed(long)) > 0 {
			if err := give(from, trimmed(long)); err != nil {
				if err == io.EOF {
					return nil
				}
				return err
			}
		}
		long, over, from = long[:0], false, at
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func trimmed(line []byte) []byte {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r' || line[len(line)-1] == ' ') {
		line = line[:len(line)-1]
	}
	return line
}

// member returns a member of a line, or the one that --add-columns writes for it.
func member(v gjson.Result, name string) gjson.Result {
	if m := v.Get(name); m.Exists() {
		return m
	}
	return v.Get("sotto_" + name)
}

func (x *index) add(at int64, line []byte) {
	v, err := foreignjson.Parse(line)
	if err != nil || !v.IsObject() {
		x.unreadable++
		return
	}
	x.at = append(x.at, at)
	id := uint64(0)
	if m := v.Get("id"); m.Exists() {
		id = max(1, maphash.String(seed, m.String()))
	}
	x.ids = append(x.ids, id)
	x.ok = append(x.ok, member(v, "ok").Bool())
	for i := range facets {
		x.codes[i] = append(x.codes[i], x.code(i, member(v, names[i]).String()))
	}
}

// code returns the number of a value of a facet.
func (x *index) code(i facet, value string) uint8 {
	if n, ok := x.numbers[i][value]; ok {
		return n
	}
	if len(x.names[i]) >= maxNames {
		value = others
		if n, ok := x.numbers[i][value]; ok {
			return n
		}
	}
	n := uint8(len(x.names[i]))
	x.names[i] = append(x.names[i], value)
	x.numbers[i][value] = n
	return n
}

// sort orders the lines by id.
func (x *index) sort() {
	x.order = make([]int32, len(x.at))
	for i := range x.order {
		x.order[i] = int32(i)
	}
	slices.SortStableFunc(x.order, func(a, b int32) int { return cmp.Compare(x.ids[a], x.ids[b]) })
}

// joined returns, for each line of x, the line of y with the same id; of several with
// one id, those in the same order. It is -1 if there is none. Lines without an id
// have the same place in both.
func joined(x, y *index) []int32 {
	list := make([]int32, len(x.at))
	j := 0
	for _, i := range x.order {
		list[i] = -1
		if x.ids[i] == 0 {
			if int(i) < len(y.at) && y.ids[i] == 0 {
				list[i] = i
			}
			continue
		}
		for j < len(y.order) && y.ids[y.order[j]] < x.ids[i] {
			j++
		}
		if j < len(y.order) && y.ids[y.order[j]] == x.ids[i] {
			list[i] = y.order[j]
			j++
		}
	}
	return list
}

// line reads a line of a file.
func (f *File) line(at int64) (v gjson.Result, err error) {
	if f.record != nil {
		return judgedLine(f.record, uint64(at))
	}
	in, err := os.Open(f.Name)
	if err != nil {
		return v, err
	}
	defer in.Close()
	if _, err := in.Seek(at, io.SeekStart); err != nil {
		return v, err
	}
	return v, eachLine(in, func(_ int64, line []byte) (err error) {
		if v, err = foreignjson.Parse(line); err == nil {
			err = io.EOF
		}
		return err
	})
}
