package bridging

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/leftout"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
)

// A replyVocabulary is what replies of an API may have: members of a reply that is its base. The path of a
// member that has several values ends in "#" and a number.
type replyVocabulary struct {
	Whole json.RawMessage
	// Stream are the frames of the same reply. A text among them is a place for others.
	Stream  []json.RawMessage
	Members map[string]struct {
		Value  json.RawMessage
		At     string // where the frames come; "+" if empty
		Frames []json.RawMessage
	}
}

func replyVocabularyOf(t *testing.T, api providers.API) (v replyVocabulary) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/replies", api.Name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(api.Name, err)
	}
	return v
}

// stream returns the frames of the base, with others at a place.
func (v *replyVocabulary) stream(at string, more []json.RawMessage) (frames []json.RawMessage) {
	for _, f := range v.Stream {
		switch place := ""; {
		case json.Unmarshal(f, &place) != nil:
			frames = append(frames, f)
		case place == at:
			frames = append(frames, more...)
		}
	}
	return frames
}

// A plain is a [wire.Reader] that shows everything.
type plain struct{ err error }

func (r *plain) Found(e wire.Event) []wire.Part {
	switch e.Kind {
	case wire.EventText:
		return []wire.Part{{Text: e.Text}}
	case wire.EventThought:
		return []wire.Part{{Place: wire.Reasoning, Text: e.Text}}
	case wire.EventMember, wire.EventRefusal, wire.EventNarration:
		return []wire.Part{{Place: wire.Member, Name: e.Name, Text: e.Text}}
	}
	return nil
}

func (r *plain) Close(int, sotto.Ending) []wire.Part      { return nil }
func (r *plain) Open() []int                              { return nil }
func (r *plain) Fail(err error)                           { r.err = errors.Join(r.err, err) }
func (r *plain) Finish(sotto.Ending) ([]wire.Part, error) { return nil, nil }
func (r *plain) Findings() string                         { return "" }
func (r *plain) Share() (reasoning, all int)              { return 0, 0 }

// A crossed is a reply that went from one API to another.
type crossed struct {
	out         string
	left, quiet []string
	err         error
}

// frameOf is a frame of a stream, as it comes to a codec.
func frameOf(api providers.API, data json.RawMessage) wire.Frame {
	if api.Codec.Framing() == wire.NDJSON {
		raw := append(slices.Clone([]byte(data)), '\n')
		return wire.Frame{Raw: raw, Data: raw[:len(data)]}
	}
	kind := ""
	if api.Name == "bedrock" {
		var event map[string]json.RawMessage
		if json.Unmarshal(data, &event) != nil || len(event) != 1 {
			panic(string(data))
		}
		for kind, data = range event {
		}
	}
	raw := sse.Append(nil, kind, data)
	at := strings.LastIndex(string(raw), "data: ") + len("data: ")
	return wire.Frame{Raw: raw, Type: []byte(kind), Data: raw[at : at+len(data)], At: at}
}

// crossing brings a reply to a client.
func crossing(from, to providers.API, stream bool, frames ...json.RawMessage) crossed {
	asked := &wire.Request{Model: "m-1", Stream: stream}
	b := &Bridge{Client: to.Codec, Upstream: from.Codec, Asked: asked}
	s := wire.Settings{Written: true, Request: asked, Fields: []string{"reasoning_content"}}
	s.Writer = b.Writer(s, func(Place) string { return "" })
	y, r := from.Codec.Reply(s), &plain{}
	var out []byte
	var quiet []string
	tree := from.Codec.(interface{ LeftOut() *leftout.Value }).LeftOut()
	note := func(path string) { quiet = append(quiet, path) }
	if !stream {
		out = y.Whole(nil, frames[0], r)
		tree.FindQuiet(frames[0], note)
	} else {
		for _, f := range frames {
			frame := frameOf(from, compact(f))
			out = y.Frame(out, frame, r)
			tree.FindQuiet(frame.Data, note)
		}
		out = y.End(out, nil, r)
	}
	return crossed{unique.ReplaceAllString(string(out), ""), b.LeftOut(), quiet, r.err}
}

// unique is what differs in each reply.
var unique = regexp.MustCompile(`"(id|item_id|call_id|created|created_at|toolUseId|responseId|response_id|generation_id|total_duration|latencyMs|sequence_number|p)":("[^"]*"|[0-9]+)`)

func compact(v json.RawMessage) json.RawMessage {
	var any any
	if json.Unmarshal(v, &any) != nil {
		return v
	}
	b, _ := json.Marshal(any)
	return b
}

// TestReplies: a member of a reply is translated, an error that names it, or named among those that are
// left out, and the same in a stream as in a whole reply. What became of it is in docs/reference/bridge.
func TestReplies(t *testing.T) {
	for _, from := range providers.APIs() {
		var table strings.Builder
		v := replyVocabularyOf(t, from)
		table.WriteString("\n| member |")
		for _, to := range others(from) {
			fmt.Fprintf(&table, " %s |", to.Name)
		}
		table.WriteString("\n| --- |" + strings.Repeat(" --- |", len(others(from))) + "\n")
		for _, path := range slices.Sorted(maps.Keys(v.Members)) {
			m := v.Members[path]
			member, _, _ := strings.Cut(path, "#")
			fmt.Fprintf(&table, "| `%s`: `%s` |", member, inShort(m.Value))
			body, _ := with(t, v.Whole, member, m.Value)
			at := m.At
			if at == "" {
				at = "+"
			}
			for _, to := range others(from) {
				what, names, err := lose(crossing(from, to, false, v.Whole), crossing(from, to, false, body))
				if err != nil {
					t.Errorf("%s %s to %s: %v", from.Name, path, to.Name, err)
				}
				streamed, same, err := lose(crossing(from, to, true, v.stream("", nil)...), crossing(from, to, true, v.stream(at, m.Frames)...))
				if err != nil {
					t.Errorf("%s %s to %s, streamed: %v", from.Name, path, to.Name, err)
				}
				if what != streamed || !slices.Equal(names, same) {
					t.Errorf("%s %s to %s: whole %s %q, streamed %s %q", from.Name, path, to.Name, what, names, streamed, same)
				}
				fmt.Fprintf(&table, " %s |", what)
			}
			table.WriteString("\n")
		}
		judgeSection(t, "TestReplies", from.Name, "## Replies\n", table.String())
	}
}

const (
	failed  = "502"
	quietly = "quiet"
)

// lose returns what became of a member that the second of two replies has, and what was named for it.
func lose(without, has crossed) (what string, names []string, err error) {
	for _, name := range has.left {
		if !slices.Contains(without.left, name) {
			names = append(names, name)
		}
	}
	switch {
	case without.err != nil:
		return "", nil, fmt.Errorf("the base: %w", without.err)
	case has.err != nil && len(names) == 1 && strings.Contains(has.err.Error(), strings.TrimPrefix(names[0], ofReply)):
		return failed, names, nil
	case has.err != nil:
		return "", names, fmt.Errorf("%w, and the names are %q", has.err, names)
	case len(names) == 1 && !strings.HasPrefix(names[0], ofReply):
		return "", names, fmt.Errorf("%q is not of the reply", names)
	case len(names) == 1 && has.out != without.out:
		return "", names, fmt.Errorf("it is left out, and still there: %s", has.out)
	case len(names) == 1:
		return leftOut, names, nil
	case len(names) == 0 && has.out != without.out:
		return translated, nil, nil
	case len(names) == 0 && len(has.quiet) > len(without.quiet):
		return quietly, nil, nil
	}
	return "", names, fmt.Errorf("it is dropped, and nobody learns of it: %q\n%s", names, has.out)
}

// TestRepliesBase: of a usual reply, nothing is left out, and pictures come as they are.
func TestRepliesBase(t *testing.T) {
	const picture = "iVBORw0KGgo="
	for _, from := range providers.APIs() {
		v := replyVocabularyOf(t, from)
		for _, to := range others(from) {
			for _, c := range []crossed{crossing(from, to, false, v.Whole), crossing(from, to, true, v.stream("", nil)...)} {
				if c.err != nil || len(c.left) > 0 || !strings.Contains(c.out, "Yes.") {
					t.Errorf("%s to %s: %v, %q\n%s", from.Name, to.Name, c.err, c.left, c.out)
				}
			}
			for path, m := range v.Members {
				if !strings.Contains(string(m.Value), picture) {
					continue
				}
				member, _, _ := strings.Cut(path, "#")
				body, _ := with(t, v.Whole, member, m.Value)
				at := m.At
				if at == "" {
					at = "+"
				}
				for _, c := range []crossed{crossing(from, to, false, body), crossing(from, to, true, v.stream(at, m.Frames)...)} {
					comes := c.err == nil && len(c.left) == 0
					if strings.Contains(c.out, picture) != comes {
						t.Errorf("%s %s to %s: %v, %q\n%s", from.Name, path, to.Name, c.err, c.left, c.out)
					}
				}
			}
		}
	}
}

// TestRepliesOver: what comes after the end of a reply is named, and changes nothing of what the client has.
func TestRepliesOver(t *testing.T) {
	list := providers.APIs()
	from := list[slices.IndexFunc(list, func(a providers.API) bool { return a.Name == "messages" })]
	v := replyVocabularyOf(t, from)
	frames := v.stream("", nil)
	for _, to := range others(from) {
		ended := crossing(from, to, true, frames...)
		late := crossing(from, to, true, append(frames, json.RawMessage(`{"type":"content_block_start","index":9,"content_block":{"type":"container_upload","file_id":"f"}}`))...)
		if ended.out != late.out || late.err != nil || !slices.Contains(late.left, "reply.content[].container_upload") {
			t.Errorf("%s: %v, %q\n%s", to.Name, late.err, late.left, late.out)
		}
	}
}

// TestRepliesLastFrame: a part of the answer in the frame that ends a reply is not lost because the reply ends.
func TestRepliesLastFrame(t *testing.T) {
	list := providers.APIs()
	from := list[slices.IndexFunc(list, func(a providers.API) bool { return a.Name == "ollama" })]
	for _, to := range others(from) {
		c := crossing(from, to, true, json.RawMessage(`{"model":"m-1","message":{"role":"assistant","content":"Yes.","images":["QUJD"]},"done":true,"done_reason":"stop","eval_count":7}`))
		if c.err == nil || !strings.Contains(c.out, "message.images") || !strings.Contains(c.out, "Yes.") {
			t.Errorf("%s: %v\n%s", to.Name, c.err, c.out)
		}
	}
}
