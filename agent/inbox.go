package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// The bounds of an inbox.
const (
	MaxInbox  = 1000     // messages that are kept
	MaxAnswer = 64 << 10 // bytes of an answer
)

// An Inbox is an operator reached by HTTP:
//
//	GET  /messages            all messages, oldest first: [{"id","run","cycle","text","open"}]
//	POST /answers             {"id": …, "answer": …}: answers a message that waits for one
//
// Serve it on a loopback address: anyone who can reach it can answer. Requests
// under another host's name, and those of foreign web pages, are refused.
type Inbox struct {
	mu       sync.Mutex
	messages []InboxMessage
	waiting  map[string]chan string
}

// An InboxMessage is a message as the inbox shows it.
type InboxMessage struct {
	OperatorMessage
	Open bool `json:"open"` // an answer is waited for
}

// Tell puts a message into the inbox.
func (b *Inbox) Tell(_ context.Context, m OperatorMessage) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.store(m, false)
	return nil
}

// Ask puts a message into the inbox and waits for the answer.
func (b *Inbox) Ask(ctx context.Context, m OperatorMessage) (string, error) {
	answer := make(chan string, 1)
	b.mu.Lock()
	b.store(m, true)
	if b.waiting == nil {
		b.waiting = map[string]chan string{}
	}
	b.waiting[m.ID] = answer
	b.mu.Unlock()
	select {
	case s := <-answer:
		return s, nil
	case <-ctx.Done():
		b.close(m.ID)
		return "", ctx.Err()
	}
}

// store keeps a message, once, and drops the oldest if there are too many.
func (b *Inbox) store(m OperatorMessage, open bool) {
	b.messages = slices.DeleteFunc(b.messages, func(x InboxMessage) bool { return x.ID == m.ID })
	b.messages = append(b.messages, InboxMessage{m, open})
	if n := len(b.messages) - MaxInbox; n > 0 {
		b.messages = slices.Delete(b.messages, 0, n)
	}
}

// close marks a message as no longer waited for, and returns its channel.
func (b *Inbox) close(id string) chan string {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.waiting[id]
	delete(b.waiting, id)
	for i := range b.messages {
		if b.messages[i].ID == id {
			b.messages[i].Open = false
		}
	}
	return c
}

// ServeHTTP serves the inbox.
func (b *Inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !local(r) {
		http.Error(w, "the inbox answers only under its own address", http.StatusForbidden)
		return
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /messages":
		b.mu.Lock()
		list := slices.Clone(b.messages)
		b.mu.Unlock()
		if list == nil {
			list = []InboxMessage{}
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(append(encode(list), '\n'))
	case "POST /answers":
		status, err := b.receive(w, r)
		if err != nil {
			http.Error(w, err.Error(), status)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	default:
		http.Error(w, "GET /messages, or POST /answers", http.StatusNotFound)
	}
}

// receive hands an answer to whoever waits for it.
func (b *Inbox) receive(w http.ResponseWriter, r *http.Request) (int, error) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		return http.StatusUnsupportedMediaType, errors.New("want Content-Type: application/json")
	}
	var a struct {
		ID     string  `json:"id"`
		Answer *string `json:"answer"`
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxAnswer+1024))
	if err != nil {
		return http.StatusRequestEntityTooLarge, errors.New("the answer is too long")
	}
	if json.Unmarshal(body, &a) != nil || a.ID == "" || a.Answer == nil {
		return http.StatusBadRequest, errors.New(`want {"id": …, "answer": …}`)
	}
	c := b.close(a.ID)
	if c == nil {
		return http.StatusNotFound, errors.New("no message with that id waits for an answer")
	}
	c <- *a.Answer
	return 0, nil
}

// local reports whether a request uses a loopback name, and does not come from a
// foreign page.
func local(r *http.Request) bool {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	if host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return false
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host == r.Host
}
