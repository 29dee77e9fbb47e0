package headers

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Informational responses pass by the law, and the gateway's own headers stand in the last one
// only.
func TestWriter(t *testing.T) {
	for _, hides := range []bool{false, true} {
		var seen []string
		inner := &statusWriter{ResponseRecorder: httptest.NewRecorder(), see: func(status int, h http.Header) {
			seen = append(seen, fmt.Sprint(status, " ", h.Get("Own"), " ", h.Get("Date"), " ", h.Get("Secret")))
		}}
		inner.Header().Set("Own", "o")
		w := NewWriter(inner, Law{Hides: hides})
		for _, status := range []int{103, 100} {
			w.Header().Set("Date", "5")
			w.Header().Set("Secret", "thought")
			w.WriteHeader(status)
			clear(w.ResponseWriter.Header()) // as the proxy does
		}
		w.Header().Set("Date", "6")
		w.WriteHeader(200)
		want := "103  5 |100  5 |200 o 6 "
		if hides {
			want = "100   |200 o 6 "
		}
		if got := strings.Join(seen, "|"); got != want {
			t.Errorf("hides %v: %q, want %q", hides, got, want)
		}
		seen = nil
		if w = NewWriter(inner, Law{}); w.Unwrap() != http.ResponseWriter(inner) {
			t.Error("a controller does not find the writer")
		}
		w.WriteHeader(http.StatusSwitchingProtocols)
		if len(seen) != 1 || !strings.HasPrefix(seen[0], "101 o") {
			t.Errorf("%q", seen)
		}
	}
}

// A statusWriter shows the headers with which each status is written.
type statusWriter struct {
	*httptest.ResponseRecorder
	see func(status int, h http.Header)
}

func (w *statusWriter) WriteHeader(status int) { w.see(status, w.Header()) }

// Of trailers those pass that the law names, also those that were not announced.
func TestTrailersByLaw(t *testing.T) {
	from := &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("x")), Trailer: http.Header{"X-Request-Id": nil, "Secret": nil}}
	to := withoutTrailers(from)
	if to.Trailer != nil || to == from {
		t.Fatalf("%v", to.Trailer)
	}
	Law{}.Pass(to)
	if len(to.Trailer) != 1 || to.Trailer["X-Request-Id"] != nil {
		t.Errorf("announced: %v", to.Trailer)
	}
	from.Trailer = http.Header{"X-Request-Id": {"r"}, "Secret": {"s"}, "Date": {"5"}}
	if err := to.Body.Close(); err != nil || to.Trailer.Get("X-Request-Id") != "r" || to.Trailer.Get("Date") != "5" || len(to.Trailer) != 2 {
		t.Errorf("%v, %v", to.Trailer, err)
	}
	to = withoutTrailers(from)
	Law{Hides: true}.Pass(to)
	if to.Body.Close(); to.Trailer != nil {
		t.Errorf("where reasoning is hidden: %v", to.Trailer)
	}
	unannounced := withoutTrailers(&http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("x"))})
	Law{}.Pass(unannounced)
	unannounced.Body.(*trailedBody).from.Trailer = http.Header{"Date": {"5"}}
	if unannounced.Body.Close(); unannounced.Trailer.Get("Date") != "5" {
		t.Errorf("%v", unannounced.Trailer)
	}
	if switched := (&http.Response{StatusCode: 101}); withoutTrailers(switched) != switched {
		t.Error("a connection is taken for a body")
	}
}
