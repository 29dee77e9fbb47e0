package servecmd

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// firstRequests are the connections that were accepted and whose first request has not
// reached the handler. [http.Server.Shutdown] drops a request that it reads after it
// began: the client sees a connection that ends without an answer. So a shutdown waits
// for these first, when nothing more is accepted.
type firstRequests struct {
	mu      sync.Mutex
	waiting map[net.Conn]struct{}
}

// firstWait is how long a client that has connected may take until its first request,
// once the gateway is to stop. net/http takes such a connection for idle after that, too.
const firstWait = 5 * time.Second

// connKey is the key of the connection in the context of its requests.
type connKey struct{}

// watch sees the connections of a server from now on.
func (f *firstRequests) watch(s *http.Server) {
	f.waiting = map[net.Conn]struct{}{}
	own := s.ConnContext
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.waiting[c] = struct{}{}
		return context.WithValue(own(ctx, c), connKey{}, c)
	}
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateClosed || state == http.StateHijacked {
			f.forget(c)
		}
	}
}

// began notes that a request has reached the handler.
func (f *firstRequests) began(r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(net.Conn); ok {
		f.forget(c)
	}
}

func (f *firstRequests) forget(c net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.waiting, c)
}

// wait waits until there are none, or for as long as firstWait.
func (f *firstRequests) wait(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, firstWait)
	defer cancel()
	beat := time.NewTicker(2 * time.Millisecond)
	defer beat.Stop()
	for {
		f.mu.Lock()
		n := len(f.waiting)
		f.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-beat.C:
		case <-ctx.Done():
			return
		}
	}
}
