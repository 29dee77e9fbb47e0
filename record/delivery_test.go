package record_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/record"
)

// TestDeliveryDigest: what a client got is confirmed with the key alone: a plain digest of it
// is nowhere in the record, and at level off there is none at all.
func TestDeliveryDigest(t *testing.T) {
	const answer = "It is four."
	key := []byte("sixteen bytes or more")
	for _, level := range []record.Level{record.Full, record.Redacted, record.Digests, record.Off} {
		for _, o := range []record.Options{{Answer: level, DigestKey: key}, {Reasoning: level, DigestKey: key}} {
			dir := t.TempDir()
			w := open(t, dir, o)
			put(t, w, "", 0, record.Exchange{Outcome: "answered", Replies: []record.Reply{{End: sotto.EndStopped, Raw: record.Say(answer + " It is.")}}, Delivered: &record.Delivery{
				Display: "hide", Texts: []record.Delivered{{Place: record.PlaceText, Bytes: len(answer), Digest: record.DigestOf(answer), Spans: []record.DeliveredSpan{{End: len(answer)}}}},
			}})
			shut(t, w)
			x := read(t, dir, record.ReadOptions{}, record.Query{})[0].Payload.(record.Exchange)
			d := &x.Delivered.Texts[0]
			plain := sha256.Sum256([]byte(answer))
			if all := everything(t, dir); strings.Contains(all, hex.EncodeToString(plain[:])) || !d.Digest.IsZero() {
				t.Errorf("%v: the record has a plain digest", o)
			}
			if confirmed := d.Confirms(key, answer); confirmed != (level != record.Off) || d.Confirms(key, "It is five.") || d.Confirms([]byte("another key, as long"), answer) || (d.HMAC == "") != (level == record.Off) {
				t.Errorf("%v: confirmed %v by %q", o, confirmed, d.HMAC)
			}
			if text, ok := x.Text(d); ok != (o.Answer < record.Digests) || ok && text != answer {
				t.Errorf("%v: the client got %q, %v", o, text, ok)
			}
		}
	}
}

// TestDeliveryOfAnything: a delivery that a file names wrongly has no text, and is no fault.
func TestDeliveryOfAnything(t *testing.T) {
	x := record.Exchange{Replies: []record.Reply{{Raw: record.Say("abc"), Reasoning: []record.Thought{{Text: record.Say("so")}}}}}
	for _, s := range []record.DeliveredSpan{{Reply: 1, End: 1}, {Reply: -1, End: 1}, {Thought: 2, End: 1}, {Thought: -1, End: 1}, {Start: -1, End: 1}, {Start: 2, End: 1}, {End: 4}, {Unnamed: 3}} {
		if text, ok := x.Text(&record.Delivered{Spans: []record.DeliveredSpan{s}}); ok {
			t.Errorf("%+v is %q", s, text)
		}
	}
	if text, ok := x.Text(&record.Delivered{Spans: []record.DeliveredSpan{{End: 2}, {Put: "\n"}, {Thought: 1, End: 2}}}); text != "ab\nso" || !ok {
		t.Errorf("%q, %v", text, ok)
	}
}

// TestThought: what became of the thoughts of a reply follows from what the client got of it.
func TestThought(t *testing.T) {
	raw := record.ReplyOf(sotto.Parse("<think>Hm.</think>Four.", sotto.EndStopped))
	apart := record.Reply{Raw: record.Say("Four."), Reasoning: []record.Thought{{Text: record.Say("Hm.")}}}
	plain := record.ReplyOf(sotto.Parse("Four.", sotto.EndStopped))
	at := func(place string, spans ...record.DeliveredSpan) []record.Delivered {
		return []record.Delivered{{Place: place, Spans: spans}}
	}
	for _, c := range []struct {
		reply    record.Reply
		promoted bool
		texts    []record.Delivered
		want     string
	}{
		{raw, false, nil, record.ThoughtHidden},
		{raw, false, at(record.PlaceText, record.DeliveredSpan{Start: 18, End: 23}), record.ThoughtHidden},
		{raw, false, at(record.PlaceField, record.DeliveredSpan{Start: 7, End: 10}), record.ThoughtInField},
		{raw, false, at(record.PlaceText, record.DeliveredSpan{End: 23}), record.ThoughtInText},
		{raw, false, at(record.PlaceText, record.DeliveredSpan{Start: 9, End: 10}), record.ThoughtInText},
		{raw, false, at(record.PlaceText, record.DeliveredSpan{Put: "<think>\n"}, record.DeliveredSpan{Unnamed: 9}), record.ThoughtHidden},
		{raw, true, at(record.PlaceText, record.DeliveredSpan{Start: 7, End: 10}), record.ThoughtPromoted},
		{apart, false, at(record.PlaceText, record.DeliveredSpan{End: 5}), record.ThoughtHidden},
		{apart, false, append(at(record.PlaceField, record.DeliveredSpan{Thought: 1, End: 3}), at(record.PlaceText, record.DeliveredSpan{End: 5})...), record.ThoughtInField},
		{apart, false, at(record.PlaceText, record.DeliveredSpan{Thought: 1, End: 3}), record.ThoughtInText},
		{plain, false, at(record.PlaceText, record.DeliveredSpan{End: 5}), ""},
	} {
		x := record.Exchange{Replies: []record.Reply{c.reply, raw}, Delivered: &record.Delivery{Promoted: c.promoted, Texts: c.texts}}
		if got := x.Thought(0); got != c.want {
			t.Errorf("%+v: %q, want %q", c.texts, got, c.want)
		}
		if got := x.Thought(1); !c.promoted && got != record.ThoughtHidden {
			t.Errorf("%+v: the thought of another reply is %q", c.texts, got)
		}
		if x.Delivered = nil; x.Thought(0) != "" {
			t.Error("what became of a thought is known of an old record")
		}
	}
}
