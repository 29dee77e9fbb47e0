package responses

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
)

// The WebSocket of the API: https://developers.openai.com/api/docs/guides/websocket-mode

var _ wire.SocketCodec = codec{}

// turnMembers are the members by which a turn is read. Each may appear once.
var turnMembers = map[string]bool{
	"type": true, "stream_id": true, "previous_response_id": true, "generate": true, "store": true, "stream": true, "input": true, "client_metadata": true,
	"conversation": true, "context_management": true,
}

// Codex gives each turn a trace context of its own, as headers in client_metadata.
const headerOfTurn = "ws_request_header_"

// Turn reads response.create.
func (codec) Turn(message []byte) (*wire.Turn, error) {
	root := jsonedit.Parse(message)
	t := &wire.Turn{Message: message}
	malformed := func(detail string) (*wire.Turn, error) {
		return nil, &wire.TurnError{Lane: t.Lane, Detail: detail}
	}
	if !root.IsObject() {
		return malformed("a message must be a JSON object")
	}
	has := map[string]gjson.Result{}
	twice := ""
	root.ForEach(func(key, v gjson.Result) bool {
		if turnMembers[key.Str] {
			if _, seen := has[key.Str]; seen {
				twice = key.Str
			}
			has[key.Str] = v
		}
		return true
	})
	if lane := has["stream_id"]; lane.Type != gjson.Null {
		if t.Lane = lane.Str; !isLane(t.Lane) {
			return nil, &wire.TurnError{Fault: wire.TurnBadLane}
		}
	}
	if twice != "" {
		return malformed(twice + " appears twice")
	}
	if has["type"].Str != "response.create" {
		return malformed("type: this server accepts only response.create and response.steer")
	}
	for name, want := range map[string]gjson.Type{"previous_response_id": gjson.String, "generate": gjson.False, "store": gjson.False} {
		if v := has[name]; v.Type != gjson.Null && v.Type != want && !(want == gjson.False && v.Type == gjson.True) {
			return malformed(name + " has the wrong type")
		}
	}
	t.Previous = has["previous_response_id"].Str
	t.Prepares = has["generate"].Type == gjson.False
	t.Discards = has["store"].Type == gjson.False
	t.Fixed = has["conversation"].Type != gjson.Null || has["context_management"].Type != gjson.Null
	t.Traceparent = has["client_metadata"].Get(headerOfTurn + "traceparent").Str
	t.Tracestate = has["client_metadata"].Get(headerOfTurn + "tracestate").Str
	input := has["input"]
	switch {
	case input.Type == gjson.Null:
	case input.Type == gjson.String:
		t.Items = append(append([]byte(`{"role":"user","content":`), input.Raw...), '}')
	case input.IsArray():
		t.Items = bytes.TrimSpace([]byte(input.Raw[1 : len(input.Raw)-1]))
	default:
		return malformed("input is not a string or a list")
	}
	return t, nil
}

// isLane reports whether a text may name a lane.
func isLane(name string) bool {
	return name != "" && len(name) <= 256 && !strings.ContainsFunc(name, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-.", r))
	})
}

// notByHTTP are the members of a turn that the body of a request does not have, or has
// with a value that the gateway writes.
var notByHTTP = map[string]bool{"type": true, "stream_id": true, "generate": true, "stream": true, "previous_response_id": true}

// TurnBody leaves every member that it need not change byte for byte.
func (codec) TurnBody(dst []byte, t *wire.Turn, earlier []byte, previous string) []byte {
	members := jsonedit.Members(jsonedit.Parse(t.Message))
	replaces := len(earlier) > 0
	drop := func(i int) bool { return notByHTTP[members[i].Key] || replaces && members[i].Key == "input" }
	stays := false
	for i := range members {
		stays = stays || !drop(i)
	}
	head := []byte(`"stream":true`)
	if previous != "" {
		head = jsontext.AppendString(append(head, `,"previous_response_id":`...), previous)
	}
	if replaces {
		head = append(append(head, `,"input":[`...), earlier...)
		if len(t.Items) > 0 {
			head = append(append(head, ','), t.Items...)
		}
		head = append(head, ']')
	}
	if stays {
		head = append(head, ',')
	}
	at := bytes.IndexByte(t.Message, '{') + 1
	edits := []jsonedit.Edit{{Span: jsonedit.Span{Start: at, End: at}, With: head}}
	return jsonedit.Splice(dst, t.Message, jsonedit.Cut(edits, members, drop))
}

// HearEvent takes the output from the event that ends the response, or, for servers that
// leave it out there, from the events that end its items.
func (codec) HearEvent(left *wire.TurnLeft, event []byte) {
	root := jsonedit.Parse(event)
	switch root.Get("type").Str {
	case "response.created":
		left.ID = strings.Clone(root.Get("response.id").Str)
	case "response.output_item.done":
		addItem(left, root.Get("item"))
	case "response.completed", "response.incomplete":
		response := root.Get("response")
		left.Ended, left.ID = true, strings.Clone(response.Get("id").Str)
		left.Stored = response.Get("store").Type == gjson.True
		if output := response.Get("output").Array(); len(output) > 0 {
			left.Items, left.Refers, left.Needs = nil, false, nil
			for _, item := range output {
				addItem(left, item)
			}
		}
	}
}

// addItem adds an item of an output as the input of a later request has it. The items of
// an upstream that stores nothing refer to nothing: a thought without its encrypted or open
// content is left out, and so are then the ids of the items after it, which the provider
// would miss it by.
func addItem(left *wire.TurnLeft, item gjson.Result) {
	if !item.IsObject() {
		return
	}
	if isReference(item) {
		left.Refers = true
		return
	}
	if len(left.Items) > 0 {
		left.Items = append(left.Items, ',')
	}
	raw := []byte(item.Raw)
	if left.Refers {
		members := jsonedit.Members(jsonedit.Parse(raw))
		raw = jsonedit.Splice(nil, raw, jsonedit.Cut(nil, members, func(i int) bool { return members[i].Key == "id" }))
	}
	left.Items = append(left.Items, raw...)
	addNeed(left, item)
}

// isReference reports whether a thought is nothing but an id, or an id and a summary,
// of what the provider has.
func isReference(item gjson.Result) bool {
	return item.Get("type").Str == "reasoning" && item.Get("encrypted_content").Str == "" &&
		len(item.Get("content").Array()) == 0 && !strings.HasPrefix(item.Get("id").Str, thoughtID)
}

// Message adds the lane at the end, so that an upstream that names another does not speak
// in that one: clients take the last of two members.
func (codec) Message(dst, event []byte, lane string) []byte {
	event = bytes.TrimSpace(event)
	if lane == "" || len(event) < 2 {
		return append(dst, event...)
	}
	inside := bytes.TrimSpace(event[1 : len(event)-1])
	dst = append(append(dst, '{'), inside...)
	if len(inside) > 0 {
		dst = append(dst, ',')
	}
	return append(jsontext.AppendString(append(dst, `"stream_id":`...), lane), '}')
}

// WholeEvent makes the event that ends a response.
func (codec) WholeEvent(dst, body []byte) ([]byte, bool) {
	status := jsonedit.Parse(body).Get("status").Str
	switch status {
	case "completed", "incomplete", "failed":
	default:
		return dst, false
	}
	dst = append(append(append(dst, `{"type":"response.`...), status...), `","sequence_number":0,"response":`...)
	return append(append(dst, bytes.TrimSpace(body)...), '}'), true
}

// PreparedEvents are those of a response without output.
func (codec) PreparedEvents(t *wire.Turn, id string) [][]byte {
	model := jsonedit.Parse(t.Message).Get("model")
	name := model.Raw
	if model.Type != gjson.String {
		name = "null"
	}
	var list [][]byte
	for i, event := range []string{"created", "in_progress", "completed"} {
		status, usage := "in_progress", "null"
		if event == "completed" {
			status = event
			usage = `{"input_tokens":0,"input_tokens_details":{"cached_tokens":0},"output_tokens":0,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":0}`
		}
		list = append(list, []byte(`{"type":"response.`+event+`","sequence_number":`+strconv.Itoa(i)+`,"response":{"id":"`+id+`","object":"response","status":"`+status+
			`","model":`+name+`,"output":[],"store":false,"error":null,"incomplete_details":null,"usage":`+usage+`}}`))
	}
	return list
}

// RefusalEvent keeps the error as it is.
func (codec) RefusalEvent(dst []byte, status int, body []byte) []byte {
	fault := ""
	if foreignjson.Valid(body) {
		if v := jsonedit.Parse(body).Get("error"); v.IsObject() {
			fault = v.Raw
		}
	}
	if fault == "" {
		own := codec{}.Error(status, "the upstream refused the request")
		fault = jsonedit.Parse(own).Get("error").Raw
	}
	return append(append(append(dst, `{"type":"error","status":`+strconv.Itoa(status)+`,"error":`...), fault...), '}')
}

// turnFaults are how the API says why it refuses a turn.
var turnFaults = map[wire.TurnFault]struct {
	status                  int
	kind, code, param, text string
}{
	wire.TurnMalformed: {http.StatusBadRequest, "invalid_request_error", "invalid_request", "", ""},
	wire.TurnBadLane: {http.StatusBadRequest, "invalid_request_error", "invalid_stream_id", "stream_id",
		"stream_id must have 1 to 256 letters, digits, underscores, hyphens or periods"},
	wire.TurnLanes: {http.StatusBadRequest, "invalid_request_error", "websocket_stream_limit_reached", "stream_id",
		"this connection has as many stream_id values as it may have: use one of them again, or open another connection"},
	wire.TurnWaiting: {http.StatusTooManyRequests, "rate_limit_error", "websocket_queue_full", "",
		"too many messages of this connection wait for their turn: send the next one when a response has ended"},
	wire.TurnForgotten: {http.StatusBadRequest, "invalid_request_error", "previous_response_not_found", "previous_response_id", ""},
	wire.TurnExpired: {http.StatusBadRequest, "invalid_request_error", "websocket_connection_limit_reached", "",
		"this connection has reached its age of 60 minutes: open another one to continue"},
	wire.TurnNoConversation: {http.StatusNotFound, "invalid_request_error", "conversation_not_found", "conversation", ""},
	wire.TurnLocked: {http.StatusConflict, "invalid_request_error", "conversation_locked", "conversation",
		"another request to this conversation is under way: ask again when it has ended"},
}

func (codec) TurnError(e *wire.TurnError) (int, []byte) {
	how := turnFaults[e.Fault]
	text := how.text
	switch {
	case e.Fault == wire.TurnForgotten:
		text = "the response " + strconv.QuoteToASCII(e.Detail) + " is not kept here: send the whole input without previous_response_id"
	case e.Fault == wire.TurnNoConversation:
		text = "the conversation " + strconv.QuoteToASCII(e.Detail) + " is not kept here: make another one, or send the whole input"
	case text == "":
		text = e.Detail
	}
	param := &how.param
	if how.param == "" {
		param = nil
	}
	body, _ := json.Marshal(map[string]any{"error": struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	}{text, how.kind, param, how.code}})
	return how.status, body
}
