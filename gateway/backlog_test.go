package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
	"github.com/sotto-llm/sotto/record"
)

// A stuck recorder takes events as slowly as one that searches for long.
type stuck struct {
	mu     sync.Mutex
	begun  chan struct{}
	free   chan struct{}
	events []record.Event
	fails  atomic.Bool
}

func (s *stuck) Enqueue(e record.Event) bool {
	s.begun <- struct{}{}
	<-s.free
	if s.fails.Load() {
		panic("a fault of the record")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
	return true
}

func (s *stuck) Dropped() uint64 { return 0 }

// count returns how many exchanges were recorded, and how many are said to be
// lost.
func (s *stuck) count() (exchanges, lost int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		switch p := e.Payload.(type) {
		case record.Exchange:
			exchanges++
		case record.Failure:
			lost += int(p.Count)
		}
	}
	return exchanges, lost
}

// TestNothingWaitsForTheRecord: while an exchange is recorded its connection is
// free, and serves the next requests; the memory of what waits is reserved; what
// has no room is counted, and the record says so; Close hands over the rest.
func TestNothingWaitsForTheRecord(t *testing.T) {
	to := &stuck{begun: make(chan struct{}, 100), free: make(chan struct{})}
	s := speakers[0]
	g := handler(t, gateway.Config{Recorder: to, Limits: gateway.Limits{MemoryBytes: 4 << 20}}, answering(func(r *http.Request) *http.Response {
		io.Copy(io.Discard, r.Body)
		return response(s.kind(false), strings.NewReader(s.whole("Hi", sotto.EndStopped)))
	}))
	srv := httptest.NewServer(g)
	defer srv.Close()
	one := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	const asked = 30
	for range asked {
		resp, err := one.Post(srv.URL+s.path, "application/json", strings.NewReader(chatBody("m", false)))
		if err != nil {
			t.Fatal(err)
		}
		if got := readAll(t, resp.Body); resp.StatusCode != 200 {
			t.Fatal(got)
		}
		resp.Body.Close()
	}
	<-to.begun
	// The client has its reply before the handler returns.
	waiting.Until(t, "the return of the handlers", func() bool { return g.Open() == 0 })
	if held := g.Held(); held < 100<<10 || held > 4<<20/8 {
		t.Errorf("%d bytes are held for what waits", held)
	}
	close(to.free)
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	kept, lost := to.count()
	if kept < 2 || kept == asked || kept+lost != asked {
		t.Errorf("%d of %d exchanges are recorded, %d said to be lost", kept, asked, lost)
	}
	r := httptest.NewRequest("GET", "/metrics", nil)
	r.Host = "localhost"
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	if want := "\nsotto_record_dropped_total " + strconv.Itoa(asked-kept) + "\n"; !strings.Contains(w.Body.String(), want) {
		t.Errorf("no %q in the metrics", want)
	}
	returned(t, g)
}

// TestRecordSaysWhatIsLost: after a time in which the backlog had no room, the
// record has the number of lost events before the next one; and an event that
// cannot be made is one that is lost, and not the end of the process.
func TestRecordSaysWhatIsLost(t *testing.T) {
	to := &stuck{begun: make(chan struct{}, 100), free: make(chan struct{}, 100)}
	s := speakers[0]
	g := handler(t, gateway.Config{Recorder: to, Limits: gateway.Limits{MemoryBytes: 1 << 20}}, answering(func(r *http.Request) *http.Response {
		io.Copy(io.Discard, r.Body)
		return response(s.kind(false), strings.NewReader(s.whole("Hi", sotto.EndStopped)))
	}))
	for range 10 {
		ask(g, s.path, chatBody("m", false))
	}
	to.fails.Store(true)
	to.free <- struct{}{}
	<-to.begun
	for range cap(to.free) - len(to.free) - 1 {
		to.free <- struct{}{}
	}
	g.HandOver()
	to.fails.Store(false)
	ask(g, s.path, chatBody("m", false))
	g.HandOver()
	kept, lost := to.count()
	if kept != 1 || lost != 10 {
		t.Errorf("%d are recorded, %d said to be lost; want 1 and 10", kept, lost)
	}
	returned(t, g)
}
