package traffic

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"time"
)

// A client asks one server over one connection, and checks every answer.
type Client struct {
	Addr    string
	Request []byte
	Buf     []byte // for reading
	want    *Judge
	conn    net.Conn
	body    []byte
	reads   int // of the body
	// sees, if set, gets the part of the body received so far after each read.
	sees func(body []byte)
}

// NewClient returns a client whose request has more headers, each with its line's end.
func NewClient(addr string, j *Judge, headers string) *Client {
	body := `{"model":"` + Model + `","stream":true,"messages":[{"role":"user","content":"How does it work?"}]}`
	path := chatPath
	if j.Messages {
		path, body = messagesPath, `{"max_tokens":4096,`+body[1:]
	}
	return &Client{Addr: addr, want: j, Buf: make([]byte, 16<<10), Request: ask(addr, path, headers, body)}
}

const chatPath, messagesPath = "/v1/chat/completions", "/v1/messages"

// Ask is a request for a reply.
func Ask(addr, headers, body string) []byte { return ask(addr, chatPath, headers, body) }

func ask(addr, path, headers, body string) []byte {
	return fmt.Appendf(nil,
		"POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAuthorization: Bearer key\r\n%sContent-Length: %d\r\n\r\n%s",
		path, addr, headers, len(body), body)
}

// Dial connects the client, if it is not connected.
func (c *Client) Dial() error {
	if c.conn != nil {
		return nil
	}
	conn, err := net.Dial("tcp", c.Addr)
	c.conn = conn
	return err
}

// Sees has f see the part of the body received so far, after each read.
func (c *Client) Sees(f func(body []byte)) { c.sees = f }

func (c *Client) close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// Exchange sends one request, reads the whole answer and checks it.
func (c *Client) Exchange() error {
	if err := c.Dial(); err != nil {
		return err
	}
	if err := c.fetch(); err != nil {
		c.close()
		return fmt.Errorf("after %d bytes of the body: %w", len(c.body), err)
	}
	return c.want.check(c.body)
}

func (c *Client) fetch() error {
	if _, err := c.conn.Write(c.Request); err != nil {
		return err
	}
	rest, err := c.head()
	if err != nil {
		return err
	}
	c.body = c.body[:0]
	var d chunks
	for {
		var done bool
		if c.body, done, err = d.read(c.body, rest); err != nil {
			return err
		}
		if c.sees != nil {
			c.sees(c.body)
		}
		if done {
			return nil
		}
		n, err := c.conn.Read(c.Buf)
		if err != nil {
			return err
		}
		c.reads++
		rest = c.Buf[:n]
	}
}

// head reads a response's head, and returns the bytes read after it.
func (c *Client) head() ([]byte, error) {
	n := 0
	for {
		m, err := c.conn.Read(c.Buf[n:])
		if err != nil {
			return nil, err
		}
		n += m
		end := bytes.Index(c.Buf[:n], []byte("\r\n\r\n"))
		if end < 0 {
			if n == len(c.Buf) {
				return nil, errors.New("a head without end")
			}
			continue
		}
		head := c.Buf[:end]
		if !bytes.HasPrefix(head, []byte("HTTP/1.1 200 ")) || !bytes.Contains(head, []byte("Transfer-Encoding: chunked")) {
			return nil, fmt.Errorf("the answer is %q", c.Buf[:n])
		}
		return c.Buf[end+4 : n], nil
	}
}

// chunks reads HTTP's chunked encoding, wherever it is cut.
type chunks struct {
	line []byte // the size of a chunk, or the end of one
	left int    // of the current chunk
	last bool   // the last chunk has begun
	ends bool   // the current line ends a chunk
}

func (d *chunks) read(dst, b []byte) (_ []byte, done bool, err error) {
	for len(b) > 0 {
		if d.left > 0 {
			n := min(d.left, len(b))
			dst, b, d.left = append(dst, b[:n]...), b[n:], d.left-n
			d.ends = d.left == 0
			continue
		}
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			d.line = append(d.line, b...)
			return dst, false, nil
		}
		d.line = append(d.line, b[:end]...)
		b = b[end+1:]
		line := bytes.TrimSuffix(d.line, []byte("\r"))
		d.line = d.line[:0]
		switch {
		case d.last && len(line) == 0:
			if len(b) > 0 {
				return dst, false, fmt.Errorf("%q behind the answer", b)
			}
			return dst, true, nil
		case d.ends && len(line) == 0:
			d.ends = false
		default:
			n, err := strconv.ParseUint(string(line), 16, 31)
			if err != nil {
				return dst, false, err
			}
			d.left, d.last = int(n), n == 0
		}
	}
	return dst, false, nil
}

// A judge knows the right reading of an answer. An answer that is byte for byte
// equal to one found right is right.
type Judge struct {
	Want     Said
	Stamped  bool
	Messages bool // the client speaks Anthropic's Messages API
	known    atomic.Pointer[[]byte]
}

func (j *Judge) check(body []byte) error {
	if j.Stamped {
		readStamps(nil, body, time.Time{})
	}
	understand := understand
	if j.Messages {
		blank(body)
		understand = understandMessages
	}
	if k := j.known.Load(); k != nil && bytes.Equal(*k, body) {
		return nil
	}
	got, err := understand(string(body))
	if err != nil {
		return err
	}
	if got != j.Want {
		return fmt.Errorf("got %.200q, want %.200q; or thought %.200q, want %.200q", got.Content, j.Want.Content, got.Reasoning, j.Want.Reasoning)
	}
	right := bytes.Clone(body)
	j.known.Store(&right)
	return nil
}
