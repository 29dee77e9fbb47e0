package sidecar

import (
	"cmp"
	"slices"
)

// An early part of a file was read before it is needed.
type early struct {
	data []byte
	at   int64
}

// together reads sections that are soon needed, if a reading takes long: at once those with not
// much between them.
func (f *file) together(names []string) error {
	if !f.far {
		return nil
	}
	var list []section
	for _, name := range names {
		if s, ok := f.h.Sections[name]; ok && s.size() > 0 {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b section) int { return cmp.Compare(a.at(), b.at()) })
	f.ahead = nil
	for len(list) > 0 {
		from, to := list[0].at(), int64(0)
		for len(list) > 0 && (to == 0 || list[0].at() <= to+mostBetween) {
			to = max(to, list[0].at()+list[0].size())
			list = list[1:]
		}
		data := make([]byte, to-from)
		if err := f.readAt(data, from); err != nil {
			return err
		}
		f.ahead = append(f.ahead, early{data, f.base + from})
	}
	return nil
}

// mostBetween is how many bytes are read to save a request.
const mostBetween = 1 << 20
