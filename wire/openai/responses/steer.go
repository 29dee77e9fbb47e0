package responses

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
)

// response.steer, as the types of the SDK's beta declare it (BetaResponseSteerEvent).

var _ wire.SteerCodec = codec{}

// Steer reads response.steer. It takes messages of the user only, as the API does.
func (codec) Steer(message []byte) (s wire.Steer, ok bool, reason string) {
	root := jsonedit.Parse(message)
	if root.Get("type").Str != "response.steer" {
		return s, false, ""
	}
	has := map[string]gjson.Result{}
	root.ForEach(func(key, v gjson.Result) bool {
		if _, twice := has[key.Str]; twice {
			reason = key.Str + " appears twice"
		}
		has[key.Str] = v
		return true
	})
	s.Reply = has["previous_response_id"].Str
	input := has["input"]
	s.Input = []byte(input.Raw)
	for key := range has {
		if key != "type" && key != "previous_response_id" && key != "input" {
			reason = strconv.QuoteToASCII(key) + ": the event has only type, previous_response_id and input"
		}
	}
	switch {
	case reason != "":
	case s.Reply == "":
		reason = "previous_response_id is not the id of a response"
	case input.Type == gjson.String:
		s.Items = append(append([]byte(`{"role":"user","content":`), input.Raw...), '}')
	case input.IsArray():
		s.Items = bytes.TrimSpace([]byte(input.Raw[1 : len(input.Raw)-1]))
		reason = steers(input)
	default:
		reason = "input is not a string or a list"
	}
	return s, true, reason
}

// steeringParts are what a message may have that steers.
var steeringParts = map[string]bool{"input_text": true, "input_image": true, "input_file": true}

// steers says why some items cannot steer; "" if they can.
func steers(input gjson.Result) (reason string) {
	items := input.Array()
	if len(items) == 0 {
		return "input is empty"
	}
	for i, item := range items {
		at := "input[" + strconv.Itoa(i) + "]"
		if kind := item.Get("type"); !item.IsObject() || kind.Exists() && kind.Str != "message" || item.Get("role").Str != "user" {
			return at + " is not a message of the user"
		}
		item.ForEach(func(key, _ gjson.Result) bool {
			if key.Str != "type" && key.Str != "role" && key.Str != "content" {
				reason = at + " has more than type, role and content"
			}
			return reason == ""
		})
		content := item.Get("content")
		if content.Type != gjson.String && !content.IsArray() {
			reason = at + ".content is not a string or a list"
		}
		if content.IsArray() {
			content.ForEach(func(_, part gjson.Result) bool {
				if !steeringParts[part.Get("type").Str] {
					reason = at + ".content has a part that is not input_text, input_image or input_file"
				}
				return reason == ""
			})
		}
		if reason != "" {
			return reason
		}
	}
	return ""
}

// Steered replaces the input and the response that is continued, and leaves all other members.
func (codec) Steered(t *wire.Turn, reply string, items []byte) []byte {
	members := jsonedit.Members(jsonedit.Parse(t.Message))
	head := jsontext.AppendString([]byte(`"previous_response_id":`), reply)
	head = append(append(append(head, `,"input":[`...), items...), "],"...) // type stays, at least
	at := bytes.IndexByte(t.Message, '{') + 1
	edits := []jsonedit.Edit{{Span: jsonedit.Span{Start: at, End: at}, With: head}}
	return jsonedit.Splice(nil, t.Message, jsonedit.Cut(edits, members, func(i int) bool {
		return members[i].Key == "previous_response_id" || members[i].Key == "input"
	}))
}

// steerFaults are how the API says why the client gets its input back.
var steerFaults = map[wire.SteerCode]struct{ code, text string }{
	wire.SteerMalformed: {"invalid_input", ""},
	wire.SteerUnknown:   {"response_not_found", "this connection has no such response under way"},
	wire.SteerOver:      {"response_already_completed", "the response had ended: send the input in response.create"},
	wire.SteerFixed:     {"steering_not_supported", "a response with a conversation or with context_management cannot be steered"},
	wire.SteerFull:      {"too_many_pending_steers", "too much input waits for a response of this connection: send it in response.create later"},
	wire.SteerFailed:    {"response_not_active", "the response failed: send the input in response.create"},
	wire.SteerRefused:   {"successor_creation_failed", "the response that was to follow could not begin: send the input in response.create"},
}

// A steerObject is the input of a client in an event.
type steerObject struct {
	ID       string          `json:"id,omitempty"`
	Previous string          `json:"previous_response_id"`
	Input    json.RawMessage `json:"input,omitempty"`
}

func (codec) SteerEvent(dst []byte, s *wire.Steer, e wire.SteerEvent) []byte {
	event := map[string]any{"type": "response.steer.accepted", "sequence_number": e.Number}
	about := steerObject{ID: s.ID, Previous: s.Reply}
	switch {
	case e.Fault != nil:
		how := steerFaults[e.Fault.Code]
		if how.text == "" {
			how.text = e.Fault.Detail
		}
		event["type"] = "response.steer.failed"
		event["error"] = map[string]string{"type": "invalid_request_error", "code": how.code, "message": how.text}
		if about.Input = s.Input; len(about.Input) == 0 {
			about.Input = json.RawMessage(`""`)
		}
	case len(e.Needs) > 0:
		event["type"] = "response.steer.pending"
		event["reason"] = "waiting_for_required_input"
		event["required_input"] = json.RawMessage("[" + string(e.Needs) + "]")
	}
	event["steer"] = about
	b, err := json.Marshal(event)
	if err != nil { // the input is valid JSON, since the message was
		panic(err)
	}
	return append(dst, b...)
}

// needed are the items that the client answers, by the type of its answer.
var needed = map[string]string{
	"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output", "computer_call": "computer_call_output",
	"shell_call": "shell_call_output", "local_shell_call": "local_shell_call_output", "apply_patch_call": "apply_patch_call_output",
	"mcp_approval_request": "mcp_approval_response",
}

// addNeed notes what the client has to give after an item.
func addNeed(left *wire.TurnLeft, item gjson.Result) {
	answer, ok := needed[item.Get("type").Str]
	if !ok {
		return
	}
	stub := map[string]string{"type": answer}
	switch answer {
	case "mcp_approval_response":
		stub["approval_request_id"] = item.Get("id").Str
	case "local_shell_call_output":
		stub["id"] = item.Get("id").Str
	case "function_call_output":
		stub["name"] = item.Get("name").Str
		fallthrough
	default:
		stub["call_id"] = item.Get("call_id").Str
	}
	b, err := json.Marshal(stub)
	if err != nil {
		return
	}
	if len(left.Needs) > 0 {
		left.Needs = append(left.Needs, ',')
	}
	left.Needs = append(left.Needs, b...)
}
