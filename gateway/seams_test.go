package gateway_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
)

// A body may be closed while it is read: the read returns, and the exchange ends
// once. The race detector sees where it does not.
func TestTransportClosedWhileRead(t *testing.T) {
	s := speakers[0]
	gone := make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", s.kind(true))
		for { // until the client leaves
			if _, err := io.WriteString(w, s.say("<think>I add.</think>4 ")); err != nil || r.Context().Err() != nil {
				return
			}
			http.NewResponseController(w).Flush()
			select {
			case <-gone:
			case <-time.After(time.Millisecond):
			}
		}
	}))
	defer up.Close()
	defer close(gone)
	reg := prometheus.NewRegistry()
	tr, err := gateway.NewTransport(gateway.TransportConfig{Observers: []gateway.Observer{gateway.Metrics(reg)}})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	client := &http.Client{Transport: tr}
	for range 20 {
		resp, err := client.Post(up.URL+s.path, "application/json", strings.NewReader(chatBody("m", true)))
		if err != nil {
			t.Fatal(err)
		}
		began, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			b := make([]byte, 10)
			io.ReadFull(resp.Body, b)
			close(began)
			io.Copy(io.Discard, resp.Body)
		}()
		<-began
		resp.Body.Close()
		<-ended
		if n, err := resp.Body.Read(make([]byte, 1)); n > 0 || err == nil {
			t.Errorf("after Close: %d bytes, %v", n, err)
		}
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "sotto_exchanges_total" && f.Metric[0].Counter.GetValue() != 20 {
			t.Errorf("%v", f)
		}
	}
}

// A deadline that a handler around the gateway sets is an error that the client
// sees: in the API's own form before the reply has begun, in the stream after.
func TestDeadlineAround(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		for _, streamed := range []bool{false, true} {
			up := func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body) // until then the server does not see that the client leaves
				if streamed {
					w.Header().Set("Content-Type", s.kind(true))
					io.WriteString(w, s.open+s.say("Hello"))
					http.NewResponseController(w).Flush()
				}
				<-r.Context().Done()
			}
			upstream := httptest.NewServer(http.HandlerFunc(up))
			g := inFront(t, upstream.URL, gateway.Config{})
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ctx, cancel := context.WithTimeout(r.Context(), 300*time.Millisecond)
				defer cancel()
				g.ServeHTTP(w, r.WithContext(ctx))
			}))
			resp, body := post(t, web.URL+s.path, chatBody("m", streamed), nil)
			if !strings.Contains(string(body), "deadline") {
				t.Errorf("streamed %v: %d %q", streamed, resp.StatusCode, body)
			}
			if !streamed {
				refusedWith(t, s, resp, body, http.StatusGatewayTimeout)
			}
			web.Close()
			upstream.Close()
		}
	})
}

// Two gateways cannot share a registry: that is an error, and it leaves the
// registry as it was.
func TestRegistryIsShared(t *testing.T) {
	reg := prometheus.NewRegistry()
	inFront(t, "http://localhost", gateway.Config{Observers: []gateway.Observer{gateway.Metrics(reg)}})
	before, _ := reg.Gather()
	if _, err := gateway.NewTransport(gateway.TransportConfig{Observers: []gateway.Observer{gateway.Metrics(reg)}}); err == nil || !strings.Contains(err.Error(), "registry") {
		t.Errorf("%v", err)
	}
	if after, err := reg.Gather(); err != nil || len(after) != len(before) {
		t.Errorf("%d families, %d before: %v", len(after), len(before), err)
	}
}

// Negative bounds are errors, each by its name.
func TestNegativeLimits(t *testing.T) {
	c := gateway.TransportConfig{KeepAlive: -1, Silence: -1, Limits: gateway.Limits{
		MemoryBytes: -1, Body: -1, Frame: -1, Header: -1, Exchanges: -1, Choices: -1, Hold: -1, Learned: -1,
		Restored: -1, RestoredBytes: -1, RestoredFor: -1, Recorded: -1, Labels: -1,
	}}
	_, err := gateway.NewTransport(c)
	if err == nil || strings.Count(err.Error(), "is negative") != 15 {
		t.Errorf("%v", err)
	}
}

// Limits.Header bounds the header of requests and of responses, whatever server
// and transport the gateway has.
func TestHeaderLimit(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		size := 0
		g := handler(t, gateway.Config{Limits: gateway.Limits{Header: 2000}}, answering(func(*http.Request) *http.Response {
			resp := response(s.kind(false), strings.NewReader(s.whole("Hi", sotto.EndStopped)))
			resp.Header.Set("X", strings.Repeat("x", size))
			return resp
		}))
		for _, c := range []struct{ request, response, status int }{
			{100, 100, http.StatusOK}, {2000, 100, http.StatusRequestHeaderFieldsTooLarge}, {100, 2000, http.StatusBadGateway},
		} {
			size = c.response
			r := httptest.NewRequest("POST", s.path, strings.NewReader(chatBody("m", false)))
			r.Host = "localhost"
			r.Header.Set("X", strings.Repeat("x", c.request))
			w := httptest.NewRecorder()
			g.ServeHTTP(w, r)
			if c.status == http.StatusOK {
				if w.Code != c.status {
					t.Errorf("%d %s", w.Code, w.Body)
				}
				continue
			}
			refused(t, s, w, c.status)
		}
	})
}
