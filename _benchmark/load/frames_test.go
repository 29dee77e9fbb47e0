package main

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/_benchmark/internal/traffic"
	"github.com/sotto-llm/sotto/gateway"
)

// A canned upstream answers with one stream.
type canned []byte

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(bytes.NewReader(c)), Request: r,
	}, nil
}

// TestUnchangedFrames checks that frames with nothing to split pass unchanged and
// without allocations: twice as many frames allocate no more.
func TestUnchangedFrames(t *testing.T) {
	few, many := allocations(t, 2000), allocations(t, 4000)
	if many > few+20 {
		t.Errorf("%.0f allocations for 2000 frames, %.0f for 4000", few, many)
	}
}

func allocations(t *testing.T, events int) float64 {
	t.Helper()
	s, err := traffic.NewScript("prose", events, false)
	if err != nil {
		t.Fatal(err)
	}
	want := []byte(strings.Join(s.Frames, ""))
	transport, err := gateway.NewTransport(gateway.TransportConfig{Transport: canned(want)})
	if err != nil {
		t.Fatal(err)
	}
	got, buf := make([]byte, 0, len(want)+1), make([]byte, 16<<10)
	ask := func() {
		r, err := http.NewRequest("POST", "http://upstream/v1/chat/completions", strings.NewReader(`{"model":"`+traffic.Model+`","stream":true,"messages":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		got = got[:0]
		for err == nil {
			var n int
			n, err = resp.Body.Read(buf)
			got = append(got, buf[:n]...)
		}
		resp.Body.Close()
		if err != io.EOF || !bytes.Equal(got, want) {
			t.Fatalf("%v; %d bytes, want %d", err, len(got), len(want))
		}
	}
	for range 3 { // it learns how replies begin
		ask()
	}
	return testing.AllocsPerRun(5, ask)
}
