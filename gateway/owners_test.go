package gateway_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
)

// A library is an upstream that keeps what clients make there, for anyone who asks.
type library struct {
	mu    sync.Mutex
	n     int
	asked []string
}

var libraryIDs = map[string]string{
	"/v1/files": "file", "/v1/batches": "batch", "/v1/conversations": "conv", "/v1/messages/batches": "msgbatch", "/v1/uploads": "upload", "/v1/vector_stores": "vs",
	"/v1/skills": "skill", "/v1/assistants": "asst", "/v1/threads": "thread",
}

func (l *library) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	l.mu.Lock()
	l.n++
	n := l.n
	l.asked = append(l.asked, r.Method+" "+r.URL.Path)
	l.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	kind := libraryIDs[r.URL.Path]
	switch {
	case r.Method == "POST" && gjson.GetBytes(body, "inputs").Exists():
		answerInputs(w, r, n, gjson.GetBytes(body, "stream").Bool())
	case r.Method == "POST" && r.URL.Path == "/v1/responses":
		item := fmt.Sprintf(`{"id":"msg_%08d","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hi.","annotations":[]}]}`, n)
		whole := fmt.Sprintf(`{"id":"resp_%08d","object":"response","status":"completed","model":"m","store":true,"output":[%s]}`, n, item)
		if !gjson.GetBytes(body, "stream").Bool() {
			io.WriteString(w, whole)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i, e := range []string{
			fmt.Sprintf(`"response.created","response":{"id":"resp_%08d","model":"m","status":"in_progress","output":[]}`, n),
			`"response.output_item.added","output_index":0,"item":` + item,
			`"response.output_item.done","output_index":0,"item":` + item,
			`"response.completed","response":` + whole,
		} {
			fmt.Fprintf(w, "data: {\"sequence_number\":%d,\"type\":%s}\n\n", i, e)
		}
	case r.Method == "POST" && r.URL.Path == "/v1beta/cachedContents":
		fmt.Fprintf(w, `{"name":"cachedContents/cache%08d"}`, n)
	case r.Method == "POST" && r.URL.Path == "/upload/v1beta/files":
		fmt.Fprintf(w, `{"file":{"name":"files/gem%08d","uri":"https://generativelanguage.example/v1beta/files/gem%08d"}}`, n, n)
	case r.Method == "POST" && kind != "":
		fmt.Fprintf(w, `{"id":"%s_%08d","object":"thing"}`, kind, n)
	case r.Method == "GET" && strings.HasPrefix(r.URL.Path, "/v1/batches/"):
		fmt.Fprintf(w, `{"id":%q,"output_file_id":"file-out-of-%s","error_file_id":null}`, r.URL.Path[len("/v1/batches/"):], r.URL.Path[len("/v1/batches/"):])
	case r.Method == "GET" && kind != "":
		var list []string
		for i := 1; i <= n; i++ {
			list = append(list, fmt.Sprintf(`{"id":"%s_%08d"}`, kind, i))
		}
		fmt.Fprintf(w, `{"object":"list","data":[%s],"first_id":"%s_00000001","last_id":"x","has_more":false,"others":[{"id":"file_of_bob"}]}`, strings.Join(list, ","), kind)
	case strings.HasPrefix(r.URL.Path, "/v1/responses/"):
		fmt.Fprintf(w, `{"id":"resp_1","object":"response","status":"completed","model":"m","output":[]}`)
	default:
		io.WriteString(w, `{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"Hi."},"finish_reason":"stop"}]}`)
	}
}

// answerInputs replies as Mistral's server does, which keeps conversations: one that begins, one that is continued, or one that
// begins in the middle of another.
func answerInputs(w http.ResponseWriter, r *http.Request, n int, stream bool) {
	id, continues := strings.CutPrefix(r.URL.Path, "/v1/conversations/")
	if !continues || strings.HasSuffix(id, "/restart") {
		id = fmt.Sprintf("conv_%08d", n)
	}
	if !stream {
		fmt.Fprintf(w, `{"object":"conversation.response","conversation_id":%q,"outputs":[{"type":"message.output","id":"msg_1","content":"Hi."}],"usage":{}}`, id)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "event: conversation.response.started\ndata: {\"type\":\"conversation.response.started\",\"conversation_id\":%q}\n\n", id)
	io.WriteString(w, "event: message.output.delta\ndata: {\"type\":\"message.output.delta\",\"id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"content\":\"Hi.\"}\n\n")
}

func (l *library) calls() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.asked)
}

// people are two callers of models, and an operator.
var people = []gateway.Token{
	{Name: "alice", Secret: "secret-of-alice", Scopes: []gateway.Scope{gateway.ScopeModels}},
	{Name: "bob", Secret: "secret-of-bob", Scopes: []gateway.Scope{gateway.ScopeModels}},
	{Name: "carol", Secret: "secret-of-carol", Scopes: []gateway.Scope{gateway.ScopeModels, gateway.ScopeOperator}},
	{Name: "dave", Secret: "secret-of-dave"},
}

// A house is a gateway with tokens before a library.
type house struct {
	t    testing.TB
	g    http.Handler
	rest *library
}

// newHouse makes one. The caller may close the gateway itself.
func newHouse(t testing.TB, c gateway.Config, l *library) (*house, *gateway.Handler) {
	t.Helper()
	if c.Tokens == nil {
		c.Tokens = people
	}
	up := httptest.NewServer(l)
	t.Cleanup(up.Close)
	c.Upstream = urlOf(t, up.URL)
	g, err := gateway.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return &house{t, g, l}, g
}

func urlOf(t testing.TB, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// as sends a request for a caller.
func (h *house) as(caller, method, path, body string) (status int, reply gjson.Result) {
	h.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer secret-of-"+caller)
	w := httptest.NewRecorder()
	h.g.ServeHTTP(w, r)
	return w.Code, gjson.Parse(w.Body.String())
}

// make makes something, and returns its id.
func (h *house) make(caller, path, body string) string {
	h.t.Helper()
	status, reply := h.as(caller, "POST", path, body)
	for _, member := range []string{"id", "name", "file.name"} {
		if id := reply.Get(member).Str; status == 200 && id != "" {
			return id
		}
	}
	h.t.Fatalf("%s POST %s: %d %s", caller, path, status, reply.Raw)
	return ""
}

// refused checks that a caller gets a 404 that says nothing, and the upstream no request.
func (h *house) refused(caller, method, path, body string) {
	h.t.Helper()
	before := h.rest.calls()
	status, reply := h.as(caller, method, path, body)
	if status != 404 || h.rest.calls() != before || !reply.Get("error.message").Exists() && !reply.Get("error").Exists() {
		h.t.Errorf("%s %s %s %s: %d %s, the upstream reached %v", caller, method, path, body, status, reply.Raw, h.rest.calls() != before)
	}
	if strings.Contains(reply.Raw, "alice") {
		h.t.Errorf("it names the owner: %s", reply.Raw)
	}
}

func (h *house) passes(caller, method, path, body string) {
	h.t.Helper()
	before := h.rest.calls()
	if status, reply := h.as(caller, method, path, body); status != 200 || h.rest.calls() == before {
		h.t.Errorf("%s %s %s %s: %d %s", caller, method, path, body, status, reply.Raw)
	}
}

const aResponse = `{"model":"m","input":"hi"}`

// uses are the requests that use a thing of a kind, with its id as %s.
var uses = map[string][]struct{ method, path, body string }{
	"response": {
		{"GET", "/v1/responses/%s", ""}, {"GET", "/v1/responses/%s?stream=false", ""}, {"DELETE", "/v1/responses/%s", ""}, {"POST", "/v1/responses/%s/cancel", ""},
		{"GET", "/v1/responses/%s/input_items", ""}, {"GET", "/any/prefix/v1/responses/%s", ""}, {"HEAD", "/v1/responses/%s", ""},
		{"POST", "/v1/responses", `{"model":"m","input":"go on","previous_response_id":"%s"}`},
		{"POST", "/v1/responses", `{"model":"m","input":"go on","previous\u005fresponse_id":"%s"}`},
		{"POST", "/v1/responses/compact", `{"model":"m","previous_response_id":"%s"}`},
		{"POST", "/v1/responses/input_tokens", `{"model":"m","previous_response_id":"%s"}`},
	},
	"file": {
		{"GET", "/v1/files/%s", ""}, {"DELETE", "/v1/files/%s", ""}, {"GET", "/v1/files/%s/content", ""},
		{"POST", "/v1/batches", `{"input_file_id":"%s","endpoint":"/v1/chat/completions"}`}, {"POST", "/v1/fine_tuning/jobs", `{"model":"m","training_file":"%s"}`},
		{"POST", "/v1/vector_stores", `{"file_ids":["%s"]}`},
		{"POST", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"%s"}}]}]}`},
		{"POST", "/v1/responses", `{"model":"m","input":[{"role":"user","content":[{"type":"input_file","file_id":"%s"}]}]}`},
		{"POST", "/v1/responses", `{"model":"m","input":[{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","file_id":"%s"}]}]}`},
		{"POST", "/v1/responses", `{"model":"m","input":"x","tools":[{"type":"code_interpreter","container":{"type":"auto","file_ids":["%s"]}}]}`},
		{"POST", "/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"%s"}}]}]}`},
		{"POST", "/v1/messages/batches", `{"requests":[{"custom_id":"a","params":{"model":"m","messages":[{"role":"user","content":[{"type":"container_upload","file_id":"%s"}]}]}}]}`},
		{"GET", "/v1/files?after=%s", ""},
	},
	"batch":        {{"GET", "/v1/batches/%s", ""}, {"POST", "/v1/batches/%s/cancel", ""}},
	"msgbatch":     {{"GET", "/v1/messages/batches/%s", ""}, {"GET", "/v1/messages/batches/%s/results", ""}, {"DELETE", "/v1/messages/batches/%s", ""}},
	"conversation": {{"GET", "/v1/conversations/%s/items", ""}, {"POST", "/v1/responses", `{"model":"m","input":"x","conversation":"%s"}`}, {"POST", "/v1/responses", `{"model":"m","input":"x","conversation":{"id":"%s"}}`}},
	"upload":       {{"POST", "/v1/uploads/%s/complete", `{"part_ids":[]}`}},
	"vector store": {{"GET", "/v1/vector_stores/%s", ""}, {"POST", "/v1/responses", `{"model":"m","input":"x","tools":[{"type":"file_search","vector_store_ids":["%s"]}]}`}},
	"cache":        {{"GET", "/v1beta/%s", ""}, {"POST", "/v1beta/models/m:generateContent", `{"contents":[],"cachedContent":"%s"}`}},
	"Google file": {
		{"GET", "/v1beta/%s", ""},
		{"POST", "/v1beta/models/m:generateContent", `{"contents":[{"parts":[{"fileData":{"fileUri":"https://generativelanguage.example/v1beta/%s"}}]}]}`},
		{"POST", "/v1beta/models/m:batchGenerateContent", `{"batch":{"inputConfig":{"fileName":"%s"}}}`},
	},
	"thread": {{"POST", "/v1/threads/%s/messages", `{"role":"user","content":"x"}`}},
}

var makes = map[string]struct{ path, body string }{
	"response": {"/v1/responses", aResponse}, "file": {"/v1/files", `{}`}, "batch": {"/v1/batches", `{}`}, "msgbatch": {"/v1/messages/batches", `{"requests":[]}`},
	"conversation": {"/v1/conversations", `{}`}, "upload": {"/v1/uploads", `{}`}, "vector store": {"/v1/vector_stores", `{}`},
	"cache": {"/v1beta/cachedContents", `{}`}, "Google file": {"/upload/v1beta/files", `{}`}, "thread": {"/v1/threads", `{}`},
}

// TestOwnThings: what alice made, bob cannot see, delete, continue, cancel or use, and no
// request of his reaches the upstream. She can, and so can an operator.
func TestOwnThings(t *testing.T) {
	h, _ := newHouse(t, gateway.Config{}, &library{})
	for kind, how := range makes {
		id := h.make("alice", how.path, how.body)
		for _, use := range uses[kind] {
			path, body := use.path, use.body
			if strings.Contains(path, "%s") {
				path = fmt.Sprintf(path, id)
			} else {
				body = fmt.Sprintf(body, id)
			}
			if use.method != "HEAD" {
				h.refused("bob", use.method, path, body)
			}
			for _, caller := range []string{"alice", "carol", "dave"} {
				h.passes(caller, use.method, path, body)
			}
		}
	}
}

// TestOwnRepliedConversations: a conversation that begins with a reply, whole or streamed, belongs to the caller, and so does one that
// begins in the middle of it, whoever asks for that.
func TestOwnRepliedConversations(t *testing.T) {
	l := &library{}
	h, _ := newHouse(t, gateway.Config{}, l)
	for _, stream := range []bool{false, true} {
		body := fmt.Sprintf(`{"model":"m","inputs":"hi","stream":%v}`, stream)
		begin := func(caller, path string) string {
			if status, reply := h.as(caller, "POST", path, body); status != 200 {
				t.Fatalf("%s: %d %s", path, status, reply.Raw)
			}
			return fmt.Sprintf("/v1/conversations/conv_%08d", l.calls())
		}
		first := begin("alice", "/v1/conversations")
		for _, path := range []string{first, begin("alice", first+"/restart"), begin("carol", first+"/restart")} {
			h.refused("bob", "POST", path, body)
			h.refused("bob", "POST", path+"/restart", body)
			h.refused("bob", "GET", path+"/history", "")
			for _, caller := range []string{"alice", "carol"} {
				h.passes(caller, "POST", path, body)
				h.passes(caller, "GET", path+"/history", "")
			}
		}
	}
}

// TestOwnDenials: the log says once why, and names the scope that opens it.
func TestOwnDenials(t *testing.T) {
	var log bytes.Buffer
	h, _ := newHouse(t, gateway.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}, &library{})
	for range 3 {
		h.refused("bob", "GET", "/v1/files/file_of_alice_1", "")
	}
	if text := log.String(); strings.Count(text, "caller=bob") != 1 || !strings.Contains(text, "scope=operator") || !strings.Contains(text, "level=WARN") {
		t.Errorf("log: %s", text)
	}
}

// TestOwnResults: the files that a batch leaves are its owner's, also if an operator saw
// them first.
func TestOwnResults(t *testing.T) {
	h, _ := newHouse(t, gateway.Config{}, &library{})
	id := h.make("alice", "/v1/batches", `{}`)
	h.passes("carol", "GET", "/v1/batches/"+id, "")
	h.passes("alice", "GET", "/v1/files/file-out-of-"+id+"/content", "")
	h.refused("bob", "GET", "/v1/files/file-out-of-"+id+"/content", "")
}

// TestOwnLists: a list has the caller's own things, and nothing that names others.
func TestOwnLists(t *testing.T) {
	h, _ := newHouse(t, gateway.Config{}, &library{})
	for _, path := range []string{"/v1/files", "/v1/batches"} {
		mine, his := h.make("alice", path, `{}`), h.make("bob", path, `{}`)
		_, list := h.as("alice", "GET", path, "")
		if list.Get("data.#").Int() != 1 || list.Get("data.0.id").Str != mine || list.Get("first_id").Str != mine || list.Get("last_id").Str != mine || strings.Contains(list.Raw, "bob") {
			t.Errorf("alice: %s", list.Raw)
		}
		if _, list := h.as("carol", "GET", path, ""); !strings.Contains(list.Raw, his) || !strings.Contains(list.Raw, mine) {
			t.Errorf("the operator: %s", list.Raw)
		}
		if status, _ := h.as("alice", "DELETE", path, ""); status != 403 {
			t.Errorf("DELETE of all: %d", status)
		}
	}
	if status, list := h.as("alice", "GET", "/v1/responses", ""); status != 403 || !strings.Contains(list.Raw, "operator") { // the library gives no list
		t.Errorf("%d %s", status, list.Raw)
	}
}

// TestOwnNothing: what is data, or names nothing, is not looked at, and without tokens
// nothing is.
func TestOwnNothing(t *testing.T) {
	h, _ := newHouse(t, gateway.Config{}, &library{})
	for _, q := range [][2]string{
		{"/v1/chat/completions", `{"model":"m","metadata":{"file_id":"x"},"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"file_id\":\"x\"}"}}]},{"role":"user","content":"file_id"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"file_id":{"type":"string"}},"examples":[{"file_id":"x"}]}}}]}`},
		{"/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"file_id":"x","conversation":"y"}}]}],"container":null}`},
		{"/v1/messages", `{"model":"m","max_tokens":9,"messages":[],"container":{"skills":[{"type":"anthropic","skill_id":"pptx"}]}}`},
		{"/v1/responses", `{"model":"m","previous_response_id":null,"input":[{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"x","annotations":[{"type":"file_citation","file_id":"f"}]}]},{"type":"file_search_call","id":"fs","results":[{"file_id":"f"}]},{"role":"user","content":[{"type":"input_file","filename":"files/a.pdf","file_data":"x"}]}],"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]}`},
		{"/v1beta/models/m:generateContent", `{"contents":[{"parts":[{"functionCall":{"name":"f","args":{"file_id":"x"}}},{"fileData":{"fileUri":"https://video.example/watch?v=1"}}]}]}`},
	} {
		h.passes("alice", "POST", q[0], q[1])
	}
	for _, body := range []string{
		`{"model":"m","input":[{"type":"item_reference","id":"msg_of_bob_1"}]}`, `{"model":"m","input":[{"id":"msg_of_bob_1"}]}`, `{"model":"m","input":[{"type":null,"id":"msg_of_bob_1"}]}`,
		`{"model":"m","input":[{"type":"tool_use","type":"message","input":[{"file_id":"x1234567"}]}]}`, `{"model":"m","input":[[[{"a":{"b":[{"File_ID":"x1234567"}]}}]]]}`,
		`{"model":"m","input":"x","file_id":12}`,
	} {
		h.refused("alice", "POST", "/v1/responses", body)
	}
	h.refused("alice", "GET", "/v1/batches/"+h.make("alice", "/v1/batches", `{}`)+"%2Fof_bob", "")
	_, reply := h.as("alice", "POST", "/v1/responses", aResponse)
	h.passes("alice", "POST", "/v1/responses", `{"model":"m","input":[{"type":"item_reference","id":"`+reply.Get("output.0.id").Str+`"}]}`)
	h.refused("bob", "POST", "/v1/responses", `{"model":"m","input":[{"type":"item_reference","id":"`+reply.Get("output.0.id").Str+`"}]}`)

	open, _ := newHouse(t, gateway.Config{Tokens: []gateway.Token{}}, &library{})
	open.passes("", "GET", "/v1/files/file_of_old", "")
	open.passes("", "POST", "/v1/responses", `{"model":"m","input":"x","previous_response_id":"resp_of_old"}`)
}

// TestOwnBodies: a body is read whole to see what it names, however it comes.
func TestOwnBodies(t *testing.T) {
	h, _ := newHouse(t, gateway.Config{}, &library{})
	id := h.make("alice", "/v1/files", `{}`)
	body := `{"pad":"` + strings.Repeat("x", 2<<20) + `","input_file_id":"` + id + `"}`
	for name, change := range map[string]func(r *http.Request){
		"large": func(*http.Request) {}, "chunked": func(r *http.Request) { r.ContentLength = -1 }, "no type": func(r *http.Request) { r.Header.Del("Content-Type") },
		"text": func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") },
	} {
		for caller, want := range map[string]int{"alice": 200, "bob": 404} {
			r := httptest.NewRequest("POST", "/v1/batches", strings.NewReader(body))
			r.Host = "localhost"
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer secret-of-"+caller)
			change(r)
			w := httptest.NewRecorder()
			h.g.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s for %s: %d %s", name, caller, w.Code, w.Body)
			}
		}
	}
	r := httptest.NewRequest("POST", "/v1/batches", strings.NewReader("packed"))
	r.Host = "localhost"
	r.Header = header("Content-Type", "application/json", "Content-Encoding", "gzip", "Authorization", "Bearer secret-of-bob")
	w := httptest.NewRecorder()
	if h.g.ServeHTTP(w, r); w.Code != http.StatusUnsupportedMediaType {
		t.Errorf("compressed: %d", w.Code)
	}
}

// TestOwnStreams: the id of a streamed reply is its caller's when the client has it, while
// the reply is under way.
func TestOwnStreams(t *testing.T) {
	slow := make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "GET" {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"id":"resp_slow","object":"response","status":"in_progress","model":"m","output":[]}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_slow\",\"model\":\"m\",\"status\":\"in_progress\",\"output\":[]}}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-slow
	}))
	t.Cleanup(up.Close)
	t.Cleanup(func() { close(slow) })
	g, err := gateway.New(gateway.Config{Upstream: urlOf(t, up.URL), Tokens: people})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	srv := httptest.NewServer(g)
	t.Cleanup(srv.Close)
	send := func(method, path, body string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer secret-of-alice")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	stream := send("POST", "/v1/responses", `{"model":"m","input":"hi","stream":true}`)
	if line, err := bufio.NewReader(stream.Body).ReadString('\n'); err != nil || !strings.Contains(line, "resp_slow") {
		t.Fatalf("%q, %v", line, err)
	}
	if resp := send("GET", "/v1/responses/resp_slow", ""); resp.StatusCode != 200 {
		t.Errorf("under way: %d", resp.StatusCode)
	}

	h, _ := newHouse(t, gateway.Config{}, &library{})
	h.passes("alice", "POST", "/v1/responses", `{"model":"m","input":"hi","stream":true}`)
	h.passes("alice", "GET", "/v1/responses/resp_00000001", "")
	h.refused("bob", "GET", "/v1/responses/resp_00000001", "")
	h.passes("alice", "POST", "/v1/responses", `{"model":"m","input":"hi","store":false}`)
	h.refused("alice", "GET", "/v1/responses/resp_00000003", "")
}

// TestOwnSockets: turns over a WebSocket are held to the same.
func TestOwnSockets(t *testing.T) {
	h, _ := newHouse(t, gateway.Config{}, &library{})
	srv := httptest.NewServer(h.g)
	t.Cleanup(srv.Close)
	join := func(caller string) *talker {
		c, _, err := connect(t, srv.URL, header("Authorization", "Bearer secret-of-"+caller))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	// ends returns the last event of a turn.
	ends := func(c *talker) gjson.Result {
		for {
			if e := c.hear(); e.Get("type").Str == "response.completed" || e.Get("type").Str == "error" || e.Get("type").Str == "response.failed" {
				return e
			}
		}
	}
	alice, bob := join("alice"), join("bob")
	alice.create(`"input":"hi"`)
	id := ends(alice).Get("response.id").Str
	if id == "" {
		t.Fatal("no id")
	}
	before := h.rest.calls()
	for _, turn := range []string{
		`"input":"go on","previous_response_id":"` + id + `"`, `"input":"x","conversation":"conv_12345678"`, `"input":[{"role":"user","content":[{"type":"input_file","file_id":"file-12345678"}]}]`,
	} {
		bob.create(turn)
		if e := ends(bob); e.Get("type").Str != "error" || !strings.Contains(e.Raw, "404") {
			t.Errorf("bob: %s", e.Raw)
		}
	}
	bob.create(`"generate":false,"input":"x","previous_response_id":"` + id + `"`)
	prepared := ends(bob).Get("response.id").Str
	bob.create(`"input":"go on","previous_response_id":"` + prepared + `"`)
	if e := ends(bob); e.Get("type").Str != "error" || h.rest.calls() != before {
		t.Errorf("bob, by a turn that asks for nothing: %s, %d", e.Raw, h.rest.calls()-before)
	}
	alice.create(`"input":"go on","previous_response_id":"` + id + `"`)
	if e := ends(alice); e.Get("type").Str != "response.completed" {
		t.Errorf("alice: %s", e.Raw)
	}
	h.passes("alice", "GET", "/v1/responses/"+id, "")
	h.refused("bob", "GET", "/v1/responses/"+id, "")
}

// TestOwnRestart: owners are known after a restart, and what is older than they are is for
// operators.
func TestOwnRestart(t *testing.T) {
	dir, l := t.TempDir(), &library{}
	h, g := newHouse(t, gateway.Config{Data: dir}, l)
	file, reply := h.make("alice", "/v1/files", `{}`), h.make("alice", "/v1/responses", aResponse)
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "owners.jsonl"))
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Fatalf("%v, %v", info, err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "owners.jsonl")); err != nil || strings.Contains(string(data), file) {
		t.Errorf("%s, %v", data, err)
	}
	h, g = newHouse(t, gateway.Config{Data: dir}, l)
	for _, path := range []string{"/v1/files/" + file, "/v1/responses/" + reply} {
		h.passes("alice", "GET", path, "")
		h.refused("bob", "GET", path, "")
	}
	h.refused("alice", "GET", "/v1/files/file_of_old", "")
	h.passes("carol", "GET", "/v1/files/file_of_old", "")
	if err := g.Reload(gateway.Config{Upstream: urlOf(t, "http://127.0.0.1:1"), Tokens: people}); err != nil {
		t.Fatal(err)
	}
	h.refused("bob", "GET", "/v1/files/"+file, "") // also after a reload

	if err := os.WriteFile(filepath.Join(dir, "owners.jsonl"), []byte(`{"v":1}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := gateway.New(gateway.Config{Data: dir, Upstream: urlOf(t, "http://127.0.0.1:1")}); err == nil || !strings.Contains(err.Error(), "owners.jsonl") {
		t.Errorf("a file that no gateway wrote: %v", err)
	}
}

// TestOwnReplicas: another replica knows the owners.
func TestOwnReplicas(t *testing.T) {
	shared, secret, l := newBoard(), []byte("0123456789abcdef"), &library{}
	one, _ := newHouse(t, gateway.Config{Shared: shared, SharedSecret: secret}, l)
	two, _ := newHouse(t, gateway.Config{Shared: shared, SharedSecret: secret}, l)
	id := one.make("alice", "/v1/files", `{}`)
	two.passes("alice", "GET", "/v1/files/"+id, "")
	two.refused("bob", "GET", "/v1/files/"+id, "")
	for key, value := range shared.values {
		if strings.Contains(string(key[:])+string(value), "alice") || strings.Contains(string(value), id) {
			t.Error("the store sees a name or an id")
		}
	}
}
