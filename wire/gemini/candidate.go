package gemini

import (
	"slices"
	"strconv"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/shown"
)

// A candidate is what one choice says in an event or in a body.
type candidate struct {
	choice int
	stands bool     // the upstream has it
	of     string   // a JSON object: its own members
	said   []item   // in order
	parts  []string // JSON objects: the members of the upstream's parts, after an empty one for what belongs to no part
	// content is the JSON object of its content beside the parts; empty if it has none.
	content string
	ends    bool
	finish  string // the provider's word
	end     sotto.Ending
}

// An item is a text, a thought or a call.
type item struct {
	part    int // what it came in: an index of a candidate's parts
	thought bool
	text    []byte
	call    *wire.Event // nil if it is a text or a thought
	picture *wire.Event // … of another API's reply
	sign    string      // a copy of thoughts, in the place of a signature
}

func (c *candidate) write(e *wire.Event, hide bool) {
	switch e.Kind {
	case wire.EventText, wire.EventNarration, wire.EventRefusal, wire.EventThought:
		c.say(e.Text, e.Kind == wire.EventThought)
	case wire.EventPicture:
		c.said = append(c.said, item{part: len(c.parts) - 1, picture: e})
	case wire.EventCall:
		c.said = append(c.said, item{part: len(c.parts) - 1, call: e})
	case wire.EventFinish:
		c.ends, c.finish, c.end = true, e.Name, e.End
	case wire.EventMembers:
		switch e.Name {
		case wire.MembersOfChoice:
			c.stands, c.of = true, e.Raw
		case wire.MembersOfMessage:
			c.content = e.Raw
		case wire.MembersOfPart:
			c.begin(e.Raw, hide)
		}
	}
}

// begin begins a part with some members. If it is a thought that is hidden, only what is
// sealed of it stays.
func (c *candidate) begin(members string, hide bool) {
	if hide && thinks(members) {
		left, _ := shownSealed.Of([]byte(members))
		members = jsonedit.StringOf(left)
	}
	c.parts = append(c.parts, members)
}

func thinks(members string) bool { return jsonedit.Parse([]byte(members)).Get(thoughtMember).Bool() }

// say adds a text or a thought. It continues what was said before it in the same part, if
// that is of its kind.
func (c *candidate) say(text []byte, thought bool) {
	if len(text) == 0 {
		return
	}
	part := len(c.parts) - 1
	if n := len(c.said); n > 0 {
		if last := &c.said[n-1]; last.call == nil && last.picture == nil && last.sign == "" && last.part == part && last.thought == thought {
			last.text = append(last.text, text...)
			return
		}
	}
	c.said = append(c.said, item{part: part, thought: thought, text: text[:len(text):len(text)]})
}

// says reports whether the candidate has anything for the client.
func (c *candidate) says() bool {
	return c.ends || c.stands && len(c.parts) == 1 || len(c.appendParts(nil)) > 0 ||
		slices.ContainsFunc(jsonedit.Members(jsonedit.Parse([]byte(c.of))), func(m jsonedit.Member) bool { return !envelope.Shows(m.Key) })
}

// append appends the candidate.
func (c *candidate) append(dst []byte) []byte {
	dst = append(dst, '{')
	from := len(dst)
	dst = append(dst, `,"content":{"parts":[`...)
	n := len(dst)
	dst = c.appendParts(dst)
	switch {
	case len(dst) > n:
	case len(c.parts) > 1: // clients look for a part
		dst = append(dst, `{"text":""}`...)
	case c.content != "":
		dst = append(dst[:from], `,"content":{`...)
		dst = append(append(dst, c.content[1:len(c.content)-1]...), '}')
		n = -1
	default:
		dst, n = dst[:from], -1
	}
	if n >= 0 {
		dst = append(dst, ']')
		if c.content == "" {
			dst = append(dst, `,"role":"model"`...)
		}
		dst = append(appendMembers(dst, c.content), '}')
	}
	if c.ends {
		dst = jsontext.AppendVerbatim(append(dst, `,"finishReason":`...), reasonOf(c.finish, c.end))
	}
	if c.stands {
		dst = appendMembers(dst, c.of)
	} else {
		dst = strconv.AppendInt(append(dst, `,"index":`...), int64(c.choice), 10)
	}
	return append(uncomma(dst, from), '}')
}

// appendParts appends the elements of the list of parts.
func (c *candidate) appendParts(dst []byte) []byte {
	from, said := len(dst), c.said
	for i, members := range c.parts {
		n := 0
		for n < len(said) && said[n].part == i {
			n++
		}
		dst = appendPartOf(dst, from, members, said[:n])
		said = said[n:]
	}
	return dst
}

// appendPartOf appends what became of one of the upstream's parts. Its members, such as a
// signature, go with what was said last of its own kind. If nothing of its kind was said,
// they are a part without a text.
func appendPartOf(dst []byte, from int, members string, said []item) []byte {
	own, thought := -1, thinks(members)
	for i := range said {
		if call := said[i].call; call == nil && said[i].thought == thought || call != nil && call.Index >= 0 {
			own = i
		}
	}
	for i := range said {
		dst = append(jsontext.AppendComma(dst, len(dst)-from), '{')
		switch it := &said[i]; {
		case it.call != nil:
			dst = appendCall(dst, it.call)
		case it.picture != nil:
			dst = jsontext.AppendVerbatim(append(dst, `"inlineData":{"mimeType":`...), it.picture.Name)
			dst = append(jsontext.AppendVerbatim(append(dst, `,"data":`...), it.picture.Text), '}')
		default:
			dst = jsontext.AppendVerbatim(append(dst, `"text":`...), it.text)
			if it.thought && i != own {
				dst = append(dst, `,"`+thoughtMember+`":true`...)
			}
		}
		if said[i].sign != "" {
			dst = jsontext.AppendVerbatim(append(dst, `,"`+signatureMember+`":`...), said[i].sign)
		}
		if i == own {
			dst = appendMembers(dst, members)
		}
		dst = append(dst, '}')
	}
	if own >= 0 {
		return dst
	}
	all := jsonedit.Members(jsonedit.Parse([]byte(members)))
	has := func(key func(string) bool) bool {
		return slices.ContainsFunc(all, func(m jsonedit.Member) bool { return key(m.Key) })
	}
	switch {
	case has(func(key string) bool { return !shownSealed.Shows(key) }): // a picture
		return append(jsontext.AppendComma(dst, len(dst)-from), members...)
	case has(func(key string) bool { return key == signatureMember }):
		dst = append(jsontext.AppendComma(dst, len(dst)-from), `{"text":""`...)
		return append(appendMembers(dst, members), '}')
	}
	return dst
}

// appendCall appends the member of a part that is a call.
func appendCall(dst []byte, e *wire.Event) []byte {
	dst = append(dst, `"functionCall":{`...)
	from := len(dst)
	if e.ID != "" && shown.IsWord(e.ID) {
		dst = jsontext.AppendVerbatim(append(dst, `,"id":`...), e.ID)
	}
	if e.Name != "" {
		dst = jsontext.AppendVerbatim(append(dst, `,"name":`...), e.Name)
	}
	switch {
	case len(e.Text) == 0:
	case foreignjson.Valid(e.Text):
		dst = append(append(dst, `,"args":`...), e.Text...)
	default:
		dst = jsontext.AppendVerbatim(append(dst, `,"args":`...), e.Text)
	}
	if more, ok := shownCall.Of([]byte(e.Raw)); ok && e.Raw != "" {
		dst = appendMembers(dst, jsonedit.StringOf(more))
	}
	return append(uncomma(dst, from), '}')
}
