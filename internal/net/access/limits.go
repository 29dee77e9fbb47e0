package access

import (
	"fmt"
	"math"
	"sync"
	"time"
)

// Limits bound what one caller may do. Zero means no bound.
type Limits struct {
	Requests  int // in a minute
	Tokens    int // in a minute, of prompts and replies together
	Exchanges int // at the same time
}

// The names of the limits, in messages and metrics.
const (
	LimitRequests  = "requests"
	LimitTokens    = "tokens"
	LimitExchanges = "exchanges"
)

// A Limiter counts what callers do against their limits. What a caller has not used comes
// back evenly: with 60 requests a minute, one each second, and never more than 60. It holds
// as many callers as there are names of tokens. It is safe for concurrent use.
type Limiter struct {
	mu      sync.Mutex
	callers map[string]*account
}

// An account is what a caller has left.
type account struct {
	limits           Limits
	requests, tokens bucket
	open             int
}

// A bucket fills evenly, up to what a minute gives. Below zero, the caller owes.
type bucket struct {
	most  int // if zero, no bound
	level float64
	at    time.Time
}

func (b *bucket) resize(most int, now time.Time) {
	switch b.fill(now); {
	case b.most == 0:
		b.level = float64(most)
	case b.most != most:
		b.level = min(b.level, float64(most))
	}
	b.most, b.at = most, now
}

func (b *bucket) fill(now time.Time) {
	if b.most > 0 {
		b.level = min(float64(b.most), b.level+now.Sub(b.at).Minutes()*float64(b.most))
	}
	b.at = now
}

// until returns when the bucket will have n.
func (b *bucket) until(n float64) time.Duration {
	if b.most == 0 || b.level >= n {
		return 0
	}
	return time.Duration(math.Ceil((n - b.level) / float64(b.most) * float64(time.Minute)))
}

// SetTokens sets the limits of all callers, by their tokens. A caller keeps what it has
// used.
func (l *Limiter) SetTokens(tokens []Token) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was, now := l.callers, time.Now()
	l.callers = map[string]*account{}
	for _, t := range tokens {
		a := was[t.Name]
		if a == nil {
			a = &account{}
		}
		a.limits = t.Limits
		a.requests.resize(t.Limits.Requests, now)
		a.tokens.resize(t.Limits.Tokens, now)
		l.callers[t.Name] = a
	}
}

// A LimitError says which limit a caller has reached.
type LimitError struct {
	Caller string
	Limit  string        // its name
	Most   int           // its value
	After  time.Duration // when to try again
}

func (e *LimitError) Error() string {
	switch e.Limit {
	case LimitExchanges:
		return fmt.Sprintf("the token %q may have %d exchanges at the same time: try again when one has ended", e.Caller, e.Most)
	default:
		return fmt.Sprintf("the token %q may use %d %s a minute: try again in %d s", e.Caller, e.Most, e.Limit, e.Seconds())
	}
}

// Seconds returns the whole seconds after which to try again.
func (e *LimitError) Seconds() int { return max(1, int(math.Ceil(e.After.Seconds()))) }

// Take begins a request of a caller, or says which limit it has reached. A caller without
// limits gets nil, whose methods do nothing.
func (l *Limiter) Take(caller string) (*Share, *LimitError) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.callers[caller]
	if a == nil || a.limits == (Limits{}) {
		return nil, nil
	}
	now := time.Now()
	a.requests.fill(now)
	a.tokens.fill(now)
	refused := &LimitError{Caller: caller}
	switch m := a.limits; {
	case m.Exchanges > 0 && a.open >= m.Exchanges:
		refused.Limit, refused.Most, refused.After = LimitExchanges, m.Exchanges, time.Second
	case m.Requests > 0 && a.requests.level < 1:
		refused.Limit, refused.Most, refused.After = LimitRequests, m.Requests, a.requests.until(1)
	case m.Tokens > 0 && a.tokens.level <= 0:
		refused.Limit, refused.Most, refused.After = LimitTokens, m.Tokens, a.tokens.until(1)
	default:
		a.requests.level--
		a.open++
		return &Share{of: l, account: a, caller: caller}, nil
	}
	return nil, refused
}

// A Share is what one request of a caller takes of its limits.
type Share struct {
	of      *Limiter
	account *account
	caller  string
	tokens  int64
	paused  bool // it does not count among the exchanges
	over    bool
}

// Pause says that the request's body is on its way: it does not count among the exchanges
// until [Share.Resume].
func (s *Share) Pause() {
	if s == nil {
		return
	}
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if !s.paused && !s.over {
		s.paused = true
		s.account.open--
	}
}

// Resume says that the body is there. It counts again, or the caller has as many exchanges
// as it may have.
func (s *Share) Resume() *LimitError {
	if s == nil {
		return nil
	}
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if !s.paused || s.over {
		return nil
	}
	if most := s.account.limits.Exchanges; most > 0 && s.account.open >= most {
		return &LimitError{Caller: s.caller, Limit: LimitExchanges, Most: most, After: time.Second}
	}
	s.paused = false
	s.account.open++
	return nil
}

// Spend says how many tokens the request takes, as far as it is known. The last value
// counts.
func (s *Share) Spend(tokens int64) {
	if s == nil {
		return
	}
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.account.tokens.fill(time.Now())
	s.account.tokens.level = min(float64(s.account.tokens.most), s.account.tokens.level-float64(tokens-s.tokens))
	s.tokens = tokens
}

// Release ends the request.
func (s *Share) Release() {
	if s == nil {
		return
	}
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if !s.over {
		s.over = true
		if !s.paused {
			s.account.open--
		}
	}
}

// A Standing is what a caller has left of a limit a minute.
type Standing struct {
	Limit      string // its name
	Most, Left int
	Full       time.Duration // when all of it will be there again
}

// Standing returns what the caller has left of its limits a minute.
func (l *Limiter) Standing(caller string) (all []Standing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.callers[caller]
	if a == nil {
		return nil
	}
	add := func(name string, b *bucket) {
		if b.most > 0 {
			b.fill(time.Now())
			all = append(all, Standing{Limit: name, Most: b.most, Left: int(max(0, b.level)), Full: b.until(float64(b.most))})
		}
	}
	add(LimitRequests, &a.requests)
	add(LimitTokens, &a.tokens)
	return all
}
