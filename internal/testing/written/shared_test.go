//go:build unix

package written

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/serve/replicas"
)

// A redirect reaches model servers of today under the addresses of the samples.
type redirect map[string]string

func (to redirect) RoundTrip(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	q.URL.Host = to[q.URL.Host]
	return http.DefaultTransport.RoundTrip(q)
}

// readShared: a gateway finds what a replica has left in Redis: reasoning to restore, what
// was learned, which upstream made a response, and a kept conversation.
func readShared(t *testing.T, r *reader) {
	address, c := redisServer(t)
	load(t, c, read(t, r.dir, "redis.json"))
	store, err := replicas.Open(address, replicas.Options{Age: ages, Write: time.Minute, Read: time.Minute, Keep: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s, first := speak(t, "first")
	_, second := speak(t, "second")
	old := func(address string) *url.URL {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	alice := r.sample.Tokens["alice"]
	h, err := gateway.New(gateway.Config{
		Upstream: old(r.sample.Upstream), Upstreams: map[string]gateway.Upstream{"second": {URL: old(r.sample.Second)}},
		Default: routing.Route{History: "restore"}, Routes: []routing.Route{{Models: []string{"stored"}, Upstream: "second"}},
		Tokens: []gateway.Token{{Name: "alice", Secret: alice}, {Name: "bob", Secret: r.sample.Tokens["bob"]}}, Shared: store, SharedSecret: []byte(sharedKey),
		Transport: redirect{old(r.sample.Upstream).Host: old(first.URL).Host, old(r.sample.Second).Host: old(second.URL).Host},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	server := httptest.NewServer(h)
	defer server.Close()

	decides(t, alice, server.URL)
	must(t, server.URL+"/v1/chat/completions", r.sample.Tokens["bob"], chat("qwen3", question, said, "And now?"))
	if heard := s.heard(); strings.Contains(heard, thought) {
		t.Errorf("another caller gets the reasoning: %s", heard)
	}
	must(t, server.URL+"/v1/chat/completions", alice, chat("qwen3", question, said, "And now?"))
	if heard := s.heard(); !strings.Contains(heard, thought) {
		t.Errorf("the reasoning is not restored: %s", heard)
	}
	if made := must(t, server.URL+"/v1/responses/"+madeID, alice, ""); !strings.Contains(made, "From second.") {
		t.Errorf("who made the response is not found: %s", made)
	}
	kept := &conversation.Store{Folder: filepath.Join(r.dir, "none"), Limits: conversation.Limits{Keep: ages}}
	if err := kept.Share(store, []byte(sharedKey)); err != nil {
		t.Fatal(err)
	}
	conversations(t, kept)
}
