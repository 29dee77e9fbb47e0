package hostile

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/base/effort"
)

// A peer is what a hostile model server does with one connection after it has
// read a request. It writes raw bytes, since no well-behaved server would.
type peer struct {
	*bufio.Writer
	conn net.Conn
}

// head begins an answer that ends when the connection does.
func (p peer) head(status, kind string) {
	fmt.Fprintf(p, "HTTP/1.1 %s\r\nContent-Type: %s\r\nConnection: close\r\n\r\n", status, kind)
}

// stream answers with what a stream of the API holds between its begin and its
// end.
func (p peer) stream(a api, frames func()) {
	p.head("200 OK", a.kind)
	p.WriteString(a.open)
	frames()
	p.WriteString(a.end)
}

// repeat writes a text until at least size bytes are written.
func (p peer) repeat(text string, size int) {
	for n := 0; n < size; n += len(text) {
		if _, err := p.WriteString(text); err != nil {
			return
		}
	}
}

// says answers with a text that a model would have written, streamed in deltas
// of 4 KiB or whole.
func says(text string) func(p peer, a api, streamed bool) {
	return func(p peer, a api, streamed bool) {
		if !streamed {
			p.head("200 OK", "application/json")
			p.WriteString(a.whole(text))
			return
		}
		p.stream(a, func() {
			for rest := text; rest != ""; {
				n := min(len(rest), 4<<10)
				p.WriteString(a.say(rest[:n]))
				rest = rest[n:]
			}
		})
	}
}

// body answers with the same bytes as a whole reply and as the only frame of a
// stream.
func body(content string) func(p peer, a api, streamed bool) {
	return func(p peer, a api, streamed bool) {
		if !streamed {
			p.head("200 OK", "application/json")
			p.WriteString(content)
			return
		}
		p.stream(a, func() { p.WriteString(a.frame(content)) })
	}
}

// inFrame puts members into an object like those that the API sends.
func inFrame(a api, members string) string {
	text := a.whole("Hi")
	return text[:len(text)-1] + "," + members + "}"
}

const mib = 1 << 20

// size is about how long most hostile replies are. $HOSTILE_SIZE multiplies it;
// the ceilings stay.
var size = func() int {
	n, err := strconv.Atoi(os.Getenv("HOSTILE_SIZE"))
	if err != nil || n < 1 {
		n = 1
	}
	return n * mib
}()

// An attack is one hostile reply. Its answer is how the client learns of it:
// whole replies and streams that cannot be read must fail visibly.
type attack struct {
	name  string
	reply func(p peer, a api, streamed bool)
	fails bool // the client must see an error, whole or streamed
}

var attacks = []attack{
	{"deep arrays", body(strings.Repeat("[", size)), false},
	{"deep objects, closed", body(strings.Repeat(`{"a":`, size/12) + "1" + strings.Repeat("}", size/12)), true},
	{"depth in an unknown member", func(p peer, a api, streamed bool) {
		body(inFrame(a, `"x":`+strings.Repeat("[", size/4)+strings.Repeat("]", size/4)))(p, a, streamed)
	}, true},
	{"a million members", func(p peer, a api, streamed bool) {
		body(inFrame(a, strings.TrimSuffix(strings.Repeat(`"a":1,`, 300_000), ",")))(p, a, streamed)
	}, false},
	{"tool calls without end", func(p peer, a api, streamed bool) {
		calls := &strings.Builder{}
		for i := range 50_000 {
			fmt.Fprintf(calls, `{"index":%d,"id":"call_%d","function":{"name":"f","arguments":"{}"}},`, i, i)
		}
		list := "[" + strings.TrimSuffix(calls.String(), ",") + "]"
		body(`{"choices":[{"index":0,"delta":{"tool_calls":`+list+`},"message":{"role":"assistant","tool_calls":`+list+`}}],"message":{"role":"assistant","content":"","tool_calls":`+list+`},"done":false}`)(p, a, streamed)
	}, false},
	{"a choice beyond every number", body(`{"choices":[{"index":1000000000,"delta":{"content":"a"},"text":"a","message":{"content":"a"}}]}`), false},
	{"white space after a thought", says("<think>a</think>" + strings.Repeat(" ", size)), false},
	{"closes without end", says(strings.Repeat("</think>", size/8)), false},
	{"blocks without end", says(strings.Repeat("<think></think>", size/15)), false},
	{"openers without end", says("Hi " + strings.Repeat("`<think>", size/8)), false},
	{"fences and quotes", says(strings.Repeat("```\n\"<think>\n", size/13)), false},
	{"no numbers, no text", body(`{"choices":[{"index":NaN,"delta":{"content":Infinity}}],"message":{"content":-Infinity},"response":NaN,"done":NaN}`), false},
	{"wrong types everywhere", body(`{"choices":{"0":[]},"message":"x","response":{},"content":7,"output":{"a":1},"usage":[],"model":[],"done":"no","delta":3}`), false},
	{"broken UTF-8 and escapes", func(p peer, a api, streamed bool) {
		broken := "<think>\xff\xfe\xed\xa0\x80" + `\ud800\u0000</think>` + "\xc3"
		if !streamed {
			p.head("200 OK", "application/json")
			p.WriteString(strings.Replace(a.whole("TEXT"), "TEXT", broken, 1))
			return
		}
		p.stream(a, func() { p.WriteString(strings.Replace(a.say("TEXT"), "TEXT", broken, 1)) })
	}, false},
	{"a frame without end", func(p peer, a api, streamed bool) {
		p.head("200 OK", a.kind)
		p.WriteString(a.open)
		if a.kind == sse {
			p.WriteString("data: ")
		}
		p.repeat(`{"x":"`+strings.Repeat("a", 1000), 6*mib)
	}, true},
	{"comments without end", func(p peer, a api, streamed bool) {
		p.stream(a, func() { p.repeat(": ping\n\n\n", size) })
	}, false},
	{"a page instead of a reply", func(p peer, a api, streamed bool) {
		p.head("200 OK", "text/html")
		p.repeat("<html><think>not a reply</think>", size)
	}, true},
	{"a compressed bomb nobody asked for", func(p peer, a api, streamed bool) {
		fmt.Fprintf(p, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n", a.kind)
		z := gzip.NewWriter(p)
		zeros := make([]byte, mib)
		for range 200 {
			if _, err := z.Write(zeros); err != nil {
				return
			}
		}
		z.Close()
	}, true},
	{"a header without end", func(p peer, a api, streamed bool) {
		p.WriteString("HTTP/1.1 200 OK\r\n")
		for i := range 20_000 {
			fmt.Fprintf(p, "X-%d: %s\r\n", i, strings.Repeat("a", 1000))
		}
		p.WriteString("\r\n")
	}, true},
	{"a thousand provisional answers", func(p peer, a api, streamed bool) {
		p.repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n", mib)
		says("Hi")(p, a, streamed)
	}, false},
	{"an end in mid-frame", func(p peer, a api, streamed bool) {
		p.head("200 OK", a.kind)
		whole := a.open + a.say("<think>a</think>Hi")
		p.WriteString(whole[:len(whole)-9])
		p.Flush()
		if c, ok := p.conn.(*net.TCPConn); ok {
			_ = c.SetLinger(0)
		}
	}, true},
	{"more than was promised", func(p peer, a api, streamed bool) {
		fmt.Fprintf(p, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n")
		p.WriteString(a.whole("Hi"))
	}, true},
	{"less than was promised", func(p peer, a api, streamed bool) {
		fmt.Fprintf(p, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 50000000\r\n\r\n")
		p.WriteString(a.whole("Hi"))
	}, true},
	{"broken chunks", func(p peer, a api, streamed bool) {
		fmt.Fprintf(p, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n", a.kind)
		p.WriteString("5\r\nhello\r\nFFFFFFFFFFFFFFFFF\r\n")
	}, true},
	{"a large error", func(p peer, a api, streamed bool) {
		p.head("500 Internal Server Error", "application/json")
		p.WriteString(`{"error":{"message":"`)
		p.repeat("a", size)
		p.WriteString(`"}}`)
	}, true},
	{"an upgrade nobody asked for", func(p peer, a api, streamed bool) {
		p.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		p.repeat("raw bytes\n", mib)
	}, true},
	{"fields and types of megabytes", func(p peer, a api, streamed bool) {
		p.head("200 OK", a.kind)
		p.WriteString("event: " + strings.Repeat("e", mib) + "\nid: " + strings.Repeat("i", mib) + "\nretry: 1\n")
		p.WriteString(a.open + a.say("Hi") + a.end)
	}, false},
	{"details that repeat themselves", func(p peer, a api, streamed bool) {
		p.stream(a, func() {
			for n := range 200 {
				thought := quote(strings.Repeat("thought ", n*10))
				p.WriteString(a.frame(`{"choices":[{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.text","text":` + thought + `}]}}],"done":false}`))
			}
		})
	}, false},
}

// model is the name by which a request asks for an attack.
func (k attack) model() string {
	return strings.NewReplacer(" ", "-", ",", "", "-8", "8").Replace(k.name)
}

// hostileServer is a model server that attacks as the model's name says, or
// replies as more says. It returns its URL.
func hostileServer(t *testing.T, more ...attack) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var open sync.WaitGroup
	t.Cleanup(func() { l.Close(); open.Wait() })
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { attackOne(c, slices.Concat(attacks, more)) })
		}
	})
	return "http://" + l.Addr().String()
}

// attackOne reads one request and answers it as its model says.
func attackOne(c net.Conn, known []attack) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	var q struct {
		Model  string
		Stream bool
	}
	if err := json.NewDecoder(io.LimitReader(r.Body, 16*mib)).Decode(&q); err != nil {
		return
	}
	w := bufio.NewWriter(c)
	defer w.Flush()
	for _, k := range known {
		if k.model() != q.Model {
			continue
		}
		for _, a := range apis {
			if a.path == r.URL.Path {
				k.reply(peer{w, c}, a, q.Stream)
			}
		}
	}
}

// An outcome is what a client got.
type outcome struct {
	status int
	begin  string // of the body
	end    string
	size   int
	err    error // why reading it ended early
}

// ask sends a request and reads all of the answer.
func (p *process) ask(path, body string, header http.Header) outcome {
	r, err := http.NewRequest(http.MethodPost, p.url+path, strings.NewReader(body))
	if err != nil {
		return outcome{err: err}
	}
	if header != nil {
		r.Header = header.Clone()
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := quick.Do(r)
	if err != nil {
		return outcome{err: err}
	}
	defer resp.Body.Close()
	return read(resp)
}

// read reads an answer and keeps its first and last bytes.
func read(resp *http.Response) outcome {
	const kept = 8 << 10
	o := outcome{status: resp.StatusCode}
	buf := make([]byte, 64<<10)
	for {
		n, err := resp.Body.Read(buf)
		o.size += n
		if room := kept - len(o.begin); room > 0 {
			o.begin += string(buf[:min(n, room)])
		}
		o.end += string(buf[:n])
		o.end = o.end[max(0, len(o.end)-kept):]
		if err != nil {
			if err != io.EOF {
				o.err = err
			}
			return o
		}
	}
}

// failed reports whether the client can see that the reply is incomplete.
func (o outcome) failed() bool {
	for _, sign := range []string{`"error"`, "response.failed", "event: exception/"} { // the last is Bedrock's
		if strings.Contains(o.end, sign) {
			return true
		}
	}
	return o.err != nil || o.status >= 400
}

// ceiling bounds the peak of the gateway's resident memory under any one attack
// here, in MiB. The gateway takes 30 to 40 when it is idle. Beside the exchange
// under way, the record may hold 64 MiB that the disk has not taken, and Go's
// collector lets garbage grow to as much again as what is in use.
const ceiling = 320

// TestUpstream sends every hostile reply through every API, whole and streamed, at
// every level of the record. Without $HOSTILE_SIZE, the levels other than full go
// through one API only. The process lives, keeps below its ceiling, answers other
// clients, tells the client what failed, and leaves no connection open. The record
// verifies.
func TestUpstream(t *testing.T) {
	if effort.Brief() {
		t.Skip("takes a minute: SOTTO_EFFORT=1 runs it")
	}
	up := hostileServer(t)
	for _, level := range []string{"none", "full", "redacted", "digest", "off"} {
		t.Run("record "+level, func(t *testing.T) {
			args := []string{"--upstream", up, "--config", configuration(t, "limits:\n  memory: 128MiB\n")}
			dir := t.TempDir()
			if level != "none" {
				patterns := filepath.Join(t.TempDir(), "patterns")
				if err := os.WriteFile(patterns, []byte("[a-z]+@[a-z]+\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				args = append(args, "--record", dir, "--record-reasoning", level, "--record-policy", "none", "--record-patterns", patterns)
			}
			p := serve(t, args...)
			p.alive(t)
			before := p.descriptors(t)
			for i, k := range attacks {
				through := apis
				if level != "full" && os.Getenv("HOSTILE_SIZE") == "" {
					through = apis[i%len(apis):][:1]
				}
				p.attacked(t, k, through)
			}
			after := 0
			for range 50 { // idle connections to the upstream close on their own
				if after = p.descriptors(t); after <= before+8 {
					break
				}
				time.Sleep(100 * time.Millisecond)
			}
			if after > before+8 {
				t.Errorf("%d descriptors are open, %d before the attacks", after, before)
			}
			if err := p.stop(t); err != nil {
				t.Errorf("sotto serve ended with %v\n%s", err, p.log.String())
			}
			if level != "none" {
				sotto(t, "record", "verify", dir)
			}
		})
	}
}

// attacked asks for one hostile reply through APIs.
func (p *process) attacked(t *testing.T, k attack, through []api) {
	for _, a := range through {
		for _, streamed := range []bool{true, false} {
			p.measure(t)
			o := p.ask(a.path, a.request(k.model(), streamed), nil)
			name := fmt.Sprintf("%s, %s, streamed %t", k.name, a.name, streamed)
			p.alive(t)
			if peak := p.peak(t); peak > ceiling {
				t.Errorf("%s: the process took %d MiB, the ceiling is %d", name, peak, ceiling)
			}
			if k.fails && !o.failed() {
				t.Errorf("%s: the client does not see the failure: %d, %d bytes, %.200q … %.200q", name, o.status, o.size, o.begin, o.end)
			}
		}
	}
}
