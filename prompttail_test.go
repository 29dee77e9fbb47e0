package sotto

import (
	"strings"
	"testing"
)

func TestStartOf(t *testing.T) {
	const user = "<|im_start|>user\nWhat is 2+2?<|im_end|>\n<|im_start|>assistant\n"
	for _, tc := range []struct {
		dialect, prompt string
		start           Start
		ok              bool
	}{
		{"qwen3", user + "<think>\n", StartInside("think"), true},
		{"qwen3", user + "<think>", StartInside("think"), true},
		{"qwen3", user + "<THINK>", StartInside("think"), true},
		{"qwen3", user + "<think>\n\n</think>\n\n", StartOutside, true},
		{"nemotron3", user + "<think></think>", StartOutside, true},
		{"qwen3", user + "</think>\n", StartOutside, true},
		{"glm47", "[gMASK]<sop><|user|>hi<|assistant|></think>", StartOutside, true},
		{"qwen3", user, "", false},
		{"qwen3", "", "", false},
		{"qwen3", "Once upon a time", "", false},
		{"qwen3", user + "<think>\nOkay, the user", StartInside("think"), true},
		{"qwen3", user + "<think>\nsums</think>\n\nThe answer", StartOutside, true},
		{"qwen3", user + "<think>\na</think>b<|im_end|>\n" + user + "<think>\n", StartInside("think"), true},
		{"default", user + "<scratch_pad>\n", StartInside("scratch_pad"), true},
		{"default", user + "<output>\n", StartOutside, true},

		// An earlier turn says nothing about this one.
		{"qwen3", "<|im_start|>assistant\n<think>\na</think>b<|im_end|>\n" + user, "", false},
		{"qwen3", "<|im_start|>user\nWhat is a <think> tag?<|im_end|>\n<|im_start|>assistant\n", "", false},
		{"magistral", "<s>[INST]What is [THINK]?[/INST]", "", false},
		// Neither does prose that mentions a tag.
		{"default", "Write your reasoning into <think> and then the answer.", "", false},
		{"default", "Say `<think>`", "", false},

		{"deepseek_r1", "<｜begin▁of▁sentence｜><｜User｜>hi<｜Assistant｜><think>\n", StartInside("think"), true},
		{"deepseek_v31", "<｜User｜>hi<｜Assistant｜></think>", StartOutside, true},
		{"deepseek_v31", "<｜User｜>hi<｜Assistant｜><think>so far", StartInside("think"), true},
		{"deepseek_v31", "<｜User｜>hi<｜Assistant｜>", "", false},
		{"kimi_vl", "<|im_assistant|>assistant<|im_middle|>◁think▷", StartInside("think"), true},
		{"magistral", "<s>[INST]hi[/INST][THINK]", StartInside("[THINK]"), true},
		{"hunyuan", "<|startoftext|>hi<|extra_0|><think>\n\n</think>\n", StartOutside, true},
		{"hunyuan", "<|startoftext|>hi<|extra_0|><think>\n", StartInside("think"), true},
		{"hunyuan3", "<｜hy_Assistant:opensource｜><think:opensource>", StartInside("think:opensource"), true},
		{"minimax_m3", "]~b]ai\n<mm:think>\n", StartInside("mm:think"), true},
		{"minimax_m3", "]~b]ai\n</mm:think>", StartOutside, true},
		{"command_a", "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|><|START_THINKING|>", StartInside("thinking"), true},
		{"command_a", "<|CHATBOT_TOKEN|><|START_THINKING|><|END_THINKING|>", StartOutside, true},
		{"k2_horizon", "<|ifm|im_start|>assistant\n<ifm|think_fast>\n", StartInside("ifm|think_fast"), true},
		{"k2_horizon", "<|ifm|im_start|>assistant\n<ifm|think>\n</ifm|think>\n", StartOutside, true},
		{"ernie45", "<|im_start|>assistant\n<think>\n", StartInside("think"), true},
		{"solar_open", "<|begin|>user<|content|>hi<|end|><|begin|>assistant", StartOutside, true},
		{"solar_open", "<|end|><|begin|>assistant<|think|>", StartInside("think"), true},
		{"solar_open", "<|begin|>assistant<|think|><|end|><|begin|>assistant", StartOutside, true},
		{"qwen3", user + "<tool_call>\n", "", false},

		{"qwen35", user + "<think>\n\n</think>\n\n", StartOutside, true},
		{"glm53", "[gMASK]<sop><|system|>Reasoning Effort: Max<|user|>hi<|assistant|><think>", StartInside("think"), true},
		{"glm47", "[gMASK]<sop><|user|>hi<|assistant|><think></think>", StartOutside, true},
		{"granite42", user + "<think>\n", StartInside("think"), true},
		{"granite42", user + "<think></think>", StartOutside, true},
		{"minicpm5", user + "<think>\n\n</think>\n\n", StartOutside, true},
		{"minicpm5", user, "", false},
		{"intellect3", user + "<think>", StartInside("think"), true},
		{"iquest_q1", "<|iquest_user|>hi<|iquest_assistant|><think>", StartInside("think"), true},
		{"apriel", "<|begin_user|>\nhi\n<|begin_assistant|>\nHere are my reasoning steps:\n", StartInside("steps"), true},
		{"apriel", "<|begin_user|>\nhi\n<|begin_assistant|>\nHere are my reasoning steps:\n\n[BEGIN FINAL RESPONSE]\n", StartOutside, true},
		{"apertus15", "<|user_start|>hi<|user_end|><|assistant_start|>", StartOutside, true},
		{"apertus15", "<|assistant_start|><|inner_prefix|>", StartInside("inner"), true},
		{"gigachat35", "user<|role_sep|>\nhi<|message_sep|>\n\nassistant<|role_sep|>\n<think>", StartInside("think"), true},
		{"mirothinker", user, "", false},
		{"step3", "<|BOT|>user\nhi<|EOT|><|BOT|>assistant\n<think>\n", StartInside("think"), true},

		{"harmony", "<|start|>user<|message|>hi<|end|><|start|>assistant", StartOutside, true},
		{"harmony", "<|start|>assistant<|channel|>analysis<|message|>", StartInside("analysis"), true},
		{"harmony", "<|start|>assistant<|channel|>analysis<|message|>Let me see", StartInside("analysis"), true},
		{"harmony", "<|start|>assistant<|channel|>final<|message|>", StartInside("final"), true},
		{"harmony", "<|start|>assistant<|channel|>analysis", "", false},
		{"harmony", "<|start|>assistant to=functions.f<|channel|>commentary<|message|>", "", false},
		{"harmony", "<|start|>user<|message|>hi", "", false},
		{"harmony", "no tokens", "", false},
		{"harmony", "<|end|>", StartOutside, true},
		{"harmony", "<|start|>assistant<|channel|>analysis\n<|message|>", StartInside("analysis"), true},
		{"harmony", "<|start|>assistant<|channel|>final<|constrain|>json<|message|>", StartInside("final"), true},
		{"llm_jp_harmony", "<|start|> assistant<|channel|> analysis<|message|> ", StartInside("analysis"), true},

		{"gemma4", "<bos><|turn>user\nhi<turn|>\n<|turn>model\n<|channel>thought\n<channel|>", StartOutside, true},
		{"gemma4", "<|turn>model\n<|channel>thought\n", StartInside("thought"), true},
		{"gemma4", "<|turn>model\n<|channel>thought\nso", StartInside("thought"), true},
		{"gemma4", "<|turn>model\n<|channel>thought", "", false},
		{"gemma4", "<|channel>thought\na<channel|>b<turn|>\n<|turn>user\nhi<turn|>\n<|turn>model\n", "", false},

		{"kimi_k3", `<|open|>message role="assistant"<|sep|><|open|>think<|sep|>`, StartInside("think"), true},
		{"kimi_k3", `<|open|>message role="assistant"<|sep|><|open|>response<|sep|>`, StartInside("response"), true},
		{"kimi_k3", "<|open|>think<|sep|><|close|>think<|sep|>", StartOutside, true},
		{"kimi_k3", "<|open|>tools<|sep|>", "", false},

		{"muse_glimmer", "<|start|>user<|message|>hi<|eom|><|start|>assistant", StartOutside, true},
		{"muse_glimmer", "<|start|>assistant to=self<|message|>", StartInside("self"), true},
		{"muse_glimmer", "<|start|>assistant to=user<|message|>", StartOutside, true},
		{"muse_glimmer", "<|start|>assistant to=shell<|message|>", "", false},
		{"muse_glimmer", "<|start|>assistant to=self effort=high<|message|>", StartInside("self"), true},
		{"muse_glimmer", "<|start|>assistant to=user effort=high<|message|>", StartOutside, true},
		{"muse_glimmer", "<|start|>assistant<|message|>", StartOutside, true},
		{"muse_glimmer", "<|start|>user<|message|>hi", "", false},
		{"muse_glimmer", "<|start|><|message|>", StartOutside, true},

		{"inkling", "<|content_thinking|>so<|end_message|>", StartOutside, true}, // of each block, and a call's
	} {
		g, err := Named(tc.dialect)
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := g.StartOf(tc.prompt); start != tc.start || ok != tc.ok {
			t.Errorf("%s %q: %q, %v; want %q, %v", tc.dialect, tc.prompt, start, ok, tc.start, tc.ok)
		}
	}
}

// What no shipped dialect has: markers that end together, and headers with everything in them.
func TestStartOfOwnGrammars(t *testing.T) {
	think := Marker{Role: RoleReasoning, Name: "k", Open: []string{"[k]"}, Close: []string{"\n[/k]\n"}}
	call := Marker{Role: RoleTool, Name: "t", Open: []string{"[t][k]"}, Close: []string{"[/t]"}}
	header := &Header{
		Begin: []string{"<|s|>"}, Body: []string{"<|m|>"}, End: []string{"<|e|>"}, Name: []string{"<|s|>"}, Tokens: []string{"<|t|>"},
		Channels:   map[string]Channel{"": ChannelText, "r": ChannelReasoning, "t": ChannelText},
		Recipients: map[string]Channel{"": ChannelText, "r": ChannelReasoning, "hidden": ChannelReasoning, "*": ChannelTool},
	}
	plain := &Header{Begin: []string{"<|s|>"}, Body: []string{"<|m|>"}, Channels: map[string]Channel{"": ChannelText}}
	for _, tc := range []struct {
		d      Dialect
		prompt string
		start  Start
		ok     bool
	}{
		{Dialect{Markers: []Marker{think, call}}, "[t][k]", "", false}, // the longer one: a call
		{Dialect{Markers: []Marker{call, think}}, "[t][k]", "", false},
		{Dialect{Markers: []Marker{call, think}}, "[t] [k]", StartInside("k"), true},
		{Dialect{Markers: []Marker{call, think}}, "[k]a[/k]", StartOutside, true},
		{Dialect{Header: plain}, "<|s|>a", StartOutside, true},
		{Dialect{Header: plain, Markers: []Marker{{Role: RoleTool, Tag: "c"}}}, "<|s|>a<c>", "", false}, // the tag ends the prompt
		{Dialect{Header: header}, "<|s|><|t|>x<|m|>", StartOutside, true},
		{Dialect{Header: header}, "<|s|>r<|t|>x<|m|>", StartInside("r"), true},
		{Dialect{Header: header}, "<|s|>t to=r<|t|>x<|m|>", StartInside("r"), true},
		{Dialect{Header: header}, "<|s|>t to=<|t|>x<|m|>", StartInside("t"), true},
		{Dialect{Header: header}, "<|s|>t to=hidden<|m|>", "", false}, // no start names it
	} {
		tc.d.Name = "own"
		if start, ok := MustCompile(tc.d).StartOf(tc.prompt); start != tc.start || ok != tc.ok {
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
	if got := asciiLower("@AZ[`az{É"); got != "@az[`az{É" {
		t.Errorf("in lower case: %q", got)
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
func TestStartOfReadsTheTail(t *testing.T) {
	tried := 0
	for _, d := range Dialects() {
		g, err := Named(d.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range d.Markers {
			if m.Role != RoleReasoning {
				continue
			}
			open := "<" + m.Tag + ">"
			if m.Tag == "" {
				open = strings.Trim(m.Open[0], "\n")
			}
			want, ok := g.StartOf("\n" + open) // as a template writes it
			if !ok || want == StartOutside {
				t.Errorf("%s: %q begins %q, %v", d.Name, open, want, ok)
			}
			for before := range 3 {
				room := strings.Repeat(" ", tailBytes-len(open))
				if start, ok := g.StartOf(strings.Repeat("\n", before) + open + room); start != want || !ok {
					t.Errorf("%s: %q at the beginning of the tail and at byte %d: %q, %v", d.Name, open, before, start, ok)
				}
				if start, ok := g.StartOf(strings.Repeat("\n", before) + open + room + " "); ok {
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

// If StartOf finds a start in the tail, it is of the dialect's own blocks, at every cut.
func TestStartOfKnowsItsBlocks(t *testing.T) {
	for _, d := range Dialects() {
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
			start, ok := g.StartOf(prompt[:i])
			if !ok || start == StartOutside {
				continue
			}
			d := g.Dialect()
			d.Start = start
			if err := d.checkStart(); err != nil {
				t.Errorf("%s: %q: %v", d.Name, prompt[:i], err)
			}
		}
	}
}
