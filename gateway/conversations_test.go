package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/record"
)

// A mistralServer keeps conversations as Mistral's does, byte by byte if it streams. Each reply has a thought in a chunk, another one in
// its text, in the marks of its model, and a call. What follows is of the model with which the conversation began.
type mistralServer struct {
	t      *testing.T
	mu     sync.Mutex
	n      int
	models map[string]string // of conversations
	asked  []string
}

const (
	conversationThought = `{"type":"thinking","thinking":[{"type":"text","text":"secret one"}],"signature":"c2ln"}`
	conversationText    = "[THINK]secret two[/THINK]It is 4."
	conversationCall    = `{"object":"entry","type":"function.call","id":"fc_1","tool_call_id":"c1","name":"f","arguments":"{\"a\":1}"}`
)

func (s *mistralServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	s.asked = append(s.asked, r.Method+" "+r.URL.Path+" "+string(body))
	parts := strings.Split(strings.Trim(strings.TrimPrefix(r.URL.Path, "/x"), "/"), "/")
	id, model := "", gjson.GetBytes(body, "model").Str
	if agent := gjson.GetBytes(body, "agent_id"); agent.Exists() {
		model = "magistral-agent"
	}
	if len(parts) > 2 {
		id = parts[2]
		if model = s.models[id]; model == "" {
			http.NotFound(w, r)
			return
		}
	}
	if id == "" || len(parts) > 3 && parts[3] == "restart" {
		s.n++
		id = fmt.Sprintf("conv_%08d", s.n)
		s.models[id] = model
	}
	message := `{"object":"entry","type":"message.output","id":"msg_1","model":` + quoted(model) + `,"role":"assistant","content":[` + conversationThought + `,{"type":"text","text":` + quoted(conversationText) + `}]}`
	w.Header().Set("Content-Type", "application/json")
	switch stream := gjson.GetBytes(body, "stream").Bool(); {
	case r.Method == http.MethodGet && parts[3] == "messages":
		fmt.Fprintf(w, `{"object":"conversation.messages","conversation_id":%q,"messages":[{"object":"entry","type":"message.input","role":"user","content":"2+2?"},%s]}`, id, message)
	case r.Method == http.MethodGet:
		fmt.Fprintf(w, `{"object":"conversation.history","conversation_id":%q,"entries":[{"object":"entry","type":"message.input","role":"user","content":[{"type":"text","text":"2+2?"}]},%s,%s,{"object":"entry","type":"function.result","tool_call_id":"c1","result":"4"},%s]}`, id, message, conversationCall, message)
	case !stream:
		fmt.Fprintf(w, `{"object":"conversation.response","conversation_id":%q,"outputs":[%s,%s],%s}`, id, message, conversationCall, conversationUsages[0])
	default:
		w.Header().Set("Content-Type", "text/event-stream")
		piece := func(content int, chunk string) string {
			return event("message.output.delta", fmt.Sprintf(`"output_index":0,"id":"msg_1","content_index":%d,"model":%q,"role":"assistant","content":%s`, content, model, chunk))
		}
		out := event("conversation.response.started", fmt.Sprintf(`"conversation_id":%q`, id)) + piece(0, conversationThought)
		for _, c := range conversationText {
			out += piece(1, quoted(string(c)))
		}
		out += callPiece(1, `{"a":`) + callPiece(1, `1}`) + event("conversation.response.done", conversationUsages[0])
		for i := range len(out) {
			io.WriteString(w, out[i:i+1])
			w.(http.Flusher).Flush()
		}
	}
}

// A conversing client begins a conversation, and then does all that the API has for one.
type conversing struct {
	as func(method, path, body string) (int, string)
	id string
}

// each calls check with what each request for the conversation returns.
func (c *conversing) each(check func(way string, status int, body string)) {
	for _, stream := range []bool{false, true} {
		for _, way := range []string{"", "/restart"} {
			for _, more := range []string{`"inputs":"And 3+3?"`, `"tool_confirmations":[]`, `"inputs":"x","model":"plain"`} {
				status, body := c.as("POST", "/v1/conversations/"+c.id+way, fmt.Sprintf(`{%s,"from_entry_id":"msg_1","stream":%v}`, more, stream))
				check(fmt.Sprintf("%s %s stream %v", way, more, stream), status, body)
			}
		}
	}
	for _, way := range []string{"/messages", "/history"} {
		status, body := c.as("GET", "/v1/conversations/"+c.id+way, "")
		check(way, status, body)
	}
}

// said are the texts and thoughts of a reply, and the calls.
func saidIn(body string) (text, thought, calls string) {
	h := &heard{}
	for line := range strings.Lines(body) {
		root := gjson.Parse(strings.TrimPrefix(line, "data: "))
		for _, e := range append(root.Get("outputs").Array(), append(append(root.Get("messages").Array(), root.Get("entries").Array()...), root)...) {
			if e.Get("role").Str != "user" {
				hearMessage(e, h)
			}
			if strings.HasPrefix(e.Get("type").Str, "function.call") {
				calls += e.Get("arguments").Str
			}
		}
	}
	return string(h.text), string(h.thought), calls
}

// conversationHouse is a gateway in front of a server of Mistral's.
func conversationHouse(t *testing.T, c gateway.Config) (*mistralServer, func(caller string) func(method, path, body string) (int, string)) {
	up := &mistralServer{t: t, models: map[string]string{}}
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	c.Upstream = urlOf(t, server.URL)
	g, err := gateway.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return up, func(caller string) func(method, path, body string) (int, string) {
		return func(method, path, body string) (int, string) {
			w := request(g, method, path, body, "Authorization", "Bearer secret-of-"+caller)
			return w.Code, w.Body.String()
		}
	}
}

// TestConversations: over each way, whole and byte by byte, a client gets what its display says, also of a conversation that
// it continues, restarts or reads, of which no request names the model: the reply does.
func TestConversations(t *testing.T) {
	for _, display := range ledgerDisplays {
		up, as := conversationHouse(t, gateway.Config{Default: routing.Route{Display: display}})
		for _, begin := range []string{`"model":"magistral-small"`, `"agent_id":"ag_1"`} {
			for _, stream := range []bool{false, true} {
				check := func(way string, status int, body string) {
					t.Helper()
					text, thought, calls := saidIn(body)
					turns := 1
					if way == "/history" {
						turns = 2
					}
					want := map[routing.Display][2]string{
						routing.DisplayField: {"It is 4.", "secret one\n\nsecret two"}, routing.DisplayHide: {"It is 4.", ""}, routing.DisplayKeep: {conversationText, "secret one"},
						routing.DisplayTags: {"<think>\nsecret one\n\nsecret two\n</think>\n\nIt is 4.", ""},
					}[display]
					if turns == 2 {
						want[0], want[1] = want[0]+want[0], want[1]+want[1]
					}
					squeezed := func(s string) string { return strings.ReplaceAll(s, "\n", "") }
					if status != 200 || squeezed(text) != squeezed(want[0]) || squeezed(thought) != squeezed(want[1]) || way != "/messages" && calls != `{"a":1}` || strings.Contains(body, "c2ln") == (display == routing.DisplayTags) {
						t.Errorf("%s, %s, %s: %d, text %q, thought %q, calls %s\n%s", display, begin, way, status, text, thought, calls, body)
					}
				}
				status, body := as("")("POST", "/v1/conversations", fmt.Sprintf(`{%s,"inputs":"2+2?","stream":%v}`, begin, stream))
				check("begins", status, body)
				(&conversing{as: as(""), id: fmt.Sprintf("conv_%08d", up.n)}).each(check)
			}
		}
	}
}

// TestConversationsHidden: what one route hides is not shown in a conversation that names no model, however it is continued: by a
// body that names a model whose reasoning is shown, by an agent, or by reading it.
func TestConversationsHidden(t *testing.T) {
	up, as := conversationHouse(t, gateway.Config{Routes: []routing.Route{{Models: []string{"magistral-*"}, Display: routing.DisplayHide}}})
	for _, stream := range []bool{false, true} {
		for _, begin := range []string{`"model":"magistral-small"`, `"agent_id":"ag_1"`, `"model":"plain","agent_id":"ag_1"`} {
			hidden := func(way string, status int, body string) {
				t.Helper()
				if text, _, _ := saidIn(body); status != 200 || strings.Contains(body, "secret") || !strings.Contains(text, "It is 4.") {
					t.Errorf("%s, %s: %d %s", begin, way, status, body)
				}
			}
			status, body := as("")("POST", "/v1/conversations", fmt.Sprintf(`{%s,"inputs":"2+2?","stream":%v}`, begin, stream))
			hidden("begins", status, body)
			(&conversing{as: as(""), id: fmt.Sprintf("conv_%08d", up.n)}).each(hidden)
		}
		if _, body := as("")("POST", "/v1/conversations", fmt.Sprintf(`{"model":"magistrate","inputs":"2+2?","stream":%v}`, stream)); !strings.Contains(body, "secret one") {
			t.Errorf("a model whose reasoning is shown: %s", body)
		}
	}
}

// TestConversationsOfOthers: another caller can neither continue, restart nor read a conversation, and no such request reaches the server.
func TestConversationsOfOthers(t *testing.T) {
	for _, display := range []routing.Display{routing.DisplayField, routing.DisplayHide} {
		up, as := conversationHouse(t, gateway.Config{Tokens: people, Default: routing.Route{Display: display}})
		for _, stream := range []bool{false, true} {
			as("alice")("POST", "/v1/conversations", fmt.Sprintf(`{"model":"magistral-small","inputs":"2+2?","stream":%v}`, stream))
			id := fmt.Sprintf("conv_%08d", up.n)
			before := len(up.asked)
			(&conversing{as: as("bob"), id: id}).each(func(way string, status int, body string) {
				if status != 404 || strings.Contains(body, "It is") {
					t.Errorf("%s, %s: bob gets %d %s", display, way, status, body)
				}
			})
			if len(up.asked) != before {
				t.Errorf("the server was asked %v", up.asked[before:])
			}
			for _, caller := range []string{"alice", "carol"} {
				(&conversing{as: as(caller), id: id}).each(func(way string, status int, body string) {
					if status != 200 {
						t.Errorf("%s, %s: %s gets %d %s", display, way, caller, status, body)
					}
				})
			}
		}
	}
}

// TestConversationsByBody: the body alone says whose API a request is of: OpenAI's passes unread, and where reasoning is hidden it
// is refused, from other machines as before.
func TestConversationsByBody(t *testing.T) {
	const ours, theirs = `{"model":"magistral-small","inputs":"hi"}`, `{"metadata":{"a":"b"}}`
	hide := gateway.Config{Default: routing.Route{Display: routing.DisplayHide}}
	for _, c := range []struct {
		name, path, body string
		config           gateway.Config
		want             int
	}{
		{"read", "/v1/conversations", ours, gateway.Config{}, 200}, {"read", "/v1/conversations", ours, hide, 200}, {"passes", "/v1/conversations", theirs, gateway.Config{}, 200},
		{"hidden", "/v1/conversations", theirs, hide, 403}, {"hidden", "/v1/conversations", `{}`, hide, 403}, {"not JSON", "/v1/conversations", `{"inputs":`, hide, 400}, {"not JSON", "/v1/conversations", `{"inputs":`, gateway.Config{}, 400}, {"empty", "/v1/conversations", "", hide, 403}, {"empty", "/v1/conversations", " ", gateway.Config{}, 200}, {"twice", "/v1/conversations", `{"inputs":"a","inputs":"b"}`, hide, 400},
		{"below a prefix", "/x/v1/conversations", ours, hide, 200}, {"below a prefix", "/x/v1/conversations", theirs, hide, 403},
		{"from another machine", "/v1/conversations", ours, gateway.Config{Public: true}, 200}, {"from another machine", "/v1/conversations", theirs, gateway.Config{Public: true}, 404},
		{"from another machine, below a prefix", "/x/v1/conversations", ours, gateway.Config{Public: true}, 404},
		{"of another API", "/v1/conversations", ours, gateway.Config{UpstreamAPI: "messages"}, 404}, {"of the server's other API", "/v1/conversations", ours, gateway.Config{UpstreamAPI: "chat"}, 200},
		{"too long", "/v1/conversations", `{"inputs":"` + strings.Repeat("x", 2000) + `"}`, gateway.Config{Limits: gateway.Limits{Body: 1000}}, 413},
		{"too deep", "/v1/conversations", `{"inputs":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, gateway.Config{}, 400},
	} {
		up, as := conversationHouse(t, c.config)
		status, body := as("")("POST", c.path, c.body)
		if status != c.want || (len(up.asked) > 0) != (status == 200) || status != 200 && !gjson.Valid(body) || strings.Contains(body, "secret") && c.config.Default.Display == routing.DisplayHide {
			t.Errorf("%s: %s: %d, the server was asked %v: %s", c.name, c.body, status, up.asked, body)
		}
	}
}

// TestConversationsUpstreams: with several upstreams, a conversation is continued where it began.
func TestConversationsUpstreams(t *testing.T) {
	one, two := &mistralServer{t: t, models: map[string]string{}}, &mistralServer{t: t, models: map[string]string{}, n: 100}
	first, second := httptest.NewServer(one), httptest.NewServer(two)
	defer first.Close()
	defer second.Close()
	g := foreignGateway(t, gateway.Config{
		Upstream: urlOf(t, first.URL), Upstreams: map[string]gateway.Upstream{"two": {URL: urlOf(t, second.URL)}}, Routes: []routing.Route{{Models: []string{"magistral-*"}, Upstream: "two"}},
	})
	for _, stream := range []bool{false, true} {
		request(g, "POST", "/v1/conversations", fmt.Sprintf(`{"model":"magistral-small","inputs":"2+2?","stream":%v}`, stream))
		c := &conversing{id: fmt.Sprintf("conv_%08d", two.n), as: func(method, path, body string) (int, string) {
			w := request(g, method, path, body)
			return w.Code, w.Body.String()
		}}
		c.each(func(way string, status int, body string) {
			if status != 200 || len(one.asked) > 0 {
				t.Errorf("%s: %d %s, the other server was asked %v", way, status, body, one.asked)
			}
		})
	}
}

// TestConversationsRecorded: the record has all of a reply, whatever the client gets.
func TestConversationsRecorded(t *testing.T) {
	up := &mistralServer{t: t, models: map[string]string{"conv_1": "magistral-small"}}
	for _, stream := range []bool{false, true} {
		w, dir := openRecord(t, record.Options{})
		g := handler(t, gateway.Config{Recorder: w, Default: routing.Route{Display: routing.DisplayHide}}, answering(func(r *http.Request) *http.Response {
			rec := httptest.NewRecorder()
			up.ServeHTTP(rec, r)
			return rec.Result()
		}))
		ask(g, "/v1/conversations/conv_1", fmt.Sprintf(`{"inputs":"And 3+3?","stream":%v}`, stream))
		x := encoded(only(t, w, dir))
		for _, want := range []string{"secret one", "secret two", "It is 4.", "And 3+3?", "magistral-small"} {
			if !strings.Contains(x, want) {
				t.Errorf("stream %v: no %q in the record: %s", stream, want, x)
			}
		}
	}
}
