// Package lograte limits how often the same thing is said, such as a line of a log
// that any request could cause.
package lograte

import (
	"sync"
	"time"
)

// A Limit lets the same thing be said once in a time. Its fields are set before it
// is used. It is safe for concurrent use.
type Limit struct {
	Every time.Duration
	// Most is how many different things are kept apart. All further ones count as
	// one.
	Most int

	mu   sync.Mutex
	said map[string]time.Time
}

// Now reports whether a thing may be said now, and notes that it is.
func (l *Limit) Now(what string) bool {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.said[what]; !known && len(l.said) >= l.Most {
		for old, at := range l.said {
			if now.Sub(at) >= l.Every {
				delete(l.said, old)
			}
		}
		if len(l.said) >= l.Most {
			what = ""
		}
	}
	if at, known := l.said[what]; known && now.Sub(at) < l.Every {
		return false
	}
	if l.said == nil {
		l.said = map[string]time.Time{}
	}
	l.said[what] = now
	return true
}
