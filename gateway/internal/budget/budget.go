// Package budget counts the memory that a gateway holds for exchanges, and refuses what
// there is no room for.
package budget

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
)

// A Budget counts the bytes that a gateway holds for exchanges against how many it
// may hold: Limits.Memory. When it is spent, new requests are refused. So are
// requests and whole replies that are still being read, since their clients have
// seen nothing of a reply. A stream that has begun may overdraw the budget by half;
// beyond that it ends as an error.
type Budget struct {
	max     atomic.Int64
	used    atomic.Int64
	refused atomic.Int64
	log     *slog.Logger

	spent atomic.Bool // the log says that the budget is spent
	mu    sync.Mutex
	last  time.Time // when a request was last refused
}

// New returns a budget of so many bytes. The log says when it is spent.
func New(bytes int64, log *slog.Logger) *Budget {
	b := &Budget{log: log}
	b.max.Store(bytes)
	return b
}

// State returns how many bytes are reserved, how many may be, and how often there was no
// room.
func (b *Budget) State() (used, most, refused int64) {
	return b.used.Load(), b.max.Load(), b.refused.Load()
}

// Bound sets how many bytes may be reserved. What is reserved stays.
func (b *Budget) Bound(bytes int64) { b.max.Store(bytes) }

// Reserve reserves bytes for what belongs to no exchange, if there is room.
func (b *Budget) Reserve(n int64) bool { return b.reserve(n, b.max.Load()) }

var (
	// ErrSpent is the error of an exchange that is refused because there is no
	// memory for it.
	ErrSpent = errors.New("the gateway's memory for exchanges is used up: try again later")
	// ErrOverdrawn ends a stream that would overdraw the budget by more than is
	// allowed.
	ErrOverdrawn = errors.New("the gateway's memory for exchanges is used up, and this reply needs more")
)

// spentError returns errSpent as a refusal.
func spentError() error {
	return faults.New(faultname.MemoryUsedUp, http.StatusServiceUnavailable, ErrSpent)
}

// reserve takes bytes up to a limit.
func (b *Budget) reserve(n, limit int64) bool {
	for {
		used := b.used.Load()
		if n > limit-used {
			b.refuse(used)
			return false
		}
		if b.used.CompareAndSwap(used, used+n) {
			b.over(used + n)
			return true
		}
	}
}

// Give releases bytes.
func (b *Budget) Give(n int64) { b.over(b.used.Add(-n)) }

// refuse counts a refusal, and logs the first.
func (b *Budget) refuse(used int64) {
	b.refused.Add(1)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = time.Now()
	if b.spent.CompareAndSwap(false, true) {
		b.log.Error("requests are refused: the memory for exchanges is used up (limits.memory)", "used", used, "limit", b.max.Load())
	}
}

// quietFor is how long nothing must be refused before the log says that there is room.
const quietFor = 10 * time.Second

// over logs that there is room again, once nothing has been refused for a while.
func (b *Budget) over(used int64) {
	if !b.spent.Load() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.last) >= quietFor && b.spent.CompareAndSwap(true, false) {
		b.log.Info("memory for exchanges is available again", "used", used, "limit", b.max.Load())
	}
}

// Costs of an exchange in addition to the bytes that are counted one by one.
const (
	// BaseCost covers the goroutines, buffers and headers of an exchange's two
	// connections, and the state of its reading.
	BaseCost = 48 << 10
	// objectCost is the cost of an object in a request's JSON: what is kept of a
	// message, a part or a call.
	objectCost = 768
	// keptObjectCost is the part of objectCost that stays until the exchange ends.
	keptObjectCost = 192
	// markerCost is the cost of each byte that may begin a marker, while a text is
	// read whole: the state to which the reading may return.
	markerCost = 256
	// textCost is the cost of each byte of such a text: decoded, read, and
	// rewritten.
	textCost = 4
	// levelStep is the step to which streams round up their charge, so that most
	// frames change nothing.
	levelStep = 16 << 10
)

// A Charge is what one exchange has reserved of the budget. The exchange holds it,
// and the record holds it afterwards. When the last holder leaves, all of it is
// released. Only one goroutine uses it at a time.
//
// It keeps the limit that held when the exchange began: if a reload lowers it, no stream
// ends for that, and new requests wait until enough has ended.
type Charge struct {
	b       *Budget
	max     int64
	held    int64 // bytes reserved; level is the part that a stream holds
	level   int64
	holders atomic.Int32
}

// Open begins an exchange, if there is room for one.
func (b *Budget) Open() (*Charge, error) {
	c := &Charge{b: b, max: b.max.Load(), held: BaseCost}
	if !b.reserve(BaseCost, c.max) {
		return nil, spentError()
	}
	c.holders.Store(1)
	return c, nil
}

// Keep adds a holder.
func (c *Charge) Keep() { c.holders.Add(1) }

// Leave must be called once by each holder. The last call releases what is
// reserved.
func (c *Charge) Leave() {
	if c.holders.Add(-1) == 0 {
		c.b.Give(c.held)
		c.held = 0
	}
}

// Take reserves more, if there is room.
func (c *Charge) Take(n int64) error {
	switch {
	case n > c.max:
		c.b.refuse(c.b.used.Load())
		return faults.New(faultname.MemoryExceeded, http.StatusRequestEntityTooLarge, fmt.Errorf("about %d bytes of memory are needed, more than all of limits.memory", n))
	case !c.b.reserve(n, c.max):
		return spentError()
	}
	c.held += n
	return nil
}

// Held returns how many bytes are reserved.
func (c *Charge) Held() int64 { return c.held }

// Give gives back n bytes of the reserved memory.
func (c *Charge) Give(n int64) {
	if n > 0 {
		c.held -= n
		c.b.Give(n)
	}
}

// Use reserves bytes for as long as a call takes.
func (c *Charge) Use(n int64, call func() error) error {
	if err := c.Take(n); err != nil {
		return err
	}
	defer c.Give(n)
	return call()
}

// Stream sets what a stream holds. It may overdraw the budget by half.
func (c *Charge) Stream(n int64) error {
	level := (n + levelStep - 1) / levelStep * levelStep
	switch more := level - c.level; {
	case more > 0:
		if !c.b.reserve(more, c.max+c.max/2) {
			return ErrOverdrawn
		}
		c.held += more
	case more < 0:
		c.Give(-more)
	}
	c.level = level
	return nil
}

// ErrLarge is the error of a body that is larger than its limit.
var ErrLarge = errors.New("too large")

// Read reads a body of at most limit bytes, and reserves memory as it arrives. size
// is the announced length, or -1. Memory is reserved only for bytes that have
// arrived.
func (c *Charge) Read(r io.Reader, limit, size int64) ([]byte, error) {
	const least = 4 << 10
	var buf []byte
	for {
		if len(buf) == cap(buf) {
			room := max(2*int64(cap(buf)), least)
			if whole := size + 1; size >= 0 && whole > int64(len(buf)) {
				room = min(room, whole) // one more read finds the end
			}
			if err := c.Take(room); err != nil {
				return nil, err
			}
			old := cap(buf)
			buf = append(make([]byte, 0, room), buf...)
			c.Give(int64(old))
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return nil, ErrLarge
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return nil, err
		}
	}
}

// ParsedCost estimates how much memory a body's parsed JSON takes.
func ParsedCost(body []byte) int64 {
	return int64(bytes.Count(body, []byte{'{'})) * objectCost
}

// Parsed releases what only the reading of a body took.
func (c *Charge) Parsed(body []byte) {
	c.Give(int64(bytes.Count(body, []byte{'{'})) * (objectCost - keptObjectCost))
}

// ReadCost estimates the memory it takes to read texts whole.
func ReadCost(texts ...string) int64 {
	var all int64
	for _, text := range texts {
		b := jsonedit.BytesOf(text)
		all += int64(len(b)) * textCost
		for _, mark := range markerStarts {
			all += int64(bytes.Count(b, mark)) * markerCost
		}
	}
	return all
}

// markerStarts are the bytes that begin markers of the dialects, as they appear in
// a text and as JSON may escape them. A dialect file may define markers that begin
// otherwise: these cost only their bytes.
var markerStarts = [][]byte{[]byte("<"), []byte("["), []byte("◁"), []byte(`\u003c`), []byte(`\u003C`)}
