package providers_test

import (
	"fmt"
	"github.com/sotto-llm/sotto"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
	"github.com/sotto-llm/sotto/wire/shown"
)

// bridgedTo are the settings of a reply that goes from one API to another.
func bridgedTo(from, to wire.Codec, stream bool) wire.Settings {
	made := 0
	return wire.Settings{
		Written: true, Request: &wire.Request{Stream: stream},
		Writer: &wire.Bridge{
			Writer: to.Writer(wire.Settings{Fields: []string{"reasoning_content"}, Request: &wire.Request{Stream: stream}}),
			Texts:  to.Capabilities().Texts, FromTexts: from.Capabilities().Texts,
			WholeCalls: to.Capabilities().WholeCalls, ObjectCalls: to.Capabilities().ObjectCalls, Model: "m-1",
			CallID: func(id string) string {
				if id == "" || !shown.IsWord(id) { // as a gateway does
					made++
					id = fmt.Sprint("made_", made)
				}
				return id
			},
		},
	}
}

// TestBridgedReplies: what a reply of one API says, its client reads in another, whole and streamed.
func TestBridgedReplies(t *testing.T) {
	for _, from := range providers.APIs() {
		for _, to := range providers.APIs() {
			if from == to {
				continue
			}
			t.Run(from.Name+" to "+to.Name, func(t *testing.T) {
				t.Parallel()
				for seed := range uint64(40 * effort.Times()) {
					stream := seed%2 == 0
					batches, want := events(rand.New(rand.NewPCG(seed, 3)), true)
					if to.Name == "cohere" || to.Name == "bedrock" {
						want.model = "" // replies do not name it
					}
					upstream := replyOf(from.Codec, batches, stream)
					var out []byte
					through := &hearer{args: map[int]int{}}
					if y := from.Codec.Reply(bridgedTo(from.Codec, to.Codec, stream)); stream {
						out = feed(from.Codec, y, upstream, through)
					} else if out = y.Whole(nil, upstream, through); !foreignjson.Valid(out) {
						t.Fatalf("seed %d: %s", seed, out)
					}
					if through.failure != nil {
						t.Fatalf("seed %d: %v\n%s", seed, through.failure, upstream)
					}
					h := &hearer{args: map[int]int{}}
					if y := to.Codec.Reply(wire.Settings{Request: &wire.Request{Stream: stream}}); stream {
						feed(to.Codec, y, out, h)
					} else {
						y.Whole(nil, out, h)
					}
					if h.said != want {
						t.Fatalf("seed %d, streamed %v:\n%+v\nwant\n%+v\n%s\nof\n%s", seed, stream, h.said, want, out, upstream)
					}
				}
			})
		}
	}
}

// replyOf is a reply of an API, as its own writer writes it.
func replyOf(c wire.Codec, batches [][]wire.Event, stream bool) (out []byte) {
	writer := c.Writer(wire.Settings{Fields: []string{"reasoning_content"}, Request: &wire.Request{Stream: stream}})
	var all []wire.Event
	for _, b := range batches {
		if all = append(all, b...); stream {
			out = writer.Frames(out, b)
		}
	}
	if !stream {
		out = writer.Whole(nil, all)
	}
	return out
}

// feed gives a stream to a reply, frame by frame.
func feed(c wire.Codec, y wire.Reply, stream []byte, r wire.Reader) (out []byte) {
	for f := range frames(c, stream) {
		out = y.Frame(out, f, r)
	}
	return y.End(out, nil, r)
}

// chatStream is a stream of chat completions of these deltas, which ends with the word.
func chatStream(end string, deltas ...string) []byte {
	var b strings.Builder
	for _, d := range deltas {
		fmt.Fprintf(&b, "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"model\":\"m-1\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":null}]}\n\n", d)
	}
	if end != "" {
		fmt.Fprintf(&b, "data: {\"id\":\"c1\",\"model\":\"m-1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\n", end)
		b.WriteString("data: {\"id\":\"c1\",\"model\":\"m-1\",\"choices\":[],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":7,\"prompt_tokens_details\":{\"cached_tokens\":4},\"completion_tokens_details\":{\"reasoning_tokens\":3}}}\n\ndata: [DONE]\n\n")
	}
	return []byte(b.String())
}

// heardThrough is what a client of an API gets of a stream of chat completions.
func heardThrough(t *testing.T, to providers.API, stream []byte) (said, error) {
	t.Helper()
	chat, _ := providers.Named("chat")
	through, h := &hearer{args: map[int]int{}}, &hearer{args: map[int]int{}}
	out := feed(chat, chat.Reply(bridgedTo(chat, to.Codec, true)), stream, through)
	feed(to.Codec, to.Codec.Reply(wire.Settings{Request: &wire.Request{Stream: true}}), out, h)
	return h.said, through.failure
}

// TestBridgedCalls: calls whose pieces come by turns, late names, calls without arguments and text that follows are
// whole calls in every API.
func TestBridgedCalls(t *testing.T) {
	piece := func(i int, id, name, arguments string) string {
		call := fmt.Sprintf(`"index":%d,"function":{"arguments":%q`, i, arguments)
		if name != "" {
			call += fmt.Sprintf(`,"name":%q`, name)
		}
		if call += "}"; id != "" {
			call += fmt.Sprintf(`,"id":%q,"type":"function"`, id)
		}
		return `{"tool_calls":[{` + call + `}]}`
	}
	for name, c := range map[string]struct {
		deltas []string
		calls  string
	}{
		"in order":          {[]string{piece(0, "a", "f", ""), piece(0, "", "", `{"x`), piece(0, "", "", `":"}{"}`), piece(1, "b", "g", `{"y":2}`)}, `f{"x":"}{"};g{"y":2}`},
		"by turns":          {[]string{piece(0, "a", "f", `{"x"`), piece(1, "b", "g", `{"y"`), piece(0, "", "", `:1}`), piece(1, "", "", `:2}`)}, `f{"x":1};g{"y":2}`},
		"all begin first":   {[]string{piece(0, "a", "f", ""), piece(1, "b", "g", ""), piece(2, "c", "h", ""), piece(1, "", "", `{"y":2}`), piece(0, "", "", `{"x":1}`)}, `f{"x":1};g{"y":2};h{}`},
		"without arguments": {[]string{piece(0, "a", "f", ""), piece(1, "b", "g", " ")}, `f{};g{}`},
		"a late name":       {[]string{piece(0, "a", "", ""), piece(0, "", "f", `{"x":1}`)}, `f{"x":1}`},
		"a text follows":    {[]string{piece(0, "a", "f", `{"x":1`), piece(0, "", "", `}`), `{"content":"So."}`, piece(1, "b", "g", `{}`)}, `f{"x":1};g{}`},
		"without an id":     {[]string{piece(0, "", "f", `{"x":1}`), piece(1, "", "g", `{}`)}, `f{"x":1};g{}`},
	} {
		for _, to := range providers.APIs()[1:] {
			got, err := heardThrough(t, to, chatStream("tool_calls", c.deltas...))
			if got.calls != c.calls || err != nil || got.failure != nil || got.end != sotto.EndStopped {
				t.Errorf("%s, %s: %q, %v, %v, %v", name, to.Name, got.calls, got.end, err, got.failure)
			}
		}
	}
	for name, deltas := range map[string][]string{
		"goes on after a text": {piece(0, "a", "f", `{"x":1}`), `{"content":"So."}`, piece(0, "", "", `,"y":2}`)},
		"too many":             slices.Repeat([]string{piece(0, "a", "f", "{}")}, 1),
	} {
		if name == "too many" {
			for i := range 5000 {
				deltas = append(deltas, piece(i, fmt.Sprint("c", i), "f", "{}"))
			}
		}
		for _, to := range providers.APIs()[1:] {
			if _, err := heardThrough(t, to, chatStream("tool_calls", deltas...)); err == nil {
				t.Errorf("%s, %s: the reply ends well", name, to.Name)
			}
		}
	}
}

// TestBridgedEnds: a stream that breaks off does not look complete in any API, and one that ends says why, and how
// many tokens it took.
func TestBridgedEnds(t *testing.T) {
	chat, _ := providers.Named("chat")
	ends := map[string]sotto.Ending{"stop": sotto.EndStopped, "length": sotto.EndCut, "content_filter": sotto.EndAborted}
	for _, to := range providers.APIs()[1:] {
		for word, end := range ends {
			got, err := heardThrough(t, to, chatStream(word, `{"content":"Hi"}`))
			if got.end != end || err != nil || got.output != 7 || got.text != "Hi" {
				t.Errorf("%s, %s: %+v, %v", to.Name, word, got, err)
			}
		}
		through := &hearer{args: map[int]int{}}
		out := feed(chat, chat.Reply(bridgedTo(chat, to.Codec, true)), chatStream("", `{"content":"Hi"}`), through)
		h := &hearer{args: map[int]int{}}
		feed(to.Codec, to.Codec.Reply(wire.Settings{Request: &wire.Request{Stream: true}}), out, h)
		if through.failure == nil || h.ended && h.end == sotto.EndStopped {
			t.Errorf("%s: a stream that broke off ends well: %v\n%s", to.Name, through.failure, out)
		}
		fault := []byte("data: {\"error\":{\"message\":\"out of memory\",\"type\":\"server_error\",\"code\":500}}\n\n")
		out = feed(chat, chat.Reply(bridgedTo(chat, to.Codec, true)), append(chatStream("", `{"content":"Hi"}`), fault...), &hearer{args: map[int]int{}})
		h = &hearer{args: map[int]int{}}
		feed(to.Codec, to.Codec.Reply(wire.Settings{Request: &wire.Request{Stream: true}}), out, h)
		if !strings.Contains(string(out), "out of memory") || strings.Contains(string(out), "server_error") || h.failure == nil && to.Name != "bedrock" {
			t.Errorf("%s: an error: %v\n%s", to.Name, h.failure, out)
		}
	}
}

// TestBridgedCallsEnd: a reply with calls ends with the API's own word for that, if it has one.
func TestBridgedCallsEnd(t *testing.T) {
	words := map[string]string{
		"chat": `"finish_reason":"tool_calls"`, "messages": `"stop_reason":"tool_use"`, "bedrock": `"stopReason":"tool_use"`, "cohere": `"finish_reason":"TOOL_CALL"`,
		"ollama": `"done_reason":"stop"`, "gemini": `"finishReason":"STOP"`, "responses": `"status":"completed"`,
	}
	apis := providers.APIs()
	chat := apis[0]
	call := `{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	whole := []byte(`{"id":"c","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`)
	for _, from := range apis {
		for _, to := range apis {
			if from.Name == to.Name {
				continue
			}
			for _, stream := range []bool{false, true} {
				reply := whole
				if stream {
					reply = chatStream("tool_calls", call)
				}
				out := across(t, from, to, across(t, chat, from, reply, stream), stream)
				if !strings.Contains(string(out), words[to.Name]) {
					t.Errorf("%s to %s, streamed %v: no %s in %s", from.Name, to.Name, stream, words[to.Name], out)
				}
			}
		}
	}
}

// TestBridgedArguments: no client's parser fails on the arguments of a call. What is not an object is a text in one,
// unless the client has a part of it already.
func TestBridgedArguments(t *testing.T) {
	for name, c := range map[string]struct {
		pieces []string
		object string // where the API has one
		text   string // where it has a text
		late   bool   // the client of a stream with pieces has some of it when the fault comes
	}{
		"on several lines":  {[]string{"{\n \"x\": ", "1\r\n}"}, `{  "x": 1  }`, "{\n \"x\": 1\r\n}", false},
		"a blank first":     {[]string{" ", "\n", `{"x":1}`}, `  {"x":1}`, " \n{\"x\":1}", false},
		"not JSON":          {[]string{"x=", "1"}, `{"malformed":"x=1"}`, "x=1", false},
		"a list":            {[]string{"[1,", "2]"}, `{"malformed":"[1,2]"}`, "[1,2]", false},
		"Python's":          {[]string{"{'x': 1}"}, `{"malformed":"{'x': 1}"}`, "{'x': 1}", false},
		"one brace more":    {[]string{`{"x":1}}`}, `{"malformed":"{\"x\":1}}"}`, `{"x":1}}`, false},
		"one brace, late":   {[]string{`{"x"`, `:1}`, `}`}, `{"malformed":"{\"x\":1}}"}`, `{"x":1}}`, true},
		"two objects":       {[]string{`{}`, `{"x":1}`}, `{"malformed":"{}{\"x\":1}"}`, `{}{"x":1}`, true},
		"a raw line break":  {[]string{`{"x":"`, "\n", `"}`}, `{"malformed":"{\"x\":\"\n\"}"}`, "{\"x\":\"\n\"}", true},
		"nothing but blank": {[]string{" ", "\t"}, `{}`, `{}`, false},
	} {
		for _, to := range providers.APIs() {
			deltas := []string{`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f"}}]}`}
			for _, p := range c.pieces {
				deltas = append(deltas, `{"tool_calls":[{"index":0,"function":{"arguments":`+quoted(p)+`}}]}`)
			}
			if to.Name == "chat" {
				continue
			}
			can := to.Codec.Capabilities()
			want, fails := c.text, false
			if can.ObjectCalls || can.WholeCalls {
				want, fails = c.object, c.late && can.ObjectCalls
			}
			if can.ObjectCalls && !can.WholeCalls && !strings.Contains(want, "malformed") {
				want = c.text // its pieces pass
			}
			got, err := heardThrough(t, to, chatStream("tool_calls", deltas...))
			if fails != (err != nil) || !fails && strings.Join(strings.Fields(strings.TrimPrefix(got.calls, "f")), "") != strings.Join(strings.Fields(want), "") {
				t.Errorf("%s, %s: %q, %v; want %q", name, to.Name, got.calls, err, want)
			}
			body := fmt.Appendf(nil, `{"id":"c","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":%s}}]},"finish_reason":"tool_calls"}]}`, quoted(strings.Join(c.pieces, "")))
			heard := hears(to, across(t, providers.APIs()[0], to, body, false), false)
			if want := map[bool]string{true: c.object, false: c.text}[can.ObjectCalls || can.WholeCalls]; strings.Join(strings.Fields(strings.TrimPrefix(heard.calls, "f")), "") != strings.Join(strings.Fields(want), "") {
				t.Errorf("%s, %s, whole: %q; want %q", name, to.Name, heard.calls, want)
			}
		}
	}
}

// TestBridgedBodies: a body that is an error, or no reply at all, is an error for the client.
func TestBridgedBodies(t *testing.T) {
	chat := providers.APIs()[0]
	for body, want := range map[string]string{
		`{"error":{"message":"out of memory","type":"server_error"}}`:                                  "out of memory",
		`{"error":{"message":"out of memory","type":"server_error"},"choices":[]}`:                     "out of memory",
		`{"choices":[{"index":0,"message":{"role":"assistant","content":""},"finish_reason":"stop"}]}`: "",
		`{"model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"}}]}`:        "",
	} {
		for _, to := range providers.APIs()[1:] {
			h := &hearer{args: map[int]int{}}
			chat.Codec.Reply(bridgedTo(chat.Codec, to.Codec, false)).Whole(nil, []byte(body), h)
			if got := fmt.Sprint(h.failure); want == "" && h.failure != nil || want != "" && !strings.Contains(got, want) {
				t.Errorf("%s to %s: %s", body, to.Name, got)
			}
		}
	}
	for _, from := range providers.APIs() {
		for _, body := range []string{`{}`, `{"ok":true}`} {
			for _, to := range providers.APIs() {
				h := &hearer{args: map[int]int{}}
				if out := from.Codec.Reply(bridgedTo(from.Codec, to.Codec, false)).Whole(nil, []byte(body), h); from.Name != to.Name && h.failure == nil {
					t.Errorf("%s of %s is a reply for %s: %s", body, from.Name, to.Name, out)
				}
			}
		}
	}
}
