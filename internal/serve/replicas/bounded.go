package replicas

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
)

// Bounds on what a server sends. The client library allocates what a reply declares
// before it has come, and calls itself for each level of nesting.
const (
	// maxLine bounds a line: a status, an error, a number or a declared length.
	maxLine = 1 << 10
	// maxItems bounds the items of one list.
	maxItems = 1 << 15
	// maxDepth bounds how deep lists nest.
	maxDepth = 4
	// maxAnswer bounds the values that a script returns, and maxReply all that a reply
	// declares: the values and what surrounds them.
	maxAnswer = 8 << 20
	maxReply  = maxAnswer + 2<<20
	// maxReplies bounds what the replies declare that are being read, on all
	// connections together.
	maxReplies = 64 << 20
	// itemCost is what an item costs in addition to its bytes.
	itemCost = 64
)

// errReply is the error of a reply beyond the bounds. The connection is of no use
// after it.
var errReply = errors.New("the server's reply is refused")

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errReply, fmt.Sprintf(format, args...))
}

// A bounded connection refuses a reply beyond the bounds before the client library
// sees its size. It follows the replies, which are in RESP2, as they pass.
type bounded struct {
	net.Conn
	replies *atomic.Int64 // what is declared on all connections

	// Between two replies, line and left are empty, and value and ending are zero.
	line   []byte // the begin of a line that has not ended
	value  int    // the bytes of a value that are still to come
	ending bool   // the end of a value is still to come
	left   []int  // how many items each open list lacks, the innermost last
	fault  error

	mu       sync.Mutex
	closed   bool
	declared int64 // by the reply that is being read
}

// Read passes on what comes, up to the line that is refused.
func (b *bounded) Read(p []byte) (int, error) {
	if b.fault != nil {
		return 0, b.fault
	}
	n, err := b.Conn.Read(p)
	good, fault := b.follow(p[:n])
	if fault != nil {
		b.fault = fault
		return good, fault
	}
	return n, err
}

// Close closes the connection. What is left of a reply counts no longer.
func (b *bounded) Close() error {
	err := b.Conn.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.replies.Add(-b.declared)
	b.declared = 0
	return err
}

// follow reads what has come. If a line is refused, it returns how many bytes came
// before that line.
func (b *bounded) follow(data []byte) (good int, err error) {
	for at := 0; at < len(data); {
		if b.value > 0 {
			n := min(b.value, len(data)-at)
			b.value -= n
			at += n
			continue
		}
		good = at
		part, rest, whole := bytes.Cut(data[at:], []byte("\n"))
		at = len(data) - len(rest)
		b.line = append(b.line, part[:min(len(part), maxLine+1)]...)
		if len(b.line) > maxLine {
			return good, refused("a line has more than %d bytes", maxLine)
		}
		if !whole {
			break // nobody acts on a line without its end
		}
		line, ok := bytes.CutSuffix(b.line, []byte("\r"))
		if !ok {
			return good, refused("a line does not end with CR LF")
		}
		b.line = b.line[:0]
		if err := b.one(line); err != nil {
			return good, err
		}
	}
	return len(data), nil
}

// one takes a line: the end of a value, or the begin of an item.
func (b *bounded) one(line []byte) error {
	if b.ending {
		if len(line) > 0 {
			return refused("a value is longer than declared")
		}
		b.ending = false
		return b.ended()
	}
	if len(line) == 0 {
		return refused("an empty line")
	}
	if err := b.declare(itemCost + int64(len(line))); err != nil {
		return err
	}
	switch kind, text := line[0], string(line[1:]); kind {
	case '+', '-', ':':
		return b.ended()
	case '$', '*':
		if text == "-1" {
			return b.ended()
		}
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return refused("a length that is not a number, or too large")
		}
		if kind == '*' {
			return b.list(int(n))
		}
		b.value, b.ending = int(n), true
		return b.declare(int64(n))
	}
	return refused("an item of an unknown kind")
}

// list begins a list.
func (b *bounded) list(n int) error {
	switch {
	case n > maxItems:
		return refused("a list has %d items: the bound is %d", n, maxItems)
	case n == 0:
		return b.ended()
	case len(b.left) == maxDepth:
		return refused("lists nest more than %d deep", maxDepth)
	}
	b.left = append(b.left, n)
	return b.declare(int64(n) * itemCost)
}

// ended notes the end of an item, and of the lists that end with it.
func (b *bounded) ended() error {
	for len(b.left) > 0 {
		last := len(b.left) - 1
		if b.left[last]--; b.left[last] > 0 {
			return nil
		}
		b.left = b.left[:last]
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replies.Add(-b.declared)
	b.declared = 0
	return nil
}

// declare counts what a reply declares.
func (b *bounded) declare(n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return net.ErrClosed
	case b.declared+n > maxReply:
		return refused("it has more than %d bytes", maxReply)
	case b.replies.Add(n) > maxReplies:
		b.replies.Add(-n)
		return refused("the replies on all connections have more than %d bytes", maxReplies)
	}
	b.declared += n
	return nil
}
