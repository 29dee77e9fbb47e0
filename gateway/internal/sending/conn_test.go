package sending

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
)

// A script is a connection that has some bytes ready for each wait, and counts its reads.
type script struct {
	net.Conn
	ready [][]byte
	reads int
	err   error // at the end
}

func (s *script) Read(p []byte) (int, error) {
	s.reads++
	if len(s.ready) == 0 {
		return 0, s.err
	}
	n := copy(p, s.ready[0])
	if s.ready[0] = s.ready[0][n:]; len(s.ready[0]) == 0 {
		s.ready = s.ready[1:]
	}
	return n, nil
}

// What comes at once is read at once, in order, and a connection that waits for what comes
// piece by piece holds no memory.
func TestBurstIsReadAtOnce(t *testing.T) {
	all := make([]byte, 4*Burst+100)
	for i := range all {
		all[i] = byte(i * 7 >> 3)
	}
	s := &script{ready: [][]byte{all[:300], all[300:600], all[600:]}, err: io.EOF}
	c := &Conn{Conn: s}
	var got []byte
	p := make([]byte, 4096)
	for i := 0; ; i++ {
		n, err := c.Read(p)
		if got = append(got, p[:n]...); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if i < 2 && (c.Holds() != 0 || c.Waiting() != 0) {
			t.Errorf("after a short read the connection holds %d bytes, %d of them unread", c.Holds(), c.Waiting())
		}
		if i == 3 && (c.Waiting() != Burst-len(p) || c.Holds() != Burst) {
			t.Errorf("of a burst %d bytes wait, and it holds %d", c.Waiting(), c.Holds())
		}
	}
	if !bytes.Equal(got, all) {
		t.Error("the bytes differ")
	}
	if s.reads != 2+1+4+1 { // the short ones, the one that fills p, the bursts, the end
		t.Errorf("there were %d reads", s.reads)
	}
	if c.Holds() != 0 && c.burst != nil {
		t.Error("after the end the connection has a buffer")
	}
}

// An error comes after the bytes before it.
func TestBurstThenError(t *testing.T) {
	broken := errors.New("broken")
	c := &Conn{Conn: &script{ready: [][]byte{bytes.Repeat([]byte("x"), 4096+10)}, err: broken}}
	got, err := io.ReadAll(struct{ io.Reader }{c})
	if len(got) != 4106 || err != broken {
		t.Errorf("got %d bytes and %v", len(got), err)
	}
}
