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
		{"qwen3", user + "<think>\n", Inside("think"), true},
		{"qwen3", user + "<think>", Inside("think"), true},
		{"qwen3", user + "<think>\n\n</think>\n\n", Outside, true},
		{"nemotron3", user + "<think></think>", Outside, true},
		{"qwen3", user + "</think>\n", Outside, true},
		{"glm47", "[gMASK]<sop><|user|>hi<|assistant|></think>", Outside, true},
		{"qwen3", user, "", false},
		{"qwen3", "", "", false},
		{"qwen3", "Once upon a time", "", false},
		{"qwen3", user + "<think>\nOkay, the user", Inside("think"), true},
		{"qwen3", user + "<think>\nsums</think>\n\nThe answer", Outside, true},
		{"qwen3", user + "<think>\na</think>b<|im_end|>\n" + user + "<think>\n", Inside("think"), true},
		{"default", user + "<scratch_pad>\n", Inside("scratch_pad"), true},
		{"default", user + "<output>\n", Outside, true},

		// An earlier turn says nothing about this one.
		{"qwen3", "<|im_start|>assistant\n<think>\na</think>b<|im_end|>\n" + user, "", false},
		{"qwen3", "<|im_start|>user\nWhat is a <think> tag?<|im_end|>\n<|im_start|>assistant\n", "", false},
		{"magistral", "<s>[INST]What is [THINK]?[/INST]", "", false},
		// Nor does prose that speaks of a tag.
		{"default", "Write your reasoning into <think> and then the answer.", "", false},
		{"default", "Say `<think>`", "", false},

		{"deepseek_r1", "<｜begin▁of▁sentence｜><｜User｜>hi<｜Assistant｜><think>\n", Inside("think"), true},
		{"deepseek_v31", "<｜User｜>hi<｜Assistant｜></think>", Outside, true},
		{"deepseek_v31", "<｜User｜>hi<｜Assistant｜><think>so far", Inside("think"), true},
		{"deepseek_v31", "<｜User｜>hi<｜Assistant｜>", "", false},
		{"kimi_vl", "<|im_assistant|>assistant<|im_middle|>◁think▷", Inside("think"), true},
		{"magistral", "<s>[INST]hi[/INST][THINK]", Inside("[THINK]"), true},
		{"hunyuan", "<|startoftext|>hi<|extra_0|><think>\n\n</think>\n", Outside, true},
		{"hunyuan", "<|startoftext|>hi<|extra_0|><think>\n", Inside("think"), true},
		{"hunyuan3", "<｜hy_Assistant:opensource｜><think:opensource>", Inside("think:opensource"), true},
		{"minimax_m3", "]~b]ai\n<mm:think>\n", Inside("mm:think"), true},
		{"minimax_m3", "]~b]ai\n</mm:think>", Outside, true},
		{"command_a", "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|><|START_THINKING|>", Inside("thinking"), true},
		{"command_a", "<|CHATBOT_TOKEN|><|START_THINKING|><|END_THINKING|>", Outside, true},
		{"k2_horizon", "<|ifm|im_start|>assistant\n<ifm|think_fast>\n", Inside("ifm|think_fast"), true},
		{"k2_horizon", "<|ifm|im_start|>assistant\n<ifm|think>\n</ifm|think>\n", Outside, true},
		{"ernie45", "<|im_start|>assistant\n<think>\n", Inside("think"), true},
		{"solar_open", "<|begin|>user<|content|>hi<|end|><|begin|>assistant", Outside, true},
		{"solar_open", "<|end|><|begin|>assistant<|think|>", Inside("think"), true},
		{"solar_open", "<|begin|>assistant<|think|><|end|><|begin|>assistant", Outside, true},
		{"qwen3", user + "<tool_call>\n", "", false},

		{"qwen35", user + "<think>\n\n</think>\n\n", Outside, true},
		{"glm53", "[gMASK]<sop><|system|>Reasoning Effort: Max<|user|>hi<|assistant|><think>", Inside("think"), true},
		{"glm47", "[gMASK]<sop><|user|>hi<|assistant|><think></think>", Outside, true},
		{"granite42", user + "<think>\n", Inside("think"), true},
		{"granite42", user + "<think></think>", Outside, true},
		{"minicpm5", user + "<think>\n\n</think>\n\n", Outside, true},
		{"minicpm5", user, "", false},
		{"intellect3", user + "<think>", Inside("think"), true},
		{"iquest_q1", "<|iquest_user|>hi<|iquest_assistant|><think>", Inside("think"), true},
		{"apriel", "<|begin_user|>\nhi\n<|begin_assistant|>\nHere are my reasoning steps:\n", Inside("steps"), true},
		{"apriel", "<|begin_user|>\nhi\n<|begin_assistant|>\nHere are my reasoning steps:\n\n[BEGIN FINAL RESPONSE]\n", Outside, true},
		{"apertus15", "<|user_start|>hi<|user_end|><|assistant_start|>", Outside, true},
		{"apertus15", "<|assistant_start|><|inner_prefix|>", Inside("inner"), true},
		{"gigachat35", "user<|role_sep|>\nhi<|message_sep|>\n\nassistant<|role_sep|>\n<think>", Inside("think"), true},
		{"mirothinker", user, "", false},
		{"step3", "<|BOT|>user\nhi<|EOT|><|BOT|>assistant\n<think>\n", Inside("think"), true},

		{"harmony", "<|start|>user<|message|>hi<|end|><|start|>assistant", Outside, true},
		{"harmony", "<|start|>assistant<|channel|>analysis<|message|>", Inside("analysis"), true},
		{"harmony", "<|start|>assistant<|channel|>analysis<|message|>Let me see", Inside("analysis"), true},
		{"harmony", "<|start|>assistant<|channel|>final<|message|>", Inside("final"), true},
		{"harmony", "<|start|>assistant<|channel|>analysis", "", false},
		{"harmony", "<|start|>assistant to=functions.f<|channel|>commentary<|message|>", "", false},
		{"harmony", "<|start|>user<|message|>hi", "", false},
		{"harmony", "no tokens", "", false},
		{"llm_jp_harmony", "<|start|> assistant<|channel|> analysis<|message|> ", Inside("analysis"), true},

		{"gemma4", "<bos><|turn>user\nhi<turn|>\n<|turn>model\n<|channel>thought\n<channel|>", Outside, true},
		{"gemma4", "<|turn>model\n<|channel>thought\n", Inside("thought"), true},
		{"gemma4", "<|turn>model\n<|channel>thought\nso", Inside("thought"), true},
		{"gemma4", "<|turn>model\n<|channel>thought", "", false},
		{"gemma4", "<|channel>thought\na<channel|>b<turn|>\n<|turn>user\nhi<turn|>\n<|turn>model\n", "", false},

		{"kimi_k3", `<|open|>message role="assistant"<|sep|><|open|>think<|sep|>`, Inside("think"), true},
		{"kimi_k3", `<|open|>message role="assistant"<|sep|><|open|>response<|sep|>`, Inside("response"), true},
		{"kimi_k3", "<|open|>think<|sep|><|close|>think<|sep|>", Outside, true},
		{"kimi_k3", "<|open|>tools<|sep|>", "", false},

		{"muse_glimmer", "<|start|>user<|message|>hi<|eom|><|start|>assistant", Outside, true},
		{"muse_glimmer", "<|start|>assistant to=self<|message|>", Inside("self"), true},
		{"muse_glimmer", "<|start|>assistant to=user<|message|>", Outside, true},
		{"muse_glimmer", "<|start|>assistant to=shell<|message|>", "", false},
		{"muse_glimmer", "<|start|>assistant<|message|>", Outside, true},
		{"muse_glimmer", "<|start|>user<|message|>hi", "", false},
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

// Where it speaks at all, the tail speaks of the dialect's own blocks, at every cut.
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
			if !ok || start == Outside {
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
