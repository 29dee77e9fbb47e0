package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// A stepped upstream begins each reply, and ends it when the test says how.
type stepped struct {
	noted
	ends chan string // the rest of a stream, or a status
}

func (u *stepped) answer(r *http.Request) *http.Response {
	body, _ := io.ReadAll(r.Body)
	u.mu.Lock()
	u.bodies = append(u.bodies, gjson.ParseBytes(body))
	id := fmt.Sprintf("resp_%d", len(u.bodies))
	u.mu.Unlock()
	if gjson.GetBytes(body, "metadata.refuse").Bool() && strings.Contains(string(body), "Stop") {
		resp := response("application/json", strings.NewReader(`{"error":{"message":"no","type":"invalid_request_error"}}`))
		resp.StatusCode = http.StatusBadRequest
		return resp
	}
	from, to := io.Pipe()
	go func() {
		_, _ = io.WriteString(to, event("response.created", `"response":{"id":"`+id+`","object":"response","status":"in_progress","model":"m","output":[]}`))
		_, _ = io.WriteString(to, strings.ReplaceAll(<-u.ends, "ID", id))
		to.Close()
	}()
	return response("text/event-stream", from)
}

// saidItem and calledItem are the ends of replies: a text, and a call.
var (
	saidItem   = endsWith("completed", `{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"It is 4.","annotations":[]}]}`)
	calledItem = endsWith("completed", `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{}","status":"completed"}`)
)

func endsWith(status, item string) string {
	return event("response.output_item.added", `"output_index":0,"item":`+item) + event("response.output_item.done", `"output_index":0,"item":`+item) +
		event("response."+status, `"response":{"id":"ID","object":"response","status":"`+status+`","model":"m","output":[`+item+`]}`)
}

// steer sends response.steer, and returns the event that says what becomes of it.
func (c *talker) steer(id, input string) gjson.Result {
	c.t.Helper()
	c.send(`{"type":"response.steer","previous_response_id":"` + id + `","input":` + input + `}`)
	return c.hearType("response.steer.")
}

// hearType returns the next event of a type.
func (c *talker) hearType(prefix string) gjson.Result {
	c.t.Helper()
	for {
		if e := c.hear(); strings.HasPrefix(e.Get("type").Str, prefix) {
			return e
		}
	}
}

// TestSteer: what a client adds while a reply is under way, the model hears in a turn that follows at once, with the
// settings of the one before; each addition once, in its order.
func TestSteer(t *testing.T) {
	for _, display := range routing.Displays() {
		up := &stepped{ends: make(chan string)}
		c := connected(t, handler(t, gateway.Config{Default: routing.Route{Display: display}}, answering(up.answer)))
		c.create(`"store":false,"temperature":0.5,"stream_id":"l","input":"2+2?"`)
		id := c.hearType("response.created").Get("response.id").Str
		var ids []string
		for i, input := range []string{`"And 3+3?"`, `[{"type":"message","role":"user","content":[{"type":"input_text","text":"Stop <b>."}]}]`} {
			e := c.steer(id, input)
			ids = append(ids, e.Get("steer.id").Str)
			if e.Get("type").Str != "response.steer.accepted" || ids[i] == "" || e.Get("steer.previous_response_id").Str != id || e.Get("stream_id").Str != "l" || e.Get("sequence_number").Int() != int64(i) {
				t.Errorf("%s: %s", display, e.Raw)
			}
		}
		if ids[0] == ids[1] {
			t.Error("two additions have one id")
		}
		up.ends <- saidItem
		c.hearType("response.completed")
		if e := c.hearType("response.created"); e.Get("response.id").Str != "resp_2" || e.Get("stream_id").Str != "l" {
			t.Errorf("%s", e.Raw)
		}
		if e := c.steer(id, `"late"`); e.Get("error.code").Str != "response_already_completed" || e.Get("steer.input").Str != "late" {
			t.Errorf("%s", e.Raw)
		}
		up.ends <- saidItem
		c.hearType("response.completed")
		body := up.last(t)
		if roles(body) != "user assistant user user" || body.Get("input.2.content").Str != "And 3+3?" || body.Get("input.3.content.0.text").Str != "Stop <b>." ||
			body.Get("temperature").Num != 0.5 || body.Get("store").Type != gjson.False || body.Get("type").Exists() || body.Get("previous_response_id").Exists() {
			t.Errorf("%s: %s", display, body)
		}
		if len(up.bodies) != 2 {
			t.Errorf("%d requests", len(up.bodies))
		}
	}
}

// TestSteerWaits: where the client has to give a result first, what it adds waits for the turn with that, and
// comes before it.
func TestSteerWaits(t *testing.T) {
	up := &stepped{ends: make(chan string)}
	c := connected(t, handler(t, gateway.Config{}, answering(up.answer)))
	c.create(`"store":false,"tools":[{"type":"function","name":"f"}],"input":"2+2?"`)
	id := c.hearType("response.created").Get("response.id").Str
	accepted := c.steer(id, `"Stop."`)
	up.ends <- calledItem
	c.hearType("response.completed")
	e := c.hearType("response.steer.")
	if e.Get("type").Str != "response.steer.pending" || e.Get("steer.id").Str != accepted.Get("steer.id").Str || e.Get("reason").Str != "waiting_for_required_input" ||
		e.Get("required_input").Raw != `[{"call_id":"call_1","name":"f","type":"function_call_output"}]` || e.Get("steer.input").Exists() {
		t.Errorf("%s", e.Raw)
	}
	if e := c.steer(id, `"late"`); e.Get("error.code").Str != "response_already_completed" {
		t.Errorf("%s", e.Raw)
	}
	c.create(`"generate":false,"previous_response_id":"` + id + `"`) // which asks for no reply
	c.hearType("response.completed")
	c.create(`"store":false,"previous_response_id":"` + id + `","temperature":1,"input":[{"type":"function_call_output","call_id":"call_1","output":"4"}]`)
	c.hearType("response.created")
	up.ends <- saidItem
	c.hearType("response.completed")
	body := up.last(t)
	if roles(body) != "user function_call user function_call_output" || body.Get("temperature").Num != 1 || body.Get("tools").Exists() {
		t.Errorf("%s", body)
	}
	c.create(`"store":false,"previous_response_id":"` + id + `","input":"again"`)
	c.hearType("response.created")
	up.ends <- saidItem
	c.hearType("response.completed")
	if got := roles(up.last(t)); got != "user function_call user" {
		t.Errorf("what waited was said twice: %s", got)
	}
}

// TestSteerFails: what cannot be said the client gets back, with the reason.
func TestSteerFails(t *testing.T) {
	up := &stepped{ends: make(chan string)}
	g := handler(t, gateway.Config{}, answering(up.answer))
	c := connected(t, g)
	code := func(e gjson.Result, want, input string) {
		t.Helper()
		if e.Get("type").Str != "response.steer.failed" || e.Get("error.code").Str != want || e.Get("error.message").Str == "" || e.Get("steer.input").Raw != input {
			t.Errorf("%s: want %s", e.Raw, want)
		}
	}
	code(c.steer("resp_x", `"a"`), "response_not_found", `"a"`)
	for input, back := range map[string]string{
		`""`: `""`, `[]`: "[]", `5`: "5", `[{"role":"developer","content":"a"}]`: "", `[{"role":"user","content":[{"type":"output_text","text":"a"}]}]`: "",
		`[{"role":"user","content":"a","id":"x"}]`: "", `[{"type":"function_call_output","call_id":"a","output":"b"}]`: "", `[{"role":"user"}]`: "",
		`"a","stream_id":"l"`: `"a"`, `"a","input":"b"`: `"b"`,
	} {
		if back == "" {
			back = input
		}
		want := "invalid_input"
		if input == `""` {
			want = "response_not_found" // an empty text is a text
		}
		code(c.steer("resp_1", input), want, back)
	}
	c.create(`"store":false,"input":"2+2?"`)
	id := c.hearType("response.created").Get("response.id").Str
	for i := range 16 {
		if e := c.steer(id, fmt.Sprint(`"`, i, `"`)); e.Get("type").Str != "response.steer.accepted" {
			t.Fatalf("%s", e.Raw)
		}
	}
	code(c.steer(id, `"17"`), "too_many_pending_steers", `"17"`)
	up.ends <- event("response.failed", `"response":{"id":"ID","object":"response","status":"failed","error":{"code":"server_error","message":"x"},"output":[]}`)
	c.hearType("response.failed")
	for i := range 16 {
		e := c.hearType("response.steer.")
		if code(e, "response_not_active", fmt.Sprint(`"`, i, `"`)); e.Get("steer.id").Str == "" {
			t.Errorf("%s", e.Raw)
		}
	}
	c.create(`"store":false,"input":"2+2?","metadata":{"refuse":true}`)
	id = c.hearType("response.created").Get("response.id").Str
	c.steer(id, `"Stop."`)
	up.ends <- saidItem
	if e := c.hearType("error"); e.Get("error.message").Str != "no" {
		t.Errorf("%s", e.Raw)
	}
	code(c.hearType("response.steer."), "successor_creation_failed", `"Stop."`)
	c.create(`"store":false,"input":"2+2?","conversation":"conv_1"`)
	id = c.hearType("response.created").Get("response.id").Str
	code(c.steer(id, `"Stop."`), "steering_not_supported", `"Stop."`)
	up.ends <- saidItem
	c.hearType("response.completed")
	c.create(`"store":false,"input":"2+2?"`)
	c.steer(c.hearType("response.created").Get("response.id").Str, `"It waits until the connection ends."`)
	up.ends <- calledItem
	c.hearType("response.steer.pending")
	c.conn.CloseNow()
	returned(t, g)
}

// TestSteerBridge: a client steers a model of another API too.
func TestSteerBridge(t *testing.T) {
	var up noted
	proceed := make(chan struct{})
	c := connected(t, handler(t, gateway.Config{UpstreamAPI: "chat"}, answering(func(r *http.Request) *http.Response {
		body, _ := io.ReadAll(r.Body)
		up.mu.Lock()
		up.bodies = append(up.bodies, gjson.ParseBytes(body))
		up.mu.Unlock()
		from, to := io.Pipe()
		go func() {
			_, _ = io.WriteString(to, `data: {"id":"c1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"It is "}}]}`+"\n\n")
			<-proceed
			_, _ = io.WriteString(to, `data: {"id":"c1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"4."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
			to.Close()
		}()
		return response("text/event-stream", from)
	})))
	c.create(`"input":"2+2?"`)
	id := c.hearType("response.created").Get("response.id").Str
	c.steer(id, `"And 3+3?"`)
	proceed <- struct{}{}
	c.hearType("response.created")
	proceed <- struct{}{}
	c.hearType("response.completed")
	if got := up.last(t).Get("messages.#.role").Raw; got != `["user","assistant","user"]` {
		t.Errorf("%s", up.last(t))
	}
}

// TestSteerKept: what a client adds to a reply that the gateway keeps is a turn that is kept too. Over another
// connection, the conversation goes on with all that was said, each thing once and in its order.
func TestSteerKept(t *testing.T) {
	for _, display := range routing.Displays() {
		up := &stepped{ends: make(chan string)}
		g := handler(t, gateway.Config{Default: routing.Route{Display: display, Conversations: routing.ConversationsGateway}}, answering(up.answer))
		srv := httptest.NewServer(g)
		t.Cleanup(srv.Close)
		again := func() *talker {
			c, _, err := connect(t, srv.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		c := again()
		c.create(`"tools":[{"type":"function","name":"f"}],"input":"2+2?"`)
		one := c.hearType("response.created").Get("response.id").Str
		c.steer(one, `"And 3+3?"`)
		up.ends <- saidItem
		c.hearType("response.completed")
		two := c.hearType("response.created").Get("response.id").Str
		c.steer(two, `"Stop."`)
		up.ends <- calledItem
		if e := c.hearType("response.completed").Get("response"); e.Get("previous_response_id").Str != one || !e.Get("store").Bool() || e.Get("id").Str != two || one == two {
			t.Errorf("%s: the turn that follows is %s", display, e.Raw)
		}
		c.hearType("response.steer.pending")
		c.create(`"previous_response_id":"` + two + `","input":[{"type":"function_call_output","call_id":"call_1","output":"4"}]`)
		three := c.hearType("response.created").Get("response.id").Str
		up.ends <- saidItem
		c.hearType("response.completed")

		c = again()
		for _, v := range []struct{ from, roles, last string }{
			{three, "user assistant user function_call user function_call_output assistant user", "Stop."},
			{two, "user assistant user function_call user", "next"}, // as it was before what waited was said
			{one, "user assistant user", "next"},
		} {
			c.create(`"store":false,"previous_response_id":"` + v.from + `","input":"next"`)
			c.hearType("response.created")
			up.ends <- saidItem
			c.hearType("response.completed")
			body := up.last(t)
			if roles(body) != v.roles || strings.Count(body.Raw, v.last) != 1 || strings.Count(body.Raw, "2+2?") != 1 {
				t.Errorf("%s: after %s: %s", display, v.from, body)
			}
		}
	}
}
