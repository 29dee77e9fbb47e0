package consent

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// Why an answer does not count.
var (
	ErrOther   = errors.New("the answer is to another question")
	ErrChanged = errors.New("the arguments of the call are not those that the person saw")
	ErrMayNot  = errors.New(`whoever answered may not consent to calls: that needs a token that lists the scope "consent"`)
	ErrSubject = errors.New("the answer is not by the caller for whom the agent works")
	ErrLate    = errors.New("the answer came too late")
	ErrUsed    = errors.New("the question was answered before")
)

// An Occasion is where and when an answer is used.
type Occasion struct {
	// Place is the run and the number of the call there. An agent that passes a question on
	// decides about it in a place of its own.
	Place string
	// Digest is that of the call as it would be made now. An agent that passes the question
	// on does not know the call: its Digest is the question's.
	Digest string
	// For is the caller for whom the agent works.
	For string
	Now time.Time
}

// Counts reports why an answer does not count, apart from whether it was used before. A
// refusal counts without a right to consent, and late.
func (q Question) Counts(a Answer, o Occasion) error {
	switch {
	case q.Digest != o.Digest:
		return ErrChanged
	case a.Question != q.ID, a.Digest != q.Digest:
		return ErrOther
	case a.By.Name != o.For:
		return ErrSubject
	case !a.Agree:
		return nil
	case !a.By.May():
		return ErrMayNot
	case !o.Now.Before(q.Until):
		return ErrLate
	}
	return q.fitting(a.Values)
}

// A Receipt says who decided about a call.
type Receipt struct {
	Question, Tool, Digest string
	Agreed, Dismissed      bool
	Values                 string // as JSON
	By                     Principal
	Person                 string // as the agent that passed the answer on says
	For                    string
}

// A Ledger remembers which questions were answered. A nil Ledger remembers none. It is
// safe for concurrent use.
type Ledger struct {
	mu   sync.Mutex
	used map[string]time.Time // place and id → until when the question was open
}

// Decide says whether an answer counts, and uses it: in one place it counts once. The error
// says why it does not count.
func (l *Ledger) Decide(q Question, a Answer, o Occasion) (Receipt, error) {
	if err := q.Counts(a, o); err != nil {
		return Receipt{}, err
	}
	if !l.use(q, o) {
		return Receipt{}, ErrUsed
	}
	r := Receipt{Question: q.ID, Tool: q.Tool, Digest: q.Digest, Agreed: a.Agree, Dismissed: a.Dismissed, By: a.By, Person: a.Person, For: o.For}
	if a.Agree {
		r.Values = string(a.Values)
	}
	return r, nil
}

// use reports whether a question is answered for the first time in a place. A question that
// is no longer open needs no entry: nobody can agree to it.
func (l *Ledger) use(q Question, o Occasion) bool {
	if l == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, until := range l.used {
		if !o.Now.Before(until) {
			delete(l.used, key)
		}
	}
	key := fmt.Sprintf("%s %s", o.Place, q.ID)
	if _, used := l.used[key]; used {
		return false
	}
	if l.used == nil {
		l.used = map[string]time.Time{}
	}
	l.used[key] = q.Until
	return true
}
