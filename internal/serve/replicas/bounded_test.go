package replicas

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/testing/redisserver"
)

// replay is a connection on which a server has sent something.
type replay struct {
	net.Conn
	io.Reader
}

func (r replay) Read(p []byte) (int, error)      { return r.Reader.Read(p) }
func (r replay) SetReadDeadline(time.Time) error { return nil }
func (r replay) Close() error                    { return nil }

// received returns the replies that the client library reads, and the error after them.
func received(c net.Conn) (list []any, err error) {
	for conn := redis.NewConn(c, 0, 0); ; {
		v, err := conn.Receive()
		if _, said := err.(redis.Error); err != nil && !said {
			return list, err
		}
		list = append(list, v, err)
	}
}

// TestHonest: the bounds change no reply of an honest server, however it is cut.
func TestHonest(t *testing.T) {
	const replies = "+OK\r\n-ERR no\r\n:-12\r\n$-1\r\n$0\r\n\r\n$5\r\na\r\nb\n\r\n*-1\r\n*0\r\n*3\r\n$1\r\nx\r\n*2\r\n:1\r\n*0\r\n$-1\r\n+PONG\r\n"
	want, _ := received(replay{Reader: strings.NewReader(replies)})
	if len(want) != 2*10 {
		t.Fatalf("the library reads %v", want)
	}
	for name, cut := range map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "halves": iotest.HalfReader, "end": iotest.DataErrReader,
	} {
		var declared atomic.Int64
		got, err := received(&bounded{Conn: replay{Reader: cut(strings.NewReader(replies))}, replies: &declared})
		if !reflect.DeepEqual(got, want) || !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
		if n := declared.Load(); n != 0 {
			t.Errorf("%s: %d bytes still count", name, n)
		}
	}
}

// hostile are replies that no server may send, and what is said of each.
var hostile = map[string]struct{ begin, again, says string }{
	"a long value":         {"$2147483647\r\n", "x", "bytes"},
	"a longer value":       {"$99999999999999999999\r\n", "x", "too large"},
	"a negative value":     {"$-2\r\n", "x", "not a number"},
	"a signed value":       {"$+2\r\n", "x", "not a number"},
	"a long list":          {"*2147483647\r\n", ":1\r\n", "items"},
	"a deep list":          {"", "*1\r\n", "nest"},
	"a long line":          {"+", strings.Repeat("x", 1000), "a line has more than"},
	"a long error":         {"-ERR ", strings.Repeat("x", 1000), "a line has more than"},
	"a long number":        {"$", strings.Repeat("1", 1000), "a line has more than"},
	"many values":          {"*30000\r\n", "$1000000\r\n" + strings.Repeat("x", 1000000) + "\r\n", "bytes"},
	"many small values":    {"*4\r\n", "*30000\r\n" + strings.Repeat(":1\r\n", 30000), "bytes"},
	"a value that goes on": {"$1\r\nxx", "x", "a line has more than"},
	"a line without CR":    {"+OK\n", "x", "CR LF"},
	"an empty line":        {"\r\n", "x", "empty"},
	"another protocol":     {"HTTP/1.1 400 Bad Request\r\n", "x", "unknown kind"},
	"RESP3":                {"%1\r\n+a\r\n+b\r\n", "x", "unknown kind"},
}

// A hostileServer answers each connection with the same, and goes on until the client
// has closed it.
type hostileServer struct {
	net.Listener
	done  sync.WaitGroup
	mu    sync.Mutex
	conns []net.Conn
}

func (s *hostileServer) stop() {
	s.Listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.Close()
	}
}

func serveHostile(t *testing.T, begin, again string) *hostileServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &hostileServer{Listener: l}
	s.done.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, c)
			s.mu.Unlock()
			s.done.Go(func() {
				_, err := io.WriteString(c, begin)
				for again != "" && err == nil {
					_, err = io.WriteString(c, again)
				}
				_, _ = io.Copy(io.Discard, c)
			})
		}
	})
	t.Cleanup(func() { s.stop(); s.done.Wait() })
	return s
}

// TestHostileServer: whatever a server sends, it costs a bounded amount of memory, and
// is refused.
func TestHostileServer(t *testing.T) {
	for name, h := range hostile {
		t.Run(name, func(t *testing.T) {
			s := open(t, "redis://"+serveHostile(t, h.begin, h.again).Addr().String(), patient)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			c, err := s.one.pool.Get(), error(nil)
			_, err = c.Do("PING")
			c.Close()
			if err == nil || !errors.Is(err, errReply) || !strings.Contains(err.Error(), h.says) || len(err.Error()) > 200 {
				t.Errorf("%v, want one of the bounds: %s", err, h.says)
			}
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 3*maxReply {
				t.Errorf("%d bytes were allocated", n)
			}
			if n := s.replies.Load(); n != 0 {
				t.Errorf("%d bytes still count", n)
			}
		})
	}
}

// TestHostileConnections: replies that never end, on many connections at once, hold a
// bounded amount of memory together.
func TestHostileConnections(t *testing.T) {
	const value = maxAnswer
	greeting := fmt.Sprintf("+OK\r\n$%d\r\n", value)
	server := serveHostile(t, greeting, "")
	s := open(t, "redis://"+server.Addr().String(), Options{Write: time.Minute, Read: time.Minute})
	var conns []redis.Conn
	var all sync.WaitGroup
	var refusals atomic.Int64
	const n = maxReplies/value + 4
	for range n {
		c := s.one.pool.Get()
		conns = append(conns, c)
		all.Go(func() {
			if _, err := c.Do("PING"); errors.Is(err, errReply) {
				refusals.Add(1)
			}
		})
	}
	for range 10_000 {
		if refusals.Load() >= 4 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if r, d := refusals.Load(), s.replies.Load(); r < 4 || d > maxReplies {
		t.Errorf("%d of %d refused, %d bytes declared", r, n, d)
	}
	server.stop()
	all.Wait()
	for _, c := range conns {
		c.Close()
	}
	if d := s.replies.Load(); d != 0 {
		t.Errorf("%d bytes still count", d)
	}
}

// TestHostileStore: a gateway whose store is hostile works alone.
func TestHostileStore(t *testing.T) {
	p := &provider{thoughts: map[string]string{}}
	up := httptest.NewServer(p)
	t.Cleanup(up.Close)
	for _, name := range []string{"a long value", "a deep list", "many values", "another protocol"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits at its start for what others have learned
			h := hostile[name]
			base, _ := replica(t, up.URL, "redis://"+serveHostile(t, h.begin, h.again).Addr().String(), Options{})
			for n := range 2 {
				if status := loop(t, []string{base}, n); status != http.StatusOK {
					t.Errorf("status %d", status)
				}
			}
		})
	}
}

// TestLargeAnswer: an honest server never sends more than is read: of entries that are
// too large together, the first are found.
func TestLargeAnswer(t *testing.T) {
	r := redisserver.Run(t)
	s := open(t, r.Address(), patient)
	group := history.Key{1}
	var keys []history.Key
	value := bytes.Repeat([]byte("x"), maxAnswer/4)
	for k := range byte(6) {
		keys = append(keys, history.Key{k})
		s.Put(history.LevelEntry{Group: group, Key: history.Key{k}, Value: value})
	}
	for i, v := range s.Get(group, keys) {
		if (v != nil) != (i < 4) {
			t.Errorf("entry %d has %d bytes", i, len(v))
		}
	}
	for k := range byte(200) {
		s.Change(history.Key{k}, func([]byte) []byte { return value[:maxValue] })
	}
	seen := 0
	if err := s.load(t.Context(), func(history.Key, []byte) { seen++ }); err != nil || seen < 100 || seen >= 200 {
		t.Errorf("%d starts, %v", seen, err)
	}
}

// FuzzBounded: what a server sends neither ends the process nor counts for ever.
func FuzzBounded(f *testing.F) {
	for _, h := range hostile {
		f.Add([]byte(h.begin + h.again[:min(len(h.again), 100)]))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var declared atomic.Int64
		c := &bounded{Conn: replay{Reader: bytes.NewReader(data)}, replies: &declared}
		_, _ = received(c)
		if c.Close(); declared.Load() != 0 {
			t.Errorf("%d bytes still count", declared.Load())
		}
	})
}
