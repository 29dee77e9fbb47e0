package dialecttest

import (
	"encoding/json"
	"go/parser"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
)

// If a law breaks when a reply holds a marker and is cut in it, the report is that
// marker, one cut and a dialect of one marker, and can be pasted.
func TestShrink(t *testing.T) {
	d := sotto.Default().Dialect()
	d.Output, d.Close = dialect.PlacementAnywhere, dialect.CloseFamily
	s := mustSuite(t, d, false)
	const open = "<thought>"
	broken := law{name: "split_invariance", check: func(s *suite, tr trial) *fault {
		i := strings.Index(tr.raw, open)
		if _, err := s.g.NewSplitter(sotto.Options{Start: sotto.BeginInside("thought")}); err != nil || i < 0 {
			return nil
		}
		for _, c := range tr.cuts {
			if c > i && c < i+len(open) {
				return tr.fault("it is cut")
			}
		}
		return nil
	}}
	raw := "a `b` " + open + "\n" + open + "c</thought> <output>d"
	f := s.try(broken, trial{raw: raw, start: sotto.BeginAuto, end: sotto.EndCut, maxHold: 16, cuts: everyByte(len(raw))})
	if f == nil {
		t.Fatal("the law holds")
	}
	small, f := shrink(s, broken, f)
	if f.raw != open || len(f.cuts) != 1 || f.start != sotto.BeginOutside || f.end != sotto.EndUnknown || f.maxHold != -1 {
		t.Errorf("shrunk to %v", f.trial)
	}
	if m := small.given.Markers; len(m) != 1 || m[0].Tag != "thought" || small.given.Output != "" || small.given.Close != "" {
		dialect, _ := json.Marshal(small.given)
		t.Errorf("shrunk to the dialect %s", dialect)
	}
	pasted := small.asGo(broken, f.trial)
	if _, err := parser.ParseExpr(pasted); err != nil {
		t.Errorf("%s\n%v", pasted, err)
	}
}

// A reading that panics breaks its law, and is shrunk like any other trial.
func TestPanicsAreFaults(t *testing.T) {
	s := mustSuite(t, sotto.Default().Dialect(), false)
	broken := law{check: func(_ *suite, tr trial) *fault {
		if strings.Contains(tr.raw, "x") {
			panic("x")
		}
		return nil
	}}
	f := s.try(broken, trial{raw: "one x two"})
	if f == nil {
		t.Fatal("no fault")
	}
	if _, f = shrink(s, broken, f); f.raw != "x" {
		t.Errorf("shrunk to %q", f.raw)
	}
}

// The report names the rule of the first byte that is read in two ways.
func TestRuleOfADifference(t *testing.T) {
	s := mustSuite(t, sotto.Default().Dialect(), false)
	for _, c := range []struct{ raw, other, rule string }{
		{"<think>r</think>a", "<think>r</thonk>a", "G5"},
		{"a `<think>` b", "a `<think>? b", "G4"},
		{"a<output>b", "a<outpux>b", "G10"},
		{"<narrate>a</narrate>b", "<narrate>a</norrate>b", "G12"},
		{"</think>b", "</thonk>b", "G9"},
	} {
		a, err := s.slow.read(c.raw, sotto.BeginOutside, sotto.EndStopped, -1)
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.slow.read(c.other, sotto.BeginOutside, sotto.EndStopped, -1)
		if err != nil {
			t.Fatal(err)
		}
		at := firstDifference(a.segments, b.segments)
		if strings.Contains(c.rule, "G4") || c.rule == "G10" { // text either way
			at = firstDiagnostic(a.diagnostics, b.diagnostics)
		}
		if got := a.ruleAt(at); got != c.rule {
			t.Errorf("%q: rule %s at byte %d, want %s", c.raw, got, at, c.rule)
		}
	}
}
