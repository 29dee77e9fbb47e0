package responses

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
)

// Compaction: https://developers.openai.com/api/docs/guides/conversation-state#compaction-advanced

var _ wire.CompactCodec = codec{}

// compactionItem is the type of an item with a sealed summary.
const compactionItem = "compaction"

// notOfSummary are members of which the turn for a summary has its own, or none: how the reply is delivered, in
// which format its text is, and which tool it must call.
var notOfSummary = []string{"input", "store", "stream", "stream_options", "background", "text", "tool_choice"}

// SummaryBody implements [wire.CompactCodec].
func (codec) SummaryBody(dst, body []byte, instruction string) ([]byte, error) {
	asked, err := codec{}.Continues(body)
	if err != nil {
		return nil, err
	}
	if len(asked.Items) == 0 && asked.Previous == "" && asked.Conversation == "" {
		return nil, &wire.TurnError{Detail: "input: there is nothing to make shorter: send the conversation, or previous_response_id"}
	}
	head := append([]byte(`"store":false,"input":[`), asked.Items...)
	if len(asked.Items) > 0 {
		head = append(head, ',')
	}
	head = append(appendUserMessage(head, instruction), ']')
	members := jsonedit.Members(jsonedit.Parse(body))
	gone := func(i int) bool { return slices.Contains(notOfSummary, members[i].Key) }
	for i := range members {
		if !gone(i) {
			head = append(head, ',')
			break
		}
	}
	at := bytes.IndexByte(body, '{') + 1
	edits := []jsonedit.Edit{{Span: jsonedit.Span{Start: at, End: at}, With: head}}
	return jsonedit.Splice(dst, body, jsonedit.Cut(edits, members, gone)), nil
}

func appendUserMessage(dst []byte, text string) []byte {
	dst = append(dst, `{"type":"message","role":"user","content":[{"type":"input_text","text":`...)
	return append(jsontext.AppendString(dst, text), `}]}`...)
}

// UserItems implements [wire.CompactCodec]. A message gets no id: the client sends it back, and a server looks for the
// items of which it gets an id.
func (codec) UserItems(body []byte) []byte {
	all := jsonedit.Parse(body).Get("input").Array()
	var users []byte
	for i, v := range all {
		if kind := v.Get("type").Str; i == len(all)-1 || v.Get("role").Str != "user" || kind != "" && kind != "message" {
			continue
		}
		if len(users) > 0 {
			users = append(users, ',')
		}
		users = append(users, completed(keptItem(v, "").Raw)...)
	}
	return users
}

// completed gives an item the status that the API shows of a message, unless it has one.
func completed(item []byte) []byte {
	if jsonedit.Parse(item).Get("status").Exists() {
		return item
	}
	end := bytes.LastIndexByte(item, '}')
	return append(item[:end:end], `,"status":"completed"}`...)
}

func newItemID(prefix string) string { return prefix + strings.ToLower(rand.Text()) }

// SummaryOf implements [wire.CompactCodec].
func (codec) SummaryOf(reply []byte) (string, error) {
	root := jsonedit.Parse(reply)
	switch status := root.Get("status").Str; status {
	case "", "completed":
	case "failed":
		return "", errors.New(cmp.Or(root.Get("error.message").Str, "the model's reply failed"))
	default:
		reason := shorttext.Escape(cmp.Or(root.Get("incomplete_details.reason").Str, status), 64)
		return "", fmt.Errorf("the model's summary is not complete (%s)", reason)
	}
	var texts []string
	calls := false
	for _, item := range root.Get("output").Array() {
		calls = calls || strings.HasSuffix(item.Get("type").Str, "_call")
		if text := visibleOf(item); item.Get("type").Str == "message" && text != "" {
			texts = append(texts, text)
		}
	}
	switch {
	case len(texts) == 0 && calls:
		return "", errors.New("the model called a tool and wrote no summary: ask again, without tools if the conversation has no calls")
	case len(texts) == 0:
		return "", errors.New("the model wrote no summary")
	}
	return strings.Join(texts, "\n\n"), nil
}

// visibleOf returns the text of a message of the model's.
func visibleOf(message gjson.Result) string {
	var b strings.Builder
	for _, part := range message.Get("content").Array() {
		if part.Get("type").Str == "output_text" {
			b.WriteString(part.Get("text").Str)
		}
	}
	return strings.TrimSpace(b.String())
}

// Compacted implements [wire.CompactCodec].
func (codec) Compacted(dst, reply, users []byte, sealed string) []byte {
	root := jsonedit.Parse(reply)
	dst = append(dst, `{"id":`+quoted(cmp.Or(root.Get("id").Str, newItemID("resp_")))+
		`,"object":"response.compaction","created_at":`+cmp.Or(root.Get("created_at").Raw, "0")+`,"output":[`...)
	if len(users) > 0 {
		dst = append(append(dst, users...), ',')
	}
	return append(dst, `{"id":`+quoted(newItemID("cmp_"))+`,"type":"compaction","encrypted_content":`+quoted(sealed)+
		`}],"usage":`+cmp.Or(root.Get("usage").Raw, "null")+`}`...)
}

// OpenSummaries implements [wire.CompactCodec].
func (codec) OpenSummaries(dst, body []byte, open func(at, sealed string) (text string, ok bool, err error)) ([]byte, error) {
	var edits []jsonedit.Edit
	for i, m := range jsonedit.Members(jsonedit.Parse(body).Get("input")) {
		if m.Value.Get("type").Str != compactionItem {
			continue
		}
		text, ok, err := open(element("input", i), m.Value.Get("encrypted_content").Str)
		if err != nil {
			return nil, err
		}
		if ok {
			edits = append(edits, jsonedit.Edit{Span: m.ValueSpan(), With: appendUserMessage(nil, text)})
		}
	}
	return jsonedit.Splice(dst, body, edits), nil
}
