package history_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
)

const (
	chat      = "openai.chat"
	messages  = "anthropic.messages"
	responses = "openai.responses"
)

// read reads a list of messages as a request to a model.
func read(model, list string) *wire.Request {
	q := &wire.Request{Model: model, Messages: chatjson.ReadMessages(jsonedit.Parse([]byte(list)))}
	q.Prefill = chatjson.PrefillOf(q.Messages)
	return q
}

// edit makes a plan's changes to a list of messages.
func edit(t testing.TB, list string, p history.Plan) string {
	t.Helper()
	out, err := chatjson.EditMessages(nil, []byte(list), jsonedit.Parse([]byte(list)), p.Changes)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// remembered is a Recall that knows one message.
func remembered(at int, thought, raw string) func(int) (history.Remembered, bool) {
	return func(m int) (history.Remembered, bool) {
		if m != at {
			return history.Remembered{}, false
		}
		return history.Remembered{Thought: thought, Raw: raw}, true
	}
}

const (
	call   = `"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]`
	result = `{"role":"tool","tool_call_id":"c1","content":"42"}`
	ask    = `{"role":"user","content":"go on"}`
)

func codecOf(name string) wire.Codec {
	for _, c := range providers.Codecs() {
		if c.Name() == name {
			return c
		}
	}
	panic(name)
}

func TestPlanFor(t *testing.T) {
	field := func(name string) history.Knowledge { return history.Knowledge{Native: name} }
	inline := history.Knowledge{Native: history.Inline, Fields: []string{"reasoning_content"}}
	tags := func(native string) history.Knowledge { return history.Knowledge{Native: native, Tags: true} }
	recall := func(k history.Knowledge, at int, thought, raw string) history.Knowledge {
		k.Recall = remembered(at, thought, raw)
		return k
	}
	said := func(members string) string { return `{"role":"assistant",` + members + `}` }
	tests := []struct {
		name, model, api string
		policy           history.Policy
		k                history.Knowledge
		// list and want are without the brackets. An empty want is no change, FIELD
		// is reasoning r in a member of the first message.
		list, want string
	}{
		{name: "strip: a member of an earlier turn", model: "qwen3:8b", k: field("reasoning_content"),
			list: said(`"reasoning_content":"r","content":"a"`) + "," + ask, want: said(`"content":"a"`) + "," + ask},
		{name: "strip: an unknown member goes too", model: "qwen3:8b",
			list: said(`"content":"a","reasoning":"r"`) + "," + ask, want: said(`"content":"a"`) + "," + ask},
		{name: "strip: tags in the text", model: "qwen3:8b",
			list: said(`"content":"<think>\nr\n</think>\n\na"`) + "," + ask, want: said(`"content":"a"`) + "," + ask},
		{name: "strip: a pre-opened block", model: "qwen3-30b-thinking",
			list: said(`"content":"r\n</think>\n\na"`) + "," + ask, want: said(`"content":"a"`) + "," + ask},
		{name: "strip: a close in a line of prose stays", model: "qwen3-30b-thinking",
			list: said(`"content":"it writes </think> there"`) + "," + ask},
		{name: "strip: an orphan close stays where the server tells reasoning apart", model: "qwen3-30b-thinking", k: field("reasoning"),
			list: said(`"content":"it writes\n</think>\nthere"`) + "," + ask},
		{name: "strip: a literal tag stays", model: "qwen3:8b",
			list: said("\"content\":\"use `<think>` and `</think>`:\\n```\\n<think>x</think>\\n```\"") + "," + ask},
		{name: "strip: a literal tag stays beside reasoning", model: "qwen3:8b",
			list: said("\"content\":\"<think>r</think>use `<think>`\"") + "," + ask, want: said("\"content\":\"use `<think>`\"") + "," + ask},
		{name: "strip: tool markup stays", model: "qwen3:8b",
			list: said(`"content":"<think>r</think>a<tool_call>{\"name\":\"f\"}</tool_call>"`) + "," + ask,
			want: said(`"content":"a<tool_call>{\"name\":\"f\"}</tool_call>"`) + "," + ask},
		{name: "strip: the turn under way keeps all", model: "qwen3:8b", k: field("reasoning_content"),
			list: ask + "," + said(`"reasoning_content":"r","content":"<think>s</think>",`+call) + "," + result},
		{name: "strip: an earlier tool turn loses it, calls stay", model: "qwen3:8b", k: field("reasoning_content"),
			list: said(`"reasoning_content":"r","content":"<think>s</think>",`+call) + "," + result + "," + ask,
			want: said(`"content":"",`+call) + "," + result + "," + ask},
		{name: "strip: a group that the user broke into stays", model: "qwen3:8b", k: field("reasoning_content"),
			list: said(`"reasoning_content":"r","content":"",`+call) + "," + ask + "," + result},
		{name: "strip: a message of reasoning alone stays", model: "qwen3:8b", k: field("reasoning_content"),
			list: said(`"reasoning_content":"r","content":""`) + "," + ask},
		{name: "strip: a text of reasoning alone stays", model: "qwen3:8b",
			list: said(`"content":"<think>r"`) + "," + ask},
		{name: "strip: no text becomes empty in blocks", model: "qwen3:8b", api: messages,
			list: said(`"content":[{"type":"thinking","thinking":"r","signature":""},{"type":"text","text":"<think>s</think>"},{"type":"tool_use","id":"c1"}]`) + "," + ask,
			want: said(`"content":[{"type":"text","text":"<think>s</think>"},{"type":"tool_use","id":"c1"}]`) + "," + ask},
		{name: "strip: sealed parts stay", model: "qwen3:8b",
			list: said(`"reasoning_details":[{"type":"reasoning.encrypted","data":"xx"}],"reasoning":"r","content":"a"`) + "," + ask,
			want: said(`"reasoning_details":[{"type":"reasoning.encrypted","data":"xx"}],"content":"a"`) + "," + ask},
		{name: "strip: own members fold in the turn under way", model: "qwen3:8b", k: inline,
			list: ask + "," + said(`"reasoning_content":"r","content":"a",`+call) + "," + result,
			want: ask + "," + said(`"content":"<think>\nr\n</think>\n\na",`+call) + "," + result},
		{name: "strip: a call without a text gets one to fold into", model: "qwen3:8b", k: inline,
			list: ask + "," + said(`"reasoning_content":"r","content":null,`+call) + "," + result,
			want: ask + "," + said(`"content":"<think>\nr\n</think>\n\n",`+call) + "," + result},
		{name: "strip: the same without the member", model: "qwen3:8b", k: inline,
			list: ask + "," + said(`"reasoning_content":"r",`+call) + "," + result,
			want: ask + `,{"content":"<think>\nr\n</think>\n\n","role":"assistant",` + call + "}," + result},
		{name: "strip: with no text and no call a member stays", model: "qwen3:8b", k: inline,
			list: ask + "," + said(`"reasoning_content":"r","content":null`)},

		{name: "echo: a turn with calls keeps all of it", model: "deepseek-v4", k: field("reasoning_content"),
			list: ask + "," + said(`"reasoning_content":"r","content":"",`+call) + "," + result + "," + said(`"reasoning_content":"s","content":"b"`) + "," + ask},
		{name: "echo: a turn without may lose it", model: "deepseek-v4", k: field("reasoning_content"),
			list: said(`"reasoning_content":"r","content":"a"`) + "," + ask, want: said(`"content":"a"`) + "," + ask},
		{name: "echo: what is missing comes back", model: "deepseek-v4-pro", k: recall(field("reasoning_content"), 0, "r", ""),
			list: said(`"content":"",`+call) + "," + result + "," + ask, want: "FIELD"},
		{name: "echo: in the member of the provider's API", model: "deepseek-reasoner", k: recall(field(""), 0, "r", ""),
			list: said(`"content":"",`+call) + "," + result, want: "FIELD"},
		{name: "echo: not in a turn without calls", model: "deepseek-v4", k: recall(field("reasoning_content"), 0, "r", ""),
			list: said(`"content":"a"`) + "," + ask},
		{name: "echo: strip does not take it", model: "deepseek-v4", policy: history.Strip, k: field("reasoning_content"),
			list: said(`"reasoning_content":"r","content":"",`+call) + "," + result + "," + ask},
		{name: "echo: preserve does not restore", model: "deepseek-v4", policy: history.Preserve, k: recall(field("reasoning_content"), 0, "r", ""),
			list: said(`"content":"",`+call) + "," + result},
		{name: "echo: tags of ours go back to the member", model: "deepseek-v4", k: tags("reasoning_content"),
			list: said(`"content":"<think>\nr\n</think>\n\na",`+call) + "," + result, want: "FIELD"},

		{name: "kimi: all of it stays", model: "kimi-k2.6", policy: history.Strip, k: field("reasoning_content"),
			list: said(`"reasoning_content":"r","content":"a"`) + "," + ask},
		{name: "kimi: what is missing comes back", model: "moonshotai/Kimi-K2.6", k: recall(field("reasoning_content"), 0, "r", ""),
			list: said(`"content":"",`+call) + "," + result, want: "FIELD"},

		{name: "keep: a native member stays", model: "MiniMax-M2", k: field("reasoning_content"),
			list: said(`"reasoning_content":"r","content":"a"`) + "," + ask},
		{name: "keep: details stay", model: "MiniMax-M2", k: field("reasoning_content"),
			list: said(`"reasoning_details":[{"type":"reasoning.text","text":"r"}],"content":"a"`) + "," + ask},
		{name: "keep: own members fold", model: "MiniMax-M2", k: inline,
			list: said(`"reasoning_content":"r","content":"a"`) + "," + ask,
			want: said(`"content":"<think>\nr\n</think>\n\na"`) + "," + ask},
		{name: "keep: to the very bytes where they are remembered", model: "MiniMax-M2", k: recall(inline, 0, "r", "<think>r</think>a"),
			list: said(`"reasoning_content":"r","content":"a"`) + "," + ask,
			want: said(`"content":"<think>r</think>a"`) + "," + ask},
		{name: "keep: what Sotto took out of the content and a client dropped", model: "MiniMax-M2", k: recall(inline, 0, "r", "<think>r</think>a"),
			list: said(`"content":"a"`) + "," + ask, want: said(`"content":"<think>r</think>a"`) + "," + ask},
		{name: "keep: with the dialect's own markers", model: "seed-oss", policy: history.Preserve, k: inline,
			list: said(`"reasoning_content":"r","content":"a"`) + "," + ask,
			want: said(`"content":"<seed:think>\nr\n</seed:think>\n\na"`) + "," + ask},
		{name: "keep: not where it would read otherwise", model: "MiniMax-M2", k: inline,
			list: said(`"reasoning_content":"r</think>s","content":"a"`) + "," + ask},
		{name: "keep: both at once", model: "MiniMax-M2", k: inline,
			list: said(`"reasoning_content":"r","content":"<think>r</think>a"`) + "," + ask,
			want: said(`"content":"<think>r</think>a"`) + "," + ask},
		{name: "keep: strip takes it where asked", model: "MiniMax-M2", policy: history.Strip, k: field("reasoning_content"),
			list: said(`"reasoning_content":"r","content":"a"`) + "," + ask, want: said(`"content":"a"`) + "," + ask},
		{name: "harmony: no markers to fold with", model: "gpt-oss:20b", k: inline,
			list: said(`"reasoning_content":"r","content":"a"`) + "," + ask},

		{name: "tags of ours become the bytes that are remembered", model: "MiniMax-M2", k: recall(tags(history.Inline), 0, "r", "<think>r</think>a"),
			list: said(`"content":"<think>\nr\n</think>\n\na"`) + "," + ask, want: said(`"content":"<think>r</think>a"`) + "," + ask},
		{name: "tags of ours become the family's", model: "seed-oss", k: tags(history.Inline),
			list: said(`"content":"<think>\nr\n</think>\n\na"`) + "," + ask, want: said(`"content":"<seed:think>\nr\n</seed:think>\n\na"`) + "," + ask},
		{name: "tags of ours that hold all there is stay", model: "MiniMax-M2", k: tags("reasoning"),
			list: said(`"content":"<think>\nr\n</think>"`) + "," + ask},
		{name: "tags of ours are stripped with those of the family", model: "gemma-4", k: tags("reasoning"),
			list: said(`"content":"<think>\nr\n</think>\n\na"`) + "," + ask, want: said(`"content":"a"`) + "," + ask},
		{name: "rename", model: "gpt-oss:20b", k: field("reasoning"),
			list: said(`"reasoning_content":"r","content":"a"`) + "," + ask, want: "FIELD"},
		{name: "rename: one of two names is the native one", model: "gpt-oss:20b", k: field("reasoning"),
			list: said(`"reasoning":"r","reasoning_content":"r","content":"a"`) + "," + ask,
			want: said(`"reasoning":"r","content":"a"`) + "," + ask},
		{name: "both names go up once while the native one is not known", model: "frobnicator", k: history.Knowledge{Fields: []string{"reasoning_content"}},
			list: said(`"reasoning_content":"r","reasoning":"r","content":"a"`) + "," + ask,
			want: said(`"reasoning":"r","content":"a"`) + "," + ask},
		{name: "both names with other texts stay", model: "frobnicator", k: history.Knowledge{Fields: []string{"reasoning_content"}},
			list: said(`"reasoning_content":"r","reasoning":"s","content":"a"`) + "," + ask},
		{name: "details and the member beside them go up once", model: "frobnicator", k: history.Knowledge{Fields: []string{"reasoning_content"}},
			list: said(`"reasoning_content":"r","reasoning_details":[{"type":"reasoning.text","text":"r"}],"content":"a"`) + "," + ask,
			want: said(`"reasoning_details":[{"type":"reasoning.text","text":"r"}],"content":"a"`) + "," + ask},
		{name: "rename: a member that is not ours stays", model: "MiniMax-M2", k: inline,
			list: said(`"reasoning_text":"r","content":"a"`) + "," + ask},

		{name: "unknown: as it came", model: "frobnicator",
			list: said(`"reasoning_content":"r","content":"<think>s</think>a"`) + "," + ask},
		{name: "unknown: strip by the default dialect", model: "frobnicator", policy: history.Strip,
			list: said(`"reasoning_content":"r","content":"a"`) + "," + said(`"content":"<think>s</think>b"`) + "," + ask,
			want: said(`"content":"a"`) + "," + said(`"content":"b"`) + "," + ask},
		{name: "unknown: restore", model: "frobnicator", policy: history.Restore, k: recall(field("reasoning"), 0, "r", ""),
			list: said(`"content":"a"`) + "," + ask, want: "FIELD"},
		{name: "unknown: restore has no place in blocks", model: "frobnicator", api: messages, policy: history.Restore, k: recall(field(""), 0, "r", ""),
			list: said(`"content":[{"type":"text","text":"a"}]`) + "," + ask},
		{name: "unknown: blocks of ours fold", model: "frobnicator", api: messages,
			list: said(`"content":[{"type":"thinking","thinking":"r","signature":""},{"type":"text","text":"a"}]`) + "," + ask,
			want: said(`"content":[{"type":"text","text":"<think>\nr\n</think>\n\na"}]`) + "," + ask},
		{name: "unknown: blocks that the upstream sends so stay", model: "frobnicator", api: messages, k: field("thinking"),
			list: said(`"content":[{"type":"thinking","thinking":"r","signature":""},{"type":"text","text":"a"}]`) + "," + ask},

		{name: "sealed: signed blocks stay, minted ones go", model: "claude-opus-4", api: messages, policy: history.Strip,
			list: said(`"content":[{"type":"thinking","thinking":"r","signature":"xx"},{"type":"redacted_thinking","data":"yy"},{"type":"thinking","thinking":"m","signature":""},{"type":"text","text":"a"}]`) + "," + ask,
			want: said(`"content":[{"type":"thinking","thinking":"r","signature":"xx"},{"type":"redacted_thinking","data":"yy"},{"type":"text","text":"a"}]`) + "," + ask},
		{name: "sealed: minted ones go in the tool loop too", model: "claude-opus-4", api: messages,
			list: ask + "," + said(`"content":[{"type":"thinking","thinking":"m","signature":""},{"type":"tool_use","id":"c1"}]`) + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"4"}]}`,
			want: ask + "," + said(`"content":[{"type":"tool_use","id":"c1"}]`) + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"4"}]}`},
		{name: "sealed: with what the client emptied", model: "claude-opus-4", api: messages,
			list: said(`"content":[{"type":"thinking","thinking":""},{"type":"thinking","thinking":"m","signature":""},{"type":"text","text":"a"}]`),
			want: said(`"content":[{"type":"text","text":"a"}]`)},
		{name: "strip: with what the client emptied", model: "qwen3:8b", api: messages,
			list: said(`"content":[{"type":"thinking","thinking":""},{"type":"text","text":"<think>r</think>a"}]`) + "," + ask,
			want: said(`"content":[{"type":"text","text":"a"}]`) + "," + ask},
		{name: "sealed: but not where nothing is left", model: "claude-opus-4", api: messages,
			list: ask + "," + said(`"content":[{"type":"thinking","thinking":"m","signature":""}]`)},
		{name: "sealed: what the model wrote itself goes back as it was", model: "claude-opus-4", api: messages, k: recall(field(""), 0, "m", "<thinking>m</thinking>a"),
			list: said(`"content":[{"type":"thinking","thinking":"m","signature":""},{"type":"text","text":"a"}]`) + "," + ask,
			want: said(`"content":[{"type":"text","text":"<thinking>m</thinking>a"}]`) + "," + ask},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.api == "" {
				tt.api = chat
			}
			if tt.policy == "" {
				tt.policy = history.Auto
			}
			list := "[" + tt.list + "]"
			p := history.PlanFor(read(tt.model, list), tt.policy, tt.k, codecOf(tt.api))
			got := edit(t, list, p)
			if tt.want == "FIELD" {
				wantField(t, tt.k.Native, got, p)
			} else if want := "[" + tt.want + "]"; tt.want != "" && got != want {
				t.Errorf("got  %s\nwant %s\n%s", got, want, p)
			} else if tt.want == "" && got != list {
				t.Errorf("got  %s\nwant %s\n%s", got, list, p)
			}
			if again := history.PlanFor(read(tt.model, got), tt.policy, tt.k, codecOf(tt.api)); len(again.Changes) > 0 {
				t.Errorf("again: %+v", again.Changes)
			}
		})
	}
}

// wantField checks that the first message has reasoning r in a member, and no
// other reasoning.
func wantField(t *testing.T, name, got string, p history.Plan) {
	t.Helper()
	if name == "" {
		name = "reasoning_content"
	}
	first := jsonedit.Parse([]byte(got)).Get("0")
	m := chatjson.ReadMessages(jsonedit.Parse([]byte(got)))[0]
	if first.Get(name).Str != "r" || len(m.Thoughts) != 1 || strings.Contains(first.Get("content").Str, "think") {
		t.Errorf("got %s\n%s", got, p)
	}
}

func TestResponsesItems(t *testing.T) {
	item := func(text string, sealed, minted bool) wire.Message {
		return wire.Message{Role: "assistant", Thoughts: []wire.Thought{{Name: "item", Text: text, Sealed: sealed, Minted: minted}}}
	}
	user, said := wire.Message{Role: "user", Texts: []string{"go on"}}, wire.Message{Role: "assistant", Texts: []string{"a"}}
	q := &wire.Request{Model: "frobnicator", Messages: []wire.Message{user, item("r", false, true), item("s", false, true), said, user}}
	p := history.PlanFor(q, history.Auto, history.Knowledge{}, codecOf(responses))
	if len(p.Changes) != 3 || p.Changes[2].Texts[0] != "<think>\nr\n</think>\n\n<think>\ns\n</think>\n\na" {
		t.Errorf("items of ours: %+v", p)
	}
	call := wire.Message{Role: "assistant", Calls: true}
	out := wire.Message{Role: "tool", Results: true}
	loop := &wire.Request{Model: "frobnicator", Messages: []wire.Message{user, item("r", false, true), call, out, item("s", false, true)}}
	p = history.PlanFor(loop, history.Auto, history.Knowledge{}, codecOf(responses))
	if len(p.Changes) != 3 || p.Changes[1].Texts[0] != "<think>\nr\n</think>\n\n" || len(p.Changes[2].Drop) != 1 {
		t.Errorf("a call to put a text before, and an item with no text to go into: %+v", p)
	}
	broken := &wire.Request{Model: "qwen3", Messages: []wire.Message{user, item("r", false, false), call, call, user, out}}
	if p = history.PlanFor(broken, history.Auto, history.Knowledge{}, codecOf(responses)); len(p.Changes) != 0 {
		t.Errorf("a group that the user broke into: %+v", p)
	}
	q.Model = "gpt-5"
	if p = history.PlanFor(q, history.Auto, history.Knowledge{}, codecOf(responses)); len(p.Changes) != 2 || p.Removed != 2 || p.Changes[0].Texts != nil {
		t.Errorf("a provider that seals: %+v", p)
	}
	q.Messages[1], q.Messages[2] = item("", true, false), item("s", true, false)
	if p = history.PlanFor(q, history.Strip, history.Knowledge{}, codecOf(responses)); len(p.Changes) != 0 {
		t.Errorf("sealed items: %+v", p)
	}
}

func TestPlanString(t *testing.T) {
	list := `[{"role":"user","content":"q"},{"role":"assistant","reasoning":"` + strings.Repeat("r", 1234) + `","content":"a"},{"role":"user","content":"q"}]`
	p := history.PlanFor(read("qwen3", list), history.Auto, history.Knowledge{}, codecOf(chat))
	if got, want := p.String(), "rule=qwen3-strip; removed=1234 bytes (about 308 tokens); prefix changes at message 1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p = history.PlanFor(read("deepseek-v4", `[{"role":"assistant","content":"",`+call+`},{"role":"user","content":"q"}]`), history.Strip, history.Knowledge{}, codecOf(chat))
	if got, want := p.String(), "rule=strip, but deepseek-echo; unchanged"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p = history.PlanFor(&wire.Request{}, "", history.Knowledge{}, codecOf(chat))
	if got, want := p.String(), "rule=preserve; unchanged"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Every row of the table, with a name for each of its patterns, does to an earlier
// turn what its need says, and nothing to the current turn.
func TestEveryRow(t *testing.T) {
	turn := `{"role":"user","content":"q"},{"role":"assistant","reasoning_content":"rrrr","content":"a"},`
	tools := `{"role":"user","content":"q"},{"role":"assistant","reasoning_content":"rrrr","content":"a",` + call + `},` + result + `,`
	for _, r := range history.Rules() {
		if r.Name == "" || r.Why == "" || r.Source == "" || r.Need == "" {
			t.Errorf("%q lacks something", r.Name)
		}
		for _, pattern := range append(r.Models, "frobnicator")[:max(1, len(r.Models))] {
			model := "registry/" + strings.ToUpper(strings.ReplaceAll(pattern, "*", ""))
			t.Run(fmt.Sprintf("%s/%s", r.Name, model), func(t *testing.T) {
				if got := history.RuleFor(model, chat).Name; got != r.Name {
					t.Fatalf("rule %s", got)
				}
				plain, loop := removed(t, model, turn+ask), removed(t, model, tools+ask)
				wantPlain := r.Need == history.NeedNone || r.Need == history.NeedCalls
				if (plain == 4) != wantPlain || (loop == 4) != (r.Need == history.NeedNone) {
					t.Errorf("removed %d, %d of a turn with calls", plain, loop)
				}
				if n := removed(t, model, tools[:len(tools)-1]); n != 0 {
					t.Errorf("removed %d of the turn under way", n)
				}
			})
		}
	}
}

func removed(t *testing.T, model, list string) int {
	t.Helper()
	p := history.PlanFor(read(model, "["+list+"]"), history.Auto, history.Knowledge{Native: "reasoning_content"}, codecOf(chat))
	if p.Removed == 0 && len(p.Changes) > 0 {
		t.Errorf("changes that remove nothing: %+v", p.Changes)
	}
	return p.Removed
}

func TestRuleFor(t *testing.T) {
	tests := map[string]string{
		"deepseek-ai/DeepSeek-R1-0528":                 "deepseek-strip",
		"hf.co/unsloth/DeepSeek-R1-Distill-Qwen-7B:Q4": "deepseek-strip",
		"deepseek-ai/DeepSeek-V3.1":                    "deepseek-strip",
		"deepseek/deepseek-v3.2-exp":                   "deepseek-echo",
		"qwen3:30b-thinking":                           "qwen3-strip",
		"Qwen/Qwen3.5-35B-A3B":                         "qwen3-strip",
		"Qwen/Qwen3.6-27B":                             "qwen3.6-keep",
		"QwQ-32B":                                      "qwen3-strip",
		"anthropic/claude-sonnet-4-6":                  "claude-sealed",
		"models--zai-org--GLM-4.6":                     "glm-strip",
		"zai-org/GLM-4.7-Flash":                        "glm-keep",
		"gpt-oss:120b":                                 "harmony-keep",
		"openai/gpt-5.1-mini":                          "openai-sealed",
		"google/gemini-3-pro-preview":                  "gemini-sealed",
		"gemini":                                       "gemini-sealed",
		"models/gemini-flash-latest":                   "gemini-sealed",
		"gemini-2.0-flash":                             "gemini-unsigned",
		"llama3.2":                                     "preserve",
		"":                                             "preserve",
	}
	for model, want := range tests {
		if got := history.RuleFor(model, chat).Name; got != want {
			t.Errorf("%s: %s, want %s", model, got, want)
		}
	}
	rules := history.Rules()
	rules[0].Models[0] = "changed"
	if history.Rules()[0].Models[0] == "changed" {
		t.Error("the table can be changed")
	}
}

// Folded reasoning reads back as what it was folded from, in every dialect that
// folds.
func TestFoldsInEveryDialect(t *testing.T) {
	var not []string
	for _, d := range dialect.All() {
		g, err := sotto.Named(d.Name)
		if err != nil {
			t.Fatal(err)
		}
		list := `[{"role":"assistant","reasoning_content":"why\n\nbecause","content":"the answer"},` + ask + `]`
		p := history.PlanFor(read("frobnicator", list), history.Preserve, history.Knowledge{Grammar: g, Native: history.Inline}, codecOf(chat))
		if len(p.Changes) == 0 {
			not = append(not, d.Name)
			continue
		}
		text := p.Changes[0].Texts[0]
		r, err := g.Parse(text, sotto.BeginOutside, sotto.EndStopped)
		if err != nil || strings.TrimSpace(r.Visible()) != "the answer" || !slices.Equal(r.Reasoning(), []string{"why\n\nbecause"}) {
			t.Errorf("%s: %q reads as %q, %q", d.Name, text, r.Reasoning(), r.Visible())
		}
	}
	t.Logf("do not fold: %v", not)
	if len(not) > 8 {
		t.Errorf("%d dialects do not fold: %v", len(not), not)
	}
}
