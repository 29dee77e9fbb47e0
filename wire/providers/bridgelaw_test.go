package providers_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
)

// A client joins what a reply says in its own API, as its SDK does.
type client struct {
	hearer
	usage  wire.Usage
	faults int
}

func newClient() *client { return &client{hearer: hearer{args: map[int]int{}}} }

func (c *client) Found(e wire.Event) []wire.Part {
	switch e.Kind {
	case wire.EventRefusal:
		c.text += string(e.Text)
	case wire.EventMember:
		if e.Name == "refusal" {
			c.text += string(e.Text)
		}
	case wire.EventUsage:
		u := e.Usage
		c.usage.Input, c.usage.Output = max(c.usage.Input, u.All()), max(c.usage.Output, u.Output)
		c.usage.Reasoning, c.usage.CacheRead = max(c.usage.Reasoning, u.Reasoning), max(c.usage.CacheRead, u.CacheRead)
	case wire.EventFault:
		c.faults++
	}
	return c.hearer.Found(e)
}

// A tale is what a generated reply says. It is told in the API of chat completions.
type tale struct {
	said
	usage  wire.Usage
	stream []byte
	whole  []byte
}

// words are texts that are hard to carry.
var words = []string{"a", "b \n", "\"c\\", "é😀", "<d>", "data: x\n\n", "[DONE]", "\u2028", "{\"e\":1}", "\r\n\r\nevent: f", "\x7f\u0000g", "  "}

// A toldCall is one of a tale.
type toldCall struct{ name, arguments string }

// taleOf tells what a model might say, in pieces of any form.
func taleOf(r *rand.Rand) tale {
	t := tale{said: said{model: "m-1", ended: true, end: []sotto.Ending{sotto.EndStopped, sotto.EndStopped, sotto.EndCut, sotto.EndAborted}[r.IntN(4)]}}
	t.usage = wire.Usage{Input: 20 + int64(r.IntN(9)), Output: 30 + int64(r.IntN(9)), Reasoning: int64(r.IntN(9)), CacheRead: int64(r.IntN(9))}
	t.output = t.usage.Output
	say := func() string { return words[r.IntN(len(words))] }
	var deltas, calls []string // members of a delta
	var list []toldCall
	refusal := ""
	for range 1 + r.IntN(3) {
		for range r.IntN(3) {
			w := say()
			t.thought += w
			deltas = append(deltas, `"reasoning_content":`+quoted(w))
		}
		for range r.IntN(3) {
			w := say()
			t.text += w
			deltas = append(deltas, `"content":`+quoted(w))
		}
		list, deltas = toldCalls(r, list, deltas)
	}
	if r.IntN(6) == 0 && len(list) == 0 {
		refusal = "I cannot say " + say()
		deltas = append(deltas, `"refusal":`+quoted(refusal))
	}
	for i, c := range list {
		t.calls += strings.Repeat(";", min(i, 1)) + c.name + c.arguments
		calls = append(calls, fmt.Sprintf(`{"id":"call_%d","type":"function","function":{"name":%s,"arguments":%s}}`, i, quoted(c.name), quoted(c.arguments)))
	}
	word := map[sotto.Ending]string{sotto.EndStopped: "stop", sotto.EndCut: "length", sotto.EndAborted: "content_filter"}[t.end]
	if word == "stop" && len(list) > 0 {
		word = "tool_calls"
	}
	t.stream = t.told(r, deltas, word)
	message := `"role":"assistant","content":` + quoted(t.text) + `,"reasoning_content":` + quoted(t.thought)
	if len(calls) > 0 {
		message += `,"tool_calls":[` + strings.Join(calls, ",") + `]`
	}
	if refusal != "" {
		message += `,"refusal":` + quoted(refusal)
	}
	t.whole = fmt.Appendf(nil, `{"id":"c1","object":"chat.completion","created":1,"model":"m-1","choices":[{"index":0,"message":{%s},"finish_reason":%q}],%s}`, message, word, t.counts())
	t.text += refusal
	return t
}

// toldCalls adds calls, whose pieces come one after the other or by turns.
func toldCalls(r *rand.Rand, list []toldCall, deltas []string) ([]toldCall, []string) {
	type piece struct {
		call int
		text string
	}
	var queues [][]piece
	for range r.IntN(3) {
		c := toldCall{"f" + strconv.Itoa(len(list)), []string{`{}`, `{"x":1}`, `{"x":{"y":["}{",null]},"z":"\"\\"}`}[r.IntN(3)]}
		at, left := len(list), c.arguments
		list = append(list, c)
		q := []piece{{at, ""}}
		for left != "" {
			n := 1 + r.IntN(len(left))
			q = append(q, piece{at, left[:n]})
			left = left[n:]
		}
		queues = append(queues, q)
	}
	turns := r.IntN(2) == 0
	for len(queues) > 0 {
		i := 0
		if turns {
			i = r.IntN(len(queues))
			for j := range i { // calls begin in their order
				if queues[j][0].text == "" {
					i = j
					break
				}
			}
		}
		p := queues[i][0]
		if queues[i] = queues[i][1:]; len(queues[i]) == 0 {
			queues = append(queues[:i], queues[i+1:]...)
		}
		if p.text == "" {
			deltas = append(deltas, fmt.Sprintf(`"tool_calls":[{"index":%d,"id":"call_%d","type":"function","function":{"name":%s,"arguments":""}}]`, p.call, p.call, quoted(list[p.call].name)))
		} else {
			deltas = append(deltas, fmt.Sprintf(`"tool_calls":[{"index":%d,"function":{"arguments":%s}}]`, p.call, quoted(p.text)))
		}
	}
	return list, deltas
}

func (t *tale) counts() string {
	return fmt.Sprintf(`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d},"completion_tokens_details":{"reasoning_tokens":%d}}`,
		t.usage.Input, t.usage.Output, t.usage.Input+t.usage.Output, t.usage.CacheRead, t.usage.Reasoning)
}

// told is the stream of deltas, of which some come together, with the counts at its end or in a frame of their own.
func (t *tale) told(r *rand.Rand, deltas []string, word string) []byte {
	var b strings.Builder
	frame := func(delta, finish, counts string) {
		fmt.Fprintf(&b, `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m-1","choices":[{"index":0,"delta":{%s},"finish_reason":%s}]%s}`+"\n\n", delta, finish, counts)
	}
	order := func(d string) int {
		return strings.Index(`"reasoning_content "content "tool_calls "refusal`, d[:strings.Index(d[1:], `"`)+1])
	}
	for i := 0; i < len(deltas); i++ {
		d := deltas[i]
		for i+1 < len(deltas) && order(deltas[i+1]) > order(deltas[i]) && r.IntN(2) == 0 {
			i++
			d += "," + deltas[i]
		}
		frame(d, "null", "")
		if r.IntN(9) == 0 {
			b.WriteString(": ping\n\n")
		}
	}
	if r.IntN(2) == 0 {
		frame("", `"`+word+`"`, ","+t.counts())
	} else {
		frame("", `"`+word+`"`, "")
		fmt.Fprintf(&b, `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m-1","choices":[],%s}`+"\n\n", t.counts())
	}
	return []byte(b.String() + "data: [DONE]\n\n")
}

func quoted(s string) string {
	b := []byte{'"'}
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c < ' ':
			b = fmt.Appendf(b, "\\u%04x", c)
		default:
			b = append(b, string(c)...)
		}
	}
	return string(append(b, '"'))
}

// lost takes out of counts what an API has no place for.
func lost(u wire.Usage, apis ...string) wire.Usage {
	for _, name := range apis {
		switch name {
		case "ollama":
			u.Reasoning, u.CacheRead = 0, 0
		case "bedrock", "cohere":
			u.Reasoning = 0
		}
	}
	return u
}

// across brings a reply to a client of another API. It is whole or a stream.
func across(t *testing.T, from, to providers.API, reply []byte, stream bool) []byte {
	t.Helper()
	if from.Name == to.Name {
		return reply
	}
	through := &hearer{args: map[int]int{}}
	var out []byte
	if y := from.Codec.Reply(bridgedTo(from.Codec, to.Codec, stream)); stream {
		out = feed(from.Codec, y, reply, through)
	} else if out = y.Whole(nil, reply, through); !foreignjson.Valid(out) {
		t.Fatalf("%s to %s: %s", from.Name, to.Name, out)
	}
	if through.failure != nil {
		t.Fatalf("%s to %s: %v\nof %s", from.Name, to.Name, through.failure, reply)
	}
	return out
}

// hears is what a client of an API gets of a reply.
func hears(api providers.API, reply []byte, stream bool) *client {
	c := newClient()
	if y := api.Codec.Reply(wire.Settings{Request: &wire.Request{Stream: stream}}); stream {
		feed(api.Codec, y, reply, c)
	} else {
		y.Whole(nil, reply, c)
	}
	for i, call := range c.list { // a block may begin with an empty object, to which nothing is added
		if strings.Trim(call, "f0123456789") == "" {
			c.list[i] += "{}"
		}
	}
	c.calls, c.output = strings.Join(c.list, ";"), c.usage.Output
	return c
}

// TestBridgeLaw: whichever two APIs a reply goes through, its client hears what it said, streamed and whole: texts,
// thoughts, calls, counts and the end.
func TestBridgeLaw(t *testing.T) {
	chat := providers.APIs()[0]
	for _, from := range providers.APIs() {
		t.Run(from.Name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(60 * effort.Times()) {
				told := taleOf(rand.New(rand.NewPCG(seed, 11)))
				for _, stream := range []bool{false, true} {
					origin := told.whole
					if stream {
						origin = told.stream
					}
					upstream := across(t, chat, from, origin, stream)
					for _, to := range providers.APIs() {
						out := across(t, from, to, upstream, stream)
						if said := wrong(to, out); stream && from.Name != to.Name && said != "" {
							t.Fatalf("seed %d, %s to %s: %s\n%s\nof\n%s", seed, from.Name, to.Name, said, out, upstream)
						}
						got, want := hears(to, out, stream), told.said
						if to.Name == "cohere" || to.Name == "bedrock" {
							want.model = "" // replies do not name it
						}
						if got.said != want || got.faults > 0 {
							t.Fatalf("seed %d, %s to %s, streamed %v:\n%+v\nwant\n%+v\n%s\nof\n%s\nof\n%s", seed, from.Name, to.Name, stream, got.said, want, out, upstream, origin)
						}
						if want := lost(told.usage, from.Name, to.Name); got.usage != want {
							t.Fatalf("seed %d, %s to %s, streamed %v: %+v, want %+v\n%s\nof\n%s", seed, from.Name, to.Name, stream, got.usage, want, out, upstream)
						}
					}
				}
			}
		})
	}
}
