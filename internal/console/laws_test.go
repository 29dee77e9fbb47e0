package console

import (
	"crypto/tls"
	"net/http/httptest"
	"testing"
	"time"
)

// TestOverTLS: the cookie of a login goes over TLS alone where the browser came over TLS, as
// the connection or a proxy says.
func TestOverTLS(t *testing.T) {
	for _, tt := range []struct {
		tls       bool
		forwarded string
		want      bool
	}{{false, "", false}, {false, "http", false}, {false, "https", true}, {false, "HTTPS", true}, {true, "", true}, {true, "http", true}} {
		r := httptest.NewRequest("GET", "/", nil)
		if r.TLS = nil; tt.tls {
			r.TLS = new(tls.ConnectionState)
		}
		r.Header.Set("X-Forwarded-Proto", tt.forwarded)
		if got := overTLS(r); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// TestReplyNames: each reply that is under way can be stopped by a name of its own, which
// nobody can guess, and stops no other.
func TestReplyNames(t *testing.T) {
	talks := newTalks(nil, time.Now)
	defer talks.close()
	first, name, end := talks.begin(t.Context())
	defer end()
	second, other, endOther := talks.begin(t.Context())
	defer endOther()
	if name == other || len(name) < 20 || len(other) < 20 {
		t.Fatalf("two replies are %q and %q", name, other)
	}
	talks.stops[name]()
	if first.Err() == nil || second.Err() != nil {
		t.Errorf("the first was stopped: %v, %v", first.Err(), second.Err())
	}
}

// TestItems: which lines begin an item of a list.
func TestItems(t *testing.T) {
	for line, want := range map[string]bool{
		"- a": true, "* a": true, "+ a": true, "-": true, "-\ta": true, "-a": false, "1. a": true, "1) a": true, "123456789. a": true, "1234567890. a": false,
		"1.a": false, "1": false, "1.": true, ". a": false, ") a": false, "": false, "a. b": false, "12 a": false,
	} {
		if got := isItem(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}
