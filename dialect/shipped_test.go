package dialect

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestDialectsAreSound(t *testing.T) {
	seen := map[string]bool{}
	patterns := map[string]string{}
	for _, d := range All() {
		t.Run(d.Name, func(t *testing.T) {
			if d.Name == "" || d.Name != strings.ToLower(d.Name) || seen[d.Name] {
				t.Errorf("name %q is empty, not lower-case or not its own", d.Name)
			}
			seen[d.Name] = true
			if d.Title == "" || len(d.Sources) == 0 {
				t.Error("a row has a title and names its sources")
			}
			if strings.ContainsAny(d.PreOpensSince, "\n|") {
				t.Error("since when is said in one line, for a table")
			}
			if len(d.Models) > 0 && d.PreOpens == "" && !slices.Contains(withCalls, d.Name) {
				t.Error("a family says whether its template opens the block")
			}
			if !d.HasReasoning() {
				t.Error("nothing is reasoning")
			}
			for _, p := range d.Models {
				if patterns[p] != "" {
					t.Errorf("pattern %q is of %s too", p, patterns[p])
				}
				patterns[p] = d.Name
			}
			if named, err := Named(d.Name); err != nil || !reflect.DeepEqual(named, d) {
				t.Errorf("Named(%q) is %+v, %v", d.Name, named, err)
			}
		})
	}
	if d := All()[0]; d.Name != "default" {
		t.Errorf("the first dialect is %q", d.Name)
	}
}

// withCalls are the dialects that are the default one and calls. Many models of other
// people are trained on these families and named after them, so nobody knows whether
// their templates open the block.
var withCalls = []string{"hermes", "llama"}

// A dialect that adds calls to the default one reads everything else as that does.
func TestDefaultWithCalls(t *testing.T) {
	for _, name := range withCalls {
		d, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		want := All()[0]
		n := len(want.Markers)
		for _, m := range d.Markers[min(n, len(d.Markers)):] {
			if m.Role != RoleTool {
				t.Errorf("%s: the marker %s is not one of a call", name, m.Block())
			}
		}
		d.Name, d.Title, d.Sources, d.Models, d.Markers = want.Name, want.Title, want.Sources, want.Models, d.Markers[:min(n, len(d.Markers))]
		if !reflect.DeepEqual(d, want) {
			t.Errorf("%s: %+v, want %+v", name, d, want)
		}
	}
}

// These are the families after which recorded real replies are named.
func TestDialectsOfFamilies(t *testing.T) {
	for _, name := range strings.Fields(`default output thought answer thinking ollama_cli
		deepseek_r1 deepseek_v31 deepseek_v32 deepseek_v4 qwen3 qwen3_thinking qwen35 glm45 glm47
		kimi_vl kimi_k2 kimi_k3 minimax_m2 minimax_m3 magistral harmony llm_jp_harmony gemma4
		granite granite33 hunyuan hunyuan3 seed_oss command_a apertus step3 ernie45 nemotron3 olmo3
		exaone4 hyperclovax phi4 cogito smollm3 lfm2 mimo intern_s1 holo2 ling3 plamo3 pangu longcat
		telechat4 gigachat35 rwkv iquest xingchen4 laguna solar_open solar_open2 inkling muse_glimmer
		k2_horizon openthinker prompted xml_thinking xml_thought xml_reasoning
		glm53 granite42 apertus15 apriel iquest_q1 intellect3 berrylm kolibri1 minicpm minicpm5
		vibethinker mirothinker nanbeige4 dots3 hermes llama`) {
		if _, err := Named(name); err != nil {
			t.Error(err)
		}
	}
}

func TestProtocolsTeachThemselves(t *testing.T) {
	for name, tags := range map[string][]string{
		"output":   {"<scratch_pad>", "</scratch_pad>", "<output>", "</output>"},
		"thought":  {"<thought>", "</thought>", "<narrate>", "</narrate>"},
		"answer":   {"<think>", "</think>", "<answer>", "</answer>"},
		"thinking": {"<thinking>", "</thinking>"},
	} {
		d, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, tag := range tags {
			if !strings.Contains(d.Prompt, tag) {
				t.Errorf("%s: the prompt does not show %s", name, tag)
			}
		}
	}
}

func TestAnswerBlockIsText(t *testing.T) {
	d, err := Named("answer")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range d.Markers {
		if m.Block() == "answer" {
			t.Error("the answer block is for the validator, not for the reading")
		}
	}
}

func TestDialectsAreCopies(t *testing.T) {
	for _, d := range All() {
		if len(d.Markers) > 0 {
			d.Markers[0].Role = "changed"
			for i := range d.Markers[0].Open {
				d.Markers[0].Open[i] = "changed"
			}
		}
		if d.Header != nil {
			d.Header.Begin[0] = "changed"
			d.Header.Channels["changed"] = RoleText
		}
		for i := range d.Models {
			d.Models[i] = "changed"
		}
	}
	for _, d := range All() {
		if s := fmt.Sprintf("%+v %+v", d, d.Header); strings.Contains(s, "changed") {
			t.Fatalf("a caller changed %s", d.Name)
		}
	}
}

func TestNamedUnknown(t *testing.T) {
	for _, tc := range []struct{ name, nearest, message string }{
		{"qwn3", "qwen3", `unknown dialect "qwn3": did you mean "qwen3"?`},
		{"deepseek-r1", "deepseek_r1", `unknown dialect "deepseek-r1": did you mean "deepseek_r1"?`},
		{"Harmony", "harmony", `unknown dialect "Harmony": did you mean "harmony"?`},
		{"outptu", "output", `unknown dialect "outptu": did you mean "output"?`},
		{"", "", `unknown dialect ""`},
		{"something else entirely", "", `unknown dialect "something else entirely"`},
	} {
		_, err := Named(tc.name)
		var unknown *UnknownError
		if !errors.As(err, &unknown) {
			t.Errorf("%q: %v", tc.name, err)
			continue
		}
		if unknown.Name != tc.name || unknown.Nearest != tc.nearest || err.Error() != tc.message {
			t.Errorf("%q: %+v, %v", tc.name, unknown, err)
		}
	}
}

func TestForModel(t *testing.T) {
	for _, tc := range []struct{ model, dialect string }{
		{"qwen3:8b", "qwen3"},
		{"qwen3:30b-a3b-thinking-2507-q4_K_M", "qwen3_thinking"},
		{"Qwen/Qwen3-235B-A22B-Instruct-2507", "qwen3"},
		{"Qwen/Qwen3-VL-8B-Thinking", "qwen3_thinking"},
		{"hf.co/unsloth/Qwen3-30B-A3B-Thinking-2507-GGUF:Q4_K_M", "qwen3_thinking"},
		{"qwen.qwen3-32b-v1:0", "qwen3"},
		{"bartowski/Qwen_Qwen3-14B-GGUF", "qwen3"},
		{"qwq:32b", "qwen3_thinking"},
		{"Qwen/QwQ-32B-Preview", "qwen3_thinking"},
		{"qwen3-coder:480b-cloud", "qwen35"},
		{"Qwen/Qwen3-Coder-30B-A3B-Instruct", "qwen35"},
		{"qwen/qwen3.5-397b-a17b", "qwen35"},
		{"Qwen3.6-35B-A3B-Thinking", "qwen35"},
		{"models--Qwen--Qwen3-8B", "qwen3"},
		{"/srv/models/Qwen3-4B-Q8_0.gguf", "qwen3"},
		{`C:\models\Qwen3-4B-Q8_0.gguf`, "qwen3"},
		{"lmstudio-community/qwen3-8b@q4_k_m", "qwen3"},
		{"deepseek-ai/DeepSeek-R1-0528", "deepseek_r1"},
		{"deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", "deepseek_r1"},
		{"deepseek-r1:7b", "deepseek_r1"},
		{"deepseek/deepseek-r1:free", "deepseek_r1"},
		{"us.deepseek.r1-v1:0", "deepseek_r1"},
		{"@cf/deepseek-ai/deepseek-r1-distill-qwen-32b", "deepseek_r1"},
		{"publishers/deepseek-ai/models/deepseek-r1-0528-maas", "deepseek_r1"},
		{"DeepSeek-R1-Distill-Llama-70B", "deepseek_r1"},
		{"microsoft/MAI-DS-R1", "deepseek_r1"},
		{"perplexity-ai/r1-1776", "deepseek_r1"},
		{"deepseek-v3.1:671b-cloud", "deepseek_v31"},
		{"deepseek-ai/DeepSeek-V3.1-Terminus", "deepseek_v31"},
		{"deepseek-ai/DeepSeek-V3.2-Exp", "deepseek_v32"},
		{"accounts/fireworks/models/deepseek-v3p2", "deepseek_v32"},
		{"deepseek-reasoner", "deepseek_v32"},
		{"deepseek/deepseek-v4", "deepseek_v4"},
		{"zai-org/GLM-4.5-Air", "glm45"},
		{"zai-org/GLM-4.6", "glm45"},
		{"accounts/fireworks/models/glm-4p7", "glm47"},
		{"z-ai/glm-5", "glm47"},
		{"moonshotai/Kimi-VL-A3B-Thinking-2506", "kimi_vl"},
		{"accounts/fireworks/models/kimi-k2-thinking", "kimi_k2"},
		{"moonshotai/Kimi-K2.5", "kimi_k2"},
		{"moonshotai/Kimi-K3", "kimi_k3"},
		{"MiniMaxAI/MiniMax-M1-80k", "minimax_m2"},
		{"MiniMaxAI/MiniMax-M2.1", "minimax_m2"},
		{"MiniMaxAI/MiniMax-M3", "minimax_m3"},
		{"mistralai/Magistral-Small-2509", "magistral"},
		{"magistral:24b-small-2506-q8_0", "magistral"},
		{"mistralai/Ministral-3-14B-Reasoning-2512", "magistral"},
		{"openai/gpt-oss-120b", "harmony"},
		{"gpt-oss:20b", "harmony"},
		{"unsloth/gpt-oss-20b-GGUF:F16", "harmony"},
		{"openai.gpt-oss-120b-1:0", "harmony"},
		{"llm-jp/llm-jp-4.1-8b-thinking", "llm_jp_harmony"},
		{"google/gemma-4-31b-it", "gemma4"},
		{"gemma4:e4b", "gemma4"},
		{"ibm-granite/granite-3.2-8b-instruct", "granite"},
		{"granite3.2:8b", "granite"},
		{"ibm-granite/granite-3.3-2b-instruct", "granite33"},
		{"ibm-granite/granite-4.0-h-small", "granite33"},
		{"tencent/Hunyuan-A13B-Instruct", "hunyuan"},
		{"tencent/Hy3-preview", "hunyuan3"},
		{"ByteDance-Seed/Seed-OSS-36B-Instruct", "seed_oss"},
		{"CohereLabs/command-a-reasoning-08-2025", "command_a"},
		{"command-r7b:7b", "command_a"},
		{"swiss-ai/Apertus-70B-Instruct-2509", "apertus"},
		{"stepfun-ai/Step-3.5-Flash", "step3"},
		{"stepfun-ai/step3-fp8", "step3"},
		{"baidu/ERNIE-4.5-21B-A3B-Thinking", "ernie45"},
		{"nvidia/llama-3.1-nemotron-nano-8b", "nemotron3"},
		{"nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "nemotron3"},
		{"allenai/Olmo-3-32B-Think", "olmo3"},
		{"LGAI-EXAONE/EXAONE-4.0-32B", "exaone4"},
		{"naver-hyperclovax/HyperCLOVAX-SEED-Think-14B", "hyperclovax"},
		{"microsoft/Phi-4-mini-reasoning", "phi4"},
		{"phi4-reasoning:14b-plus", "phi4"},
		{"cogito:70b", "cogito"},
		{"HuggingFaceTB/SmolLM3-3B", "smollm3"},
		{"LiquidAI/LFM2.5-1.2B-Thinking", "lfm2"},
		{"XiaomiMiMo/MiMo-V2-Flash", "mimo"},
		{"internlm/Intern-S1-mini", "intern_s1"},
		{"Hcompany/Holo2-8B", "holo2"},
		{"meituan-longcat/LongCat-Flash-Thinking", "longcat"},
		{"upstage/Solar-Open-100B", "solar_open"},
		{"upstage/Solar-Open2-250B", "solar_open2"},
		{"open-thoughts/OpenThinker-32B", "openthinker"},
		{"NovaSky-AI/Sky-T1-32B-Preview", "openthinker"},

		{"Qwen/Qwen3.7-Max", "qwen35"},
		{"Qwen/Qwen3.8-35B-A3B-Thinking", "qwen35"},
		{"zai-org/GLM-5.2-FP8", "glm47"},
		{"RedHatAI/GLM-5.3-Flash-NVFP4", "glm53"},
		{"z-ai/glm-5p3", "glm53"},
		{"moonshotai/Kimi-K2.6", "kimi_k2"},
		{"MiniMaxAI/MiniMax-M2.7", "minimax_m2"},
		{"ibm-granite/granite-4.1-8b", "granite33"},
		{"ibm-granite/granite-4.2-8b", "granite42"},
		{"granite4.2:8b", "granite42"},
		{"CohereLabs/North-Code-1", "command_a"},
		{"swiss-ai/Apertus-1.5-8B-Omni", "apertus15"},
		{"swiss-ai/Apertus-8B-Instruct-2509", "apertus"},
		{"ServiceNow-AI/Apriel-1.5-15b-Thinker", "apriel"},
		{"ServiceNow-AI/Apriel-1.6-15b-Thinker", "apriel"},
		{"stepfun-ai/Step-3.7-Flash", "step3"},
		{"nvidia/NVIDIA-Nemotron-3.5-Nano", "nemotron3"},
		{"inclusionAI/Ling-3-flash", "ling3"},
		{"inclusionAI/Ring-3-1T", "ling3"},
		{"internlm/Intern-S2-Preview", "intern_s1"},
		{"IQuestLab/IQuest-Coder-V2-40B", "iquest"},
		{"IQuestLab/IQuest-Q1", "iquest_q1"},
		{"Xing4_0-Chat", "xingchen4"},
		{"PrimeIntellect/INTELLECT-3", "intellect3"},
		{"RWB/BerryLM-OS", "berrylm"},
		{"kolibri1:latest", "kolibri1"},
		{"openbmb/MiniCPM4.1-8B", "minicpm"},
		{"openbmb/MiniCPM-V-4_5", "minicpm"},
		{"openbmb/MiniCPM5-1B", "minicpm5"},
		{"WeiboAI/VibeThinker-3B", "vibethinker"},
		{"miromind-ai/MiroThinker-v1.0-30B", "mirothinker"},
		{"Nanbeige/Nanbeige4.1-3B", "nanbeige4"},
		{"dots-studio/dots3-note-prev", "dots3"},

		{"openbmb/MiniCPM3-4B", ""},
		{"ibm-granite/granite-3.1-8b-instruct", ""},
		{"spring-3b", ""},
		{"gpt-4o-mini", ""},
		{"claude-sonnet-4-5", ""},
		{"meta-llama/Llama-3.3-70B-Instruct", "llama"},
		{"meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama"},
		{"llama3.2:3b", "llama"},
		{"NousResearch/Hermes-3-Llama-3.1-8B", "hermes"},
		{"NousResearch/DeepHermes-3-Llama-3-8B-Preview", "hermes"},
		{"deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "deepseek_r1"},
		{"meta-llama/Llama-2-7b-chat-hf", ""},
		{"mistral-small-3.2", ""},
		{"microsoft/phi-4", ""},
		{"my-checkpoint-step-3000", ""},
		{"google/gemma-3-27b-it", ""},
		{"qwen2.5:7b", "hermes"},
		{"qwen2:7b", ""},
		{"qwen3/some-private-name", ""},
		{"", ""},
		{"/", ""},
	} {
		d, known := ForModel(tc.model)
		want := tc.dialect
		if want == "" {
			want = "default"
		}
		if got := d.Name; got != want || known != (tc.dialect != "") {
			t.Errorf("%q: %s, %v; want %s", tc.model, got, known, want)
		}
	}
}

// A dialect written as JSON is read back as it was.
