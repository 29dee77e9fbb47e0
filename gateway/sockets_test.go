package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
	"github.com/sotto-llm/sotto/record"
)

// socketReplies are replies of an upstream: each kind of ending with texts of the corpus,
// streams and whole bodies, and those that the tests of hidden reasoning use.
func socketReplies(t testing.TB) (kinds, bodies []string) {
	add := func(kind, body string) { kinds, bodies = append(kinds, kind), append(bodies, body) }
	for _, h := range hiddenReplies {
		if h.path == responsesSpeaker.path {
			add("text/event-stream", strings.Join(h.frames, ""))
			add("application/json", h.whole)
		}
	}
	all := corpus(t)
	step := 1
	if effort.Brief() {
		step = 25
	}
	for i := 0; i < len(all); i += step {
		s, text := responsesSpeaker, all[i].raw
		if all[i].end == sotto.EndUnknown {
			add("text/event-stream", s.open+s.say(text)) // it breaks off
			continue
		}
		half := len(text) / 2
		add("text/event-stream", s.open+s.say(text[:half])+s.say(text[half:])+s.finish(text, all[i].end)+"data: [DONE]\n\n")
		if all[i].end == sotto.EndStopped {
			add("application/json", s.whole(text, all[i].end))
		}
	}
	return kinds, bodies
}

// socketRoutes are the routes under which the events are compared: each display, and each
// setting that changes or ends a reply.
func socketRoutes() map[string]routing.Route {
	routes := map[string]routing.Route{
		"promote": {OnNoAnswer: routing.NoAnswerPromote}, "error": {OnNoAnswer: routing.NoAnswerError},
		"summary": {ResponsesReasoning: routing.ReasoningSummary}, "calls": {Calls: routing.CallsField},
		"limit": {ThinkingLimit: 20},
		"guard": {Guard: guard.Rule{Guard: refusesFours{}}},
	}
	for _, d := range routing.Displays() {
		routes[string(d)] = routing.Route{Display: d}
	}
	return routes
}

// refusesFours ends replies that say 4.
type refusesFours struct{}

func (refusesFours) Judge(_ context.Context, p guard.Piece) (guard.Verdict, error) {
	if p.Channel == guard.Answer && strings.Contains(p.Text, "4") {
		return guard.Verdict{Action: guard.End, Reason: "a four"}, nil
	}
	return guard.Verdict{Action: guard.Pass}, nil
}

// socketInputs are conversations whose reply comes over a WebSocket: one that asks, and two that the
// reply goes on with, inside a thought and after one.
var socketInputs = []string{
	`"Hi"`,
	`[{"role":"user","content":"Hi"},{"type":"message","role":"assistant","status":"incomplete","content":[{"type":"output_text","text":"<think>Hm, "}]}]`,
	`[{"role":"user","content":"Hi"},{"type":"message","role":"assistant","status":"incomplete","content":[{"type":"output_text","text":"<think>Hm.</think>So, "}]}]`,
}

// TestSocketEvents: the events of a reply over a WebSocket are those of the same reply
// over HTTP, for each display and each reply, also where it goes on with a message.
func TestSocketEvents(t *testing.T) {
	kinds, bodies := socketReplies(t)
	for name, route := range socketRoutes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := answering(func(r *http.Request) *http.Response {
				body, _ := io.ReadAll(r.Body)
				n := gjson.GetBytes(body, "metadata.n").Int()
				return response(kinds[n], strings.NewReader(bodies[n]))
			})
			g := handler(t, gateway.Config{Default: route}, up) // each learns from what it sees
			c := connected(t, handler(t, gateway.Config{Default: route}, up))
			events, acts := 0, map[string]string{"guard": "the guard ended", "limit": "max_output_tokens", "summary": "summary_text"}[name]
			for n := range bodies {
				members := fmt.Sprintf(`"input":`+socketInputs[n%len(socketInputs)]+`,"tools":[{"type":"function","name":"f"}],"metadata":{"n":%d}`, n)
				want := streamedEvents(t, g, `{"model":"m","stream":true,`+members+`}`)
				got := c.turn(members)
				if !slices.Equal(got, want) {
					t.Fatalf("%s\nover the WebSocket:\n%s\nover HTTP:\n%s", bodies[n], strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				events += len(got)
				if acts != "" && strings.Contains(strings.Join(got, ""), acts) && !strings.Contains(bodies[n], acts) {
					acts = ""
				}
			}
			if acts != "" {
				t.Errorf("no event has %q: the setting does nothing here", acts)
			}
			if events < 3*len(bodies) {
				t.Errorf("only %d events of %d replies", events, len(bodies))
			}
		})
	}
}

// A noted upstream answers each request with a text, and keeps the bodies.
type noted struct {
	mu      sync.Mutex
	bodies  []gjson.Result
	headers []http.Header
}

// says answers with a response whose id counts, and with more members of the response.
func (n *noted) says(text, more string) answering {
	return func(r *http.Request) *http.Response {
		body, _ := io.ReadAll(r.Body)
		n.mu.Lock()
		n.bodies = append(n.bodies, gjson.ParseBytes(body))
		n.headers = append(n.headers, r.Header.Clone())
		id := fmt.Sprintf("resp_%d", len(n.bodies))
		n.mu.Unlock()
		s := responsesSpeaker
		stream := s.open + s.say(text) + s.finish(text, sotto.EndStopped)
		stream = strings.ReplaceAll(stream, `"id":"resp_1","object":"response"`, `"id":"`+id+`","object":"response"`+more)
		return response("text/event-stream", strings.NewReader(stream))
	}
}

func (n *noted) last(t testing.TB) gjson.Result {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.bodies) == 0 {
		t.Fatal("nothing reached the upstream")
	}
	return n.bodies[len(n.bodies)-1]
}

// roles are the roles or types of the items of a request's input.
func roles(body gjson.Result) string {
	var list []string
	for _, item := range body.Get("input").Array() {
		name := item.Get("role").Str
		if name == "" {
			name = item.Get("type").Str
		}
		list = append(list, name)
	}
	return strings.Join(list, " ")
}

// TestSocketRequest: what goes to the upstream is the message as it came, byte for byte,
// without the members that only a WebSocket has, by POST, with the client's key and its
// headers, and without those of the handshake.
func TestSocketRequest(t *testing.T) {
	var up noted
	g := handler(t, gateway.Config{}, up.says("It is 4.", ""))
	srv := httptest.NewServer(g)
	defer srv.Close()
	c, resp, err := connect(t, srv.URL, http.Header{
		"Sec-Websocket-Protocol": {"realtime", "openai-insecure-api-key.sk-client"}, "Session_id": {"s1"}, "X-Mine": {"1"},
	})
	if err != nil || resp.Header.Get("Sec-Websocket-Protocol") != "realtime" {
		t.Fatal(err, resp)
	}
	c.last(`"stream_id":null,"temperature": 1.50,"generate":true,"input":[ {"role":"user","content":"é\u00e9"} ],"stream":false,"background":false`)
	if got, want := up.last(t).Raw, `{"stream":true,"model":"m","temperature": 1.50,"input":[ {"role":"user","content":"é\u00e9"} ],"background":false}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	h := up.headers[0]
	if h.Get("Authorization") != "Bearer sk-client" || h.Get("X-Mine") != "1" || h.Get("Content-Type") != "application/json" {
		t.Errorf("%v", h)
	}
	for name := range h {
		if strings.HasPrefix(name, "Sec-Websocket") || name == "Upgrade" || name == "Connection" {
			t.Errorf("the upstream gets %s", name)
		}
	}
}

// TestSocketContinues: a turn that continues a reply that the upstream did not store gets
// the conversation from the connection; if the upstream stored the reply, it gets the id.
func TestSocketContinues(t *testing.T) {
	for name, v := range map[string]struct {
		members, more string
		stored        bool
	}{
		"store false":                   {`"store":false,`, "", false},
		"store false, upstream differs": {`"store":false,`, `,"store":true`, false},
		"nothing said":                  {"", "", false},
		"stored":                        {"", `,"store":true`, true},
		"not stored":                    {`"store":true,`, `,"store":false`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var up noted
			c := connected(t, handler(t, gateway.Config{}, up.says("It is 4.", v.more)))
			id := c.last(v.members + `"input":"2+2?"`).Get("response.id").Str
			next := c.last(v.members + `"previous_response_id":"` + id + `","input":[{"role":"user","content":"And 3+3?"}]`)
			body := up.last(t)
			if v.stored {
				if body.Get("previous_response_id").Str != id || roles(body) != "user" {
					t.Errorf("%s", body)
				}
				return
			}
			if body.Get("previous_response_id").Exists() || roles(body) != "user assistant user" || body.Get("input.0.content").Str != "2+2?" ||
				body.Get("input.1.content.0.text").Str != "It is 4." {
				t.Errorf("%s", body)
			}
			// A third turn, and one from the first reply again: a fork.
			c.last(v.members + `"previous_response_id":"` + next.Get("response.id").Str + `","input":"More."`)
			if got := roles(up.last(t)); got != "user assistant user assistant user" {
				t.Errorf("the third turn: %s", got)
			}
			c.create(v.members + `"stream_id":"fork","previous_response_id":"` + id + `","input":"Else."`)
			c.hearUntil("fork")
			if body := up.last(t); roles(body) != "user assistant user" || body.Get("input.2.content").Str != "Else." {
				t.Errorf("the fork: %s", body)
			}
		})
	}
}

// TestSocketAfterStored: a chain whose beginning the upstream has, and whose rest it has
// not, goes on as the id of the one and the items of the other.
func TestSocketAfterStored(t *testing.T) {
	var up noted
	c := connected(t, handler(t, gateway.Config{}, up.says("It is 4.", "")))
	first := c.last(`"previous_response_id":"resp_elsewhere","store":false,"input":"One."`)
	if body := up.last(t); body.Get("previous_response_id").Str != "resp_elsewhere" || roles(body) != "" {
		t.Errorf("an unknown id: %s", body)
	}
	c.last(`"previous_response_id":"` + first.Get("response.id").Str + `","store":false,"input":"Two."`)
	if body := up.last(t); body.Get("previous_response_id").Str != "resp_elsewhere" || roles(body) != "user assistant user" {
		t.Errorf("%s", body)
	}
}

// TestSocketPrepares: a turn that only prepares reaches no upstream, and its input is
// continued.
func TestSocketPrepares(t *testing.T) {
	var up noted
	c := connected(t, handler(t, gateway.Config{}, up.says("It is 4.", "")))
	c.create(`"generate":false,"input":[{"role":"developer","content":"Be brief."}]`)
	var kinds []string
	id := ""
	for id == "" || kinds[len(kinds)-1] != "response.completed" {
		e := c.hear()
		kinds, id = append(kinds, e.Get("type").Str), e.Get("response.id").Str
	}
	if got := strings.Join(kinds, " "); got != "response.created response.in_progress response.completed" || len(up.bodies) != 0 {
		t.Errorf("%s, %d requests", got, len(up.bodies))
	}
	c.last(`"previous_response_id":"` + id + `","input":"2+2?"`)
	if body := up.last(t); roles(body) != "developer user" || body.Get("previous_response_id").Exists() || body.Get("generate").Exists() {
		t.Errorf("%s", body)
	}
}

// TestSocketRestores: reasoning that the client never saw goes back to the model, in a
// turn that names only the reply before.
func TestSocketRestores(t *testing.T) {
	for _, display := range routing.Displays() {
		var up noted
		c := connected(t, handler(t, gateway.Config{Default: routing.Route{Display: display, History: history.Restore}}, up.says("<think>two and two</think>It is 4.", "")))
		reply := strings.Join(c.turn(`"store":false,"input":"2+2?"`), "\n")
		if display == routing.DisplayHide && strings.Contains(reply, "two and two") {
			t.Errorf("the hidden thought came out: %s", reply)
		}
		c.last(`"store":false,"previous_response_id":"resp_1","input":"And 3+3?"`)
		if body := up.last(t); strings.Count(body.Raw, "two and two") != 1 || strings.Count(body.Raw, "It is 4.") != 1 {
			t.Errorf("%s: %s", display, body)
		}
	}
}

// TestSocketCalls: a tool's result finds its call, though the client sent nothing else;
// thoughts that are nothing but references to what the provider keeps are left out, with
// the ids of the items that it would miss them by.
func TestSocketCalls(t *testing.T) {
	var up noted
	stream := event("response.output_item.done", `"output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}`) +
		event("response.output_item.done", `"output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{}"}`)
	for end, want := range map[string]string{
		`"output":[]`: `{"type":"function_call","call_id":"call_1","name":"f","arguments":"{}"}`, // as some servers end it
		`"output":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"seal"},{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{}"}]`: `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{}"}`,
	} {
		c := connected(t, handler(t, gateway.Config{}, answering(func(r *http.Request) *http.Response {
			up.says("", "")(r)
			return response("text/event-stream", strings.NewReader(stream+event("response.completed", `"response":{"id":"resp_c","status":"completed",`+end+`}`)))
		})))
		c.last(`"store":false,"input":"Call f.","tools":[{"type":"function","name":"f"}]`)
		c.last(`"store":false,"previous_response_id":"resp_c","input":[{"type":"function_call_output","call_id":"call_1","output":"4"}],"tools":[{"type":"function","name":"f"}]`)
		body := up.last(t)
		items := body.Get("input").Array()
		if sealed := strings.Contains(end, "seal"); len(items) < 3 || sealed != (items[1].Get("encrypted_content").Str == "seal") || items[len(items)-2].Raw != want {
			t.Errorf("%s: %s", end, body)
		}
	}
}

// TestSocketLanes: turns of a lane are answered in their order, one after the other; those
// of other lanes are not kept waiting, and each event names its lane.
func TestSocketLanes(t *testing.T) {
	begun, proceed := make(chan string, 10), make(chan struct{})
	c := connected(t, handler(t, gateway.Config{}, answering(func(r *http.Request) *http.Response {
		body, _ := io.ReadAll(r.Body)
		name := gjson.GetBytes(body, "metadata.name").Str
		begun <- name
		if name == "a1" {
			<-proceed
		}
		return response("text/event-stream", strings.NewReader(responsesSpeaker.open+responsesSpeaker.finish(name, sotto.EndStopped)))
	})))
	for _, name := range []string{"a1", "a2"} {
		c.create(`"stream_id":"a","input":"Hi","metadata":{"name":"` + name + `"}`)
	}
	if got := <-begun; got != "a1" {
		t.Fatal(got)
	}
	c.create(`"stream_id":"b","input":"Hi","metadata":{"name":"b1"}`)
	if got := <-begun; got != "b1" {
		t.Fatalf("%s began while a1 was running", got)
	}
	c.hearUntil("b")
	close(proceed)
	for _, want := range []string{"a1", "a2"} {
		for {
			e := c.hear()
			if e.Get("stream_id").Str != "a" {
				t.Fatalf("%s", e)
			}
			if e.Get("type").Str == "response.completed" {
				if got := e.Get("response.output_text").Str; got != want {
					t.Errorf("%s, want %s", got, want)
				}
				break
			}
		}
	}
}

// TestSocketRefusals: each message that cannot be answered gets an error in the API's form,
// with its code, and the connection goes on.
func TestSocketRefusals(t *testing.T) {
	var up noted
	refusing := answering(func(r *http.Request) *http.Response {
		resp := up.says("It is 4.", "")(r)
		if strings.Contains(up.last(t).Raw, "refuse") {
			resp.StatusCode, resp.Header, resp.Body = 429, http.Header{"Content-Type": {"application/json"}},
				io.NopCloser(strings.NewReader(`{"error":{"message":"slow down","type":"rate_limit_error","code":"rate_limit_exceeded","param":null}}`))
		}
		return resp
	})
	c := connected(t, handler(t, gateway.Config{Limits: gateway.Limits{Body: 4096}}, refusing))
	deep := strings.Repeat("[", 2000) + strings.Repeat("]", 2000)
	for message, want := range map[string]string{
		`nothing`: "400 invalid_request", `[]`: "400 invalid_request", `{"type":"response.cancel"}`: "400 invalid_request",
		`{"type":"response.create","type":"response.create"}`:                     "400 invalid_request",
		`{"type":"response.create","store":"no"}`:                                 "400 invalid_request",
		`{"type":"response.create","previous_response_id":4}`:                     "400 invalid_request",
		`{"type":"response.create","input":4}`:                                    "400 invalid_request",
		`{"type":"response.create","stream_id":""}`:                               "400 invalid_stream_id",
		`{"type":"response.create","stream_id":"a b"}`:                            "400 invalid_stream_id",
		`{"type":"response.create","stream_id":7}`:                                "400 invalid_stream_id",
		`{"type":"response.create","input":` + deep + `}`:                         "400 invalid_request",
		"{\"type\":\"response.create\",\"input\":\"\xff\"}":                       "400 invalid_request",
		`{"type":"response.create","model":"m","input":"refuse"}`:                 "429 rate_limit_exceeded",
		`{"type":"response.create","model":"m","input":[{"role":"user"},"text"]}`: "",
	} {
		c.send(message)
		e := c.hear()
		got := fmt.Sprint(e.Get("status").Int(), " ", e.Get("error.code").Str)
		if want == "" {
			for e.Get("type").Str != "response.completed" && e.Get("type").Str != "error" {
				e = c.hear()
			}
			continue
		}
		if e.Get("type").Str != "error" || got != want || e.Get("error.message").Str == "" {
			t.Errorf("%.80s: %s, want %s", message, e, want)
		}
	}
	if e := c.last(`"input":"2+2?"`); e.Get("type").Str != "response.completed" {
		t.Errorf("the connection does not go on: %s", e)
	}
}

// TestSocketForgets: a reply for which there is no room is not kept, and a turn that
// continues it hears what to do. Nothing of a connection stays when it has ended.
func TestSocketForgets(t *testing.T) {
	var up noted
	g := handler(t, gateway.Config{Limits: gateway.Limits{Body: 8192}}, up.says(strings.Repeat("four ", 400), ""))
	c := connected(t, g)
	first := c.last(`"store":false,"input":"2+2?"`).Get("response.id").Str
	second := c.last(`"store":false,"previous_response_id":"` + first + `","input":"Again."`).Get("response.id").Str
	if gateway.SocketMemory(g) == 0 {
		t.Fatal("nothing is kept")
	}
	if e := c.last(`"store":false,"previous_response_id":"` + second + `","input":"Again."`); e.Get("response.id").Str != "resp_3" {
		t.Fatalf("%.300s", e)
	}
	e := c.last(`"store":false,"previous_response_id":"resp_3","input":"Again."`)
	if e.Get("error.code").Str != "previous_response_not_found" || e.Get("error.param").Str != "previous_response_id" {
		t.Errorf("%s", e)
	}
	c.conn.CloseNow()
	waiting.For(t, "the memory of the connection", func() error {
		if n := gateway.SocketMemory(g); n != 0 {
			return fmt.Errorf("%d bytes stay", n)
		}
		return nil
	})
}

// TestSocketRecord: each turn is an exchange of the record, with the messages that went to
// the upstream and one session for all of a lane.
func TestSocketRecord(t *testing.T) {
	w, dir := openRecord(t, record.Options{})
	var up noted
	g := handler(t, gateway.Config{Recorder: w}, up.says("<think>canary</think>It is 4.", ""))
	c := connected(t, g)
	c.last(`"store":false,"input":"2+2?"`)
	c.last(`"store":false,"previous_response_id":"resp_1","input":"And 3+3?"`)
	c.conn.Close(websocket.StatusNormalClosure, "")
	list := exchanges(t, w, dir)
	if len(list) != 2 {
		t.Fatalf("%d exchanges", len(list))
	}
	name, id := list[0].Session()
	_, same := list[1].Session()
	if name != "websocket" || id == "" || id != same || list[1].IDs["previous_response_id"] != "resp_1" || len(list[1].Messages) < 3 ||
		list[1].Path != "/v1/responses" || !list[1].Streamed || list[1].Outcome != "answered" {
		t.Errorf("%+v", list)
	}
}
