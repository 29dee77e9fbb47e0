package gateway_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
)

// TestUpstreamMade: what an upstream made is asked for there, whatever names it.
func TestUpstreamMade(t *testing.T) {
	p := newPlaces(t)
	g := gatewayOf(t, p.config(t))
	s := speakerOf(t, "openai.responses")
	response := func(id string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			text := s.whole("b", sotto.EndStopped)
			old := gjson.Get(text, "id").Str
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, strings.ReplaceAll(text, old, id))
			return true
		}
	}
	p.b.answers(response("resp_of_b_0001"))
	if w := ask(g, s.path, (&conversation{s: s}).request("b-1", false, "")); w.Code != 200 {
		t.Fatal(w.Body)
	}
	if w := ask(g, s.path, (&conversation{s: s}).request("b-1", false, `,"store":false`)); w.Code != 200 {
		t.Fatal(w.Body)
	}
	p.only(t, p.b)
	for _, tt := range [][2]string{{"GET", "/v1/responses/resp_of_b_0001"}, {"POST", "/v1/responses/resp_of_b_0001/cancel"}, {"DELETE", "/v1/responses/resp_of_b_0001"}, {"GET", "/v1/responses/resp_of_b_0001/input_items"}} {
		get(g, tt[0], tt[1], "")
		p.only(t, p.b)
	}
	p.b.answers(response("resp_of_b_0002")) // not stored
	ask(g, s.path, (&conversation{s: s}).request("b-1", false, `,"store":false`))
	p.only(t, p.b)
	get(g, "GET", "/v1/responses/resp_of_b_0002", "")
	p.only(t, p.a)

	p.b.answers(nil)
	for _, body := range []string{`{"model":"b-video","prompt":"x"}`} {
		get(g, "POST", "/v1/videos", body, "Content-Type", "application/json")
		p.only(t, p.b)
		get(g, "GET", "/v1/videos/made-by-b-1", "")
		p.only(t, p.b)
	}
	p.b.answers(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"msgbatch_0001","output_file_id":"file-out-0001"}`)
		return true
	})
	get(g, "POST", "/v1/messages/batches", `{"requests":[{"params":{"model":"b-1"}}]}`, "Content-Type", "application/json")
	p.only(t, p.b)
	for _, path := range []string{"/v1/messages/batches/msgbatch_0001/results", "/v1/files/file-out-0001/content", "/v1/batches/msgbatch_0001"} {
		get(g, "GET", path, "")
		p.only(t, p.b)
	}
	get(g, "POST", "/v1/batches", `{"input_file_id":"file-out-0001"}`, "Content-Type", "application/json")
	p.only(t, p.b)
}

// TestUpstreamMadeIsBounded: the oldest ids are forgotten.
func TestUpstreamMadeIsBounded(t *testing.T) {
	p := newPlaces(t)
	c := p.config(t)
	c.Limits.Learned = 3
	g := gatewayOf(t, c)
	for i := range 5 {
		p.b.answers(func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"id":"video_%05d"}`, i)
			return true
		})
		get(g, "POST", "/v1/videos", `{"model":"b-1"}`, "Content-Type", "application/json")
	}
	p.only(t, p.b)
	for i := range 5 {
		want := p.b
		if i < 2 {
			want = p.a
		}
		get(g, "GET", fmt.Sprintf("/v1/videos/video_%05d", i), "")
		p.only(t, want)
	}
}

// TestUpstreamLists: the models of all upstreams are one list, each where a request for it
// would go, and an upstream that fails is named.
func TestUpstreamLists(t *testing.T) {
	p := newPlaces(t)
	var logged lockedText
	c := p.config(t)
	c.Logger = slog.New(slog.NewTextHandler(&logged, nil))
	g := gatewayOf(t, c)
	listing := func(member, id string, names ...string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			var entries []string
			for _, n := range names {
				entries = append(entries, fmt.Sprintf(`{%q:%q,"more":1}`, id, n))
			}
			fmt.Fprintf(w, ` {"object":"list",%q:[%s],"has_more":false}`, member, strings.Join(entries, ","))
			return true
		}
	}
	for _, tt := range []struct{ path, member, id, prefix string }{
		{"/v1/models", "data", "id", ""}, {"/models", "data", "id", ""}, {"/api/tags", "models", "model", ""}, {"/v1beta/models", "models", "name", "models/"},
	} {
		x := tt.prefix
		p.a.answers(listing(tt.member, tt.id, x+"one", x+"b-2", x+"one"))
		p.b.answers(listing(tt.member, tt.id, x+"b-1", x+"b-2", x+"one", x+"c-1"))
		p.c.answers(listing(tt.member, tt.id, x+"c-1"))
		names := func() string {
			w := get(g, "GET", tt.path, "", "Authorization", "Bearer canary-own-key")
			if w.Code != 200 || !gjson.ValidBytes(w.Body.Bytes()) || !gjson.GetBytes(w.Body.Bytes(), "has_more").Exists() {
				t.Errorf("%s: %d %s", tt.path, w.Code, w.Body)
			}
			var list []string
			for _, e := range gjson.GetBytes(w.Body.Bytes(), tt.member).Array() {
				list = append(list, strings.TrimPrefix(e.Get(tt.id).Str, x))
			}
			return fmt.Sprint(list, w.Header().Get("Sotto-Upstreams-Failed"))
		}
		if got := names(); got != "[one b-1 b-2 c-1]" {
			t.Errorf("%s: %s", tt.path, got)
		}
		for _, one := range p.all() {
			for _, got := range one.heard() {
				for _, secret := range []string{"canary-key-of-a", "canary-key-of-b", "canary-own-key"} {
					if strings.Contains(got, secret) != (secret == "canary-key-of-"+one.name) {
						t.Errorf("%s got:\n%s", one.name, got)
					}
				}
			}
		}
		p.b.answers(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(401); return true })
		if got := names(); got != "[one c-1]b" {
			t.Errorf("%s with b refusing: %s", tt.path, got)
		}
		p.b.answers(listing(tt.member, tt.id, slices.Repeat([]string{x + "b-1"}, 10_001)...))
		if got := names(); got != "[one c-1]b" {
			t.Errorf("%s with too many models of b: %s", tt.path, got)
		}
		p.b.answers(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(404); return true })
		if got := names(); got != "[one c-1]" {
			t.Errorf("%s without a list of b: %s", tt.path, got)
		}
		p.a.answers(func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = io.WriteString(w, `{"data":[`)
			return true
		})
		if got := names(); got != "[c-1]default" {
			t.Errorf("%s with a broken: %s", tt.path, got)
		}
	}
	if text := logged.String(); !strings.Contains(text, "upstream=b") || !strings.Contains(text, "it answers 401") {
		t.Errorf("the log says %s", text)
	}
	if text := get(g, "GET", "/metrics", "").Body.String(); !strings.Contains(text, `sotto_upstream_lists_failed_total{upstream="b"} 8`) {
		t.Errorf("the metrics have no failed lists:\n%.500s", text)
	}
	for _, one := range p.all() {
		one.heard()
	}
	p.a.answers(nil)
	for _, path := range []string{"/v1/models?after_id=one", "/v1beta/models?pageToken=x"} {
		get(g, "GET", path, "")
		p.only(t, p.a)
	}
	get(g, "HEAD", "/v1/models", "")
	p.only(t, p.a)
	for _, one := range p.all() {
		one.answers(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(418); return true })
	}
	if w := get(g, "GET", "/v1/models", ""); w.Code != 418 {
		t.Errorf("without any list: %d", w.Code)
	}
}

// TestUpstreamMadeIsShared: what an upstream made for one replica is found by another, if
// both have the secret.
func TestUpstreamMadeIsShared(t *testing.T) {
	p := newPlaces(t)
	shared := newBoard()
	replica := func(secret string) *gateway.Handler {
		c := p.config(t)
		c.Shared, c.SharedSecret = shared, []byte(secret)
		return gatewayOf(t, c)
	}
	one, two, stranger := replica("0123456789abcdef"), replica("0123456789abcdef"), replica("another-secret-of-16")
	get(one, "POST", "/v1/videos", `{"model":"b-1"}`, "Content-Type", "application/json")
	p.only(t, p.b)
	for _, v := range shared.values {
		if strings.Contains(string(v), "made-by") || strings.Contains(string(v), `"b"`) {
			t.Errorf("the store can read %q", v)
		}
	}
	get(two, "GET", "/v1/videos/made-by-b-1", "")
	p.only(t, p.b)
	get(stranger, "GET", "/v1/videos/made-by-b-1", "")
	p.only(t, p.a)
}
