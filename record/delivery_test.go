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
