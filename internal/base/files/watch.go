package files

import (
	"slices"
	"time"
)

// LookEvery is the time between two looks of a [Watch].
const LookEvery = 250 * time.Millisecond

// maxUnsteady is at how many looks in a row a file may differ from the look before. One that
// is written without end is read then, so that it cannot keep its old text in use.
const maxUnsteady = 4

// A Watch notices when some files change, each by itself: a file that is written again and
// again does not hide a change of another one. It reads none of them. Its methods are for one
// goroutine, which looks every [LookEvery].
type Watch struct {
	steady int // looks at which a changed file must be the same
	files  []watched
}

type watched struct {
	name       string
	read, seen stamp // when it was last read, and at the last look
	same       int   // looks since it last changed
	unsteady   int   // looks in a row at which it differed from the one before
}

// NewWatch returns a watch of files that are read now. A change counts when the file was
// the same at so many looks: it should not be read while it is written.
func NewWatch(steady int, names ...string) *Watch {
	w := &Watch{steady: steady}
	w.Follow(names...)
	return w
}

// Follow replaces the files. Those that the watch had keep their state; others are read now.
func (w *Watch) Follow(names ...string) {
	old := w.files
	w.files = nil
	for _, name := range names {
		if i := slices.IndexFunc(old, func(f watched) bool { return f.name == name }); i >= 0 {
			w.files = append(w.files, old[i])
		} else if name != "" {
			now := stampOf(name)
			w.files = append(w.files, watched{name: name, read: now, seen: now})
		}
	}
}

// Read notes that the files are read now. Call it before they are read, so that a change in
// between is seen.
func (w *Watch) Read() {
	for i := range w.files {
		f := &w.files[i]
		f.read = stampOf(f.name)
		f.seen, f.same, f.unsteady = f.read, 0, 0
	}
}

// Changed looks at the files, and reports whether one should be read again.
func (w *Watch) Changed() (changed bool) {
	for i := range w.files {
		changed = w.files[i].look(w.steady) || changed
	}
	return changed
}

func (f *watched) look(steady int) bool {
	now := stampOf(f.name)
	if now.same(f.seen) {
		f.same, f.unsteady = f.same+1, 0
	} else {
		f.same, f.unsteady = 0, f.unsteady+1
	}
	f.seen = now
	return !now.same(f.read) && (f.same >= steady || f.unsteady >= maxUnsteady)
}
