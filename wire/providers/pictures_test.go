package providers_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
)

// A viewer hears a reply in which there are pictures, in order.
type viewer struct {
	hearer
	seen, pictures string
}

func (v *viewer) Found(e wire.Event) []wire.Part {
	switch e.Kind {
	case wire.EventText:
		v.seen += string(e.Text)
	case wire.EventPicture:
		picture := "<" + e.Name + " " + string(e.Text) + ">"
		v.seen, v.pictures = v.seen+picture, v.pictures+picture
	}
	return v.hearer.Found(e)
}

// TestBridgedPictures: the pictures of a reply cross between the APIs that have them, each as it is, where it stood if
// the API has an order, and the same in a stream as whole.
func TestBridgedPictures(t *testing.T) {
	picture := func(data string) wire.Event {
		return wire.Event{Kind: wire.EventPicture, Name: "image/png", Text: []byte(data)}
	}
	text := func(s string) wire.Event { return wire.Event{Kind: wire.EventText, Text: []byte(s)} }
	batches := [][]wire.Event{
		{{Kind: wire.EventModel, Name: "m-1", ID: "id_1"}},
		{picture("AA==")}, {text("One. ")}, {text("More. ")}, {picture("QUJD")}, {picture("+/+=")}, {text("Two.")},
		{{Kind: wire.EventFinish, End: sotto.EndStopped}, {Kind: wire.EventUsage, Usage: wire.Usage{Input: 1, Output: 2, Reasoning: -1, CacheRead: -1, CacheWrite: -1}}, {Kind: wire.EventEnd}},
	}
	const ordered, beside = "<image/png AA==>One. More. <image/png QUJD><image/png +/+=>Two.", "One. More. Two.<image/png AA==><image/png QUJD><image/png +/+=>"
	shows := func(a providers.API) bool { return slices.Contains([]string{"chat", "responses", "gemini"}, a.Name) }
	for _, from := range providers.APIs() {
		for _, to := range providers.APIs() {
			if from == to || !shows(from) || !shows(to) {
				continue
			}
			for _, stream := range []bool{false, true} {
				upstream := replyOf(from.Codec, batches, stream)
				s, through := bridgedTo(from.Codec, to.Codec, stream), &hearer{args: map[int]int{}}
				s.Writer.Pictures = to.Codec.Capabilities().Pictures
				var out []byte
				if y := from.Codec.Reply(s); stream {
					out = feed(from.Codec, y, upstream, through)
				} else if out = y.Whole(nil, upstream, through); !foreignjson.Valid(out) {
					t.Fatalf("%s to %s: %s", from.Name, to.Name, out)
				}
				v := &viewer{hearer: hearer{args: map[int]int{}}}
				own := wire.Settings{Written: true, Request: &wire.Request{Stream: stream}}
				if y := to.Codec.Reply(own); stream {
					feed(to.Codec, y, out, v)
				} else {
					y.Whole(nil, out, v)
				}
				want, got := ordered, v.seen
				if !stream && (from.Name == "chat" || to.Name == "chat") { // a message has its pictures beside its text
					want, got = beside, v.text+v.pictures
				}
				if got != want || v.end != sotto.EndStopped || through.failure != nil {
					t.Errorf("%s to %s, streamed %v: %q, %v, %v\n%s\nof\n%s", from.Name, to.Name, stream, v.seen, v.end, through.failure, out, upstream)
				}
			}
		}
	}
}

// TestPictureIsData: nothing but an image in base64 is a picture.
func TestPictureIsData(t *testing.T) {
	for _, c := range []struct {
		mediaType, data string
		ok              bool
	}{
		{"image/png", "QUJD", true}, {"image/svg+xml", "QU-_", true}, {"image/png", "", false}, {"image/", "QUJD", false}, {"audio/wav", "QUJD", false},
		{"image/png", "<think>", false}, {"image/png\"", "QUJD", false}, {"image/png", "A thought.", false}, {"image/" + strings.Repeat("x", 33), "QUJD", false},
		{"image/png", strings.Repeat("QUJD", 1000), true},
	} {
		if _, ok := wire.Picture(0, 0, c.mediaType, c.data); ok != c.ok {
			t.Errorf("%q %.20q: %v", c.mediaType, c.data, ok)
		}
	}
}
