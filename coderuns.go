package sotto

// A codeRun is a run of back-ticks.
type codeRun struct{ size, at int }

// runs are the unpaired runs of back-ticks on a line, in order. Their lengths
// differ: a run pairs with the last run of its length, and the runs between the
// two are no longer unpaired.
type runs struct {
	list  []codeRun
	short [maxShortRun + 1]int32 // by length: index into list, plus one
	long  map[int]int32          // the same for longer runs
}

const maxShortRun = 15

// pair takes the next run. If it pairs with an earlier run, pair returns where
// the earlier run began.
func (r *runs) pair(next codeRun) (at int, pairs bool) {
	k := r.index(next.size)
	if k < 0 {
		r.list = append(r.list, next)
		r.note(next.size, int32(len(r.list)))
		return 0, false
	}
	at = r.list[k].at
	r.cut(k)
	return at, true
}

// cut forgets the runs from number k on.
func (r *runs) cut(k int) {
	for _, run := range r.list[k:] {
		r.note(run.size, 0)
	}
	r.list = r.list[:k]
}

func (r *runs) clear() { r.cut(0) }

func (r *runs) has(size int) bool { return r.index(size) >= 0 }

func (r *runs) index(size int) int {
	if size <= maxShortRun {
		return int(r.short[size]) - 1
	}
	return int(r.long[size]) - 1
}

func (r *runs) note(size int, k int32) {
	switch {
	case size <= maxShortRun:
		r.short[size] = k
	case k == 0:
		delete(r.long, size)
	default:
		if r.long == nil {
			r.long = map[int]int32{}
		}
		r.long[size] = k
	}
}
