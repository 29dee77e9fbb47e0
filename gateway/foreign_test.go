package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
)

// A foreignServer answers by the path of a request, and notes what it got.
type foreignServer struct {
	*httptest.Server
	routes map[string]string // by path: the body
	got    []string
	header []http.Header
}

func newForeignServer(t *testing.T, routes map[string]string) *foreignServer {
	s := &foreignServer{routes: routes}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.got, s.header = append(s.got, r.Method+" "+r.URL.RequestURI()+" "+string(body)), append(s.header, r.Header)
		reply, ok := s.routes[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, reply)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *foreignServer) url(t *testing.T) *url.URL {
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func foreignGateway(t *testing.T, c gateway.Config) *gateway.Handler {
	t.Helper()
	g, err := gateway.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

// request sends a request to a gateway, with headers by pairs.
func request(g http.Handler, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "localhost"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w
}

// foreignLists are lists of two models, as servers of each API have them.
var foreignLists = map[string]struct{ path, list string }{
	"chat":     {"/v1/models", `{"object":"list","data":[{"id":"org/a","object":"model","created":1700000000,"owned_by":"me","max_model_len":4096},{"id":"b","object":"model"}]}`},
	"messages": {"/v1/models", `{"data":[{"type":"model","id":"org/a","display_name":"A","created_at":"2023-11-14T22:13:20Z"},{"type":"model","id":"b"}],"has_more":false}`},
	"gemini":   {"/v1beta/models", `{"models":[{"name":"models/org/a","inputTokenLimit":4096},{"name":"models/b"}]}`},
	"ollama":   {"/api/tags", `{"models":[{"name":"org/a","model":"org/a","modified_at":"2023-11-14T22:13:20Z"},{"name":"b"}]}`},
	"cohere":   {"/v1/models", `{"models":[{"name":"org/a","context_length":4096},{"name":"b"}]}`},
}

// foreignAsks are how clients of each API ask for a list, and for one model.
var foreignAsks = map[string]struct {
	header      []string
	list, names string // a path in the list
	one, name   string
}{
	"chat":     {nil, "/v1/models", "data.#.id", "/v1/models/org/a", "id"},
	"messages": {[]string{"Anthropic-Version", "2023-06-01"}, "/v1/models", "data.#.id", "/v1/models/org/a", "id"},
	"gemini":   {nil, "/v1beta/models", "models.#.name", "", ""},
	"ollama":   {nil, "/api/tags", "models.#.model", "", ""},
	"cohere":   {[]string{"X-Fern-Sdk-Name", "cohere"}, "/v1/models", "models.#.name", "/v1/models/org/a", "name"},
}

// TestForeignModels: clients of each API see the models of an upstream of each other, and so they do if
// there are two upstreams.
func TestForeignModels(t *testing.T) {
	for api, has := range foreignLists {
		for as, ask := range foreignAsks {
			if as == api {
				continue
			}
			t.Run(as+" to "+api, func(t *testing.T) {
				s := newForeignServer(t, map[string]string{has.path: has.list})
				c := gateway.Config{Upstream: s.url(t), UpstreamAPI: api, UpstreamKey: "own"}
				g := foreignGateway(t, c)
				w := request(g, "GET", ask.list, "", append(ask.header, "Authorization", "Bearer secret", "X-Stainless-Lang", "js")...)
				names := strings.ReplaceAll(gjson.Get(w.Body.String(), ask.names).Raw, "models/", "")
				if w.Code != 200 || names != `["org/a","b"]` {
					t.Errorf("%d %s", w.Code, w.Body)
				}
				if all := fmt.Sprint(s.header, s.got); strings.Contains(all, "secret") || strings.Contains(all, "Stainless") || !strings.Contains(all, "own") {
					t.Errorf("the upstream got %s", all)
				}
				if ask.one != "" {
					w := request(g, "GET", ask.one, "", ask.header...)
					if got := gjson.Get(w.Body.String(), ask.name).Str; got != "org/a" {
						t.Errorf("one: %d %s", w.Code, w.Body)
					}
					if w := request(g, "GET", strings.Replace(ask.one, "org/a", "no", 1), "", ask.header...); w.Code != 404 || !gjson.Valid(w.Body.String()) {
						t.Errorf("none: %d %s", w.Code, w.Body)
					}
				}
				two := newForeignServer(t, map[string]string{"/v1/models": `{"object":"list","data":[{"id":"c"},{"id":"b"}]}`})
				c.Upstreams = map[string]gateway.Upstream{"two": {URL: two.url(t), API: "chat"}}
				c.Routes = []routing.Route{{Models: []string{"c"}, Upstream: "two"}}
				w = request(foreignGateway(t, c), "GET", ask.list, "", ask.header...)
				names = strings.ReplaceAll(gjson.Get(w.Body.String(), ask.names).Raw, "models/", "")
				if w.Code != 200 || names != `["org/a","b","c"]` {
					t.Errorf("two upstreams: %d %s", w.Code, w.Body)
				}
			})
		}
	}
}

// TestForeignCount: the tokens of a request are counted by the upstream, if it can, and otherwise
// estimated, which a header says.
func TestForeignCount(t *testing.T) {
	texts := strings.Repeat("word ", 80) // 100 tokens, as estimated
	asks := map[string]struct{ path, body, count string }{
		"messages":  {"/v1/messages/count_tokens", `{"model":"m","messages":[{"role":"user","content":"` + texts + `"}]}`, "input_tokens"},
		"gemini":    {"/v1beta/models/m:countTokens", `{"contents":[{"role":"user","parts":[{"text":"` + texts + `"}]}]}`, "totalTokens"},
		"gemini 2":  {"/v1beta/models/m:countTokens", `{"generateContentRequest":{"model":"models/m","contents":[{"role":"user","parts":[{"text":"` + texts + `"}]}]}}`, "totalTokens"},
		"responses": {"/v1/responses/input_tokens", `{"model":"m","input":"` + texts + `"}`, "input_tokens"},
		"bedrock":   {"/model/m/count-tokens", `{"input":{"converse":{"messages":[{"role":"user","content":[{"text":"` + texts + `"}]}]}}}`, "inputTokens"},
	}
	counts := map[string]struct {
		api    string
		routes map[string]string
	}{
		"vLLM":      {"chat", map[string]string{"/tokenize": `{"count":77,"max_model_len":9}`}},
		"llama.cpp": {"chat", map[string]string{"/tokenize": `{"tokens":[1,2,3]}`, "/apply-template": `{"prompt":"<|user|>"}`}},
		"none":      {"chat", nil},
		"ollama":    {"ollama", nil},
		"cohere":    {"cohere", nil},
		"messages":  {"messages", map[string]string{"/v1/messages/count_tokens": `{"input_tokens":77}`}},
		"gemini":    {"gemini", map[string]string{"/v1beta/models/m:countTokens": `{"totalTokens":77}`}},
		"responses": {"responses", map[string]string{"/v1/responses/input_tokens": `{"input_tokens":77}`}},
		"bedrock":   {"bedrock", map[string]string{"/model/m/count-tokens": `{"inputTokens":77}`}},
	}
	want := map[string]int64{"llama.cpp": 3, "none": 100, "ollama": 100, "cohere": 100}
	for name, server := range counts {
		for as, ask := range asks {
			if strings.HasPrefix(as, server.api) {
				continue
			}
			s := newForeignServer(t, server.routes)
			g := foreignGateway(t, gateway.Config{Upstream: s.url(t), UpstreamAPI: server.api})
			w := request(g, "POST", ask.path, ask.body, "Authorization", "Bearer secret")
			tokens, says := int64(77), "upstream"
			if n := want[name]; n > 0 {
				tokens = n
			}
			if tokens == 100 {
				says = "estimate"
			}
			if got := gjson.Get(w.Body.String(), ask.count); w.Code != 200 || got.Int() != tokens || w.Header().Get("Sotto-Token-Count") != says {
				t.Errorf("%s to %s: %d %s (%s), the upstream got %q", as, name, w.Code, w.Body, w.Header().Get("Sotto-Token-Count"), s.got)
			}
			for _, got := range s.got {
				if strings.Contains(got, "/tokenize") && name == "vLLM" && !strings.Contains(got, texts) {
					t.Errorf("%s to %s: the upstream got %s", as, name, got)
				}
			}
		}
	}
}

// TestForeignRoutes: a route that only the client's API has is refused in the form of that API, and one
// of the upstream's own passes.
func TestForeignRoutes(t *testing.T) {
	for _, tt := range []struct{ api, method, path, body, want string }{
		{"messages", "POST", "/v1/embeddings", `{"model":"m"}`, "speaks the API messages"},
		{"messages", "GET", "/v1/files", "", "speaks the API messages"},
		{"chat", "GET", "/v1/responses/resp_1", "", "nothing that this caller made"},
		{"chat", "GET", "/v1/responses", "", "speaks the API chat"},
		{"chat", "POST", "/v1/messages/batches", `{}`, "speaks the API chat"},
		{"chat", "POST", "/api/embed", `{"model":"m"}`, "speaks the API chat"},
		{"chat", "POST", "/v1beta/models/m:embedContent", `{}`, "speaks the API chat"},
		{"bedrock", "GET", "/v1/models", "", "speaks the API bedrock"},
		{"chat", "POST", "/v1/embeddings", `{"model":"m"}`, ""},
		{"chat", "GET", "/v1/files/f/content", "", ""},
		{"responses", "GET", "/v1/files/f/content", "", ""},
		{"messages", "POST", "/v1/messages/batches", `{}`, ""},
		{"ollama", "POST", "/api/embed", `{"model":"m"}`, ""},
		{"ollama", "POST", "/api/show", `{"model":"m"}`, ""},
		{"chat", "POST", "/tokenize", `{}`, ""},
		{"", "POST", "/api/embed", `{"model":"m"}`, ""},
	} {
		s := newForeignServer(t, map[string]string{strings.Split(tt.path, "?")[0]: `{"own":1}`})
		w := request(foreignGateway(t, gateway.Config{Upstream: s.url(t), UpstreamAPI: tt.api}), tt.method, tt.path, tt.body)
		if tt.want == "" && (w.Code != 200 || len(s.got) != 1) || tt.want != "" && (w.Code != 404 || !strings.Contains(w.Body.String(), tt.want) || !gjson.Valid(w.Body.String()) || len(s.got) != 0) {
			t.Errorf("%+v: %d %s, the upstream got %q", tt, w.Code, w.Body, s.got)
		}
	}
}

// TestForeignOllama: what Ollama's clients ask before they use a model.
func TestForeignOllama(t *testing.T) {
	s := newForeignServer(t, map[string]string{"/v1/models": foreignLists["chat"].list})
	g := foreignGateway(t, gateway.Config{Upstream: s.url(t), UpstreamAPI: "chat"})
	for _, tt := range []struct{ method, path, body, want string }{
		{"GET", "/", "", "Ollama is running"},
		{"GET", "/api/version", "", `"version":"0.`},
		{"GET", "/api/ps", "", `{"models":[]}`},
		{"POST", "/api/show", `{"model":"org/a"}`, `"unknown.context_length":4096`},
		{"POST", "/api/show", `{"name":"b:latest"}`, `"capabilities":["completion","tools"`},
	} {
		if w := request(g, tt.method, tt.path, tt.body); w.Code != 200 || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s %s: %d %s", tt.path, tt.body, w.Code, w.Body)
		}
	}
	if w := request(g, "POST", "/api/show", `{"model":"zz"}`); w.Code != 404 || gjson.Get(w.Body.String(), "error").Str == "" {
		t.Errorf("unknown model: %d %s", w.Code, w.Body)
	}
}

// TestForeignShow: /api/show has the abilities and the context that the list of each kind of server says, and claims
// what no list says.
func TestForeignShow(t *testing.T) {
	const path = "/v1/models"
	for _, tt := range []struct{ server, api, path, list, want string }{
		{"Anthropic, all", "messages", path, `{"data":[{"id":"m","max_input_tokens":200000,"capabilities":{"image_input":{"supported":true},"thinking":{"supported":true}}}]}`, "completion tools vision thinking 200000"},
		{"Anthropic, less", "messages", path, `{"data":[{"id":"m","capabilities":{"image_input":{"supported":false},"thinking":{"supported":false}}}]}`, "completion tools 0"},
		{"Gemini", "gemini", "/v1beta/models", `{"models":[{"name":"models/m","inputTokenLimit":32},{"name":"models/n","thinking":true}]}`, "completion tools vision 32"},
		{"Gemini's form, nothing said", "gemini", "/v1beta/models", `{"models":[{"name":"models/m"},{"name":"models/n"}]}`, "completion tools vision thinking 0"},
		{"Cohere", "cohere", path, `{"models":[{"name":"m","context_length":128,"features":["json_mode","tools"],"supports_vision":false}]}`, "completion tools thinking 128"},
		{"Cohere, translation", "cohere", path, `{"models":[{"name":"m","features":["json_mode","vision"]}]}`, "completion vision thinking 0"},
		{"Cohere, nothing said", "cohere", path, `{"models":[{"name":"m","features":null}]}`, "completion tools vision thinking 0"},
		{"OpenAI", "chat", path, `{"data":[{"id":"m","object":"model","owned_by":"o"}]}`, "completion tools vision thinking 0"},
		{"vLLM", "chat", path, `{"data":[{"id":"m","max_model_len":4096}]}`, "completion tools vision thinking 4096"},
		{"OpenRouter", "chat", path, `{"data":[{"id":"m","context_length":8,"architecture":{"input_modalities":["text"]},"supported_parameters":["temperature","tools"]}]}`, "completion tools 8"},
		{"OpenRouter, all", "chat", path, `{"data":[{"id":"m","architecture":{"input_modalities":["text","image"]},"supported_parameters":["reasoning","tools"]}]}`, "completion tools vision thinking 0"},
		{"Mistral", "chat", path, `{"data":[{"id":"m","max_context_length":16,"capabilities":{"completion_chat":true,"function_calling":false,"vision":false}}]}`, "completion thinking 16"},
		{"llama.cpp", "chat", path, `{"models":[{"model":"m","capabilities":["completion"]}],"data":[{"id":"m","meta":{"n_ctx_train":32}}]}`, "completion tools thinking 32"},
		{"llama.cpp, sees", "chat", path, `{"models":[{"model":"m","capabilities":["completion","multimodal"]}],"data":[{"id":"m"}]}`, "completion tools vision thinking 0"},
		{"no list", "bedrock", path, "", "completion tools vision thinking 0"},
	} {
		s := newForeignServer(t, map[string]string{tt.path: tt.list})
		w := request(foreignGateway(t, gateway.Config{Upstream: s.url(t), UpstreamAPI: tt.api}), "POST", "/api/show", `{"model":"m"}`)
		var words []string
		for _, c := range gjson.Get(w.Body.String(), "capabilities").Array() {
			words = append(words, c.Str)
		}
		got := fmt.Sprint(strings.Join(words, " "), " ", gjson.Get(w.Body.String(), `model_info.unknown\.context_length`).Int())
		if w.Code != 200 || got != tt.want {
			t.Errorf("%s: %d %q, want %q", tt.server, w.Code, got, tt.want)
		}
	}
}

// TestForeignCountHistory: what is counted is what the upstream would get: without the reasoning of earlier turns that the
// history policy removes, and with what it keeps. A request that would be refused is not counted.
func TestForeignCountHistory(t *testing.T) {
	const path = "/v1/messages/count_tokens"
	talk := func(model, earlier, now string) string {
		return `{"model":"` + model + `","tools":[{"name":"weather","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[` + earlier + `{"type":"text","text":"b"}]},` +
			`{"role":"user","content":"c"},{"role":"assistant","content":[` + now + `{"type":"tool_use","id":"t1","name":"weather","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"sun"}]}]}`
	}
	const thought = `{"type":"thinking","thinking":"A canary.","signature":""},`
	for _, tt := range []struct {
		model  string
		policy history.Policy
		body   string
		counts bool
	}{
		{"qwen3-8b", history.Auto, talk("qwen3-8b", thought, ""), false},
		{"qwen3-8b", history.Preserve, talk("qwen3-8b", thought, ""), true},
		{"glm-4.7", history.Auto, talk("glm-4.7", thought, ""), true},
		{"glm-4.7", history.Strip, talk("glm-4.7", thought, ""), false},
		{"qwen3-8b", history.StripAll, talk("qwen3-8b", "", thought), false},
	} {
		c := gateway.Config{UpstreamAPI: "chat"}
		c.Default.History = tt.policy
		s := newForeignServer(t, map[string]string{"/tokenize": `{"count":7}`})
		c.Upstream = s.url(t)
		w := request(foreignGateway(t, c), "POST", path, tt.body)
		if all := fmt.Sprint(s.got); w.Code != 200 || strings.Contains(all, "A canary.") != tt.counts || !strings.Contains(all, "sun") {
			t.Errorf("%s, %s: %d %s, the upstream got %s", tt.model, tt.policy, w.Code, w.Body, all)
		}
	}

	s := newForeignServer(t, map[string]string{"/tokenize": `{"count":7}`})
	g := foreignGateway(t, gateway.Config{Upstream: s.url(t), UpstreamAPI: "chat"})
	foreign := strings.Replace(thought, `"signature":""`, `"signature":"c2lnbmVkIGJ5IGFub3RoZXI="`, 1)
	w := request(g, "POST", path, talk("deepseek-v3.2", "", foreign))
	if w.Code != 400 || !strings.Contains(w.Body.String(), "messages[3].content[0]") || len(s.got) > 0 {
		t.Errorf("a thought of another upstream: %d %s, the upstream got %q", w.Code, w.Body, s.got)
	}
}
