package console

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sotto-llm/sotto/internal/console/peers"
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
	others *peers.Peers // about which some watchers want to learn; nil if there are none
	every  time.Duration
	done   chan struct{}
	once   sync.Once
	looks  atomic.Int64 // at the record

	mu       sync.Mutex
	watchers map[chan news]bool // each holds what was not sent; true wants to learn about the others
	stop     chan struct{}      // of the one that looks
}

// news are the newest event of the record, and a number that changes when the records of other
// gateways grow.
type news struct{ head, others uint64 }

func newLive(s *view.Source, others *peers.Peers) *live {
	return &live{source: s, others: others, every: liveEvery, done: make(chan struct{}), watchers: map[chan news]bool{}}
}

func (l *live) close() { l.once.Do(func() { close(l.done) }) }

// join adds a watcher, of this record or of those of all gateways. The first one starts the
// look-out.
func (l *live) join(all bool) (chan news, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.watchers) >= maxWatchers {
		return nil, false
	}
	ch := make(chan news, 1)
	l.watchers[ch] = all
	if len(l.watchers) == 1 {
		l.stop = make(chan struct{})
		last, _ := l.head() // before the watcher hears anything, so that it misses no event
		go l.look(news{last, l.mark()}, l.stop)
	}
	return ch, true
}

// mark is a number that changes when the records of others grow.
func (l *live) mark() uint64 {
	if l.others == nil {
		return 0
	}
	return l.others.Mark()
}

func (l *live) leave(ch chan news) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.watchers, ch)
	if len(l.watchers) == 0 {
		close(l.stop)
	}
}

// look watches the end of the record, and those of others, until nobody wants to know.
func (l *live) look(last news, stop chan struct{}) {
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
		now := news{last.head, l.mark()}
		own := false
		if head, err := l.head(); err == nil && head != last.head {
			own = !l.source.OnlyAudits(last.head) // a page that followed its own views would never rest
			now.head = head
		}
		if own || now.others != last.others {
			l.tell(now, own)
		}
		last = now
	}
}

// head looks at the end of the record.
func (l *live) head() (uint64, error) {
	l.looks.Add(1)
	return l.source.Head()
}

// tell gives the watchers the news, in place of some that they have not taken yet: all of them
// if this record has grown, or those who want to learn about others.
func (l *live) tell(n news, own bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ch, all := range l.watchers {
		if !own && !all {
			continue
		}
		select {
		case <-ch:
		default:
		}
		ch <- n
	}
}

// serve streams the number of the newest event whenever it changes, until the one who
// follows may no longer do so. all says that it is about the records of all gateways; the number
// is then followed by another one that changes with the others.
func (l *live) serve(w http.ResponseWriter, r *http.Request, all bool, may func() bool) {
	ch, ok := l.join(all)
	if !ok {
		w.Header().Set("Retry-After", "10")
		refuse(w, r, http.StatusServiceUnavailable, fmt.Sprintf("%d pages already follow this record", maxWatchers))
		return
	}
	defer l.leave(ch)
	if all {
		defer l.others.Follow()()
	}
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
		case n := <-ch:
			data := strconv.FormatUint(n.head, 10)
			if all {
				data += "." + strconv.FormatUint(n.others, 16)
			}
			ok = may() && send("event: head\ndata: "+data+"\n\n")
		case <-quiet.C:
			ok = may() && send(": quiet\n\n")
		}
	}
}
