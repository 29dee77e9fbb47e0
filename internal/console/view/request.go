package view

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/record"
)

const (
	maxParameters = 100
	maxTools      = 200
	maxSetting    = 64 << 10 // bytes of one parameter or definition
	maxSettings   = 256 << 10
	maxChanges    = 400
	maxContext    = 160 // bytes of kept text that are shown beside a change
)

// A Parameter is a setting of the model in a request.
type Parameter struct {
	Name  string  `json:"name"`
	Value Excerpt `json:"value"` // JSON
}

// A Tool is one that a request offers.
type Tool struct {
	Name       string  `json:"name"`
	Definition Excerpt `json:"definition,omitzero"` // JSON
	Digest     string  `json:"digest,omitempty"`    // of a definition that is not recorded
}

// settings shows the parameters and the tools of a request. What a level withheld is a
// parameter without a name.
func (x *Exchange) settings(set record.Content, tools []record.Tool) {
	room := maxSettings
	take := func(text string) Excerpt {
		e := excerpt(text, min(room, maxSetting))
		room -= len(e.Text)
		return e
	}
	d := json.NewDecoder(bytes.NewReader([]byte(set.Text)))
	if open, err := d.Token(); err == nil && open == json.Delim('{') {
		for d.More() && len(x.Parameters) < maxParameters {
			name, err := d.Token()
			var value json.RawMessage
			if err != nil || d.Decode(&value) != nil {
				break
			}
			text, _ := name.(string)
			x.Parameters = append(x.Parameters, Parameter{text, take(string(value))})
		}
	} else if n := set.Len(); n > 0 {
		x.Parameters = []Parameter{{Value: Excerpt{Bytes: n, Cut: true}}}
	}
	for i, t := range tools {
		if i == maxTools {
			x.MoreTools = len(tools) - i
			break
		}
		one := Tool{Name: t.Name, Digest: t.Digest, Definition: take(string(t.Definition.Text))}
		one.Definition.Bytes = t.Definition.Len()
		x.Tools = append(x.Tools, one)
	}
}

// A Change is what the history policy did to one text of the prompt, or to one member
// of a message.
type Change struct {
	// Message is the index of the message in the prompt, before which a message was
	// taken out whole if Whole is set.
	Message int     `json:"message"`
	Role    string  `json:"role"`
	Whole   bool    `json:"whole,omitempty"`
	Field   string  `json:"field,omitempty"` // empty for the text
	Pieces  []Piece `json:"pieces"`
	Removed int     `json:"removed_bytes"`
	Added   int     `json:"added_bytes"`
}

// A Piece is a part of a text that the policy kept, removed or added. Kept text is
// shown only beside a change.
type Piece struct {
	What string `json:"what"` // kept, removed, added
	Excerpt
	// Why is empty, or the reason why the bytes are not recorded.
	Why string `json:"why,omitempty"`
}

// changes shows what was done to the prompt, text by text.
func (x *Exchange) changes(e *record.Exchange) {
	list := slices.Clone(e.Revisions)
	slices.SortStableFunc(list, func(a, b record.Revision) int { return a.Message - b.Message })
	c := changer{room: maxPrompt}
	for len(list) > 0 {
		n := 1
		for n < len(list) && sameText(&list[0], &list[n]) {
			n++
		}
		if len(x.Changes) == maxChanges {
			x.MoreChanges = len(list)
			return
		}
		if one, ok := c.change(e.Messages, list[:n]); ok {
			x.Changes = append(x.Changes, one)
		}
		list = list[n:]
	}
}

// sameText reports whether two revisions are of the text of one message.
func sameText(a, b *record.Revision) bool {
	return a.Message == b.Message && a.Field == "" && b.Field == "" && a.Role == "" && b.Role == ""
}

// A changer makes changes, within a bound on all their texts.
type changer struct{ room int }

// change shows the revisions of one text. ok is false if they do not fit the messages.
func (c *changer) change(messages []record.Message, list []record.Revision) (out Change, ok bool) {
	v := list[0]
	out = Change{Message: v.Message, Role: v.Role, Whole: v.Role != "", Field: v.Field, Pieces: []Piece{}}
	if v.Message < 0 || v.Message > len(messages) || !out.Whole && v.Message == len(messages) {
		return out, false
	}
	var text record.Content
	if !out.Whole {
		out.Role, text = messages[v.Message].Role, messages[v.Message].Text
	}
	if v.Field != "" {
		text = record.Content{}
		if v.Added > 0 { // the member holds nothing else
			text = thoughtOf(messages[v.Message].Reasoning, v.Field, v.Added)
		}
	}
	at, total := 0, text.Len()
	for i, v := range list {
		if v.At < at || v.Added < 0 || v.At > total || v.Added > total-v.At {
			return out, false
		}
		c.kept(&out, text, at, v.At, i > 0)
		c.piece(&out, "removed", v.Removed, 0, v.Removed.Len())
		c.piece(&out, "added", text, v.At, v.At+v.Added)
		out.Removed += v.Removed.Len()
		out.Added += v.Added
		at = v.At + v.Added
	}
	if at < total {
		c.piece(&out, "kept", text, at, min(total, at+maxContext))
		out.more(total - at - maxContext)
	}
	return out, true
}

// thoughtOf returns a thought of a message, by its member and its length.
func thoughtOf(list []record.Thought, field string, size int) record.Content {
	for _, t := range list {
		if t.Field == field && t.Text.Len() == size {
			return t.Text
		}
	}
	return record.Content{}
}

// kept shows the ends of a piece that was kept; middle says that a change is on both
// sides of it.
func (c *changer) kept(out *Change, text record.Content, start, end int, middle bool) {
	if end-start <= 2*maxContext {
		c.piece(out, "kept", text, start, end)
		return
	}
	if middle {
		c.piece(out, "kept", text, start, start+maxContext)
		start += maxContext
	}
	out.more(end - maxContext - start)
	c.piece(out, "kept", text, end-maxContext, end)
}

// more notes that kept text is left out.
func (out *Change) more(n int) {
	if n > 0 {
		out.Pieces = append(out.Pieces, Piece{What: "kept", Excerpt: Excerpt{Bytes: n, Cut: true}})
	}
}

// piece shows the bytes from start to end of a text, as far as they are recorded.
func (c *changer) piece(out *Change, what string, text record.Content, start, end int) {
	for _, p := range text.Parts() {
		from, to := max(p.Start, start), min(p.End, end)
		if from >= to {
			continue
		}
		one := Piece{What: what, Why: p.Why}
		if p.Why == "" {
			first, last := shorttext.Boundary(p.Text, from-p.Start), shorttext.Boundary(p.Text, to-p.Start)
			one.Excerpt = excerpt(p.Text[first:last], c.room)
			c.room -= len(one.Text)
		} else {
			one.Excerpt = Excerpt{Text: record.Text(p.Text), Bytes: to - from}
		}
		out.Pieces = append(out.Pieces, one)
	}
}
