// Package eventtext finds the texts in an event of a record. It divides them by
// channel, and by what was not recorded.
package eventtext

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/record"
)

// A Walker visits an event's payload as it stands in the line, so that it also sees
// members and types that this version does not know.
type Walker struct {
	// Members gets the plain values of an object. path is "" for the payload.
	Members func(path string, list []Member)
	Text    func(Text)
	// Guard gets what a guard decided. If nil, Members and Text get it.
	Guard func(*record.Guarding)

	thought string // what became of the thoughts
}

// A Member is a plain value and its name.
type Member struct{ Name, Value string }

// A Text is one text that a model, a tool or a user wrote.
type Text struct {
	Path    string // of members, as in the line: replies.0.raw
	Content record.Content
	Channel sotto.Channel
	Reply   *record.Reply // the reply whose raw text this is; its segments then give the channels
}

// deepest bounds how deep payloads are searched. Ours have five levels.
const deepest = 16

// Event walks an event's payload.
func (w *Walker) Event(e *record.Event) {
	if x, ok := e.Payload.(record.Exchange); ok {
		w.thought = x.Thought(-1)
	}
	w.object("", gjson.GetBytes(e.Line(), "payload"), 0)
}

// replyMembers are shown with a reply's text, not as members.
var replyMembers = map[string]bool{"raw": true, "segments": true, "diagnostics": true, "digest": true, "dialect": true, "start": true, "end": true}

func (w *Walker) object(path string, v gjson.Result, depth int) {
	reply := readReply(path, v)
	var plain []Member
	var nested []func()
	v.ForEach(func(key, value gjson.Result) bool {
		name := key.String()
		at := strings.TrimPrefix(path+"."+name, ".")
		switch {
		case reply != nil && replyMembers[name]:
		case !value.IsObject() && !value.IsArray():
			plain = append(plain, Member{name, value.String()})
		case depth == deepest:
			plain = append(plain, Member{name, value.Raw})
		case value.IsArray():
			nested = append(nested, func() { w.list(at, value, depth+1) })
		default:
			nested = append(nested, func() { w.value(at, value, depth+1) })
		}
		return true
	})
	if len(plain) > 0 {
		w.Members(path, plain)
	}
	if reply != nil {
		w.Text(Text{Path: path + ".raw", Content: reply.Raw, Reply: reply})
	}
	for _, walk := range nested {
		walk()
	}
}

func (w *Walker) list(path string, v gjson.Result, depth int) {
	i := 0
	v.ForEach(func(_, value gjson.Result) bool {
		at := fmt.Sprintf("%s.%d", path, i)
		i++
		if !value.IsObject() || depth >= deepest {
			w.Members(path, []Member{{fmt.Sprint(i - 1), value.String()}})
			return true
		}
		w.value(at, value, depth+1)
		return true
	})
}

// value visits an object, which may be a text.
func (w *Walker) value(path string, v gjson.Result, depth int) {
	if c, ok := readContent(v); ok {
		if c.Text != "" || len(c.Cuts) > 0 {
			w.Text(Text{Path: path, Content: c, Channel: channelAt(path)})
		}
		return
	}
	if w.Guard != nil {
		if g := readGuard(path, v); g != nil {
			w.Guard(g)
			return
		}
	}
	if d := readDelivery(path, v); d != nil {
		w.delivered(d)
		return
	}
	w.object(path, v, depth)
}

// readContent reads a text. ok is false if the object is something else.
func readContent(v gjson.Result) (c record.Content, ok bool) {
	ok = v.Get("text").Type == gjson.String
	v.ForEach(func(key, _ gjson.Result) bool {
		ok = ok && (key.Str == "text" || key.Str == "cuts")
		return ok
	})
	return c, ok && json.Unmarshal([]byte(v.Raw), &c) == nil
}

// readReply reads a model's reply, and returns nil for anything else.
func readReply(path string, v gjson.Result) *record.Reply {
	var r record.Reply
	if !strings.HasPrefix(path, "replies.") || strings.Count(path, ".") != 1 || !v.Get("raw").IsObject() || json.Unmarshal([]byte(v.Raw), &r) != nil {
		return nil
	}
	r.Segments = SegmentsOf(&r)
	return &r
}

// SegmentsOf returns a reply's segments. If a reply was recorded whole and without
// segments, it is read now.
func SegmentsOf(r *record.Reply) []record.Segment {
	if len(r.Segments) > 0 || len(r.Raw.Text) == 0 || !r.Raw.Whole() {
		return r.Segments
	}
	grammar := sotto.Default()
	if named, err := sotto.Named(r.Dialect); err == nil && r.Dialect != "" {
		grammar = named
	}
	reading, err := grammar.ParseWith(string(r.Raw.Text), r.Options(), r.End)
	if err != nil {
		return nil
	}
	return record.ReplyOf(reading).Segments
}

// channelAt derives the channel of a text from its place.
func channelAt(path string) sotto.Channel {
	switch {
	case strings.Contains(path, "reasoning.") || strings.HasSuffix(path, ".extra") || strings.HasPrefix(path, "guard.") || strings.HasPrefix(path, "revisions."):
		return sotto.ChannelReasoning
	case strings.HasSuffix(path, "arguments"):
		return sotto.ChannelTool
	}
	return sotto.ChannelText
}

// A Stretch is a part of a text on one channel.
type Stretch struct {
	record.Part
	Channel sotto.Channel
	Block   int
}

// Stretches returns a text in order, cut where the channel changes or something was
// not recorded. A replacement that covers several channels belongs to the first of
// them.
func (t *Text) Stretches() []Stretch {
	segments := []record.Segment{{Channel: t.Channel, End: t.Content.Len()}}
	if t.Reply != nil {
		segments = t.Reply.Segments
	}
	var list []Stretch
	for _, p := range t.Content.Parts() {
		for len(segments) > 0 && segments[0].End <= p.Start {
			segments = segments[1:]
		}
		for i := 0; p.Start < p.End; i++ {
			s := record.Segment{End: p.End} // text after the last segment
			if i < len(segments) {
				s = segments[i]
			}
			if s.End <= p.Start {
				continue // out of order: no reading does this, but a file may
			}
			if p.Why != "" || s.End >= p.End {
				list = append(list, Stretch{p, s.Channel, s.Block})
				break
			}
			first := p
			first.End, first.Text = s.End, p.Text[:s.End-p.Start]
			p.Start, p.Text = s.End, p.Text[s.End-p.Start:]
			list = append(list, Stretch{first, s.Channel, s.Block})
		}
	}
	return list
}
