package account

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/record"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/anthropic"
	"github.com/sotto-llm/sotto/wire/bedrock"
	"github.com/sotto-llm/sotto/wire/cohere"
	"github.com/sotto-llm/sotto/wire/gemini"
	"github.com/sotto-llm/sotto/wire/llamacpp"
	"github.com/sotto-llm/sotto/wire/ollama"
	"github.com/sotto-llm/sotto/wire/openai"
	"github.com/sotto-llm/sotto/wire/openai/responses"
)

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func frame(data string) wire.Frame { return wire.Frame{Raw: []byte(data), Data: []byte(data)} }

func all(int) bool { return true }

// A player is the account of a reply that a codec reads.
type player struct {
	*Account
	reply wire.Reply
	texts map[int]bool // choices that gave text
	limit int          // of the room; 0 if it is plenty
	Tokens
}

func play(c wire.Codec, room *Room) *player {
	return &player{New(c.Capabilities(), room), c.Reply(wire.Settings{}), map[int]bool{}, 0, Tokens{}}
}

func (p *player) frame(data string) { p.reply.Frame(nil, frame(data), p) }

func (p *player) Found(f wire.Event) []wire.Part {
	if f.Kind == wire.EventText && len(f.Text) > 0 {
		p.texts[f.Choice] = true
	}
	if f.Kind == wire.EventUsage {
		p.Tokens.Found(f.Usage)
	}
	p.Account.Found(f, len(p.texts))
	if p.limit > 0 && !p.room.Fit(p.Runs(), 0, p.limit) {
		p.room.Close()
	}
	return []wire.Part{{Text: f.Text}}
}
func (p *player) Close(int, sotto.Ending) []wire.Part    { return nil }
func (p *player) Open() []int                            { return nil }
func (p *player) Fail(error)                             {}
func (*player) Finish(sotto.Ending) ([]wire.Part, error) { return nil, nil }
func (*player) Findings() string                         { return "" }
func (p *player) Share() (reasoning, all int)            { return 0, 0 }

var codecs = []wire.Codec{openai.Chat, openai.Completions, responses.Codec, ollama.Chat, ollama.Generate, anthropic.Messages, llamacpp.Completion, cohere.Chat, gemini.GenerateContent, bedrock.Converse}

const plenty = 1 << 20

// TestChat plays streams of pieces in any order, frames that are alike among them:
// thoughts, calls and counts come together as they were sent.
func TestChat(t *testing.T) {
	words := []string{"a", "ha", "ha", "é", "\n", `"`, "\\", "<think>", "tool_calls", "usage"}
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		a := play(openai.Chat, &Room{Left: plenty})
		var thought, arguments string
		called := false
		for range rnd.IntN(40) {
			word := words[rnd.IntN(len(words))]
			delta := ""
			switch rnd.IntN(4) {
			case 0, 1:
				delta = `"content":` + quoted(word)
			case 2:
				delta, thought = `"reasoning_content":`+quoted(word), thought+word
			case 3:
				head := ""
				if !called {
					head, called = `"id":"call_1","type":"function",`, true
				}
				delta, arguments = `"tool_calls":[{"index":0,`+head+`"function":{"name":"f","arguments":`+quoted(word)+`}}]`, arguments+word
			}
			a.frame(`{"choices":[{"index":0,"delta":{` + delta + `},"finish_reason":null}],"usage":null}`)
		}
		a.frame(`{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":9,"completion_tokens_details":{"reasoning_tokens":4}}}`)
		thoughts, calls := a.Of(all, nil)
		var want []record.Thought
		if thought != "" {
			want = []record.Thought{{Field: "reasoning_content", Text: record.Say(thought)}}
		}
		var wantCalls []record.Call
		if called {
			wantCalls = []record.Call{{ID: "call_1", Name: "f", Arguments: record.Say(arguments)}}
		}
		if diff := cmp.Diff(want, thoughts) + cmp.Diff(wantCalls, calls) + cmp.Diff(&record.Usage{Input: 3, Output: 9, Reasoning: 4}, a.Usage()); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

// TestDetails: reasoning_details that repeat all with every frame, and those that
// do not, say the same; also where the first pieces are alike.
func TestDetails(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		var deltas []string
		for range 1 + rnd.IntN(8) {
			deltas = append(deltas, []string{"ha", "h", "hb", "x", "é"}[rnd.IntN(5)])
		}
		whole := strings.Join(deltas, "")
		for _, cumulative := range []bool{true, false} {
			a := play(openai.Chat, &Room{Left: plenty})
			so, chain := "", true
			for _, d := range deltas {
				chain = chain && (so == "" || strings.HasPrefix(d, so))
				so += d
				if cumulative {
					d = so
				}
				a.frame(`{"choices":[{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.text","text":` + quoted(d) + `}]}}]}`)
				if !cumulative {
					so = d
				}
			}
			if !cumulative && chain && len(deltas) > 1 {
				continue // nothing tells them from one that repeats
			}
			thoughts, _ := a.Of(all, nil)
			if len(thoughts) != 1 || string(thoughts[0].Text.Text) != whole {
				t.Fatalf("seed %d, cumulative %v, %q: %+v", seed, cumulative, deltas, thoughts)
			}
		}
	}
}

// TestBlocks reads Anthropic's blocks: signatures and what is redacted are sealed,
// a thought goes with the text after it, a call with the one before.
func TestBlocks(t *testing.T) {
	whole := `{"type":"message","content":[{"type":"thinking","thinking":"t1","signature":"s1"},{"type":"redacted_thinking","data":"d"},{"type":"text","text":"a"},` +
		`{"type":"tool_use","id":"c","name":"f","input":{"x":1}},{"type":"thinking","thinking":"t2"},{"type":"text","text":"b"}],"usage":{"input_tokens":1,"output_tokens":2}}`
	streamed := play(anthropic.Messages, &Room{Left: plenty})
	for _, f := range []string{
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"t"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"1"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s1"}}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"d"}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"a"}}`,
		`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"c","name":"f","input":{}}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"x\":"}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"1}"}}`,
		`{"type":"content_block_delta","index":4,"delta":{"type":"thinking_delta","thinking":"t2"}}`,
		`{"type":"message_delta","delta":{},"usage":{"input_tokens":1,"output_tokens":2}}`,
	} {
		streamed.frame(f)
	}
	atOnce := play(anthropic.Messages, &Room{Left: plenty})
	atOnce.reply.Whole(nil, []byte(whole), atOnce)
	say := record.Say
	for name, a := range map[string]*player{"streamed": streamed, "whole": atOnce} {
		first, calls := a.Of(func(c int) bool { return c == 0 }, nil)
		second, none := a.Of(func(c int) bool { return c == 1 }, nil)
		want := []record.Thought{
			{Field: "thinking", Text: say("t1"), Sealed: true}, {Field: "signature", Text: say("s1"), Sealed: true}, {Field: "redacted_thinking", Text: say("d"), Sealed: true},
		}
		if diff := cmp.Diff(want, first) + cmp.Diff([]record.Call{{ID: "c", Name: "f", Arguments: say(`{"x":1}`)}}, calls) +
			cmp.Diff([]record.Thought{{Field: "thinking", Text: say("t2")}}, second) + cmp.Diff(&record.Usage{Input: 1, Output: 2}, a.Usage()); diff != "" || none != nil {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// FuzzAccount: nothing that an upstream or a client sends breaks the account, and
// what it keeps is bounded.
func FuzzAccount(f *testing.F) {
	f.Add(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":-5,"id":7,"function":{"name":1,"arguments":{}}}],"reasoning_details":[{"text":"a","data":"b"}]}}]}`)
	f.Add(`{"type":"content_block_delta","index":1e99,"delta":{"type":"thinking_delta","thinking":"\ud800"}}`)
	f.Add(`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","summary":[{"text":"x"}],"encrypted_content":"y"}}`)
	f.Add(`{"messages":[{"role":1,"content":[{"type":"tool_result","content":[1,{"text":"x"}]}],"tool_calls":7}],"prompt":[1,"x"],"input":[{"type":"reasoning","content":"x"}]}`)
	f.Add(`{"temperature":1,"stop":"x","options":{"a":[1]},"seed":-0.0,"tools":[{"name":"a"},{"function":{"name":1}},7,{"type":"web"}],"functions":[[]],"top_p":null}`)
	f.Fuzz(func(t *testing.T, data string) {
		for _, codec := range codecs {
			name := codec.Name()
			const limit = 1000
			room := Room{Left: limit}
			a := play(codec, &room)
			a.limit = limit
			for range 5 {
				a.frame(data)
			}
			if jsonedit.Parse([]byte(data)).IsObject() && json.Valid([]byte(data)) {
				a.reply.Whole(nil, []byte(data), a)
			}
			a.Refused([]byte(data))
			thoughts, calls := a.Of(all, nil)
			n := 0
			for _, th := range thoughts {
				n += len(th.Text.Text)
			}
			for _, c := range calls {
				n += len(c.Arguments.Text) + len(c.ID) + len(c.Name)
			}
			if n > limit+len(data) || room.Left < -len(data) || len(a.Fault()) > 1000 {
				t.Fatalf("%s: %d bytes kept of %d, %d left", name, n, limit, room.Left)
			}
			asked := Room{Left: limit}
			for _, m := range Messages(codec, []byte(data), &asked) {
				n += len(fmt.Sprint(m.Text.Text))
			}
			if n > 2*limit || asked.Left < 0 {
				t.Fatalf("%s: %d bytes of messages", name, n)
			}
			all := Room{Left: limit}
			set, tools := Settings([]byte(data), &all)
			if n = len(set.Text); n > 0 && !json.Valid([]byte(set.Text)) {
				t.Fatalf("the parameters %s", set.Text)
			}
			for _, tool := range tools {
				n += len(tool.Name) + len(tool.Definition.Text)
			}
			if n > limit+1 || all.Left < 0 {
				t.Fatalf("%d bytes of settings", n)
			}
		}
	})
}

// TestSettings: what sets how a model thinks is a parameter, in every spelling that
// servers read; texts are not.
func TestSettings(t *testing.T) {
	for _, set := range []string{
		`{"prompt_mode":"reasoning"}`, `{"think":"high"}`, `{"reasoning":{"effort":"none"}}`, `{"enable_thinking":false}`,
		`{"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}`, `{"generation_config":{"thinking_config":{"thinking_budget":0}}}`,
		`{"inferenceConfig":{"maxTokens":9},"additionalModelRequestFields":{"thinking":{"type":"enabled"}}}`,
	} {
		body := `{"prompt":"a text","stream":true,` + set[1:]
		if got, _ := Settings([]byte(body), &Room{Left: 1 << 10}); string(got.Text) != set {
			t.Errorf("%s: %q", body, got.Text)
		}
	}
}
