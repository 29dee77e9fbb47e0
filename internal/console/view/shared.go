package view

import (
	"context"
	"errors"
	"time"
)

const (
	// maxLists bounds the lists that are kept, and freshFor how long each is. It ends
	// earlier when the record grows.
	maxLists = 16
	freshFor = 2 * time.Second
)

// A listing is a page that is being read, or was read a moment ago.
type listing struct {
	head uint64
	at   time.Time
	done chan struct{} // closed when page or err is set
	page *Page
	err  error
}

// List returns a page of exchanges, the newest first. Those who follow a record ask
// for the same page when it grows. It is read once for all of them, and nobody may
// change it.
func (s *Source) List(ctx context.Context, f Filter) (*Page, error) {
	head, err := s.Head()
	if err != nil {
		return s.list(ctx, f)
	}
	s.mu.Lock()
	l := s.lists[f]
	if l != nil && l.head == head && time.Since(l.at) < s.fresh {
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-l.done:
		}
		if errors.Is(l.err, context.Canceled) || errors.Is(l.err, context.DeadlineExceeded) {
			return s.list(ctx, f) // the one who read it has left
		}
		return l.page, l.err
	}
	l = &listing{head: head, at: time.Now(), done: make(chan struct{}), err: errors.New("the list could not be read")}
	if len(s.lists) >= maxLists {
		clear(s.lists)
	}
	s.lists[f] = l
	s.mu.Unlock()
	defer close(l.done)
	l.page, l.err = s.list(ctx, f)
	return l.page, l.err
}
