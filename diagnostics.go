package sotto

import (
	"cmp"
	"maps"
	"slices"
)

// MaxDiagnostics is how many diagnostics of a reading are kept: those with the
// lowest offsets. [Counts] includes the others too.
const MaxDiagnostics = 1000

// Counts says how many diagnostics of each code a reading has, including those
// beyond [MaxDiagnostics].
type Counts map[Code]int

// Total returns the number of diagnostics.
func (c Counts) Total() int {
	total := 0
	for n := range maps.Values(c) {
		total += n
	}
	return total
}

var codeOrder = [...]Code{CodeTruncated, CodeRescued, CodeNested, CodeMismatchedClose, CodeOrphanClose, CodeStrayClose, CodeUnclosedOutput,
	CodeUnclosedNarration, CodeAssumedUnclosed, CodeLiteralMarker, CodeSplicedMarker, CodeHoldExpired, CodeUnknownChannel,
	CodeMissingReasoning, CodeLateReasoning, CodeRepeatedReasoning, CodeNoVisibleAnswer}

func sortDiagnostics(d []Diagnostic) {
	slices.SortStableFunc(d, func(a, b Diagnostic) int {
		if a.Offset != b.Offset {
			return cmp.Compare(a.Offset, b.Offset)
		}
		return cmp.Compare(slices.Index(codeOrder[:], a.Code), slices.Index(codeOrder[:], b.Code))
	})
}

// findings are the diagnostics of a reading. Diagnostics of pending bytes wait
// with the bytes, since a doubt may still take them back.
type findings struct {
	kept    []Diagnostic // the first MaxDiagnostics, and fewer than that many more that are not yet sorted out
	full    bool         // the first MaxDiagnostics of kept are sorted
	pending []Diagnostic
	counts  [len(codeOrder)]int // without the pending ones

	reported int // the byte whose expired hold was reported last, or -1
}

// keep adds a diagnostic that is final.
func (f *findings) keep(d Diagnostic) {
	f.counts[slices.Index(codeOrder[:], d.Code)]++
	if f.full && d.Offset > f.kept[MaxDiagnostics-1].Offset {
		return // it comes after those that are kept
	}
	f.kept = append(f.kept, d)
	if len(f.kept) == 2*MaxDiagnostics {
		f.sort()
	}
}

// sort sorts the kept diagnostics and drops what is beyond the bound.
func (f *findings) sort() {
	sortDiagnostics(f.kept)
	f.kept = f.kept[:min(len(f.kept), MaxDiagnostics)]
	f.full = len(f.kept) == MaxDiagnostics
}

// settle keeps the pending diagnostics before byte barrier.
func (f *findings) settle(barrier int) {
	if len(f.pending) == 0 {
		return
	}
	f.pending = slices.DeleteFunc(f.pending, func(d Diagnostic) bool {
		if d.Offset < barrier {
			f.keep(d)
		}
		return d.Offset < barrier
	})
}

// takeBack drops the pending diagnostics from byte at on whose code is one of those.
func (f *findings) takeBack(at int, those func(Code) bool) {
	f.pending = slices.DeleteFunc(f.pending, func(d Diagnostic) bool { return d.Offset >= at && those(d.Code) })
}

// list returns a copy of the first diagnostics, ordered by offset.
func (f *findings) list() []Diagnostic {
	list := slices.Concat(f.kept, f.pending)
	sortDiagnostics(list)
	return list[:min(len(list), MaxDiagnostics)]
}

// count returns the number of diagnostics by code, or nil if there are none.
func (f *findings) count() Counts {
	var c Counts
	add := func(code Code, n int) {
		if n == 0 {
			return
		}
		if c == nil {
			c = Counts{}
		}
		c[code] += n
	}
	for i, n := range f.counts {
		add(codeOrder[i], n)
	}
	for _, d := range f.pending {
		add(d.Code, 1)
	}
	return c
}

// Diagnostics returns the diagnostics found so far, ordered by offset: a copy of
// the first [MaxDiagnostics].
func (s *Splitter) Diagnostics() []Diagnostic { return s.diags.list() }

// Counts returns how many diagnostics of each code were found so far, or nil if
// there are none.
func (s *Splitter) Counts() Counts { return s.diags.count() }
