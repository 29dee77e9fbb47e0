package doctor

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/check/checks"
	"github.com/sotto-llm/sotto/internal/check/modelserver"
	"github.com/sotto-llm/sotto/internal/check/scripted"
)

// A wired service is a hosted one, played in this process. It notes the requests.
type wired struct {
	handler http.Handler
	strip   string // the part of its paths that the handler does not have
	mu      sync.Mutex
	seen    []*http.Request
}

func (s *wired) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.seen = append(s.seen, r)
	s.mu.Unlock()
	w := httptest.NewRecorder()
	http.StripPrefix(s.strip, s.handler).ServeHTTP(w, r)
	return w.Result(), nil
}

// TestHosted: a service is known by its name, and asked only for its models and for
// answers. Its key goes where its API has it, and nowhere else. Its way to switch
// thinking is used.
func TestHosted(t *testing.T) {
	for base, c := range map[string]struct {
		server, api, model, strip, path string
		key                             string // the header
		others                          string // the header that must not have it
	}{
		"https://api.anthropic.com":    {"Anthropic", "anthropic", "claude", "", "/v1/messages", "X-Api-Key", "Authorization"},
		"https://openrouter.ai/api/v1": {OpenRouter, "openai", "deepseek-r1", "/api", "/api/v1/chat/completions", "Authorization", "X-Api-Key"},
	} {
		s := &wired{handler: scripted.New(scripted.Options{}), strip: c.strip}
		r, made := examine(t, base, Options{Model: c.model, Key: "canary", Transport: s})
		if r.Server.Name != c.server || r.API != c.api || r.Findings > 0 || made["whole"].Status == checks.Skipped {
			t.Errorf("%s: %+v", base, r)
		}
		for _, q := range s.seen {
			if q.URL.Path != c.path && !strings.HasSuffix(q.URL.Path, "/v1/models") {
				t.Errorf("%s was asked for %s", base, q.URL.Path)
			}
			if !strings.Contains(q.Header.Get(c.key), "canary") || q.Header.Get(c.others) != "" {
				t.Errorf("%s: %v", q.URL, q.Header)
			}
		}
	}
}

// TestSpent: no request is made beyond the number that was announced.
func TestSpent(t *testing.T) {
	s := &wired{handler: scripted.New(scripted.Options{})}
	base := &url.URL{Scheme: "http", Host: "model.example"}
	c, done := modelserver.New(base, modelserver.Options{Time: time.Minute, Requests: 2, Transport: s})
	defer done()
	for i, want := range []error{nil, nil, modelserver.ErrSpent} {
		if _, err := c.Get(t.Context(), below(base, "/v1/models"), nil); !errors.Is(err, want) {
			t.Errorf("request %d: %v", i, err)
		}
	}
	if len(s.seen) != 2 {
		t.Errorf("%d requests", len(s.seen))
	}
}

// TestBelow: requests go where the gateway's would, whether or not the base URL has a
// version.
func TestBelow(t *testing.T) {
	for _, c := range []struct{ base, path, want string }{
		{"http://h:8000", "/v1/chat/completions", "http://h:8000/v1/chat/completions"},
		{"http://h:8000/v1", "/v1/chat/completions", "http://h:8000/v1/chat/completions"},
		{"http://h:8000/v1/", "/v1/models", "http://h:8000/v1/models"},
		{"http://h:11434/v1", "/api/chat", "http://h:11434/api/chat"},
		{"http://h/ollama", "/api/chat", "http://h/ollama/api/chat"},
		{"https://openrouter.ai/api/v1", "/v1/chat/completions", "https://openrouter.ai/api/v1/chat/completions"},
		{"https://api.groq.com/openai/v1", "/v1/models", "https://api.groq.com/openai/v1/models"},
		{"https://generativelanguage.googleapis.com/v1beta/openai", "/v1/chat/completions", "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"},
		{"https://ark.cn-beijing.volces.com/api/v3", "/v1/models", "https://ark.cn-beijing.volces.com/api/v3/models"},
		{"https://api.anthropic.com", "/v1/messages", "https://api.anthropic.com/v1/messages"},
		{"http://h:8080", "/props", "http://h:8080/props"},
	} {
		u, err := url.Parse(c.base)
		if err != nil {
			t.Fatal(err)
		}
		if got := below(u, c.path).String(); got != c.want {
			t.Errorf("%s and %s: %s, want %s", c.base, c.path, got, c.want)
		}
	}
}
