package record

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sort"

	"github.com/sotto-llm/sotto"
)

// A Delivery is what the client got of a reply.
type Delivery struct {
	// Display and Narration are what the gateway did with thoughts and with narration:
	// field, tags, hide or keep; and text, field or drop.
	Display   string `json:"display"`
	Narration string `json:"narration,omitempty"`
	// Promoted says that the reply was all thought, and that the thought became its text.
	Promoted bool `json:"promoted,omitempty"`
	// Guard is what the guard did to the reply: pass, cut, end or failed. It is empty if
	// nothing was judged.
	Guard string `json:"guard,omitempty"`
	// Texts are what the client got, by reply and place. What it got beside the texts of
	// the reply, such as calls and refusals, is not among them.
	Texts []Delivered `json:"texts,omitempty"`
}

// Places of a [Delivered].
const (
	PlaceText      = "text"
	PlaceField     = "field"     // that of reasoning
	PlaceNarration = "narration" // its field
)

// A Delivered is what the client got of one reply at one place.
type Delivered struct {
	// Reply is the index in [Exchange.Replies].
	Reply int    `json:"reply"`
	Place string `json:"place"`
	Bytes int    `json:"bytes"`
	// Spans, joined, are the text. More is how many bytes follow that are in no span.
	Spans []DeliveredSpan `json:"spans,omitempty"`
	More  int             `json:"more,omitempty"`
	// HMAC is the HMAC-SHA-256 of the text's SHA-256, under [Options.DigestKey]. There is
	// none if a level is [Off].
	HMAC string `json:"hmac,omitempty"`
	// Digest is the SHA-256 of the text, for the writer, which makes HMAC of it. It is not
	// recorded: a guess at the text could be confirmed with it.
	Digest Digest `json:"-"`
}

// A DeliveredSpan is a part of what the client got.
type DeliveredSpan struct {
	// Reply is the index in [Exchange.Replies] of the reply that it is from. Thought is 0
	// for a part of Raw; or the number of one of Reasoning, from 1.
	Reply   int `json:"reply"`
	Thought int `json:"thought,omitempty"`
	Start   int `json:"start"`
	End     int `json:"end"`
	// Put is set instead for what the gateway put there itself: white space, or a tag.
	Put string `json:"put,omitempty"`
	// Unnamed is set instead for bytes of which the place is not known.
	Unnamed int `json:"unnamed,omitempty"`
}

// delivery returns a delivery as it may be recorded.
func (g *guard) delivery(d *Delivery) *Delivery {
	if d == nil {
		return nil
	}
	out := *d
	out.Texts = make([]Delivered, len(d.Texts))
	for i, t := range d.Texts {
		t.HMAC = ""
		if !t.Digest.IsZero() && g.levels[said] < Off && g.levels[thought] < Off {
			t.HMAC = g.digest(string(t.Digest[:]))
		}
		out.Texts[i] = t
	}
	return &out
}

// Confirms reports whether the client got a text, by the key of the record's digests.
func (d *Delivered) Confirms(key []byte, text string) bool {
	sum := sha256.Sum256([]byte(text))
	h := hmac.New(sha256.New, key)
	h.Write(sum[:])
	want, err := hex.DecodeString(d.HMAC)
	return err == nil && hmac.Equal(h.Sum(nil), want)
}

// Text returns the text that a client got of a reply at a place; ok is false if not all of
// it is recorded.
func (x *Exchange) Text(d *Delivered) (text string, ok bool) {
	if d.More > 0 {
		return "", false
	}
	var b []byte
	for _, s := range d.Spans {
		if s.Put != "" {
			b = append(b, s.Put...)
			continue
		}
		from, found := x.source(s)
		part, whole := from.Span(s.Start, s.End)
		if !found || !whole || s.Unnamed > 0 {
			return "", false
		}
		b = append(b, part...)
	}
	return string(b), true
}

// source returns the text that a span is a part of.
func (x *Exchange) source(s DeliveredSpan) (Content, bool) {
	if s.Reply < 0 || s.Reply >= len(x.Replies) {
		return Content{}, false
	}
	r := &x.Replies[s.Reply]
	switch {
	case s.Thought == 0:
		return r.Raw, true
	case s.Thought < 0 || s.Thought > len(r.Reasoning):
		return Content{}, false
	}
	return r.Reasoning[s.Thought-1].Text, true
}

// What became of the thoughts of a reply, on the way to the client.
const (
	ThoughtHidden   = "hidden"   // the client did not get them
	ThoughtInField  = "field"    // it got them in a field of their own
	ThoughtInText   = "text"     // it got them in the text
	ThoughtPromoted = "promoted" // they became the answer, because there was none
)

// Thoughts lists what may become of thoughts.
func Thoughts() []string {
	return []string{ThoughtHidden, ThoughtInField, ThoughtInText, ThoughtPromoted}
}

// Thought says what became of the thoughts of a reply, by its index in Replies; of those of
// all replies if the index is negative. It is empty if there were none, or if it is not known.
func (x *Exchange) Thought(reply int) string {
	if x.Delivered == nil || !x.thinks(reply) {
		return ""
	}
	if x.Delivered.Promoted {
		return ThoughtPromoted
	}
	went := ThoughtHidden
	for _, d := range x.Delivered.Texts {
		for _, s := range d.Spans {
			switch {
			case reply >= 0 && s.Reply != reply || !x.isThought(s):
			case d.Place == PlaceText:
				return ThoughtInText
			case d.Place == PlaceField:
				went = ThoughtInField
			}
		}
	}
	return went
}

// thinks reports whether a reply has thoughts, or any if the index is negative.
func (x *Exchange) thinks(reply int) bool {
	for i := range x.Replies {
		r := &x.Replies[i]
		if reply < 0 || i == reply {
			if len(r.Reasoning) > 0 || slices.ContainsFunc(r.Segments, func(s Segment) bool { return s.Channel == sotto.ChannelReasoning && s.End > s.Start }) {
				return true
			}
		}
	}
	return false
}

// isThought reports whether a span is of a thought, or has some of one.
func (x *Exchange) isThought(s DeliveredSpan) bool {
	switch {
	case s.Put != "" || s.Unnamed > 0 || s.Reply < 0 || s.Reply >= len(x.Replies):
		return false
	case s.Thought > 0:
		return true
	}
	list := x.Replies[s.Reply].Segments
	for i := sort.Search(len(list), func(i int) bool { return list[i].End > s.Start }); i < len(list) && list[i].Start < s.End; i++ {
		if list[i].Channel == sotto.ChannelReasoning {
			return true
		}
	}
	return false
}

// ClientText returns the text that the client got as the answer of a reply, by its index in
// Replies; ok is false if that is not known, or not all recorded.
func (x *Exchange) ClientText(reply int) (text string, ok bool) {
	if x.Delivered == nil {
		return "", false
	}
	for i := range x.Delivered.Texts {
		if d := &x.Delivered.Texts[i]; d.Reply == reply && d.Place == PlaceText {
			part, whole := x.Text(d)
			if !whole {
				return "", false
			}
			text += part
		}
	}
	return text, true
}
