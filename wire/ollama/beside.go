package ollama

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/shown"
	"github.com/sotto-llm/sotto/wire/written"
)

// beside reports what a frame or a body says beside its text, reasoning and calls, for a
// reply that is written from events.
func (y *reply) beside(data []byte, root gjson.Result, o chatjson.Object, r wire.Reader) {
	if edits := y.diagnose(nil, root, r); len(edits) > 0 && root.Get("done").Bool() && !y.whole {
		data = jsonedit.Splice(nil, data, edits)
	}
	y.said = written.Members(r, 0, wire.MembersOfReply, shownReply, jsonedit.StringOf(data), y.whole)
	message := root
	if y.api.member != "" {
		message = root.Get(y.api.member)
	}
	y.more = message.IsObject() && written.Members(r, 0, wire.MembersOfMessage, shownMessage, message.Raw, y.whole) != ""
	if p := root.Get("logprobs"); p.Exists() && p.Type != gjson.Null {
		y.more = true
		r.Found(wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfTokens, Raw: p.Raw})
	}
}

// cutTime cuts members at the time in them, which differs from frame to frame.
func cutTime(said string) [2]string {
	t := jsonedit.Parse([]byte(said)).Get("created_at")
	if t.Type != gjson.String {
		return [2]string{strings.Clone(said)}
	}
	return [2]string{strings.Clone(said[:t.Index+1]), strings.Clone(said[t.Index+len(t.Raw)-1:])}
}

// again reports the members of a frame that is like an earlier one.
func (y *reply) again(data []byte, r wire.Reader) {
	said := y.like.said[0]
	if y.like.said[1] != "" {
		y.buf = append(y.buf[:0], said...)
		if at := y.like.Differs(data); shown.IsWord(jsonedit.StringOf(at)) {
			y.buf = append(y.buf, at...)
		}
		y.buf = append(y.buf, y.like.said[1]...)
		said = jsonedit.StringOf(y.buf)
	}
	if said != "" {
		r.Found(wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfReply, Raw: said})
	}
}
