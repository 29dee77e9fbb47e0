package responses

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
)

// Conversations that the server keeps: https://developers.openai.com/api/docs/guides/conversation-state

var _ wire.KeptCodec = codec{}

// keptMembers are the members of a request that say what it continues. Each may appear once.
var keptMembers = map[string]gjson.Type{
	"previous_response_id": gjson.String, "conversation": gjson.JSON, "store": gjson.False, "background": gjson.False, "stream": gjson.False, "input": gjson.JSON,
}

// Continues implements [wire.KeptCodec].
func (codec) Continues(body []byte) (*wire.Turn, error) {
	root := jsonedit.Parse(body)
	t := &wire.Turn{Message: body}
	malformed := func(detail string) (*wire.Turn, error) { return nil, &wire.TurnError{Detail: detail} }
	if !root.IsObject() {
		return malformed("the request must be a JSON object")
	}
	has, wrong := map[string]gjson.Result{}, ""
	root.ForEach(func(key, v gjson.Result) bool {
		want, known := keptMembers[key.Str]
		if _, seen := has[key.Str]; known && seen {
			wrong = key.Str + " appears twice"
		}
		ok := v.Type == gjson.Null || v.Type == want || want == gjson.False && v.Type == gjson.True || want == gjson.JSON && v.Type == gjson.String
		if known && !ok {
			wrong = key.Str + " has the wrong type"
		}
		if known {
			has[key.Str] = v
		}
		return wrong == ""
	})
	if wrong != "" {
		return malformed(wrong)
	}
	t.Previous, t.Conversation = has["previous_response_id"].Str, conversationOf(has["conversation"])
	t.Discards, t.Background, t.Streams = has["store"].Type == gjson.False, has["background"].Bool(), has["stream"].Bool()
	switch named := has["conversation"]; {
	case named.Type != gjson.Null && t.Conversation == "":
		return malformed("conversation: want an id")
	case t.Conversation != "" && t.Previous != "":
		return malformed("previous_response_id: a conversation is named too: send one of them")
	case t.Background && t.Discards:
		return malformed("background: a reply that nobody waits for must be stored: leave out store")
	}
	items, ok := itemsIn(has["input"])
	if !ok {
		return malformed("input is not a string or a list")
	}
	t.Items = items
	return t, nil
}

func quoted(s string) string { return string(jsontext.AppendString(nil, s)) }

func conversationOf(v gjson.Result) string {
	if v.IsObject() {
		return v.Get("id").Str
	}
	return v.Str
}

// itemsIn returns the items of an input, with commas between them.
func itemsIn(input gjson.Result) (items []byte, ok bool) {
	switch {
	case input.Type == gjson.Null:
	case input.Type == gjson.String:
		items = append(append([]byte(`{"role":"user","content":`), input.Raw...), '}')
	case input.IsArray():
		items = bytes.TrimSpace([]byte(input.Raw[1 : len(input.Raw)-1]))
	default:
		return nil, false
	}
	return items, true
}

// WholeBody leaves every member that it need not change byte for byte.
func (codec) WholeBody(dst []byte, t *wire.Turn, items []byte) []byte {
	root := jsonedit.Parse(t.Message)
	members := jsonedit.Members(root)
	drop := func(i int) bool {
		switch members[i].Key {
		case "previous_response_id", "conversation":
			return true
		case "background":
			return t.Background
		}
		return false
	}
	edits := jsonedit.Cut(nil, members, drop)
	if len(items) == 0 {
		return jsonedit.Splice(dst, t.Message, edits)
	}
	whole := append([]byte{'['}, items...)
	if len(t.Items) > 0 {
		whole = append(append(whole, ','), t.Items...)
	}
	whole = append(whole, ']')
	for i := range members {
		if members[i].Key == "input" {
			return jsonedit.Splice(dst, t.Message, append(edits, jsonedit.Edit{Span: members[i].ValueSpan(), With: whole}))
		}
	}
	// Without an input of its own, the request must keep a comma only if something stays.
	head := append([]byte(`"input":`), whole...)
	for i := range members {
		if !drop(i) {
			head = append(head, ',')
			break
		}
	}
	at := bytes.IndexByte(t.Message, '{') + 1
	return jsonedit.Splice(dst, t.Message, append([]jsonedit.Edit{{Span: jsonedit.Span{Start: at, End: at}, With: head}}, edits...))
}

// replyIn returns the response in an event, or the one that a whole body is.
func replyIn(data []byte) gjson.Result {
	root := jsonedit.Parse(data)
	if r := root.Get("response"); r.IsObject() && strings.HasPrefix(root.Get("type").Str, "response.") {
		return r
	}
	if root.Get("object").Str == "response" {
		return root
	}
	return gjson.Result{}
}

// Named implements [wire.KeptCodec].
func (codec) Named(dst, data []byte, n wire.KeptNames) []byte {
	reply := replyIn(data)
	if !reply.IsObject() {
		return append(dst, data...)
	}
	stored := n.Stored && (n.Background || reply.Get("status").Str != "failed")
	values := map[string]string{"store": strconv.FormatBool(stored), "previous_response_id": "null"}
	order := []string{"id", "previous_response_id", "store", "conversation", "background"}
	if n.ID != "" {
		values["id"] = quoted(n.ID)
	}
	if n.Previous != "" {
		values["previous_response_id"] = quoted(n.Previous)
	}
	if n.Conversation != "" {
		values["conversation"] = `{"id":` + quoted(n.Conversation) + `}`
	}
	if n.Background {
		values["background"] = "true"
	}
	var edits []jsonedit.Edit
	for _, m := range jsonedit.Members(reply) {
		if v, ok := values[m.Key]; ok {
			edits = append(edits, jsonedit.Edit{Span: m.ValueSpan(), With: []byte(v)})
			delete(values, m.Key)
		}
	}
	end := jsonedit.SpanOf(reply).End - 1
	tail := []byte(nil)
	for _, name := range order {
		if v, ok := values[name]; ok {
			tail = append(append(append(append(tail, `,"`...), name...), `":`...), v...)
		}
	}
	return jsonedit.Splice(dst, data, append(edits, jsonedit.Edit{Span: jsonedit.Span{Start: end, End: end}, With: tail}))
}

// KeptReply takes the output from the items that were heard, for servers that leave it out at the end.
func (codec) KeptReply(data []byte, left *wire.TurnLeft) []byte {
	reply := replyIn(data)
	switch reply.Get("status").Str {
	case "completed", "incomplete":
	default:
		return nil
	}
	if kind := jsonedit.Parse(data).Get("type").Str; kind != "" && kind != "response.completed" && kind != "response.incomplete" {
		return nil
	}
	raw := []byte(reply.Raw)
	if output := reply.Get("output"); len(output.Array()) > 0 || len(left.Items) == 0 {
		return raw
	}
	items := append(append([]byte{'['}, left.Items...), ']')
	for _, m := range jsonedit.Members(jsonedit.Parse(raw)) {
		if m.Key == "output" {
			return jsonedit.Splice(nil, raw, []jsonedit.Edit{{Span: m.ValueSpan(), With: items}})
		}
	}
	end := bytes.LastIndexByte(raw, '}')
	return jsonedit.Splice(nil, raw, []jsonedit.Edit{{Span: jsonedit.Span{Start: end, End: end}, With: append([]byte(`,"output":`), items...)}})
}

// KeptOutput implements [wire.KeptCodec].
func (codec) KeptOutput(reply []byte) []byte {
	var left wire.TurnLeft
	for _, item := range jsonedit.Parse(reply).Get("output").Array() {
		addItem(&left, item)
	}
	return left.Items
}

// KeptItems implements [wire.KeptCodec]. A text of the user becomes a message with parts.
func (codec) KeptItems(items []byte, prefix string) []wire.KeptItem {
	list := jsonedit.Parse(append(append([]byte{'['}, items...), ']')).Array()
	all := make([]wire.KeptItem, len(list))
	for i, v := range list {
		all[i] = keptItem(v, prefix+strconv.Itoa(i))
	}
	return all
}

// keptItem returns an item with an id. If none is given, it has only the client's.
func keptItem(v gjson.Result, id string) wire.KeptItem {
	raw := []byte(v.Raw)
	if !v.IsObject() {
		return wire.KeptItem{ID: id, Raw: raw, Sent: raw}
	}
	own, kind := v.Get("id"), ""
	if own.Str != "" {
		id = own.Str
	}
	if v.Get("role").Str != "" && !v.Get("type").Exists() {
		kind = `"type":"message",`
	}
	if !own.Exists() && id != "" {
		kind = `"id":` + quoted(id) + "," + kind
	}
	members := jsonedit.Members(jsonedit.Parse(raw))
	if len(members) == 0 {
		kind = strings.TrimSuffix(kind, ",")
	}
	edits := []jsonedit.Edit{{Span: jsonedit.Span{Start: 1, End: 1}, With: []byte(kind)}}
	for _, m := range members {
		switch {
		case m.Key == "id" && m.Value.Str == "" && id != "":
			edits = append(edits, jsonedit.Edit{Span: m.ValueSpan(), With: []byte(quoted(id))})
		case m.Key == "content" && m.Value.Type == gjson.String && v.Get("role").Exists():
			part := "input_text"
			if v.Get("role").Str == "assistant" {
				part = "output_text"
			}
			edits = append(edits, jsonedit.Edit{Span: m.ValueSpan(), With: []byte(`[{"type":"` + part + `","text":` + m.Value.Raw + `}]`)})
		}
	}
	return wire.KeptItem{ID: id, Raw: jsonedit.Splice(nil, raw, edits), Sent: raw}
}

func faultOf(text string) string { return `{"code":"server_error","message":` + quoted(text) + `}` }

// Failed implements [wire.KeptCodec].
func (codec) Failed(dst, reply []byte, why string) []byte {
	values := map[string]string{"status": `"failed"`, "error": faultOf(why)}
	var edits []jsonedit.Edit
	for _, m := range jsonedit.Members(jsonedit.Parse(reply)) {
		if v, ok := values[m.Key]; ok {
			edits = append(edits, jsonedit.Edit{Span: m.ValueSpan(), With: []byte(v)})
		}
	}
	return jsonedit.Splice(dst, reply, edits)
}

// AppendKept implements [wire.KeptCodec].
func (codec) AppendKept(dst []byte, o wire.KeptObject) []byte {
	id := quoted(o.ID)
	switch o.Kind {
	case wire.KeptDeletedReply:
		return append(dst, `{"id":`+id+`,"object":"response","deleted":true}`...)
	case wire.KeptDeletedConversation:
		return append(dst, `{"id":`+id+`,"object":"conversation.deleted","deleted":true}`...)
	case wire.KeptReplyState:
		fault := "null"
		if o.State == wire.KeptFailed {
			fault = faultOf(o.Fault)
		}
		return append(dst, `{"id":`+id+`,"object":"response","created_at":`+strconv.FormatInt(o.Created, 10)+`,"status":"`+string(o.State)+`","model":`+quoted(o.Model)+
			`,"output":[],"error":`+fault+`,"incomplete_details":null,"parallel_tool_calls":true,"tool_choice":"auto","tools":[],"usage":null}`...)
	case wire.KeptConversation:
		metadata := o.Metadata
		if len(metadata) == 0 {
			metadata = []byte("{}")
		}
		dst = append(dst, `{"id":`+id+`,"object":"conversation","created_at":`+strconv.FormatInt(o.Created, 10)+`,"metadata":`...)
		return append(append(dst, metadata...), '}')
	}
	first, last := "null", "null"
	dst = append(dst, `{"object":"list","data":[`...)
	for i, it := range o.Items {
		if i == 0 {
			first = quoted(it.ID)
		}
		last = quoted(it.ID)
		dst = append(jsontext.AppendComma(dst, i), it.Raw...)
	}
	return append(dst, `],"first_id":`+first+`,"last_id":`+last+`,"has_more":`+strconv.FormatBool(o.More)+`}`...)
}
