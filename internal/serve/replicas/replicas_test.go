package replicas

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/testing/redisserver"
)

var secret = []byte("a secret of all replicas, 32 byte")

// canary is in every thought. It must not be in the store.
const canary = "CANARY"

func open(t *testing.T, address string, o Options) *Store {
	t.Helper()
	s, err := Open(address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// A provider demands its reasoning back in each turn that calls a tool, as DeepSeek
// does.
type provider struct {
	mu       sync.Mutex
	thoughts map[string]string // by the ids of calls
	refused  atomic.Int64
	served   atomic.Int64
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Stream   bool
		Messages []struct {
			Role      string
			Reasoning *string               `json:"reasoning_content"`
			ToolCalls []struct{ ID string } `json:"tool_calls"`
		}
	}
	if json.NewDecoder(r.Body).Decode(&q) != nil {
		http.Error(w, "{}", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	n := len(p.thoughts)
	calls := 0
	for _, m := range q.Messages {
		for _, c := range m.ToolCalls {
			calls++
			if m.Reasoning == nil || *m.Reasoning != p.thoughts[c.ID] {
				p.mu.Unlock()
				p.refused.Add(1)
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				io.WriteString(w, `{"error":{"message":"The reasoning_content in the thinking mode must be passed back"}}`)
				return
			}
		}
	}
	id, thought := fmt.Sprintf("call_%08dxK9", n), fmt.Sprintf("%s %d", canary, n)
	if calls < 2 {
		p.thoughts[id] = thought
	}
	p.mu.Unlock()
	p.served.Add(1)
	message := map[string]any{"role": "assistant", "reasoning_content": thought, "content": "Done."}
	if calls < 2 {
		message["content"] = "I look."
		message["tool_calls"] = []any{map[string]any{"index": 0, "id": id, "type": "function", "function": map[string]any{"name": "look", "arguments": "{}"}}}
	}
	finish := map[bool]string{true: "tool_calls", false: "stop"}[calls < 2]
	if !q.Stream {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"model": "deepseek-v3.2", "choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}}})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, choice := range []any{map[string]any{"index": 0, "delta": message}, map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": finish}} {
		data, _ := json.Marshal(map[string]any{"model": "deepseek-v3.2", "choices": []any{choice}})
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
	io.WriteString(w, "data: [DONE]\n\n")
}

// patient are options for a machine that has much else to do.
var patient = Options{Write: 10 * time.Second, Read: 10 * time.Second}

// replica is a gateway in front of a provider, with the shared state.
func replica(t *testing.T, upstream string, address string, o Options) (string, *gateway.Handler) {
	t.Helper()
	u, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	store, err := Open(address, o)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Upstream: u, Shared: store, SharedSecret: secret})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(g)
	t.Cleanup(func() { s.Close(); g.Close(); store.Close() })
	return s.URL, g
}

// loop is a conversation of two tool calls and an answer. Each request goes to another
// replica. The client drops the reasoning. It returns the status of the last request.
func loop(t *testing.T, at []string, n int) int {
	messages := []any{map[string]any{"role": "user", "content": fmt.Sprintf("Question %d", n)}}
	for step := range 3 {
		stream := (n+step)%2 == 0
		body, _ := json.Marshal(map[string]any{"model": "deepseek-v3.2", "stream": stream, "messages": messages,
			"tools": []any{map[string]any{"type": "function", "function": map[string]any{"name": "look"}}}})
		resp, err := http.Post(at[(n+step)%len(at)]+"/v1/chat/completions", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Errorf("loop %d: %v", n, err)
			return 0
		}
		data, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Errorf("loop %d: the reply broke off: %v", n, err)
		}
		if resp.StatusCode != http.StatusOK {
			return resp.StatusCode
		}
		content, id := said(data, stream)
		if stream && !bytes.Contains(data, []byte("[DONE]")) {
			t.Errorf("loop %d: the stream broke off: %s", n, data)
		}
		if step == 2 {
			if content != "Done." {
				t.Errorf("loop %d: %q", n, content)
			}
			break
		}
		messages = append(messages,
			map[string]any{"role": "assistant", "content": content, "tool_calls": []any{map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "look", "arguments": "{}"}}}},
			map[string]any{"role": "tool", "tool_call_id": id, "content": "found"})
	}
	return http.StatusOK
}

// said returns the content of a reply and the id of its call.
func said(data []byte, stream bool) (content, id string) {
	type message struct {
		Content   string
		ToolCalls []struct{ ID string } `json:"tool_calls"`
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "data: ")
		var reply struct {
			Choices []struct{ Message, Delta message }
		}
		if json.Unmarshal([]byte(line), &reply) != nil || len(reply.Choices) == 0 {
			continue
		}
		m := reply.Choices[0].Message
		if stream {
			m = reply.Choices[0].Delta
		}
		content += m.Content
		for _, c := range m.ToolCalls {
			id += c.ID
		}
	}
	return content, id
}

func misses(t *testing.T, at []string) (n int) {
	t.Helper()
	for _, base := range at {
		resp, err := http.Get(base + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if rest, ok := strings.CutPrefix(line, `sotto_restore_misses_total{`); ok {
				v, err := strconv.Atoi(strings.TrimSpace(rest[strings.LastIndexByte(rest, ' '):]))
				if err != nil {
					t.Fatal(err)
				}
				n += v
			}
		}
	}
	return n
}

// TestToolLoops: behind three replicas in turn, no tool loop of a provider that demands
// its reasoning back is refused, and none of the reasoning is in the store.
func TestToolLoops(t *testing.T) {
	loops := 1000
	if effort.Brief() {
		loops = 60
	}
	r := redisserver.Run(t)
	p := &provider{thoughts: map[string]string{}}
	up := httptest.NewServer(p)
	defer up.Close()
	var at []string
	for range 3 {
		base, _ := replica(t, up.URL, r.Address(), patient)
		at = append(at, base)
	}
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for n := w; n < loops; n += 4 {
				if status := loop(t, at, n); status != http.StatusOK {
					t.Errorf("loop %d: status %d", n, status)
				}
			}
		})
	}
	all.Wait()
	if n, m := p.refused.Load(), misses(t, at); n != 0 || m != 0 {
		t.Errorf("%d refused, %d misses", n, m)
	}
	if n := p.served.Load(); n != int64(3*loops) {
		t.Errorf("%d replies, want %d", n, 3*loops)
	}
	r.Command("SAVE")
	dump, err := os.ReadFile(filepath.Join(r.Dir, "dump.rdb"))
	if err != nil {
		t.Fatal(err)
	}
	if len(dump) < 100*loops || bytes.Contains(dump, []byte(canary)) || bytes.Contains(dump, []byte("I look")) {
		t.Errorf("the dump of %d bytes holds no entries, or a text", len(dump))
	}
}

// TestStoreKilled: the store is killed and comes back empty. Every reply is whole; a
// request whose entry was lost is a miss, and no other is.
func TestStoreKilled(t *testing.T) {
	r := redisserver.Run(t)
	p := &provider{thoughts: map[string]string{}}
	up := httptest.NewServer(p)
	defer up.Close()
	var at []string
	for range 3 {
		base, _ := replica(t, up.URL, r.Address(), patient)
		at = append(at, base)
	}
	each := 20
	refused := 0
	for n := range 3 * each {
		switch n {
		case each:
			r.Kill()
		case 2 * each:
			r.Start()
			time.Sleep(20 * time.Millisecond)
			for deadline := time.Now().Add(2 * longestRest); loop(t, at, 1000) != http.StatusOK && time.Now().Before(deadline); {
				refused++
				time.Sleep(50 * time.Millisecond)
			}
		}
		status := loop(t, at, n)
		switch {
		case status == http.StatusOK:
		case status == http.StatusBadRequest && each <= n && n < 2*each:
			refused++
		default:
			t.Errorf("loop %d: status %d", n, status)
		}
	}
	if refused < each { // each of its requests goes to another replica
		t.Errorf("%d loops were refused without the store, want %d or more", refused, each)
	}
	if m := misses(t, at); m != refused || p.refused.Load() != int64(refused) {
		t.Errorf("%d misses, %d refused; want %d", m, p.refused.Load(), refused)
	}
}

// TestColdReplica: a replica that starts later knows where replies begin, and leaks
// nothing, although its first reply has no opener. A replica that runs is told too.
func TestColdReplica(t *testing.T) {
	r := redisserver.Run(t)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, delta := range []string{canary + " I think. ", "\n</think>\n\n", "The answer."} {
			data, _ := json.Marshal(map[string]any{"model": "mystery", "choices": []any{map[string]any{"index": 0, "delta": map[string]any{"content": delta}}}})
			fmt.Fprintf(w, "data: %s\n\n", data)
			w.(http.Flusher).Flush()
		}
		io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer up.Close()
	ask := func(base string) string {
		resp, err := http.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"mystery","stream":true,"messages":[{"role":"user","content":"x"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		content, _ := said(data, true)
		return content
	}
	warm, _ := replica(t, up.URL, r.Address(), patient)
	beside, hears := replica(t, up.URL, r.Address(), patient)
	leaks := 0
	for strings.Contains(ask(warm), canary) && leaks < 10 {
		leaks++
	}
	if leaks == 0 || leaks == 10 {
		t.Fatalf("%d replies leaked before the gateway had learned: this test needs a model that it does not know", leaks)
	}
	ask(warm)
	cold, _ := replica(t, up.URL, r.Address(), patient)
	if got := ask(cold); strings.Contains(got, canary) {
		t.Errorf("a cold replica says %q", got)
	}
	for range 10_000 { // the message may take a moment
		if list := hears.Learned().Starts(); len(list) > 0 && list[0].Start() != "" {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if got := ask(beside); strings.Contains(got, canary) {
		t.Errorf("a replica beside says %q", got)
	}
}

// TestBounds: the entries of a caller are bounded in number and in time, and those of
// others are not touched.
func TestBounds(t *testing.T) {
	r := redisserver.Run(t)
	s := open(t, r.Address(), Options{Entries: 3, Age: time.Minute, Write: patient.Write, Read: patient.Read})
	group, other := history.Key{1}, history.Key{2}
	put := func(group history.Key, k byte) {
		s.Put(history.LevelEntry{Group: group, Key: history.Key{k}, Aliases: []history.Key{{100, k}}, Value: []byte{k}})
		time.Sleep(2 * time.Millisecond) // the order of the entries is that of their times
	}
	put(other, 9)
	for k := range byte(5) {
		put(group, k)
	}
	got := s.Get(group, []history.Key{{0}, {1}, {2}, {3}, {4}})
	if fmt.Sprint(got) != "[[] [] [2] [3] [4]]" {
		t.Errorf("kept %v", got)
	}
	if got := s.Get(other, []history.Key{{9}}); fmt.Sprint(got) != "[[9]]" {
		t.Errorf("of another caller: %v", got)
	}
	if got := s.Get(other, []history.Key{{4}}); got[0] != nil {
		t.Errorf("another caller has %v", got)
	}
	for _, key := range strings.Fields(r.Command("KEYS", "*")) {
		if ttl, err := strconv.Atoi(r.Command("PTTL", key)); err != nil || ttl <= 0 || ttl > 60_000 {
			t.Errorf("%s lives for %d ms (%v)", key, ttl, err)
		}
	}
}

// TestAlias: an alias that two entries had stands for neither.
func TestAlias(t *testing.T) {
	r := redisserver.Run(t)
	s := open(t, r.Address(), patient)
	group, alias, own := history.Key{1}, history.Key{7}, history.Key{8}
	s.Put(history.LevelEntry{Group: group, Key: history.Key{1}, Aliases: []history.Key{alias, own}, Value: []byte("a")})
	if got := s.Resolve(group, []history.Key{alias, own, {9}}); got[0] != (history.Key{1}) || got[1] != (history.Key{1}) || got[2] != (history.Key{}) {
		t.Errorf("resolved %v", got)
	}
	s.Put(history.LevelEntry{Group: group, Key: history.Key{1}, Aliases: []history.Key{alias}, Value: []byte("again")})
	if got := s.Resolve(group, []history.Key{alias}); got[0] != (history.Key{1}) {
		t.Errorf("the same entry again: %v", got)
	}
	s.Put(history.LevelEntry{Group: group, Key: history.Key{2}, Aliases: []history.Key{alias}, Value: []byte("b")})
	if got := s.Resolve(group, []history.Key{alias, own}); got[0] != (history.Key{}) || got[1] != (history.Key{1}) {
		t.Errorf("shared by two: %v", got)
	}
}

// TestChange: no change of a field is lost, however many replicas change it at once.
func TestChange(t *testing.T) {
	r := redisserver.Run(t)
	field := history.Key{1}
	var all sync.WaitGroup
	for range 4 {
		s := open(t, r.Address(), patient)
		all.Go(func() {
			for range 5 {
				s.Change(field, func(old []byte) []byte { return append(bytes.Clone(old), 'x') })
			}
		})
	}
	all.Wait()
	got := ""
	ctx, stop := context.WithCancel(t.Context())
	open(t, r.Address(), patient).Follow(ctx, func(_ history.Key, value []byte) { got = string(value) }, stop)
	if got != strings.Repeat("x", 20) {
		t.Errorf("%q after 20 changes", got)
	}
}

// TestRestart: after a restart of the server one request fails, and not one for each
// connection that waited.
func TestRestart(t *testing.T) {
	r := redisserver.Run(t)
	s := open(t, r.Address(), patient)
	const waiting = 8
	var open []redis.Conn
	for range waiting {
		c := s.one.pool.Get()
		if _, err := c.Do("PING"); err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	for _, c := range open {
		c.Close()
	}
	if n := s.one.pool.IdleCount(); n != waiting {
		t.Fatalf("%d connections wait, want %d", n, waiting)
	}
	r.Kill()
	r.Start()
	failed := 0
	for range waiting {
		s.one.mu.Lock()
		s.one.until = time.Time{}
		s.one.mu.Unlock()
		if !s.do("get", "x", s.o.Read, func(run run) error {
			_, err := run(getScript, 1, "x", 1)
			return err
		}) {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d requests failed, want 1", failed)
	}
}

// TestDown: without a server nothing is found, nothing waits long, and it is said once.
func TestDown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "redis://" + l.Addr().String()
	l.Close()
	var log bytes.Buffer
	metrics := prometheus.NewRegistry()
	s := open(t, address, Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Password: "s3cret", Metrics: metrics})
	for range 100 {
		s.Put(history.LevelEntry{Value: []byte("x")})
		if got := s.Get(history.Key{}, make([]history.Key, 2)); len(got) != 2 || got[0] != nil {
			t.Fatalf("got %v", got)
		}
		s.Change(history.Key{}, func([]byte) []byte { return []byte("x") })
	}
	counts := map[string]float64{}
	all, err := metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all[0].GetMetric() {
		counts[m.GetLabel()[1].GetValue()] += m.GetCounter().GetValue()
	}
	if counts["failed"] < 1 || counts["failed"]+counts["skipped"] != 300 || counts["ok"] > 0 {
		t.Errorf("counted %v", counts)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 || strings.Contains(log.String(), "s3cret") {
		t.Errorf("%d lines: %s", n, log.String())
	}
}

func TestCheckURL(t *testing.T) {
	for address, want := range map[string]string{
		"redis://localhost":                            "",
		"rediss://me@host:6380/3":                      "",
		"redis://[::1]:6380":                           "",
		"redis+sentinel://a,b:1,[::1]/m":               "",
		"rediss+sentinel://me@a:26379/my%20master/3":   "",
		"redis+cluster://a:7000,b:7001":                "",
		"redis+cluster://a:7000/0":                     "",
		"http://localhost":                             "scheme",
		"redis+x://localhost":                          "scheme",
		"http+cluster://localhost":                     "scheme",
		"localhost:6379":                               "not a URL",
		"redis://":                                     "no host",
		"redis+cluster://a,,b":                         "no host",
		"redis://a,b":                                  "several hosts",
		"redis+cluster://a" + strings.Repeat(",a", 64): "65 hosts",
		"redis://:s3cret@localhost":                    "password",
		"redis+sentinel://me:s3cret@localhost/m":       "password",
		"redis://a@b:s3cret@localhost":                 "password",
		"redis://localhost?x=s3cret":                   "follow",
		"redis://localhost/0#s3cret":                   "follow",
		"redis://%zz":                                  "not a URL",
		"redis://a:b":                                  "not a URL",
		"redis://localhost/s3cret":                     "not a number",
		"redis://localhost/-1":                         "not a number",
		"redis+sentinel://a":                           "no name of a master",
		"redis+sentinel://a//1":                        "no name of a master",
		"redis+cluster://a/1":                          "database 0",
	} {
		err := CheckURL(address)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
	e, err := parse("rediss+sentinel://me@a,[::1]:7/my%20master/3")
	if got := fmt.Sprint(e, err); got != "{[a:26379 [::1]:7] sentinel my master 3 me true} <nil>" {
		t.Error(got)
	}
	if got := fmt.Sprint(Unencrypted("redis+cluster://a,b:1"), Unencrypted("rediss://a")); got != "[a:6379 b:1] []" {
		t.Error(got)
	}
}
