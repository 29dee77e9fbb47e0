package consent

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var (
	now  = time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC)
	call = Call{Tool: "erase", Arguments: json.RawMessage(`{"what":"a"}`), For: "alice"}
	by   = Principal{Name: "alice", Way: A2A, Scoped: true}
	here = Occasion{Place: "r#1", Digest: call.Digest(), For: "alice", Now: now}
)

// TestDecide: an answer counts if everything about it is right, and each fault alone is
// enough that it does not. A refusal needs no right to consent, and no time.
func TestDecide(t *testing.T) {
	for name, tt := range map[string]struct {
		change  func(*Question, *Answer, *Occasion)
		agree   error
		refusal error
	}{
		"right":            {func(*Question, *Answer, *Occasion) {}, nil, nil},
		"another question": {func(_ *Question, a *Answer, _ *Occasion) { a.Question = "x" }, ErrOther, ErrOther},
		"no question":      {func(_ *Question, a *Answer, _ *Occasion) { a.Question = "" }, ErrOther, ErrOther},
		"another digest":   {func(_ *Question, a *Answer, _ *Occasion) { a.Digest = "x" }, ErrOther, ErrOther},
		"other arguments": {func(_ *Question, _ *Answer, o *Occasion) {
			o.Digest = Call{"erase", json.RawMessage(`{}`), "alice"}.Digest()
		}, ErrChanged, ErrChanged},
		"another tool":      {func(_ *Question, _ *Answer, o *Occasion) { o.Digest = Call{"write", call.Arguments, "alice"}.Digest() }, ErrChanged, ErrChanged},
		"for another":       {func(_ *Question, _ *Answer, o *Occasion) { o.Digest = Call{"erase", call.Arguments, "bob"}.Digest() }, ErrChanged, ErrChanged},
		"by another":        {func(_ *Question, a *Answer, _ *Occasion) { a.By.Name = "bob" }, ErrSubject, ErrSubject},
		"without the scope": {func(_ *Question, a *Answer, _ *Occasion) { a.By.Scoped = false }, ErrMayNot, nil},
		"by nobody":         {func(_ *Question, a *Answer, _ *Occasion) { a.By = Principal{Name: "alice"} }, ErrMayNot, nil},
		"the terminal":      {func(_ *Question, a *Answer, _ *Occasion) { a.By = Principal{Name: "alice", Way: Terminal} }, nil, nil},
		"the last moment":   {func(q *Question, _ *Answer, o *Occasion) { o.Now = q.Until.Add(-1) }, nil, nil},
		"too late":          {func(q *Question, _ *Answer, o *Occasion) { o.Now = q.Until }, ErrLate, nil},
	} {
		for _, agree := range []bool{true, false} {
			q := About(call, "{}", now.Add(time.Hour))
			a, o, want := q.Yes(by), here, tt.agree
			if !agree {
				a, want = q.No(by, "no"), tt.refusal
			}
			tt.change(&q, &a, &o)
			var l Ledger
			r, err := l.Decide(q, a, o)
			if !errors.Is(err, want) {
				t.Errorf("%s, agree %v: %v, want %v", name, agree, err, want)
			}
			if err != nil {
				if r != (Receipt{}) {
					t.Errorf("%s: a receipt %+v", name, r)
				}
				continue
			}
			if r.Agreed != agree || r.By != a.By || r.Digest != call.Digest() || r.Question != q.ID || r.For != "alice" || r.Tool != "erase" {
				t.Errorf("%s: %+v", name, r)
			}
			if _, err := l.Decide(q, a, o); !errors.Is(err, ErrUsed) && o.Now.Before(q.Until) {
				t.Errorf("%s: the answer counts twice: %v", name, err)
			}
			o.Place = "other"
			if _, err := l.Decide(q, a, o); err != nil {
				t.Errorf("%s: an agent that passes the question on cannot decide about it: %v", name, err)
			}
		}
	}
}

// A ledger forgets questions that are no longer open.
func TestLedgerForgets(t *testing.T) {
	var l Ledger
	for i := range 100 {
		q, o := About(call, "{}", now.Add(time.Minute)), here
		o.Now = now.Add(time.Duration(i) * 30 * time.Second)
		q.Until = o.Now.Add(time.Minute)
		if _, err := l.Decide(q, q.Yes(by), o); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(l.used); n != 2 {
		t.Errorf("%d entries", n)
	}
}

// Only a few words agree.
func TestSaid(t *testing.T) {
	q := About(call, "{}", now)
	for text, want := range map[string]bool{"yes": true, " Yes!": true, "OK.": true, "y": true, "confirm": true, "": false, "no": false, "yes, but": false, "yesyes": false} {
		if a := q.Said(by, text); a.Agree != want || a.By != by || a.Question != q.ID || a.Digest != q.Digest || !want && a.Said != text {
			t.Errorf("%q: %+v", text, a)
		}
	}
}

// An answer as JSON does not say who gives it.
func TestPrincipalIsSet(t *testing.T) {
	var a Answer
	if err := json.Unmarshal([]byte(`{"question":"q","digest":"d","agree":true,"By":{"Name":"alice","Scoped":true},"by":{"Name":"alice","Scoped":true}}`), &a); err != nil || a.By != (Principal{}) {
		t.Errorf("%+v, %v", a, err)
	}
}

// A question says through which tools it came, in a bounded text, whatever a program below says.
func TestPassed(t *testing.T) {
	q := About(call, "{}", now).Passed("clerk").Passed("boss")
	if q.Through != "boss > clerk" || q.Check() != nil || !strings.HasSuffix(q.Text(), "asked through boss > clerk") {
		t.Errorf("%+v, %v, %q", q, q.Check(), q.Text())
	}
	if q.Digest != call.Digest() {
		t.Error("the digest is another one")
	}
	for range 2000 {
		if q = q.Passed("ö"); q.Check() != nil || !utf8.ValidString(q.Through) {
			t.Fatalf("%q, %v", q.Through, q.Check())
		}
	}
	q.Through = strings.Repeat("x", 2<<10)
	if q.Check() == nil {
		t.Error("a long text of another program is taken")
	}
}
