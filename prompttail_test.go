package sotto

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/internal/base/prompttext"
)

func TestBeginningOf(t *testing.T) {
	const user = "<|im_start|>user\nWhat is 2+2?<|im_end|>\n<|im_start|>assistant\n"
	for _, tc := range []struct {
		dialect, prompt string
		start           Beginning
		ok              bool
	}{
		{"qwen3", user + "<think>\n", BeginInside("think"), true},
		{"qwen3", user + "<think>", BeginInside("think"), true},
		{"qwen3", user + "<THINK>", BeginInside("think"), true},
		{"qwen3", user + "<think>\n\n</think>\n\n", BeginOutside, true},
		{"nemotron3", user + "<think></think>", BeginOutside, true},
		{"qwen3", user + "</think>\n", BeginOutside, true},
		{"glm47", "[gMASK]<sop><|user|>hi<|assistant|></think>", BeginOutside, true},
		{"qwen3", user, "", false},
		{"qwen3", "", "", false},
		{"qwen3", "Once upon a time", "", false},
		{"qwen3", user + "<think>\nOkay, the user", BeginInside("think"), true},
		{"qwen3", user + "<think>\nsums</think>\n\nThe answer", BeginOutside, true},
		{"qwen3", user + "<think>\na</think>b<|im_end|>\n" + user + "<think>\n", BeginInside("think"), true},
		{"default", user + "<scratch_pad>\n", BeginInside("scratch_pad"), true},
		{"default", user + "<output>\n", BeginOutside, true},

		// An earlier turn says nothing about this one.
		{"qwen3", "<|im_start|>assistant\n<think>\na</think>b<|im_end|>\n" + user, "", false},
		{"qwen3", "<|im_start|>user\nWhat is a <think> tag?<|im_end|>\n<|im_start|>assistant\n", "", false},
		{"magistral", "<s>[INST]What is [THINK]?[/INST]", "", false},
		// Neither does prose that mentions a tag.
		{"default", "Write your reasoning into <think> and then the answer.", "", false},
		{"default", "Say `<think>`", "", false},

		{"deepseek_r1", "<｜begin▁of▁sentence｜><｜User｜>hi<｜Assistant｜><think>\n", BeginInside("think"), true},
		{"deepseek_v31", "<｜User｜>hi<｜Assistant｜></think>", BeginOutside, true},
		{"deepseek_v31", "<｜User｜>hi<｜Assistant｜><think>so far", BeginInside("think"), true},
		{"deepseek_v31", "<｜User｜>hi<｜Assistant｜>", "", false},
		{"kimi_vl", "<|im_assistant|>assistant<|im_middle|>◁think▷", BeginInside("think"), true},
		{"magistral", "<s>[INST]hi[/INST][THINK]", BeginInside("[THINK]"), true},
		{"hunyuan", "<|startoftext|>hi<|extra_0|><think>\n\n</think>\n", BeginOutside, true},
		{"hunyuan", "<|startoftext|>hi<|extra_0|><think>\n", BeginInside("think"), true},
		{"hunyuan3", "<｜hy_Assistant:opensource｜><think:opensource>", BeginInside("think:opensource"), true},
		{"minimax_m3", "]~b]ai\n<mm:think>\n", BeginInside("mm:think"), true},
		{"minimax_m3", "]~b]ai\n</mm:think>", BeginOutside, true},
		{"command_a", "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|><|START_THINKING|>", BeginInside("thinking"), true},
		{"command_a", "<|CHATBOT_TOKEN|><|START_THINKING|><|END_THINKING|>", BeginOutside, true},
		{"k2_horizon", "<|ifm|im_start|>assistant\n<ifm|think_fast>\n", BeginInside("ifm|think_fast"), true},
		{"k2_horizon", "<|ifm|im_start|>assistant\n<ifm|think>\n</ifm|think>\n", BeginOutside, true},
		{"ernie45", "<|im_start|>assistant\n<think>\n", BeginInside("think"), true},
		{"solar_open", "<|begin|>user<|content|>hi<|end|><|begin|>assistant", BeginOutside, true},
		{"solar_open", "<|end|><|begin|>assistant<|think|>", BeginInside("think"), true},
		{"solar_open", "<|begin|>assistant<|think|><|end|><|begin|>assistant", BeginOutside, true},
		{"qwen3", user + "<tool_call>\n", "", false},

		{"qwen35", user + "<think>\n\n</think>\n\n", BeginOutside, true},
		{"glm53", "[gMASK]<sop><|system|>Reasoning Effort: Max<|user|>hi<|assistant|><think>", BeginInside("think"), true},
		{"glm47", "[gMASK]<sop><|user|>hi<|assistant|><think></think>", BeginOutside, true},
		{"granite42", user + "<think>\n", BeginInside("think"), true},
		{"granite42", user + "<think></think>", BeginOutside, true},
		{"minicpm5", user + "<think>\n\n</think>\n\n", BeginOutside, true},
		{"minicpm5", user, "", false},
		{"intellect3", user + "<think>", BeginInside("think"), true},
		{"iquest_q1", "<|iquest_user|>hi<|iquest_assistant|><think>", BeginInside("think"), true},
		{"apriel", "<|begin_user|>\nhi\n<|begin_assistant|>\nHere are my reasoning steps:\n", BeginInside("steps"), true},
		{"apriel", "<|begin_user|>\nhi\n<|begin_assistant|>\nHere are my reasoning steps:\n\n[BEGIN FINAL RESPONSE]\n", BeginOutside, true},
		{"apertus15", "<|user_start|>hi<|user_end|><|assistant_start|>", BeginOutside, true},
		{"apertus15", "<|assistant_start|><|inner_prefix|>", BeginInside("inner"), true},
		{"gigachat35", "user<|role_sep|>\nhi<|message_sep|>\n\nassistant<|role_sep|>\n<think>", BeginInside("think"), true},
		{"mirothinker", user, "", false},
		{"step3", "<|BOT|>user\nhi<|EOT|><|BOT|>assistant\n<think>\n", BeginInside("think"), true},

		{"harmony", "<|start|>user<|message|>hi<|end|><|start|>assistant", BeginOutside, true},
		{"harmony", "<|start|>assistant<|channel|>analysis<|message|>", BeginInside("analysis"), true},
		{"harmony", "<|start|>assistant<|channel|>analysis<|message|>Let me see", BeginInside("analysis"), true},
		{"harmony", "<|start|>assistant<|channel|>final<|message|>", BeginInside("final"), true},
		{"harmony", "<|start|>assistant<|channel|>analysis", "", false},
		{"harmony", "<|start|>assistant to=functions.f<|channel|>commentary<|message|>", "", false},
		{"harmony", "<|start|>user<|message|>hi", "", false},
		{"harmony", "no tokens", "", false},
		{"harmony", "<|end|>", BeginOutside, true},
		{"harmony", "<|start|>assistant<|channel|>analysis\n<|message|>", BeginInside("analysis"), true},
		{"harmony", "<|start|>assistant<|channel|>final<|constrain|>json<|message|>", BeginInside("final"), true},
		{"llm_jp_harmony", "<|start|> assistant<|channel|> analysis<|message|> ", BeginInside("analysis"), true},

		{"gemma4", "<bos><|turn>user\nhi<turn|>\n<|turn>model\n<|channel>thought\n<channel|>", BeginOutside, true},
		{"gemma4", "<|turn>model\n<|channel>thought\n", BeginInside("thought"), true},
		{"gemma4", "<|turn>model\n<|channel>thought\nso", BeginInside("thought"), true},
		{"gemma4", "<|turn>model\n<|channel>thought", "", false},
		{"gemma4", "<|channel>thought\na<channel|>b<turn|>\n<|turn>user\nhi<turn|>\n<|turn>model\n", "", false},

		{"kimi_k3", `<|open|>message role="assistant"<|sep|><|open|>think<|sep|>`, BeginInside("think"), true},
		{"kimi_k3", `<|open|>message role="assistant"<|sep|><|open|>response<|sep|>`, BeginInside("response"), true},
		{"kimi_k3", "<|open|>think<|sep|><|close|>think<|sep|>", BeginOutside, true},
		{"kimi_k3", "<|open|>tools<|sep|>", "", false},

		{"muse_glimmer", "<|start|>user<|message|>hi<|eom|><|start|>assistant", BeginOutside, true},
		{"muse_glimmer", "<|start|>assistant to=self<|message|>", BeginInside("self"), true},
		{"muse_glimmer", "<|start|>assistant to=user<|message|>", BeginOutside, true},
		{"muse_glimmer", "<|start|>assistant to=shell<|message|>", "", false},
		{"muse_glimmer", "<|start|>assistant to=self effort=high<|message|>", BeginInside("self"), true},
		{"muse_glimmer", "<|start|>assistant to=user effort=high<|message|>", BeginOutside, true},
		{"muse_glimmer", "<|start|>assistant<|message|>", BeginOutside, true},
		{"muse_glimmer", "<|start|>user<|message|>hi", "", false},
		{"muse_glimmer", "<|start|><|message|>", BeginOutside, true},

		{"inkling", "<|content_thinking|>so<|end_message|>", BeginOutside, true}, // of each block, and a call's
	} {
		g, err := Named(tc.dialect)
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := g.BeginningOf(tc.prompt); start != tc.start || ok != tc.ok {
			t.Errorf("%s %q: %q, %v; want %q, %v", tc.dialect, tc.prompt, start, ok, tc.start, tc.ok)
		}
	}
}

// What no shipped dialect has: markers that end together, and headers with everything in them.
func TestBeginningOfOwnGrammars(t *testing.T) {
	think := dialect.Marker{Role: dialect.RoleReasoning, Name: "k", Open: []string{"[k]"}, Close: []string{"\n[/k]\n"}}
	call := dialect.Marker{Role: dialect.RoleTool, Name: "t", Open: []string{"[t][k]"}, Close: []string{"[/t]"}}
	header := &dialect.Header{
		Begin: []string{"<|s|>"}, Body: []string{"<|m|>"}, End: []string{"<|e|>"}, Name: []string{"<|s|>"}, Tokens: []string{"<|t|>"},
		Channels:   map[string]dialect.Role{"": dialect.RoleText, "r": dialect.RoleReasoning, "t": dialect.RoleText},
		Recipients: map[string]dialect.Role{"": dialect.RoleText, "r": dialect.RoleReasoning, "hidden": dialect.RoleReasoning, "*": dialect.RoleTool},
	}
	plain := &dialect.Header{Begin: []string{"<|s|>"}, Body: []string{"<|m|>"}, Channels: map[string]dialect.Role{"": dialect.RoleText}}
	for _, tc := range []struct {
		d      dialect.Dialect
		prompt string
		start  Beginning
		ok     bool
	}{
		{dialect.Dialect{Markers: []dialect.Marker{think, call}}, "[t][k]", "", false}, // the longer one: a call
		{dialect.Dialect{Markers: []dialect.Marker{call, think}}, "[t][k]", "", false},
		{dialect.Dialect{Markers: []dialect.Marker{call, think}}, "[t] [k]", BeginInside("k"), true},
		{dialect.Dialect{Markers: []dialect.Marker{call, think}}, "[k]a[/k]", BeginOutside, true},
		{dialect.Dialect{Header: plain}, "<|s|>a", BeginOutside, true},
		{dialect.Dialect{Header: plain, Markers: []dialect.Marker{{Role: dialect.RoleTool, Tag: "c"}}}, "<|s|>a<c>", "", false}, // the tag ends the prompt
		{dialect.Dialect{Header: header}, "<|s|><|t|>x<|m|>", BeginOutside, true},
		{dialect.Dialect{Header: header}, "<|s|>r<|t|>x<|m|>", BeginInside("r"), true},
		{dialect.Dialect{Header: header}, "<|s|>t to=r<|t|>x<|m|>", BeginInside("r"), true},
		{dialect.Dialect{Header: header}, "<|s|>t to=<|t|>x<|m|>", BeginInside("t"), true},
		{dialect.Dialect{Header: header}, "<|s|>t to=hidden<|m|>", "", false}, // no start names it
	} {
		tc.d.Name = "own"
		if start, ok := MustCompile(tc.d).BeginningOf(tc.prompt); start != tc.start || ok != tc.ok {
			t.Errorf("%q: %q, %v; want %q, %v", tc.prompt, start, ok, tc.start, tc.ok)
		}
	}
}

// Of the tokens that begin at one byte the longest is found.
func TestTokensInAPrompt(t *testing.T) {
	for _, tc := range []struct {
		tokens, prompt string
		first, last    [2]int
	}{
		{"a", "a", [2]int{0, 1}, [2]int{0, 1}},
		{"a", "xaya", [2]int{1, 2}, [2]int{3, 4}},
		{"abc", "a", [2]int{-1, -1}, [2]int{-1, -1}},
		{"abc a", "a", [2]int{0, 1}, [2]int{0, 1}},
		{"a b", "ab", [2]int{0, 1}, [2]int{1, 2}},
		{"b a", "ab", [2]int{0, 1}, [2]int{1, 2}},
		{"a ab abc", "ab", [2]int{0, 2}, [2]int{0, 2}},
		{"ab a", "ab", [2]int{0, 2}, [2]int{0, 2}},
		{"bc b abc", "xabc", [2]int{1, 4}, [2]int{2, 4}},
	} {
		var first, last [2]int
		first[0], first[1] = firstOf(strings.Fields(tc.tokens), tc.prompt)
		last[0], last[1] = lastOf(strings.Fields(tc.tokens), tc.prompt)
		if first != tc.first || last != tc.last {
			t.Errorf("%q in %q: first %v, last %v", tc.tokens, tc.prompt, first, last)
		}
	}
	for prompt, want := range map[string]bool{"[/INST]": true, "<|assistant|>": true, "<|im_start|>assistant \n": true,
		"<|im_start|>" + strings.Repeat("a", 13): true, "<|im_start|>" + strings.Repeat("a", 14): false, "if a <|": false, "a<｜": false, "hi": false} {
		if atTurnStart(prompt) != want {
			t.Errorf("%q begins a turn: %v", prompt, !want)
		}
	}
}

// A marker counts wherever it stands in the prompt's tail, from its first byte on, and
// one before the tail does not.
func TestBeginningOfReadsTheTail(t *testing.T) {
	tried := 0
	for _, d := range dialect.All() {
		g, err := Named(d.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range d.Markers {
			if m.Role != dialect.RoleReasoning {
				continue
			}
			open := "<" + m.Tag + ">"
			if m.Tag == "" {
				open = strings.Trim(m.Open[0], "\n")
			}
			want, ok := g.BeginningOf("\n" + open) // as a template writes it
			if !ok || want == BeginOutside {
				t.Errorf("%s: %q begins %q, %v", d.Name, open, want, ok)
			}
			for before := range 3 {
				room := strings.Repeat(" ", prompttext.TailBytes-len(open))
				if start, ok := g.BeginningOf(strings.Repeat("\n", before) + open + room); start != want || !ok {
					t.Errorf("%s: %q at the beginning of the tail and at byte %d: %q, %v", d.Name, open, before, start, ok)
				}
				if start, ok := g.BeginningOf(strings.Repeat("\n", before) + open + room + " "); ok {
					t.Errorf("%s: %q before the tail: %q", d.Name, open, start)
				}
			}
			tried++
		}
	}
	if tried < 30 {
		t.Errorf("%d openers", tried)
	}
}

// If BeginningOf finds a start in the tail, it is of the dialect's own blocks, at every cut.
func TestBeginningOfKnowsItsBlocks(t *testing.T) {
	for _, d := range dialect.All() {
		g, err := Named(d.Name)
		if err != nil {
			t.Fatal(err)
		}
		prompt := "<|im_start|>assistant\n"
		for _, m := range d.Markers {
			if m.Tag != "" {
				prompt += "<" + m.Tag + ">a</" + m.Tag + ">"
			} else {
				prompt += strings.Join(m.Open, "a") + strings.Join(m.Close, "b")
			}
		}
		if h := d.Header; h != nil {
			for name := range h.Channels {
				prompt += h.Begin[0] + strings.Join(h.Name, "") + name + h.Body[0] + strings.Join(h.End, "c")
			}
		}
		for i := range len(prompt) + 1 {
			start, ok := g.BeginningOf(prompt[:i])
			if !ok || start == BeginOutside {
				continue
			}
			d := g.Dialect()
			d.Start = string(start)
			if err := d.Check(); err != nil {
				t.Errorf("%s: %q: %v", d.Name, prompt[:i], err)
			}
		}
	}
}
