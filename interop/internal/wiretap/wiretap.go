// Package wiretap keeps the requests that pass a place on their way, and their replies.
package wiretap

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"strings"
	"sync"
)

// A Tap keeps requests by their API key.
type Tap struct {
	next http.Handler
	open sync.WaitGroup // requests under way
	mu   sync.Mutex
	sent map[string][]*Request
}

// A Request is a request on the wire, and what came back.
type Request struct {
	Path     string
	Upgrade  string // the protocol that the client asked to change to
	Body     []byte
	Canceled bool
	Status   int    // of the reply; 0 before it
	Reply    []byte // its body
}

// New returns a tap that passes requests on.
func New(next http.Handler) *Tap { return &Tap{next: next, sent: map[string][]*Request{}} }

func (t *Tap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t.open.Add(1)
	defer t.open.Done()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s := &Request{Path: r.URL.Path, Upgrade: r.Header.Get("Upgrade"), Body: body}
	key := cmp.Or(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), r.Header.Get("X-Api-Key"), r.Header.Get("X-Goog-Api-Key"))
	t.mu.Lock()
	t.sent[key] = append(t.sent[key], s)
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		s.Canceled = r.Context().Err() != nil
	}()
	t.next.ServeHTTP(&keeper{ResponseWriter: w, tap: t, of: s}, r)
}

// A keeper keeps the body of a response.
type keeper struct {
	http.ResponseWriter
	tap *Tap
	of  *Request
}

func (k *keeper) WriteHeader(status int) {
	k.note(status)
	k.ResponseWriter.WriteHeader(status)
}

// note keeps the first status that is final.
func (k *keeper) note(status int) {
	k.tap.mu.Lock()
	defer k.tap.mu.Unlock()
	if k.of.Status == 0 && status >= http.StatusOK {
		k.of.Status = status
	}
}

func (k *keeper) Write(b []byte) (int, error) {
	k.note(http.StatusOK)
	k.tap.mu.Lock()
	k.of.Reply = append(k.of.Reply, b...)
	k.tap.mu.Unlock()
	return k.ResponseWriter.Write(b)
}

// Flush and Unwrap keep what the server's own writer can do.
func (k *keeper) Flush()                      { _ = http.NewResponseController(k.ResponseWriter).Flush() }
func (k *keeper) Unwrap() http.ResponseWriter { return k.ResponseWriter }

// Of returns the requests with a key. It waits for those under way, whatever their
// key.
func (t *Tap) Of(key string) []Request {
	t.open.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []Request
	for _, s := range t.sent[key] {
		all = append(all, *s)
	}
	return all
}
