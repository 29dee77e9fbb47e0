package traffic

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An upstream sends one reply to every client, over HTTP/1.1. It does not use
// net/http, so that it costs little beside what is measured.
type upstream struct {
	frames   [][]byte // each in its own chunk
	pieces   [][]byte // the reply as written at full speed
	interval time.Duration
	stamped  bool
}

// An UpstreamFlag is what the flags of a process in the role upstream say.
type UpstreamFlag struct {
	variant  *string
	events   *int
	interval *time.Duration
	batch    *int
	stamped  *bool
}

// UpstreamFlags defines the flags of an upstream.
func UpstreamFlags(f *flag.FlagSet) UpstreamFlag {
	return UpstreamFlag{
		variant:  f.String("variant", "tags", "of a child that is the upstream: its reply"),
		events:   f.Int("events", 144, "… the reply's events"),
		interval: f.Duration("interval", 0, "… the time before each; if zero, full speed"),
		batch:    f.Int("batch", 1, "… at full speed, the frames of a write; 0 for all"),
		stamped:  f.Bool("stamped", false, "… whether texts say when they were sent"),
	}
}

// Script makes the script of the flags.
func (u UpstreamFlag) Script() (*Script, error) { return NewScript(*u.variant, *u.events, *u.stamped) }

// Serve is an upstream with these flags.
func (u UpstreamFlag) Serve(l net.Listener) error {
	s, err := u.Script()
	if err != nil {
		return err
	}
	return newUpstream(s, *u.interval, *u.batch).serve(l)
}

const replyHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"

// newUpstream makes an upstream that waits before each frame. If interval is zero,
// it writes batch frames at once, or all of them if batch is zero.
func newUpstream(s *Script, interval time.Duration, batch int) *upstream {
	u := &upstream{interval: interval, stamped: s.Stamped}
	for _, f := range s.Frames {
		u.frames = append(u.frames, fmt.Appendf(nil, "%x\r\n%s\r\n", len(f), f))
	}
	if batch == 0 {
		batch = len(u.frames)
	}
	for some := range slices.Chunk(u.frames, batch) {
		u.pieces = append(u.pieces, bytes.Join(some, nil))
	}
	u.pieces[0] = append([]byte(replyHead), u.pieces[0]...)
	last := len(u.pieces) - 1
	u.pieces[last] = append(u.pieces[last], lastChunk...)
	return u
}

const lastChunk = "0\r\n\r\n"

func (u *upstream) serve(l net.Listener) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			r := bufio.NewReaderSize(c, 1<<10)
			for u.answer(c, r) == nil {
			}
		}()
	}
}

// answer reads a request and sends the reply.
func (u *upstream) answer(c net.Conn, r *bufio.Reader) error {
	length, unpaced, err := readHead(r)
	if err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, r, length); err != nil {
		return err
	}
	if u.interval == 0 || unpaced {
		for _, p := range u.pieces {
			if _, err := c.Write(p); err != nil {
				return err
			}
		}
		return nil
	}
	if _, err := io.WriteString(c, replyHead); err != nil {
		return err
	}
	time.Sleep(rand.N(u.interval)) // so that streams do not run in step
	own := []byte(nil)
	for _, f := range u.frames {
		time.Sleep(u.interval)
		if u.stamped {
			own = append(own[:0], f...)
			f = setStamp(own)
		}
		if _, err := c.Write(f); err != nil {
			return err
		}
	}
	_, err = io.WriteString(c, lastChunk)
	return err
}

// setStamp writes the time into a frame's stamp, if it has one.
func setStamp(frame []byte) []byte {
	if at := bytes.IndexByte(frame, stamp[0]); at >= 0 {
		copy(frame[at+1:], fmt.Sprintf("%019d", time.Now().UnixNano()))
	}
	return frame
}

// UnpacedHeader asks for the reply at full speed.
const UnpacedHeader = "X-Load-Unpaced"

// readHead reads a request's head. It returns the length of its body, and whether
// the reply is wanted at full speed.
func readHead(r *bufio.Reader) (length int64, unpaced bool, err error) {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return 0, false, err
		}
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			return length, unpaced, nil
		}
		name, value, _ := strings.Cut(line, ":")
		switch strings.ToLower(name) {
		case "content-length":
			if length, err = strconv.ParseInt(strings.TrimSpace(value), 10, 64); err != nil {
				return 0, false, err
			}
		case strings.ToLower(UnpacedHeader):
			unpaced = true
		case "transfer-encoding":
			return 0, false, errors.New("a request in chunks")
		}
	}
}

// Play plays a role until the input ends, for a program that starts itself as an upstream:
// see [Start].
func Play(role string, args []string) error {
	if role != "upstream" {
		return fmt.Errorf("%q is not a role", role)
	}
	f := flag.NewFlagSet(role, flag.ExitOnError)
	u := UpstreamFlags(f)
	if err := f.Parse(args); err != nil {
		return err
	}
	if err := ManyFiles(); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { log.Fatal(u.Serve(l)) }()
	fmt.Println(l.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
