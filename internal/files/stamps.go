package files

import (
	"os"
	"slices"
)

// Stamps are what two states of some files differ in, without reading them.
type Stamps []os.FileInfo

// StampsOf returns the stamps of files now. A name that is "" has none, as has a file that
// is not there. A link has the stamp of the file that it leads to.
func StampsOf(names ...string) Stamps {
	list := make(Stamps, len(names))
	for i, name := range names {
		if name != "" {
			list[i], _ = os.Stat(name)
		}
	}
	return list
}

// Same reports whether no file changed between two stamps.
func (a Stamps) Same(b Stamps) bool {
	return slices.EqualFunc(a, b, func(x, y os.FileInfo) bool {
		if x == nil || y == nil {
			return x == y
		}
		return os.SameFile(x, y) && x.Size() == y.Size() && x.ModTime().Equal(y.ModTime())
	})
}
