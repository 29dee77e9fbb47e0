package files

import (
	"os"
	"slices"
)

// Stamps are what two states of some files differ in, without reading them.
type Stamps []stamp

type stamp struct {
	info     os.FileInfo // nil if the file is not there
	readable bool
}

// StampsOf returns the stamps of files now. A name that is "" has none, as has a file that
// is not there. A link has the stamp of the file that it leads to.
func StampsOf(names ...string) Stamps {
	list := make(Stamps, len(names))
	for i, name := range names {
		if name != "" {
			list[i] = stampOf(name)
		}
	}
	return list
}

func stampOf(name string) (s stamp) {
	s.info, _ = os.Stat(name)
	if s.info == nil || !s.info.Mode().IsRegular() {
		return s
	}
	// A change of the owner, of the mode or of a list of who may read has no other sign
	// that every system gives.
	s.readable = opens(name)
	return s
}

// Same reports whether no file changed between two stamps.
func (a Stamps) Same(b Stamps) bool { return slices.EqualFunc(a, b, stamp.same) }

func (a stamp) same(b stamp) bool {
	if a.info == nil || b.info == nil {
		return a.info == b.info
	}
	return a.readable == b.readable && os.SameFile(a.info, b.info) && a.info.Size() == b.info.Size() && a.info.ModTime().Equal(b.info.ModTime())
}
