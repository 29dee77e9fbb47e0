package console

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sotto-llm/sotto/internal/console/view"
)

const (
	// liveEvery is how often the record is looked at while anyone watches: once for
	// all of them.
	liveEvery = time.Second
	// maxWatchers bounds the streams that are open at once.
	maxWatchers = 256
	// beat is how often a quiet stream writes something, so that proxies keep it.
	beat = 15 * time.Second
	// liveWrite is how long a watcher may take to receive a line.
	liveWrite = 10 * time.Second
)

// live tells pages when the record has new events. A page then asks for itself
// again, so that a page costs the same however fast the record grows.
type live struct {
	source *view.Source
	every  time.Duration
	done   chan struct{}
	once   sync.Once
	looks  atomic.Int64 // at the record

	mu       sync.Mutex
	watchers map[chan uint64]bool // each holds the newest event that was not sent
	stop     chan struct{}        // of the one that looks
}

func newLive(s *view.Source) *live {
	return &live{source: s, every: liveEvery, done: make(chan struct{}), watchers: map[chan uint64]bool{}}
}

func (l *live) close() { l.once.Do(func() { close(l.done) }) }

// join adds a watcher. The first one starts the look-out.
func (l *live) join() (chan uint64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.watchers) >= maxWatchers {
		return nil, false
	}
	ch := make(chan uint64, 1)
	l.watchers[ch] = true
	if len(l.watchers) == 1 {
		l.stop = make(chan struct{})
		last, _ := l.head() // before the watcher hears anything, so that it misses no event
		go l.look(last, l.stop)
	}
	return ch, true
}

func (l *live) leave(ch chan uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.watchers, ch)
	if len(l.watchers) == 0 {
		close(l.stop)
	}
}

// look watches the end of the record after an event, until nobody wants to know.
func (l *live) look(last uint64, stop chan struct{}) {
	tick := time.NewTicker(l.every)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-l.done:
			return
		case <-tick.C:
		}
		if head, err := l.head(); err == nil && head != last {
			if !l.source.OnlyAudits(last) { // a page that followed its own views would never rest
				l.tell(head)
			}
			last = head
		}
	}
}

// head looks at the end of the record.
func (l *live) head() (uint64, error) {
	l.looks.Add(1)
	return l.source.Head()
}

// tell gives every watcher the newest event, in place of one it has not taken yet.
func (l *live) tell(head uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ch := range l.watchers {
		select {
		case <-ch:
		default:
		}
		ch <- head
	}
}

// serve streams the number of the newest event whenever it changes, until the one who
// follows may no longer do so.
func (l *live) serve(w http.ResponseWriter, r *http.Request, may func() bool) {
	ch, ok := l.join()
	if !ok {
		w.Header().Set("Retry-After", "10")
		refuse(w, r, http.StatusServiceUnavailable, fmt.Sprintf("%d pages already follow this record", maxWatchers))
		return
	}
	defer l.leave(ch)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	control := http.NewResponseController(w)
	send := func(line string) bool {
		_ = control.SetWriteDeadline(time.Now().Add(liveWrite))
		_, err := fmt.Fprint(w, line)
		return err == nil && control.Flush() == nil
	}
	quiet := time.NewTicker(beat)
	defer quiet.Stop()
	for ok := send("retry: 3000\n\n"); ok; {
		select {
		case <-r.Context().Done():
			return
		case <-l.done:
			return
		case head := <-ch:
			ok = may() && send(fmt.Sprintf("event: head\ndata: %d\n\n", head))
		case <-quiet.C:
			ok = may() && send(": quiet\n\n")
		}
	}
}
