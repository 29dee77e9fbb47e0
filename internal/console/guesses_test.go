package console

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sotto-llm/sotto/internal/net/access"
)

// TestLoginGuesses: wrong tokens in the form of the login are slowed, and a right one is
// not.
func TestLoginGuesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{Tokens: []access.Token{{Name: "ann", Secret: "right"}}})
		defer c.Close()
		try := func(token string) (status int, took time.Duration) {
			r := httptest.NewRequestWithContext(t.Context(), "POST", "http://127.0.0.1/login", strings.NewReader(url.Values{"token": {token}}.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			began := time.Now()
			c.ServeHTTP(w, r)
			return w.Code, time.Since(began)
		}
		for i := range 60 {
			if status, took := try("wrong"); status != 401 || took != 0 {
				t.Fatalf("wrong token %d: %d after %s", i, status, took)
			}
		}
		if status, took := try("wrong"); status != 401 || took != time.Second {
			t.Errorf("one more: %d after %s", status, took)
		}
		if status, took := try("right"); status != 303 || took != 0 {
			t.Errorf("a right token: %d after %s", status, took)
		}
	})
}
