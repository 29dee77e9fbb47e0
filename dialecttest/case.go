package dialecttest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
)

// A Case is one law on one reply of one dialect. A broken law is reported as a
// Case in Go syntax.
type Case struct {
	Law     string
	Dialect string // as JSON
	Raw     string // the reply, or the string that is repeated to make it
	Start   sotto.Beginning
	End     sotto.Ending
	MaxHold int      // -1 means unlimited
	Cuts    []int    // where the reply is cut; if nil, the law chooses the cuts
	Tokens  []string // tokens that continue the reply; if nil, those of the law
}

// Run checks the law.
func (c Case) Run(t *testing.T) {
	t.Helper()
	var d dialect.Dialect
	if err := json.Unmarshal([]byte(c.Dialect), &d); err != nil {
		t.Fatalf("dialect: %v", err)
	}
	s := mustSuite(t, d, c.MaxHold > 0)
	i := slices.IndexFunc(laws, func(l law) bool { return l.name == c.Law })
	if i < 0 {
		t.Fatalf("no law is named %q", c.Law)
	}
	if f := s.try(laws[i], trial{c.Raw, c.Start, c.End, c.MaxHold, c.Cuts, c.Tokens}); f != nil {
		s.report(t, laws[i], f)
	}
}

// A trial is one reply under one set of parameters.
type trial struct {
	raw     string
	start   sotto.Beginning
	end     sotto.Ending
	maxHold int // -1 means unlimited
	cuts    []int
	tokens  []string
}

func (tr trial) String() string {
	text := fmt.Sprintf("%q start %s end %s max_hold %d", tr.raw, tr.start, tr.end, tr.maxHold)
	if tr.cuts != nil {
		text += fmt.Sprintf(" cut at %v", tr.cuts)
	}
	return text
}

// A fault says how a trial breaks a law.
type fault struct {
	trial
	says string
	rule string // the rule of the grammar, if the slow reader decided differently
}

func (tr trial) fault(format string, args ...any) *fault {
	return &fault{trial: tr, says: fmt.Sprintf(format, args...)}
}

// A law is a property of every reading of every reply.
type law struct {
	name  string
	check func(*suite, trial) *fault
	fixed bool // its replies lose their meaning if a byte is left out
}

var laws = []law{
	{name: "conservation", check: (*suite).conservation},
	{name: "split_invariance", check: (*suite).splitInvariance},
	{name: "slow_reader", check: (*suite).slowReader},
	{name: "bounded_hold", check: (*suite).boundedHold},
	{name: "idempotence", check: (*suite).idempotence},
	{name: "monotony", check: (*suite).monotony},
	{name: "ordinary_replies", check: (*suite).ordinary, fixed: true},
	{name: "linear_time", check: (*suite).linear},
	{name: "earliest_emission", check: (*suite).earliest},
	{name: "never_late", check: (*suite).neverLate},
}

// try checks a law; a reading that panics breaks it.
func (s *suite) try(l law, tr trial) (f *fault) {
	defer func() {
		if p := recover(); p != nil {
			f = tr.fault("panics: %v", p)
		}
	}()
	return l.check(s, tr)
}

// laws checks every law as a subtest, on the given replies and on generated ones.
func (s *suite) laws(t *testing.T, e effort, replies []string) {
	var trials []trial
	for i := range e.replies + len(replies) {
		raw := ""
		if i < len(replies) {
			raw = replies[i]
		} else {
			raw = s.random(uint64(i), 14)
		}
		trials = append(trials, trial{raw: raw, start: s.starts[i%len(s.starts)], end: Ends[i/3%len(Ends)], maxHold: s.holds[i/5%len(s.holds)]})
	}
	for _, l := range laws {
		list := slices.Values(trials)
		switch {
		case l.name == "ordinary_replies":
			list = slices.Values(s.ordinaryTrials())
		case l.name == "linear_time":
			list = slices.Values(s.linearTrials(e.units))
		case l.name == "never_late" && e.depth > 0:
			list = s.lateTrials(e.depth)
		case l.name == "earliest_emission", l.name == "never_late":
			list = s.emissionTrials(e.search)
		}
		t.Run(l.name, func(t *testing.T) {
			t.Helper()
			for tr := range list {
				if f := s.try(l, tr); f != nil {
					s.report(t, l, f)
					return
				}
			}
		})
	}
}

// report shrinks a fault and fails the test with it.
func (s *suite) report(t *testing.T, l law, f *fault) {
	t.Helper()
	was := len(f.raw)
	small, f := shrink(s, l, f)
	rule := ""
	if f.rule != "" {
		rule = ", rule " + f.rule
	}
	t.Errorf("law %s%s\n%v\n%s\n\nshrunk from a reply of %d bytes; to try it again:\n%s", l.name, rule, f.trial, f.says, was, small.asGo(l, f.trial))
}

// asGo writes a trial as a Case.
func (s *suite) asGo(l law, tr trial) string {
	dialect, err := json.Marshal(s.given)
	if err != nil {
		return err.Error()
	}
	quoted := "`" + string(dialect) + "`"
	if strings.Contains(quoted[1:len(quoted)-1], "`") {
		quoted = fmt.Sprintf("%q", dialect)
	}
	more := ""
	if tr.cuts != nil {
		more += fmt.Sprintf(", Cuts: %#v", tr.cuts)
	}
	if tr.tokens != nil {
		more += fmt.Sprintf(",\n\tTokens: %#v", tr.tokens)
	}
	return fmt.Sprintf("dialecttest.Case{Law: %q, Raw: %q, Start: %q, End: sotto.Ending%s, MaxHold: %d%s,\n\tDialect: %s}.Run(t)",
		l.name, tr.raw, string(tr.start), strings.ToUpper(tr.end.String()[:1])+tr.end.String()[1:], tr.maxHold, more, quoted)
}
