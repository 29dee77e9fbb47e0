// Package front serves handlers to the clients of the tests as the gateway's command does:
// over HTTP/1 and HTTP/2.
package front

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/net/serving"
)

// Serve serves a handler on loopback until the end of the test, and returns its base URL.
func Serve(t testing.TB, h http.Handler) string {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.Config = serving.NewServer(h)
	serving.OfferHTTP2(s.Config, true, time.Minute)
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}
