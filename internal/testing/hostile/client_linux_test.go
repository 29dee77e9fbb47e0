package hostile

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/base/effort"
)

// configuration writes a configuration file.
func configuration(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "sotto.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// routes are paths that a client may post to: those of the APIs, one that
// passes through, and one that does not exist.
func routes() []string {
	all := []string{"/v1/embeddings", "/v1/nowhere", "/healthz"}
	for _, a := range apis {
		all = append(all, a.path)
	}
	return all
}

// TestNestedRequests posts bodies that nest without bound to every route. They
// are refused, and the process lives.
func TestNestedRequests(t *testing.T) {
	if effort.Brief() {
		t.Skip("fills the memory of a process: needs SOTTO_EFFORT")
	}
	p := serve(t, "--upstream", hostileServer(t), "--record", t.TempDir())
	bodies := map[string]string{
		"arrays":           strings.Repeat("[", 6*mib),
		"objects":          strings.Repeat(`{"a":`, 8*mib/5),
		"whole objects":    `{"model":"m","x":` + strings.Repeat(`{"a":`, mib) + "1" + strings.Repeat("}", mib) + "}",
		"messages":         `{"model":"m","messages":` + strings.Repeat("[", 3*mib) + strings.Repeat("]", 3*mib) + "}",
		"a million values": `{"model":"m","x":[` + strings.TrimSuffix(strings.Repeat("1,", 4*mib), ",") + "]}",
	}
	for _, path := range routes() {
		for name, body := range bodies {
			p.measure(t)
			o := p.ask(path, body, nil)
			p.alive(t)
			if peak := p.peak(t); peak > ceiling {
				t.Errorf("%s to %s: the process took %d MiB, the ceiling is %d", name, path, peak, ceiling)
			}
			if o.err == nil && o.status < 400 && path != "/healthz" {
				t.Errorf("%s to %s: answered %d: %.100q", name, path, o.status, o.begin)
			}
		}
	}
}

// TestHistoryBomb sends many large requests whose history is full of markers, at
// once. The gateway takes what its budget of memory allows and refuses the rest
// so that a client knows when to come again.
func TestHistoryBomb(t *testing.T) {
	if effort.Brief() {
		t.Skip("fills the memory of a process: needs SOTTO_EFFORT")
	}
	config := configuration(t, "limits:\n  memory: 512MiB\n")
	p := serve(t, "--upstream", hostileServer(t), "--config", config)
	history := `{"model":"qwen3:8b","stream":false,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":` +
		quote(strings.Repeat("</think>", mib)) + `},{"role":"user","content":"b"}]}`
	p.measure(t)
	var mu sync.Mutex
	var all sync.WaitGroup
	statuses := map[int]int{}
	for range 12 {
		all.Go(func() {
			r, err := http.NewRequest(http.MethodPost, p.url+"/v1/chat/completions", strings.NewReader(history))
			if err != nil {
				t.Error(err)
				return
			}
			resp, err := quick.Do(r)
			if err != nil {
				return // closed before its body was read
			}
			o := read(resp)
			mu.Lock()
			defer mu.Unlock()
			statuses[o.status]++
			if o.status == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == "" {
				t.Error("503 without Retry-After")
			}
			if o.status >= 400 && !strings.Contains(o.begin, `"error"`) {
				t.Errorf("%d in a form that is not the provider's: %.200q", o.status, o.begin)
			}
		})
	}
	all.Wait()
	p.alive(t)
	if statuses[http.StatusServiceUnavailable] == 0 {
		t.Errorf("every request was taken, %v: the budget bounds nothing", statuses)
	}
	// Go's collector lets garbage grow to as much again as what is in use.
	if peak := p.peak(t); peak > 1024 {
		t.Errorf("the process took %d MiB; the budget is 512", peak)
	}
	t.Logf("statuses: %v, peak %d MiB", statuses, p.peak(t))
	if o := p.ask("/v1/chat/completions", apis[0].request("closes-without-end", true), nil); o.status != 200 {
		t.Errorf("later, an ordinary request: %+v", o)
	}
}

// TestHalfRequests opens more connections than the process has descriptors, from
// one address, and sends the beginning of a request on each, without a token.
// Clients at another address that have a token are still answered.
func TestHalfRequests(t *testing.T) {
	config := configuration(t, "limits:\n  connections-per-address: 200\n")
	p := serve(t, "SOTTO_TOKEN=a-token-of-the-operator", "NOFILE=500", "--upstream", hostileServer(t), "--config", config)
	address := strings.TrimPrefix(p.url, "http://")
	attacker := net.Dialer{Timeout: 2 * time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	var open []net.Conn
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	for range 600 {
		c, err := attacker.Dial("tcp", address)
		if err != nil {
			break // the process takes no more: that is its bound
		}
		open = append(open, c)
		fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n{\"mo")
	}
	header := http.Header{"Authorization": {"Bearer a-token-of-the-operator"}}
	for range 20 {
		o := p.ask("/v1/chat/completions", apis[0].request("closes-without-end", true), header)
		if o.err != nil || o.status != http.StatusOK {
			t.Fatalf("an honest client: %d %v %.200q", o.status, o.err, o.begin)
		}
	}
	if n := p.descriptors(t); n >= 500 {
		t.Errorf("all %d descriptors are open", n)
	}
}

// TestCookies sends headers that make the search for credentials expensive, with
// a record. The process takes no more than it would for an ordinary request of
// that size.
func TestCookies(t *testing.T) {
	many := &strings.Builder{}
	for i := range 3500 {
		fmt.Fprintf(many, "c%d=%08x; ", i, i*2654435761)
	}
	letters := &strings.Builder{}
	for i := range 16 {
		fmt.Fprintf(letters, "c%d=%s; ", i, strings.Repeat("a", 3000+i))
	}
	oneLetter := attack{name: "one letter", reply: says(strings.Repeat("a", size))}
	for _, level := range []string{"full", "digest", "off"} {
		dir := t.TempDir()
		p := serve(t, "--upstream", hostileServer(t, oneLetter), "--record", dir, "--record-reasoning", level)
		for name, cookie := range map[string]string{"many": many.String(), "letters": letters.String()} {
			p.measure(t)
			o := p.ask("/v1/chat/completions", apis[0].request(oneLetter.model(), true), http.Header{"Cookie": {cookie}})
			p.alive(t)
			if o.err != nil || o.status != http.StatusOK {
				t.Errorf("%s, level %s: %d %v %.200q", name, level, o.status, o.err, o.begin)
			}
			if peak := p.peak(t); peak > ceiling {
				t.Errorf("%s, level %s: the process took %d MiB, the ceiling is %d", name, level, peak, ceiling)
			}
		}
		if err := p.stop(t); err != nil {
			t.Error(err)
		}
		if out := sotto(t, "record", "show", dir); strings.Contains(out, "00000000; ") {
			t.Errorf("level %s: the record holds a cookie", level)
		}
	}
}

// TestAllAtOnce runs every hostile reply while honest clients stream. The honest
// streams come whole and exact, and the process stays within its ceiling.
func TestAllAtOnce(t *testing.T) {
	answer := strings.Repeat("The honest answer stays as it is. ", 2000)
	honest := attack{name: "honest", reply: says("<think>a thought</think>" + answer)}
	config := configuration(t, "limits:\n  memory: 256MiB\n")
	p := serve(t, "--upstream", hostileServer(t, honest), "--config", config, "--record", t.TempDir(), "--record-policy", "none")
	p.measure(t)
	var all sync.WaitGroup
	for i, k := range attacks {
		asked := apis
		if effort.Brief() { // one each
			asked = apis[i%len(apis):][:1]
		}
		all.Go(func() {
			for _, a := range asked {
				p.ask(a.path, a.request(k.model(), true), nil)
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	for streams := 0; ; streams++ {
		select {
		case <-done:
			p.alive(t)
			if peak := p.peak(t); peak > 3*ceiling {
				t.Errorf("the process took %d MiB, the ceiling is %d", peak, 3*ceiling)
			}
			if streams == 0 {
				t.Error("no honest stream ran beside the attacks")
			}
			t.Logf("%d honest streams, peak %d MiB", streams, p.peak(t))
			return
		default:
			p.honest(t, answer)
		}
	}
}

// honest reads one honest stream as a client does.
func (p *process) honest(t *testing.T, answer string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, p.url+"/api/chat", strings.NewReader(apis[3].request("honest", true)))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := quick.Do(r)
	if err != nil {
		t.Fatalf("an honest client: %v", err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("an honest client: %v", err)
	}
	if got := ollamaText(b); got != answer {
		t.Fatalf("an honest client got %d bytes %.100q …, want %d", len(got), got, len(answer))
	}
}
