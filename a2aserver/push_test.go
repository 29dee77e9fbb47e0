package a2aserver

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.etcd.io/bbolt"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// A hook receives pushes. It answers with the statuses given, the last one from
// then on.
type hook struct {
	*httptest.Server
	mu       sync.Mutex
	statuses []int
	got      []*http.Request
	bodies   []string
	news     chan struct{}
}

func newHook(t *testing.T, statuses ...int) *hook {
	t.Helper()
	h := &hook{statuses: statuses, news: make(chan struct{}, 100)}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.got, h.bodies = append(h.got, r), append(h.bodies, string(body))
		status := h.statuses[0]
		if len(h.statuses) > 1 {
			h.statuses = h.statuses[1:]
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		h.news <- struct{}{}
	}))
	t.Cleanup(h.Close)
	return h
}

// await waits for n pushes more.
func (h *hook) await(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case <-h.news:
		case <-time.After(time.Minute):
			t.Fatalf("waited for a push; there were %q", h.bodies)
		}
	}
}

func pushTo(url string) *a2a.SendMessageRequest {
	req := message("Hi")
	req.Config = &a2a.SendMessageConfig{PushConfig: &a2a.PushConfig{
		URL: url, Token: "tok", Auth: &a2a.PushAuthInfo{Scheme: "Bearer", Credentials: "cred"},
	}}
	return req
}

// TestPush: the receiver is told of every step, in order, with the credentials
// it named, and each push is tried again until it is taken.
func TestPush(t *testing.T) {
	hook := newHook(t, 503, 429, 200)
	h := serve(t, Config{Mind: scripted(t, thinking), PushTo: loopback})
	h.push.pause = time.Millisecond
	send(t, client(t, h.url(), 0), pushTo(hook.URL))
	hook.await(t, 6) // two in vain, then submitted, working, artifact, completed
	var kinds []string
	for i, body := range hook.bodies {
		var e a2a.StreamResponse
		if err := json.Unmarshal([]byte(body), &e); err != nil || strings.Contains(body, "SECRET") {
			t.Fatalf("%s: %v", body, err)
		}
		switch e := e.Event.(type) {
		case *a2a.Task:
			kinds = append(kinds, "task")
		case *a2a.TaskStatusUpdateEvent:
			kinds = append(kinds, e.Status.State.String())
		case *a2a.TaskArtifactUpdateEvent:
			kinds = append(kinds, e.Artifact.Parts[0].Text())
		}
		r := hook.got[i]
		if r.Header.Get("Authorization") != "Bearer cred" || r.Header.Get("A2A-Notification-Token") != "tok" {
			t.Errorf("%v", r.Header)
		}
	}
	if want := []string{"task", "task", "task", "TASK_STATE_WORKING", "Forty-two.", "TASK_STATE_COMPLETED"}; !slices.Equal(kinds, want) {
		t.Errorf("%q, want %q", kinds, want)
	}
}

// TestPushLegacy: a client of protocol 0.3 is sent the task.
func TestPushLegacy(t *testing.T) {
	hook := newHook(t, 200)
	h := serve(t, Config{Mind: says("Yes."), PushTo: loopback})
	send(t, client(t, h.url(), 2), pushTo(hook.URL))
	hook.await(t, 4)
	var last struct {
		Kind   string
		Status struct{ State string }
	}
	if err := json.Unmarshal([]byte(hook.bodies[3]), &last); err != nil || last.Kind != "task" || last.Status.State != "completed" {
		t.Errorf("%s: %v", hook.bodies[3], err)
	}
}

// TestPushSurvives: that a task has ended is told by the next server, if this
// one could not.
func TestPushSurvives(t *testing.T) {
	hook := newHook(t, 503)
	name := file(t)
	h := serveUntil(t, Config{Mind: says("Yes."), PushTo: loopback, File: name})
	send(t, client(t, h.url(), 0), pushTo(hook.URL))
	hook.await(t, 1)
	h.close(t)
	hook.mu.Lock()
	hook.statuses, hook.bodies = []int{200}, nil
	hook.mu.Unlock()
	serve(t, Config{Mind: says("Yes."), PushTo: loopback, File: name})
	hook.await(t, 1)
	if len(hook.bodies) != 1 || !strings.Contains(hook.bodies[0], "TASK_STATE_COMPLETED") {
		t.Errorf("%q", hook.bodies)
	}
}

// answers is a receiver in this process: each request gets the next answer, the last
// one from then on.
type answers struct {
	list []http.Response
	came []time.Time
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	a.came = append(a.came, time.Now())
	res := a.list[min(len(a.came), len(a.list))-1]
	res.Body, res.Request = http.NoBody, r
	return &res, nil
}

// TestPushWaits: a push is not sent before the time that the receiver asked for, be
// it an hour or a date, and it is sent six times in all.
func TestPushWaits(t *testing.T) {
	h := serve(t, Config{Mind: mind(Outcome{Question: "What?"}, nil), PushTo: loopback})
	c := client(t, h.url(), 0)
	task := send(t, c, message("Hi"))
	config, err := c.CreateTaskPushConfig(t.Context(), &a2a.PushConfig{TaskID: task.ID, URL: "http://127.0.0.1:1/"})
	if err != nil {
		t.Fatal(err)
	}
	deliver := func(list ...http.Response) (a answers) {
		a.list = list
		synctest.Test(t, func(t *testing.T) {
			p := newSender(h.push.store, h.push.guard, h.push.limits, slog.New(slog.DiscardHandler))
			p.client = &http.Client{Transport: &a}
			p.post(letter{Task: task.ID, Config: config.ID, Body: []byte("{}")})
			p.wait.Wait()
			p.close()
		})
		return a
	}
	after := func(v string) http.Response {
		return http.Response{StatusCode: 503, Header: http.Header{"Retry-After": {v}}}
	}
	for _, v := range []string{"3600", time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC).Format(http.TimeFormat)} { // an hour from a bubble's first moment
		a := deliver(after(v), http.Response{StatusCode: 204})
		if len(a.came) != 2 || a.came[1].Sub(a.came[0]) != time.Hour {
			t.Errorf("Retry-After: %s: sent at %v", v, a.came)
		}
	}
	if a := deliver(after("1209600")); len(a.came) != 1 {
		t.Errorf("a receiver that asks for two weeks got %d requests", len(a.came))
	}
	if a := deliver(http.Response{StatusCode: 503}); len(a.came) != pushTries {
		t.Errorf("%d requests, want %d", len(a.came), pushTries)
	}
}

// TestPushStops: no redirect is followed, and what a receiver refuses is not
// sent again.
func TestPushStops(t *testing.T) {
	for _, status := range []int{302, 307, 400, 410} {
		hook := newHook(t, status)
		h := serve(t, Config{Mind: says("Yes."), PushTo: loopback})
		h.push.pause = time.Millisecond
		send(t, client(t, h.url(), 0), pushTo(hook.URL))
		hook.await(t, 4)
		h.push.wait.Wait()
		for _, r := range hook.got {
			if r.URL.Path != "/" || len(hook.got) != 4 {
				t.Errorf("%d: %d requests, to %s", status, len(hook.got), r.URL)
			}
		}
	}
}

// TestPushRefused: a push URL that leads inward is refused when it is given, in
// each way to give one, and says why.
func TestPushRefused(t *testing.T) {
	h := serve(t, Config{Mind: mind(Outcome{Question: "What?"}, nil)})
	hook := newHook(t, 200)
	for i, b := range bindings {
		c := client(t, h.url(), i)
		task := send(t, c, message("Hi"))
		for _, url := range []string{
			hook.URL, "http://localhost/", "https://127.0.0.1/", "https://[::1]/", "https://10.0.0.1/", "https://192.168.1.1/x",
			"https://169.254.169.254/latest/meta-data/", "https://[::ffff:127.0.0.1]/", "https://[64:ff9b::7f00:1]/",
			"https://0.0.0.0/", "https://100.64.0.1/", "https://[fd00::1]/", "https://[fe80::1]/", "https://2130706433/", "https://0x7f.1/",
			"ftp://example.com/", "file:///etc/passwd", "https://user@1.1.1.1/", "http://1.1.1.1/", "https://", "x",
		} {
			if _, err := c.CreateTaskPushConfig(t.Context(), &a2a.PushConfig{TaskID: task.ID, URL: url}); err == nil {
				t.Errorf("%s: %s was taken", b.name, url)
			}
		}
	}
	if _, err := client(t, h.url(), 0).SendMessage(t.Context(), pushTo(hook.URL)); err == nil || !strings.HasPrefix(err.Error(), "pushes to ") {
		t.Errorf("a message with such a URL: %v", err)
	}
	if len(hook.got) > 0 {
		t.Errorf("%d pushes", len(hook.got))
	}
}

// TestPushRefusedAlike: a client cannot tell why a host is refused, and the log
// says it.
func TestPushRefusedAlike(t *testing.T) {
	var log bytes.Buffer
	h := serve(t, Config{Mind: mind(Outcome{Question: "What?"}, nil), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	c := client(t, h.url(), 0)
	task := send(t, c, message("Hi"))
	said := map[string]string{}
	for host, reason := range map[string]string{
		"localhost": "the address is not public", "10.0.0.1": "10.0.0.1: the address is not public",
		"nowhere.invalid": "lookup nowhere.invalid", "1.1.1.1": "the connection is not encrypted",
	} {
		log.Reset()
		_, err := c.CreateTaskPushConfig(t.Context(), &a2a.PushConfig{TaskID: task.ID, URL: "http://" + host + "/key"})
		if err == nil {
			t.Fatalf("%s was taken", host)
		}
		said[strings.ReplaceAll(err.Error(), host, "HOST")] = host
		if got := log.String(); !strings.Contains(got, reason) || strings.Contains(got, "key") {
			t.Errorf("%s: the log says %q, want %q and no path", host, got, reason)
		}
	}
	if len(said) != 1 {
		t.Errorf("%d refusals: %q", len(said), said)
	}
}

// TestPushRebinding: a name that was public when it was given and means this
// machine when it is dialed gets nothing.
func TestPushRebinding(t *testing.T) {
	hook := newHook(t, 200)
	h := serve(t, Config{Mind: mind(Outcome{Question: "What?"}, nil)})
	c := client(t, h.url(), 0)
	task := send(t, c, message("Hi"))
	h.push.guard.allow = loopback // as if the name were public now
	if _, err := c.CreateTaskPushConfig(t.Context(), &a2a.PushConfig{TaskID: task.ID, URL: hook.URL}); err != nil {
		t.Fatal(err)
	}
	list, err := h.push.configs("", task.ID)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v %v", list, err)
	}
	verdict, err := h.push.send(list[0], letter{Task: task.ID, Config: list[0].Config.ID, Body: []byte("{}")})
	if err == nil || verdict.Again || len(hook.got) > 0 {
		t.Errorf("delivered: %v, %+v, %d requests", err, verdict, len(hook.got))
	}
}

func TestPublic(t *testing.T) {
	for _, a := range []string{"1.1.1.1", "8.8.8.8", "2606:4700:4700::1111", "::ffff:1.1.1.1"} {
		if !public(netip.MustParseAddr(a)) {
			t.Errorf("%s is public", a)
		}
	}
	for _, a := range []string{
		"127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.0.1", "0.0.0.0", "0.1.2.3", "100.64.0.1", "198.18.0.1", "224.0.0.1",
		"240.0.0.1", "255.255.255.255", "192.0.2.1", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1", "2001:db8::1", "2002:7f00:1::",
		"64:ff9b::a00:1", "::ffff:10.0.0.1", "::127.0.0.1", "fec0::1", "::ffff:0:7f00:1", "100::1", "4000::1",
	} {
		if public(netip.MustParseAddr(a)) {
			t.Errorf("%s is not public", a)
		}
	}
}

// TestPushConfigs: a configuration is made, read, listed and deleted, and a task
// has no more than its number.
func TestPushConfigs(t *testing.T) {
	h := serve(t, Config{Mind: mind(Outcome{Question: "What?"}, nil), PushTo: loopback, Limits: Limits{Pushes: 2}})
	for i, b := range bindings[:3] { // of REST 0.3 the SDK's client and handler disagree
		t.Run(b.name, func(t *testing.T) {
			c := client(t, h.url(), i)
			task := send(t, c, message("Hi"))
			made, err := c.CreateTaskPushConfig(t.Context(), &a2a.PushConfig{TaskID: task.ID, URL: "http://127.0.0.1:1/"})
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.GetTaskPushConfig(t.Context(), &a2a.GetTaskPushConfigRequest{TaskID: task.ID, ID: made.ID})
			if err != nil || got.URL != made.URL {
				t.Errorf("%+v, %v", got, err)
			}
			for n := range 2 {
				_, err = c.CreateTaskPushConfig(t.Context(), &a2a.PushConfig{TaskID: task.ID, URL: "http://127.0.0.1:1/"})
				if (err == nil) != (n == 0) {
					t.Errorf("number %d: %v", n+2, err)
				}
			}
			list, err := c.ListTaskPushConfigs(t.Context(), &a2a.ListTaskPushConfigRequest{TaskID: task.ID})
			if err != nil || len(list) != 2 {
				t.Errorf("%v, %v", list, err)
			}
			if err := c.DeleteTaskPushConfig(t.Context(), &a2a.DeleteTaskPushConfigRequest{TaskID: task.ID, ID: made.ID}); err != nil {
				t.Error(err)
			}
			if _, err := c.GetTaskPushConfig(t.Context(), &a2a.GetTaskPushConfigRequest{TaskID: task.ID, ID: made.ID}); err == nil {
				t.Error("it is still there")
			}
		})
	}
}

// TestPushNeverHolds: a receiver that hangs does not hold the task up.
func TestPushNeverHolds(t *testing.T) {
	stuck := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer stuck.Close()
	h := serve(t, Config{Mind: says("Yes."), PushTo: loopback})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := client(t, h.url(), 0).SendMessage(ctx, pushTo(stuck.URL)); err != nil {
		t.Error(err)
	}
	h.push.close()
}

// TestPushMemory: pushes that wait for a receiver that hangs hold no more memory
// than they may, and the one that says that a task has ended is never left out.
func TestPushMemory(t *testing.T) {
	stuck := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer stuck.Close()
	name := file(t)
	h := serveUntil(t, Config{Mind: says("Yes."), PushTo: loopback, File: name})
	c := client(t, h.url(), 2) // of protocol 0.3: each push is the task
	const tasks, room = 8, 100 << 10
	h.push.room = room
	text := strings.Repeat("x", 20<<10)
	for range tasks {
		req := pushTo(stuck.URL)
		req.Message = message(text).Message
		send(t, c, req)
	}
	h.push.mu.Lock()
	left, bodies := h.push.room, 0
	for _, queue := range h.push.queues {
		for _, l := range queue {
			bodies += len(l.Body)
		}
	}
	h.push.mu.Unlock()
	if left < 0 || left > len(text) || bodies > room {
		t.Errorf("there is room for %d bytes, and %d are in queues", left, bodies)
	}
	h.close(t)
	hook := newHook(t, 200)
	again, err := openStore(name, Limits{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	defer again.close()
	p := newSender(again, guard{allow: loopback}, Limits{}.withDefaults(), slog.New(slog.DiscardHandler))
	defer p.close()
	if err := again.keeper.(*fileKeeper).db.Update(func(tx *bbolt.Tx) error { // the receiver is well again
		b := tx.Bucket(configsBucket)
		return b.ForEach(func(k, v []byte) error {
			return b.Put(k, bytes.ReplaceAll(v, []byte(stuck.URL), []byte(hook.URL)))
		})
	}); err != nil {
		t.Fatal(err)
	}
	if err := p.resume(); err != nil {
		t.Fatal(err)
	}
	p.wait.Wait()
	if p.room != pushBytes || len(hook.bodies) != tasks || !strings.Contains(hook.bodies[0], text) {
		t.Errorf("%d pushes, room for %d", len(hook.bodies), p.room)
	}
}

// TestPushFair: receivers that hang hold up the pushes of their own caller alone.
func TestPushFair(t *testing.T) {
	hook := newHook(t, 200)
	hang := make(chan struct{})
	stuck := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer stuck.Close()
	defer close(hang)
	s := emptyStore(t, Limits{})
	p := newSender(s, guard{allow: loopback}, Limits{}.withDefaults(), slog.New(slog.DiscardHandler))
	defer p.close()
	send := func(caller string, n int, url string) {
		ctx := visit{caller: caller}.in(t.Context())
		task := finishedTask(n, 1)
		create(t, ctx, s, task)
		config, err := p.Save(ctx, task.ID, &a2a.PushConfig{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.SendPush(ctx, config, a2a.NewStatusUpdateEvent(task, a2a.TaskStateWorking, nil)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 * pushAtOnce {
		send("ann", i, stuck.URL)
	}
	send("bob", 1000, hook.URL)
	hook.await(t, 1)
}
