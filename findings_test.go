package sotto

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Findings are sorted out when as many again as are kept have come: not sooner, which
// would cost a sort for each, and not later, which would keep more of them.
func TestFindingsAreSortedOutInTime(t *testing.T) {
	var f findings
	most := 0
	for i := range 5 * MaxDiagnostics {
		f.keep(Diagnostic{Code: CodeNested, Offset: 5*MaxDiagnostics - i})
		most = max(most, len(f.kept))
	}
	if most != 2*MaxDiagnostics-1 || f.count()[CodeNested] != 5*MaxDiagnostics {
		t.Errorf("%d are kept, %v counted", most, f.count())
	}
	for i, d := range f.list() {
		if d.Offset != i+1 {
			t.Fatalf("number %d is of byte %d", i, d.Offset)
		}
	}
}

// What is found before a barrier is final. What begins at it is still pending, and may be
// taken back.
func TestFindingsSettle(t *testing.T) {
	var f findings
	f.pending = []Diagnostic{{Code: CodeStrayClose, Offset: 3}, {Code: CodeNested, Offset: 2}, {Code: CodeTruncated, Offset: 3}}
	f.settle(3)
	if len(f.kept) != 1 || f.kept[0].Offset != 2 || len(f.pending) != 2 {
		t.Errorf("kept %v, pending %v", f.kept, f.pending)
	}
	if got := f.list(); len(got) != 3 || got[0].Code != CodeNested || got[1].Code != CodeTruncated || f.count().Total() != 3 {
		t.Errorf("listed %v, counted %v", got, f.count())
	}
	f = findings{pending: []Diagnostic{{Code: CodeNested, Offset: 2}}}
	if f.settle(3); len(f.kept) != 1 || len(f.pending) != 0 {
		t.Errorf("of one: kept %v, pending %v", f.kept, f.pending)
	}
	s := Splitter{holds: holds{diags: findings{pending: []Diagnostic{{Code: CodeNested, Offset: 3}}}}}
	s.outHold, s.pads.hold = -1, -1
	if s.flush(); len(s.diags.kept) != 1 || len(s.diags.pending) != 0 {
		t.Errorf("without a doubt: kept %v, pending %v", s.diags.kept, s.diags.pending)
	}
	s = Splitter{}
	s.outHold, s.pads.hold = 4, -1
	s.diag(CodeNested, 3, "")
	s.diag(CodeNested, 4, "")
	if len(s.diags.kept) != 1 || len(s.diags.pending) != 1 {
		t.Errorf("with a doubt at byte 4: kept %v, pending %v", s.diags.kept, s.diags.pending)
	}
}

// A run pairs with the last one of its length, and those between the two are gone: as in a
// plain list, however long the runs are.
func TestRunsPair(t *testing.T) {
	var r runs
	var plain []codeRun
	rnd := rand.New(rand.NewPCG(31, 32))
	for at := range 5000 {
		size := []int{1, 2, 3, maxShortRun - 1, maxShortRun, maxShortRun + 1, maxShortRun + 2, 40}[rnd.IntN(8)]
		if rnd.IntN(50) == 0 {
			r.clear()
			plain = nil
		}
		k := slices.IndexFunc(plain, func(run codeRun) bool { return run.size == size })
		if r.has(size) != (k >= 0) {
			t.Fatalf("a run of %d in %v: %v", size, plain, r.has(size))
		}
		from, pairs := r.pair(codeRun{size, at})
		if pairs != (k >= 0) || pairs && from != plain[k].at {
			t.Fatalf("a run of %d in %v: %d, %v", size, plain, from, pairs)
		}
		if pairs {
			plain = plain[:k]
		} else {
			plain = append(plain, codeRun{size, at})
		}
		if !slices.Equal(r.list, plain) {
			t.Fatalf("the runs are %v, want %v", r.list, plain)
		}
	}
	r.clear()
	if len(r.long) > 0 {
		t.Errorf("%v is left", r.long)
	}
}
