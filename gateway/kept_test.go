package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/check/scripted"
)

// A heardUpstream is the scripted upstream, with a clock that stands, and what it was asked.
type heardUpstream struct {
	http.Handler
	asked []string
}

func newHeardUpstream() *heardUpstream {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return &heardUpstream{Handler: scripted.New(scripted.Options{Now: func() time.Time { return now }})}
}

func (u *heardUpstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	u.asked = append(u.asked, r.URL.Path+" "+string(body))
	r.Body = io.NopCloser(bytes.NewReader(body))
	u.Handler.ServeHTTP(w, r)
}

// A responsesClient is a client of the Responses API.
type responsesClient struct {
	t      *testing.T
	base   string
	key    string
	stream bool
}

func (c responsesClient) do(method, path, body string) (int, []byte) {
	c.t.Helper()
	r, err := http.NewRequest(method, c.base+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if c.key != "" {
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, data
}

// reply asks for a reply, and returns the response as the client has it at the end.
func (c responsesClient) reply(members map[string]any) gjson.Result {
	c.t.Helper()
	members["stream"] = c.stream
	body, _ := json.Marshal(members)
	status, data := c.do("POST", "/v1/responses", string(body))
	if status != http.StatusOK {
		c.t.Fatalf("%d %s", status, data)
	}
	if !c.stream {
		return gjson.ParseBytes(data)
	}
	var last gjson.Result
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			if r := gjson.Get(text, "response"); r.Exists() {
				last = r
			}
		}
	}
	return last
}

// whole is the input that a client has which keeps the conversation itself.
func whole(earlier []any, reply gjson.Result, news any) []any {
	for _, item := range reply.Get("output").Array() {
		if item.Get("type").Str == "reasoning" && item.Get("encrypted_content").Str == "" && len(item.Get("content").Array()) == 0 && !strings.HasPrefix(item.Get("id").Str, "rs_sotto") {
			continue // a reference, to what nobody has
		}
		earlier = append(earlier, json.RawMessage(item.Raw))
	}
	return append(earlier, news)
}

func user(text string) any {
	return json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, text))
}

// keptUpstreams are the APIs of upstreams for which the gateway keeps conversations.
var keptUpstreams = []string{"responses", "chat", "messages", "gemini", "ollama", "bedrock", "cohere"}

// keptModels are models of the scripted upstream, by the API that they are asked in.
var keptModels = map[string][]string{
	"responses": {"deepseek-r1", "gpt-5-loop"}, "chat": {"deepseek-r1", "kimi-k2-loop"}, "messages": {"claude-loop"}, "gemini": {"gemini-3-loop"},
	"ollama": {"deepseek-r1", "qwen3-loop"}, "bedrock": {"claude-loop"}, "cohere": {"deepseek-r1"},
}

// TestKeptLaw: a turn that names the reply that it continues reaches the upstream byte for byte as the turn
// of a client that sends the whole conversation.
func TestKeptLaw(t *testing.T) {
	for _, api := range keptUpstreams {
		for _, display := range routing.Displays() {
			for _, stream := range []bool{false, true} {
				for _, model := range keptModels[api] {
					t.Run(fmt.Sprint(api, "/", display, "/", stream, "/", model), func(t *testing.T) {
						keptLaw(t, api, display, stream, model)
					})
				}
			}
		}
	}
}

func keptLaw(t *testing.T, api string, display routing.Display, stream bool, model string) {
	keeping, sending := newHeardUpstream(), newHeardUpstream()
	config := gateway.Config{UpstreamAPI: api, Default: routing.Route{Display: display, Conversations: routing.ConversationsGateway}}
	short := responsesClient{t: t, base: start(t, keeping, config), stream: stream}
	long := responsesClient{t: t, base: start(t, sending, config), stream: stream}
	tool := map[string]any{"type": "function", "name": "get_weather", "parameters": map[string]any{"type": "object"}}
	ask := func(input any, more map[string]any) map[string]any {
		m := map[string]any{"model": model, "input": input, "tools": []any{tool}, "include": []any{"reasoning.encrypted_content"}}
		for k, v := range more {
			m[k] = v
		}
		return m
	}
	all := []any{user("What is the weather?")}
	a := short.reply(ask("What is the weather?", nil))
	b := long.reply(ask("What is the weather?", nil))
	for turn := range 3 {
		if id := a.Get("id").Str; !strings.HasPrefix(id, "resp_") || len(id) < 48 || !a.Get("store").Bool() {
			t.Fatalf("turn %d: the reply is %s", turn, a.Raw)
		}
		news := user("And tomorrow?")
		if call := a.Get(`output.#(type=="function_call")`); call.Exists() {
			news = map[string]any{"type": "function_call_output", "call_id": call.Get("call_id").Str, "output": "4 °C"}
		}
		all = whole(all, b, news)
		a = short.reply(ask([]any{news}, map[string]any{"previous_response_id": a.Get("id").Str}))
		b = long.reply(ask(all, nil))
	}
	if len(keeping.asked) != 4 || !slices.Equal(keeping.asked, sending.asked) {
		for i := range keeping.asked {
			if i >= len(sending.asked) || keeping.asked[i] != sending.asked[i] {
				t.Fatalf("request %d:\n%s\nwant\n%s", i, keeping.asked[i], sending.asked[i])
			}
		}
	}
}

// A keptPlace is a gateway in front of the scripted upstream, which speaks chat completions.
type keptPlace struct {
	t        *testing.T
	upstream *heardUpstream
	at       *httptest.Server // of the upstream
	config   gateway.Config
	gateway  *gateway.Handler
	front    *httptest.Server
}

func newKeptPlace(t *testing.T, c gateway.Config) *keptPlace {
	p := &keptPlace{t: t, upstream: newHeardUpstream(), config: c}
	p.at = httptest.NewServer(p.upstream)
	t.Cleanup(p.at.Close)
	if p.config.UpstreamAPI == "" {
		p.config.UpstreamAPI = "chat"
	}
	p.start()
	t.Cleanup(p.stop)
	return p
}

func (p *keptPlace) start() {
	p.config.Upstream, _ = url.Parse(p.at.URL)
	g, err := gateway.New(p.config)
	if err != nil {
		p.t.Fatal(err)
	}
	p.gateway, p.front = g, httptest.NewServer(g)
}

func (p *keptPlace) stop() {
	p.front.Close()
	if err := p.gateway.Close(); err != nil {
		p.t.Error(err)
	}
}

func (p *keptPlace) restart() { p.stop(); p.start() }

func (p *keptPlace) client(key string) responsesClient {
	return responsesClient{t: p.t, base: p.front.URL, key: key}
}

// turn asks for one reply to a text.
func (c responsesClient) turn(text, previous string, more ...any) gjson.Result {
	m := map[string]any{"model": "deepseek-r1", "input": text}
	if previous != "" {
		m["previous_response_id"] = previous
	}
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i].(string)] = more[i+1]
	}
	return c.reply(m)
}

// forgotten reports whether a request that continues a reply is refused by the API's own error.
func (c responsesClient) forgotten(id string) bool {
	status, body := c.do("POST", "/v1/responses", fmt.Sprintf(`{"model":"deepseek-r1","input":"Hi","previous_response_id":%q}`, id))
	e := gjson.GetBytes(body, "error")
	return status == http.StatusBadRequest && e.Get("code").Str == "previous_response_not_found" && e.Get("param").Str == "previous_response_id" && strings.Contains(e.Get("message").Str, "send the whole input")
}

// TestKeptReplies: a kept reply is shown, with its input, until it is deleted.
func TestKeptReplies(t *testing.T) {
	for _, stream := range []bool{false, true} {
		p := newKeptPlace(t, gateway.Config{})
		c := p.client("")
		c.stream = stream
		first := c.turn("One", "")
		second := c.turn("Two", first.Get("id").Str)
		if got := second.Get("previous_response_id").Str; got != first.Get("id").Str || second.Get("id").Str == got {
			t.Errorf("stream %v: it continues %q", stream, got)
		}
		id := second.Get("id").Str
		status, body := c.do("GET", "/v1/responses/"+id, "")
		if status != 200 || gjson.ParseBytes(body).Raw != second.Raw {
			t.Errorf("stream %v: %d %s\nwant %s", stream, status, body, second.Raw)
		}
		if status, body = c.do("GET", "/v1/responses/"+id+"?stream=true", ""); status != 200 || !bytes.HasPrefix(body, []byte("event: response.completed\ndata: ")) {
			t.Errorf("stream %v: %d %s", stream, status, body)
		}
		_, body = c.do("GET", "/v1/responses/"+id+"/input_items?order=asc", "")
		list := gjson.ParseBytes(body)
		texts := list.Get(`data.#.content.0.text`).Array()
		if len(texts) < 3 || texts[0].Str != "One" || texts[len(texts)-1].Str != "Two" || list.Get("has_more").Bool() || list.Get("first_id").Str != list.Get("data.0.id").Str {
			t.Errorf("stream %v: the input is %s", stream, body)
		}
		_, body = c.do("GET", "/v1/responses/"+id+"/input_items?limit=1", "")
		if page := gjson.ParseBytes(body); page.Get("data.0.content.0.text").Str != "Two" || !page.Get("has_more").Bool() {
			t.Errorf("stream %v: the page is %s", stream, body)
		} else if _, next := c.do("GET", "/v1/responses/"+id+"/input_items?limit=1&after="+page.Get("last_id").Str, ""); gjson.GetBytes(next, "data.0.role").Str != "assistant" {
			t.Errorf("stream %v: the next page is %s", stream, next)
		}
		for _, query := range []string{"limit=0", "limit=101", "limit=x", "order=up", "after=nobody"} {
			if status, body := c.do("GET", "/v1/responses/"+id+"/input_items?"+query, ""); status != 400 {
				t.Errorf("%s: %d %s", query, status, body)
			}
		}
		if status, body := c.do("DELETE", "/v1/responses/"+first.Get("id").Str, ""); status != 200 || !gjson.GetBytes(body, "deleted").Bool() {
			t.Errorf("stream %v: %d %s", stream, status, body)
		}
		if status, _ := c.do("GET", "/v1/responses/"+first.Get("id").Str, ""); status != 404 || !c.forgotten(first.Get("id").Str) {
			t.Errorf("stream %v: a deleted reply is there: %d", stream, status)
		}
		c.turn("Three", id) // which still needs the first
		if last := p.upstream.asked[len(p.upstream.asked)-1]; !strings.Contains(last, "One") || !strings.Contains(last, "Two") {
			t.Errorf("stream %v: the upstream was asked %s", stream, last)
		}
	}
}

// TestKeptForks: each of two turns that continue one reply has the conversation up to it.
func TestKeptForks(t *testing.T) {
	p := newKeptPlace(t, gateway.Config{})
	c := p.client("")
	first := c.turn("One", "").Get("id").Str
	left, right := c.turn("Left", first), c.turn("Right", first)
	if left.Get("id").Str == right.Get("id").Str {
		t.Fatal("two replies have one id")
	}
	for text, id := range map[string]string{"Left": left.Get("id").Str, "Right": right.Get("id").Str} {
		c.turn("Last", id)
		last := p.upstream.asked[len(p.upstream.asked)-1]
		if !strings.Contains(last, text) || strings.Contains(last, "Left") == strings.Contains(last, "Right") {
			t.Errorf("after %s: %s", text, last)
		}
	}
}

// TestKeptNot: what the client does not want to be stored, and what nobody knows, is not continued silently.
func TestKeptNot(t *testing.T) {
	p := newKeptPlace(t, gateway.Config{Routes: []routing.Route{{Models: []string{"plain"}, Conversations: routing.ConversationsUpstream}}})
	c := p.client("")
	kept := c.turn("One", "").Get("id").Str
	free := c.turn("Two", kept, "store", false)
	if free.Get("store").Bool() || !strings.Contains(p.upstream.asked[1], "One") {
		t.Errorf("%s, after %s", free.Raw, p.upstream.asked[1])
	}
	for _, id := range []string{free.Get("id").Str, "resp_123", strings.Replace(kept, "_1", "_2", 1), strings.Repeat("x", 5000)} {
		if !c.forgotten(id) {
			t.Errorf("%.80q is continued", id)
		}
	}
	for _, body := range []string{`{"model":"deepseek-r1","input":"x","previous_response_id":5}`, `{"model":"deepseek-r1","input":"x","previous_response_id":"a","previous_response_id":"b"}`, `{"model":"deepseek-r1","input":5,"previous_response_id":"a"}`} {
		if status, answer := c.do("POST", "/v1/responses", body); status != 400 {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
	if status, body := c.do("POST", "/v1/responses", `{"model":"plain","input":"x","previous_response_id":"a"}`); status != 400 || !strings.Contains(string(body), "previous_response_id") || strings.Contains(string(body), "not_found") {
		t.Errorf("of a route that keeps nothing: %d %s", status, body)
	}
}

// TestKeptCallers: a caller cannot see, continue or delete what another has; an operator can see and delete it.
func TestKeptCallers(t *testing.T) {
	all := []gateway.Scope{gateway.ScopeModels}
	p := newKeptPlace(t, gateway.Config{Public: true, Default: routing.Route{Display: routing.DisplayHide}, Tokens: []gateway.Token{
		{Name: "alice", Secret: "alice-secret-123", Scopes: all}, {Name: "bob", Secret: "bob-secret-12345", Scopes: all}, {Name: "boss", Secret: "boss-secret-1234"},
	}})
	alice, bob, boss := p.client("alice-secret-123"), p.client("bob-secret-12345"), p.client("boss-secret-1234")
	id := alice.turn("One", "").Get("id").Str
	alice.turn("Two", id)
	for _, ask := range [][2]string{{"GET", ""}, {"GET", "/input_items"}, {"DELETE", ""}} {
		if status, body := bob.do(ask[0], "/v1/responses/"+id+ask[1], ""); status != 404 || strings.Contains(string(body), "One") {
			t.Errorf("bob: %s %s: %d %s", ask[0], ask[1], status, body)
		}
	}
	if !bob.forgotten(id) || alice.forgotten(id) {
		t.Error("the wrong caller continues it")
	}
	for _, c := range []responsesClient{alice, boss} {
		if status, body := c.do("GET", "/v1/responses/"+id+"/input_items", ""); status != 200 || gjson.GetBytes(body, "data.0.content.0.text").Str != "One" {
			t.Errorf("%d %s", status, body)
		}
	}
	if status, body := boss.do("DELETE", "/v1/responses/"+id, ""); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := alice.do("GET", "/v1/responses/"+id, ""); status != 404 {
		t.Error("it is there still")
	}
}

// TestKeptKeys: without tokens of the gateway, the key of each client keeps it apart.
func TestKeptKeys(t *testing.T) {
	p := newKeptPlace(t, gateway.Config{})
	id := p.client("sk-a").turn("One", "").Get("id").Str
	if p.client("sk-a").forgotten(id) || !p.client("sk-b").forgotten(id) {
		t.Error("the wrong client continues it")
	}
}

// TestKeptRestart: with a data folder, conversations are there after a restart; when the folder forgot
// them, clients hear so.
func TestKeptRestart(t *testing.T) {
	dir := t.TempDir()
	p := newKeptPlace(t, gateway.Config{Data: dir})
	first := p.client("").turn("One", "").Get("id").Str
	p.restart()
	second := p.client("").turn("Two", first).Get("id").Str
	if last := p.upstream.asked[1]; !strings.Contains(last, "One") {
		t.Error(last)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "responses", "*", "*.jsonl"))
	if len(files) != 1 {
		t.Fatal(files)
	}
	for _, name := range files {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", info.Mode(), err)
		}
		f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.WriteString(`{"turn":3,"entries":["{\"id`) // a crash in the middle of a line
		_ = f.Close()
	}
	third := p.client("").turn("Three", second).Get("id").Str
	if err := os.RemoveAll(filepath.Join(dir, "responses")); err != nil {
		t.Fatal(err)
	}
	if !p.client("").forgotten(third) {
		t.Error("what the folder forgot is continued")
	}
	odd := p.client("").turn("One", "").Get("id").Str
	files, _ = filepath.Glob(filepath.Join(dir, "responses", "*", "*.jsonl"))
	data, _ := os.ReadFile(files[0])
	if err := os.WriteFile(files[0], bytes.Replace(data, []byte(`\"input\":`), []byte(`\"input\"!`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, body := p.client("").do("POST", "/v1/responses", fmt.Sprintf(`{"model":"deepseek-r1","input":"Hi","previous_response_id":%q}`, odd)); status != 500 || strings.Contains(string(body), "One") {
		t.Errorf("of a damaged file: %d %s", status, body)
	}
}

// TestKeptBounds: a conversation at its bound is refused as one that is forgotten, so that its client sends
// all of it; and the oldest makes room for others.
func TestKeptBounds(t *testing.T) {
	for _, data := range []string{"", t.TempDir()} {
		p := newKeptPlace(t, gateway.Config{Data: data, Limits: gateway.Limits{Conversations: 4, Conversation: 6 << 10}})
		c := p.client("")
		id, n := c.turn("One", "").Get("id").Str, 0
		for ; n < 20; n++ {
			reply := c.turn(strings.Repeat("x", 500), id)
			if id = reply.Get("id").Str; !reply.Get("store").Bool() {
				break
			}
			if c.forgotten(id) {
				break
			}
		}
		if n < 2 || n == 20 || !c.forgotten(id) {
			t.Errorf("after %d turns", n)
		}
		var ids []string
		for i := range 8 {
			ids = append(ids, c.turn(fmt.Sprint("Number ", i), "").Get("id").Str)
		}
		if !c.forgotten(ids[0]) || c.forgotten(ids[7]) {
			t.Errorf("with data %q, the wrong ones are kept", data)
		}
	}
}

// TestKeptConversations: a conversation that a client has made has the items that it added, and those of the
// turns that name it.
func TestKeptConversations(t *testing.T) {
	for _, data := range []string{"", t.TempDir()} {
		p := newKeptPlace(t, gateway.Config{Data: data})
		c := p.client("sk-a")
		status, body := c.do("POST", "/v1/conversations", `{"metadata":{"topic":"a"},"items":[{"role":"user","content":"Zero"}]}`)
		made := gjson.ParseBytes(body)
		id := made.Get("id").Str
		if status != 200 || !strings.HasPrefix(id, "conv_") || made.Get("object").Str != "conversation" || made.Get("metadata.topic").Str != "a" || made.Get("created_at").Int() == 0 {
			t.Fatalf("%d %s", status, body)
		}
		one := c.turn("One", "", "conversation", id)
		two := c.turn("Two", "", "conversation", map[string]any{"id": id})
		if two.Get("conversation.id").Str != id || two.Get("previous_response_id").Str != "" {
			t.Error(two.Raw)
		}
		if last := p.upstream.asked[1]; !(strings.Index(last, "Zero") < strings.Index(last, "One") && strings.Index(last, "One") < strings.Index(last, "Two")) {
			t.Errorf("the upstream was asked %s", last)
		}
		_, body = c.do("GET", "/v1/conversations/"+id+"/items?order=asc&limit=100", "")
		list := gjson.GetBytes(body, "data").Array()
		if len(list) < 5 || list[0].Get("content.0.text").Str != "Zero" {
			t.Fatalf("%s", body)
		}
		if _, got := c.do("GET", "/v1/conversations/"+id+"/items/"+list[0].Get("id").Str, ""); string(got) != list[0].Raw {
			t.Errorf("%s, want %s", got, list[0].Raw)
		}
		if status, got := c.do("DELETE", "/v1/conversations/"+id+"/items/"+list[0].Get("id").Str, ""); status != 200 || gjson.GetBytes(got, "id").Str != id {
			t.Errorf("%d %s", status, got)
		}
		if status, got := c.do("POST", "/v1/conversations/"+id+"/items", `{"items":[{"role":"user","content":"Later"}]}`); status != 200 || gjson.GetBytes(got, "data.#").Int() != 1 || gjson.GetBytes(got, "data.0.content.0.text").Str != "Later" {
			t.Errorf("%d %s", status, got)
		}
		if status, got := c.do("POST", "/v1/conversations/"+id, `{"metadata":{"topic":"b"}}`); status != 200 || gjson.GetBytes(got, "metadata.topic").Str != "b" {
			t.Errorf("%d %s", status, got)
		}
		c.turn("Three", "", "conversation", id)
		if last := p.upstream.asked[2]; strings.Contains(last, "Zero") || !strings.Contains(last, "Later") || !strings.Contains(last, "Two") {
			t.Errorf("the upstream was asked %s", last)
		}
		c.turn("Aside", one.Get("id").Str) // which ends before the second turn
		if last := p.upstream.asked[3]; !strings.Contains(last, "Zero") || strings.Contains(last, "Two") {
			t.Errorf("the upstream was asked %s", last)
		}
		other := p.client("sk-b")
		for _, path := range []string{"", "/items"} {
			if status, got := other.do("GET", "/v1/conversations/"+id+path, ""); status != 404 {
				t.Errorf("another caller: %d %s", status, got)
			}
		}
		if status, got := other.do("POST", "/v1/responses", `{"model":"deepseek-r1","input":"x","conversation":"`+id+`"}`); status != 404 || gjson.GetBytes(got, "error.code").Str != "conversation_not_found" {
			t.Errorf("another caller: %d %s", status, got)
		}
		if status, got := c.do("DELETE", "/v1/conversations/"+id, ""); status != 200 || !gjson.GetBytes(got, "deleted").Bool() {
			t.Errorf("%d %s", status, got)
		}
		if status, _ := c.do("GET", "/v1/responses/"+one.Get("id").Str, ""); status != 404 {
			t.Error("a reply of a removed conversation is there")
		}
		for _, path := range []string{"/v1/conversations", "/v1/conversations/" + gjson.GetBytes(second(c.do("POST", "/v1/conversations", `{}`)), "id").Str} {
			if status, got := c.do("POST", path, `{"model":"m","inputs":"Hi"}`); status != 404 || strings.Contains(string(got), "conv_") && path == "/v1/conversations" {
				t.Errorf("%s asks an upstream that has no such path for a reply: %d %s", path, status, got)
			}
		}
		for _, body := range []string{`{"items":[5]}`, `{"items":"x"}`, `{"metadata":5}`, `[]`, `{`} {
			if status, got := c.do("POST", "/v1/conversations", body); status != 400 {
				t.Errorf("%s: %d %s", body, status, got)
			}
		}
	}
}

// TestKeptSockets: a reply that is kept is continued over another connection, and one that is not is
// refused by the API's own error.
func TestKeptSockets(t *testing.T) {
	p := newKeptPlace(t, gateway.Config{})
	ask := func(c *talker, text, more string) gjson.Result {
		t.Helper()
		c.send(`{"type":"response.create","model":"deepseek-r1","input":"` + text + `"` + more + `}`)
		for {
			if e := c.hear(); e.Get("type").Str == "response.completed" || e.Get("type").Str == "error" {
				return e
			}
		}
	}
	again := func() *talker {
		t.Helper()
		c, _, err := connect(t, p.front.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := again()
	one := ask(c, "One", "").Get("response.id").Str
	two := ask(c, "Two", `,"previous_response_id":"`+one+`"`).Get("response.id").Str
	free := ask(c, "Free", `,"store":false,"previous_response_id":"`+two+`"`).Get("response")
	if last := p.upstream.asked[2]; free.Get("store").Bool() || !strings.Contains(last, "One") || !strings.Contains(last, "Two") {
		t.Errorf("%s, after %s", free.Raw, last)
	}
	ask(c, "Later", `,"previous_response_id":"`+free.Get("id").Str+`"`) // in the connection's memory
	if last := p.upstream.asked[3]; !strings.Contains(last, "One") || !strings.Contains(last, "Free") {
		t.Errorf("the upstream was asked %s", last)
	}
	c = again()
	ask(c, "Three", `,"previous_response_id":"`+two+`"`)
	if last := p.upstream.asked[4]; !strings.Contains(last, "One") || !strings.Contains(last, "Two") || strings.Contains(last, "Free") {
		t.Errorf("after a reconnect, the upstream was asked %s", last)
	}
	e := ask(c, "Lost", `,"previous_response_id":"`+free.Get("id").Str+`"`)
	if e.Get("error.code").Str != "previous_response_not_found" || e.Get("status").Int() != 400 || e.Get("error.param").Str != "previous_response_id" || len(p.upstream.asked) != 5 {
		t.Errorf("after a reconnect: %s", e.Raw)
	}
}

// A slowUpstream answers when the test lets it.
type slowUpstream struct {
	*heardUpstream
	free chan struct{}
	came chan struct{} // something is sent when a request is there
}

func (u *slowUpstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	u.came <- struct{}{}
	select {
	case <-u.free:
		u.heardUpstream.ServeHTTP(w, r)
	case <-r.Context().Done():
	}
}

func newSlowPlace(t *testing.T, c gateway.Config) (*keptPlace, *slowUpstream) {
	p := newKeptPlace(t, c)
	slow := &slowUpstream{p.upstream, make(chan struct{}), make(chan struct{}, 16)}
	p.at.Config.Handler = slow
	return p, slow
}

// until asks for a reply until it has a status.
func (c responsesClient) until(id, want string) gjson.Result {
	c.t.Helper()
	for range 500 {
		status, body := c.do("GET", "/v1/responses/"+id, "")
		if now := gjson.GetBytes(body, "status").Str; status == 200 && now == want {
			return gjson.ParseBytes(body)
		}
		time.Sleep(10 * time.Millisecond)
	}
	_, body := c.do("GET", "/v1/responses/"+id, "")
	c.t.Fatalf("%s, want %s", body, want)
	return gjson.Result{}
}

// TestKeptBackground: a reply that nobody waits for is there when it has ended, whoever has left meanwhile.
func TestKeptBackground(t *testing.T) {
	for _, data := range []string{"", t.TempDir()} {
		p, slow := newSlowPlace(t, gateway.Config{Data: data})
		c := p.client("")
		_, body := c.do("POST", "/v1/responses", `{"model":"deepseek-r1","input":"One","background":true}`)
		begun := gjson.ParseBytes(body)
		id := begun.Get("id").Str
		if begun.Get("status").Str != "in_progress" || !begun.Get("background").Bool() || !begun.Get("store").Bool() {
			t.Fatalf("%s", body)
		}
		if now := c.until(id, "in_progress"); now.Raw != begun.Raw {
			t.Errorf("%s, want %s", now.Raw, begun.Raw)
		}
		if status, body := c.do("POST", "/v1/responses", `{"model":"deepseek-r1","input":"Two","previous_response_id":"`+id+`"}`); status != 400 || !strings.Contains(string(body), "under way") {
			t.Errorf("%d %s", status, body)
		}
		close(slow.free)
		done := c.until(id, "completed")
		if !strings.Contains(done.Get("output").Raw, "Tower B") || done.Get("id").Str != id || !done.Get("background").Bool() {
			t.Error(done.Raw)
		}
		c.turn("Two", id)
		if last := p.upstream.asked[1]; strings.Count(last, "One") != 1 || !strings.Contains(last, "Tower B") || strings.Contains(p.upstream.asked[0], "background") {
			t.Errorf("%s, after %s", last, p.upstream.asked[0])
		}
		if _, got := c.do("POST", "/v1/responses/"+id+"/cancel", ""); string(got) != done.Raw {
			t.Errorf("cancelled when it had ended: %s", got)
		}
		stream := c
		stream.stream = true
		if got := stream.turn("Three", id, "background", true); got.Get("status").Str != "completed" || c.until(got.Get("id").Str, "completed").Get("output").Raw != got.Get("output").Raw {
			t.Error(got.Raw)
		}
		if status, body := c.do("POST", "/v1/responses", `{"model":"deepseek-r1","input":"x","background":true,"store":false}`); status != 400 {
			t.Errorf("%d %s", status, body)
		}
		_, body = c.do("POST", "/v1/responses", `{"model":"nobody","input":"x","background":true}`)
		if failed := c.until(gjson.GetBytes(body, "id").Str, "failed"); failed.Get("error.message").Str == "" {
			t.Error(failed.Raw)
		}
	}
}

// TestKeptBackgroundEnds: a reply in the background ends when it is cancelled, when the gateway stops, and when its
// process is gone.
func TestKeptBackgroundEnds(t *testing.T) {
	dir := t.TempDir()
	p, slow := newSlowPlace(t, gateway.Config{Data: dir})
	begin := func() string {
		_, body := p.client("").do("POST", "/v1/responses", `{"model":"deepseek-r1","input":"One","background":true}`)
		<-slow.came
		return gjson.GetBytes(body, "id").Str
	}
	id := begin()
	if status, body := p.client("").do("POST", "/v1/responses/"+id+"/cancel", ""); status != 200 || gjson.GetBytes(body, "status").Str != "cancelled" {
		t.Errorf("%d %s", status, body)
	}
	stopped := begin()
	p.restart()
	if got := p.client("").until(stopped, "failed"); got.Get("error.message").Str != "the gateway was shut down" {
		t.Error(got.Raw)
	}
	killed := begin()
	files, _ := filepath.Glob(filepath.Join(dir, "responses", "*", killed[5:37]+".jsonl"))
	if len(files) != 1 {
		t.Fatal(files)
	}
	data, _ := os.ReadFile(files[0])
	p.restart()
	if err := os.WriteFile(files[0], data, 0o600); err != nil { // as a process leaves it that was killed
		t.Fatal(err)
	}
	if got := p.client("").until(killed, "failed"); !strings.Contains(got.Get("error.message").Str, "stopped") {
		t.Error(got.Raw)
	}
	released(t, p.gateway)
}

// TestKeptNowhere: a reply that says that it continues none is not given to a client that continues one. An upstream
// that continues it, or says nothing of it, is believed.
func TestKeptNowhere(t *testing.T) {
	for previous, lost := range map[string]bool{`,"previous_response_id":null`: true, `,"previous_response_id":"resp_1"`: false, ``: false} {
		for _, stream := range []bool{false, true} {
			base := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				reply := `{"id":"resp_2","object":"response","status":"%s","model":"m","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Who are you?"}]}]` + previous + `}`
				if !stream {
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w, reply, "completed")
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, "data: {\"type\":\"response.created\",\"response\":"+reply+"}\n\ndata: {\"type\":\"response.completed\",\"response\":"+reply+"}\n\n", "in_progress", "completed")
			}), gateway.Config{Default: routing.Route{Display: routing.DisplayKeep}})
			c := responsesClient{t: t, base: base}
			status, body := c.do("POST", "/v1/responses", fmt.Sprintf(`{"model":"m","input":"Hi","stream":%v,"previous_response_id":"resp_1"}`, stream))
			if got := status == 400 && gjson.GetBytes(body, "error.code").Str == "previous_response_not_found"; got != lost || !lost && !bytes.Contains(body, []byte("Who are you?")) {
				t.Errorf("%s, stream %v: %d %s", previous, stream, status, body)
			}
			if status, body := c.do("POST", "/v1/responses", fmt.Sprintf(`{"model":"m","input":"Hi","stream":%v}`, stream)); status != 200 {
				t.Errorf("%s, stream %v: the first turn: %d %s", previous, stream, status, body)
			}
		}
	}
}

func second[T any](_ int, v T) T { return v }
