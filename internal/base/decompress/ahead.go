package decompress

import (
	"io"
	"sync"
)

const (
	// aheadFrom is after how many bytes a text is worth a goroutine.
	aheadFrom = 256 << 10
	// aheadBuffers and aheadBuffer bound what is decompressed and not yet read, in buffers
	// and their bytes.
	aheadBuffers = 4
	aheadBuffer  = 128 << 10
)

// An ahead reads from another reader in a goroutine, while its own reader works on what came
// before. It gives the same bytes and then the same error. What has come is passed on at
// once, also if it does not fill a buffer.
type ahead struct {
	full, free chan []byte
	stop       chan struct{}
	once       sync.Once // closes stop
	err        error     // set before full is closed

	buffer, left []byte // that is being read, and what is left of it
}

// newAhead begins to read from r, which no one else may read any more. It calls done when it
// no longer reads: after an error of r, or after close and the end of the read under way.
func newAhead(r io.Reader, done func()) *ahead {
	a := &ahead{full: make(chan []byte, aheadBuffers), free: make(chan []byte, aheadBuffers), stop: make(chan struct{})}
	for range aheadBuffers {
		a.free <- nil
	}
	go func() {
		defer done()
		defer close(a.full)
		a.fill(r)
	}()
	return a
}

func (a *ahead) fill(r io.Reader) {
	for {
		var b []byte
		select {
		case b = <-a.free:
		case <-a.stop:
			a.err = io.ErrClosedPipe
			return
		}
		if b == nil {
			b = make([]byte, aheadBuffer)
		}
		n, err := 0, error(nil)
		for n == 0 && err == nil {
			n, err = r.Read(b)
		}
		if n > 0 {
			a.full <- b[:n] // there is room for all buffers
		}
		if err != nil {
			a.err = err
			return
		}
	}
}

func (a *ahead) Read(p []byte) (int, error) {
	if len(a.left) == 0 {
		if a.buffer != nil {
			a.free <- a.buffer[:cap(a.buffer)]
			a.buffer = nil
		}
		select {
		case b, more := <-a.full:
			if !more {
				return 0, a.err
			}
			a.buffer, a.left = b, b
		case <-a.stop:
			return 0, io.ErrClosedPipe
		}
	}
	n := copy(p, a.left)
	a.left = a.left[n:]
	return n, nil
}

func (a *ahead) close() { a.once.Do(func() { close(a.stop) }) }
