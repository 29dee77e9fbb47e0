package apps_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/check/scripted"
)

// stop stops an application in the middle of a reply, and gives it another prompt.
func stop(t *testing.T, a *application, signal syscall.Signal) {
	up := &slow{next: scripted.New(scripted.Options{Calls: calls}), begun: make(chan struct{}, 1)}
	s := newStage(t, up)
	u := &user{a, t.TempDir(), s.base}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := u.command(ctx, t, slowModel, u.first()...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-up.begun:
	case <-ctx.Done():
	}
	if err := syscall.Kill(-cmd.Process.Pid, signal); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if ctx.Err() != nil {
		t.Fatalf("%v\n%s", ctx.Err(), out.String())
	}
	var requests, canceled int
	for _, r := range s.after.Of("key") {
		if bytes.Contains(r.Body, []byte(`"model":"`+slowModel+`"`)) {
			requests++
			if r.Canceled {
				canceled++
			}
		}
	}
	if requests != 1 || canceled != 1 {
		t.Errorf("%d requests, %d of them canceled\n%s", requests, canceled, out.String())
	}
	s.before.Of("key") // the gateway has ended its exchanges
	if open := metric(t, s.base, "sotto_open_exchanges"); open != "0" {
		t.Errorf("%s exchanges are open", open)
	}
	turn(t, u, models[0], u.first())
	judgeRequests(t, s, a, find(t, models[0]))
}

// metric returns a metric of a gateway.
func metric(t *testing.T, base, name string) string {
	t.Helper()
	r, err := http.Get(base + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, value, _ := strings.Cut("\n"+string(b), "\n"+name+" ")
	value, _, _ = strings.Cut(value, "\n")
	return value
}

// slowModel is the model whose replies take seconds.
const slowModel = "long"

// A slow is an upstream that signals begun when a reply of the slow model is under way.
type slow struct {
	next  http.Handler
	begun chan struct{}
}

func (s *slow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if body := peek(r); bytes.Contains(body, []byte(`"model":"`+slowModel+`"`)) {
		w := &counted{ResponseWriter: w, begun: s.begun}
		scripted.New(scripted.Options{Pause: 50 * time.Millisecond}).ServeHTTP(w, r)
		return
	}
	s.next.ServeHTTP(w, r)
}

// peek returns a request's body, which can be read again.
func peek(r *http.Request) []byte {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

// A counted is a response. It signals begun while most of it is still to come.
type counted struct {
	http.ResponseWriter
	frames int
	begun  chan struct{}
}

func (c *counted) Write(b []byte) (int, error) {
	if c.frames++; c.frames == 20 {
		select {
		case c.begun <- struct{}{}:
		default: // of an earlier reply
		}
	}
	return c.ResponseWriter.Write(b)
}

func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// The models that fail: with status 500, with status 429, and in mid-stream.
const (
	down   = "down"
	busy   = "busy"
	breaks = "breaks-off"
)

// An ending is what an application did about a fault of the upstream.
type ending struct {
	requests int64
	failed   bool // it reported an error
	answered bool
}

func (e ending) String() string {
	switch {
	case e.failed && !e.answered && e.requests == 1:
		return "an error"
	case e.answered && !e.failed && e.requests > 1:
		return "asks again"
	}
	return fmt.Sprintf("%#v", e)
}

// fail lets an upstream fail once. The application must do the same as without the
// gateway; a broken stream is the one exception, which the table states.
func fail(t *testing.T, a *application, model string) {
	alone, heard := meet(t, a, model, false)
	through, said := meet(t, a, model, true)
	got, want := through.String(), alone.String()
	if through != alone {
		got += "; " + want + " without the gateway"
	}
	if model == breaks {
		want = a.broken
	}
	if got != want || through.failed == through.answered {
		t.Errorf("it ends with %s, want %s\n%s\nwithout the gateway:\n%s", got, want, said, heard)
	}
}

func meet(t *testing.T, a *application, model string, through bool) (ending, string) {
	t.Helper()
	up := &faulty{next: scripted.New(scripted.Options{Calls: calls}), model: model}
	s := newStage(t, up)
	u := &user{a, t.TempDir(), s.alone}
	if through {
		u.base = s.base
	}
	out, stderr, err := u.run(t, model, u.first())
	answered := err == nil && strings.Contains(out, find(t, models[0]).Result.Visible)
	all := fmt.Sprintf("%v\n%s\n%s", err, out, stderr)
	return ending{
		requests: up.requests.Load(),
		failed:   !answered && strings.Contains(strings.ToLower(out+stderr), "error"),
		answered: answered,
	}, all
}

// A faulty is an upstream that fails the first request for a model, and answers the
// others.
type faulty struct {
	next     http.Handler
	model    string
	requests atomic.Int64
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := []byte(`"model":"` + f.model + `"`)
	if body := peek(r); bytes.Contains(body, name) {
		switch n := f.requests.Add(1); {
		case n > 1:
			body = bytes.Replace(body, name, []byte(`"model":"`+models[0]+`"`), 1)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		case f.model == down:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `{"error":{"message":"The server is down.","type":"server_error","param":null,"code":null}}`)
			return
		}
	}
	f.next.ServeHTTP(w, r)
}
