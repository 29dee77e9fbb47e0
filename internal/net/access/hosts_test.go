package access

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestHostsOverTLS: a page that made its own name resolve to the server has no
// certificate of that name, so over TLS any name is served, unless names are listed.
func TestHostsOverTLS(t *testing.T) {
	for _, tt := range []struct {
		encrypted, public bool
		names             []string
		want              int
	}{
		{false, true, nil, http.StatusForbidden},
		{true, true, nil, http.StatusOK},
		{true, true, []string{"other.example"}, http.StatusForbidden},
		{true, false, nil, http.StatusForbidden},
	} {
		c := New(Rules{Name: "gateway", Public: tt.public, AllowHosts: tt.names, Refuse: func(w http.ResponseWriter, _ *http.Request, status int, _ string) { w.WriteHeader(status) }})
		r := httptest.NewRequest(http.MethodGet, "http://gateway.example/", nil)
		if r.TLS = nil; tt.encrypted {
			r.TLS = &tls.ConnectionState{}
		}
		w := httptest.NewRecorder()
		c.Enter(w, r)
		if w.Code != tt.want {
			t.Errorf("%+v: %d", tt, w.Code)
		}
	}
}
