package access

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// statusOf returns what a control answers to a request with a token: 200 if it admits it.
func statusOf(c *Control, token string) int {
	r, w := httptest.NewRequest(http.MethodGet, "http://localhost/", http.NoBody), httptest.NewRecorder()
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if c.Enter(w, r) {
		c.Authorize(w, r, Models)
	}
	if ok := c.Holds(r); ok != (w.Code == http.StatusOK) {
		return -1
	}
	return w.Code
}

// TestClosedStaysClosed: a server that needs a token needs one whatever tokens it gets
// later, and it is shut while none is valid. Only a server that never needed one is open.
func TestClosedStaysClosed(t *testing.T) {
	refuse := func(w http.ResponseWriter, _ *http.Request, status int, _ string) { w.WriteHeader(status) }
	alice := Token{Name: "alice", Secret: "secret-of-alice"}
	gone := Token{Name: "alice", Secret: "secret-of-alice", Expires: time.Now().Add(-time.Hour)}
	for name, tt := range map[string]struct {
		rules Rules
		later [][]Token
		want  [2]int // without a token, and with that of alice
		shut  bool
	}{
		"open":                     {Rules{}, nil, [2]int{200, 200}, false},
		"open, tokens never given": {Rules{}, [][]Token{{}}, [2]int{200, 200}, false},
		"a token":                  {Rules{Tokens: []Token{alice}}, nil, [2]int{401, 200}, false},
		"the last one removed":     {Rules{Tokens: []Token{alice}}, [][]Token{nil}, [2]int{401, 401}, true},
		"removed twice":            {Rules{Tokens: []Token{alice}}, [][]Token{nil, nil}, [2]int{401, 401}, true},
		"removed, and back":        {Rules{Tokens: []Token{alice}}, [][]Token{nil, {alice}}, [2]int{401, 200}, false},
		"expired":                  {Rules{Tokens: []Token{gone}}, nil, [2]int{401, 401}, true},
		"closed":                   {Rules{Closed: true}, nil, [2]int{401, 401}, true},
		"closed, then a token":     {Rules{Closed: true}, [][]Token{{alice}}, [2]int{401, 200}, false},
		"open, then closed":        {Rules{}, [][]Token{{alice}, nil}, [2]int{401, 401}, true},
		"wrong":                    {Rules{Tokens: []Token{{Name: "alice", Hash: "sha256:0"}}}, nil, [2]int{401, 401}, false},
	} {
		tt.rules.Refuse = refuse
		c := New(tt.rules)
		for _, tokens := range tt.later {
			c.SetTokens(tokens)
		}
		if got := [2]int{statusOf(c, ""), statusOf(c, alice.Secret)}; got != tt.want || c.Shut() != tt.shut || c.Guarded() != (tt.want[0] != 200) {
			t.Errorf("%s: %v, shut %v, want %v, %v", name, got, c.Shut(), tt.want, tt.shut)
		}
	}
}

// TestCertified: a client whose certificate is no longer trusted gets nothing, with a valid
// token or without tokens.
func TestCertified(t *testing.T) {
	alice := Token{Name: "alice", Secret: "secret-of-alice"}
	for _, tokens := range [][]Token{nil, {alice}} {
		trusted := true
		c := New(Rules{Tokens: tokens, Refuse: func(w http.ResponseWriter, _ *http.Request, status int, _ string) { w.WriteHeader(status) }})
		r := httptest.NewRequest(http.MethodGet, "http://localhost/", http.NoBody)
		r.Header.Set("Authorization", "Bearer "+alice.Secret)
		r = Certified(r, func() bool { return trusted })
		if w := httptest.NewRecorder(); !c.Enter(w, r) || !c.Holds(r) {
			t.Errorf("%d tokens: refused: %d", len(tokens), w.Code)
		}
		trusted = false
		if w := httptest.NewRecorder(); c.Enter(w, r) || c.Holds(r) || w.Code != http.StatusUnauthorized || w.Header().Get("Connection") != "close" {
			t.Errorf("%d tokens: admitted, or answered by %d", len(tokens), w.Code)
		}
	}
}
