// Code generated from dialects.json by go generate. DO NOT EDIT.

package dialect

// table is initialised by the linker, but for its maps.
var table = []Dialect{
	{
		Name: "default",
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role:   "reasoning",
				Tag:    "thinking",
				Family: "think",
			},
			{
				Role:   "reasoning",
				Tag:    "thought",
				Family: "think",
			},
			{
				Role:   "reasoning",
				Tag:    "thoughts",
				Family: "think",
			},
			{
				Role: "reasoning",
				Tag:  "reasoning",
			},
			{
				Role: "reasoning",
				Tag:  "reflection",
			},
			{
				Role:   "reasoning",
				Tag:    "scratch_pad",
				Rescue: true,
			},
			{
				Role:   "reasoning",
				Tag:    "scratchpad",
				Family: "scratch_pad",
				Rescue: true,
			},
			{
				Role: "narration",
				Tag:  "narrate",
			},
			{
				Role: "output",
				Tag:  "output",
			}},
	},
	{
		Name: "output",
		Markers: []Marker{
			{
				Role:   "reasoning",
				Tag:    "scratch_pad",
				Rescue: true,
			},
			{
				Role:   "reasoning",
				Tag:    "scratchpad",
				Family: "scratch_pad",
				Rescue: true,
			},
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role:   "reasoning",
				Tag:    "thinking",
				Family: "think",
			},
			{
				Role:   "reasoning",
				Tag:    "thought",
				Family: "think",
			},
			{
				Role:   "reasoning",
				Tag:    "thoughts",
				Family: "think",
			},
			{
				Role: "reasoning",
				Tag:  "reasoning",
			},
			{
				Role: "output",
				Tag:  "output",
			}},
		Output: "anywhere",
	},
	{
		Name: "thought",
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "thought",
			},
			{
				Role:   "reasoning",
				Tag:    "thinking",
				Family: "thought",
			},
			{
				Role:   "reasoning",
				Tag:    "think",
				Family: "thought",
			},
			{
				Role: "reasoning",
				Tag:  "reasoning",
			},
			{
				Role: "reasoning",
				Tag:  "reflection",
			},
			{
				Role: "narration",
				Tag:  "narrate",
			}},
		Once: true,
	},
	{
		Name: "answer",
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			}},
	},
	{
		Name: "thinking",
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "thinking",
			},
			{
				Role:   "reasoning",
				Tag:    "think",
				Family: "thinking",
			}},
	},
	{
		Name: "ollama_cli",
		Markers: []Marker{
			{
				Role:   "reasoning",
				Name:   "thinking",
				Open:   []string{"Thinking...\n"},
				Close:  []string{"\n...done thinking.\n\n"},
				Phrase: true,
			}},
		Placement: "leading",
	},
	{
		Name:   "deepseek_r1",
		Models: []string{"*deepseek*r1*", "r1-1776*", "*r1-distill*", "mai-ds-r1*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role:    "tool",
				Name:    "tool_calls",
				Open:    []string{"<｜tool▁calls▁begin｜>"},
				Close:   []string{"<｜tool▁calls▁end｜>"},
				Special: true,
			}},
		PreOpens: "yes",
	},
	{
		Name:   "deepseek_v31",
		Models: []string{"*deepseek*v3*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role:    "tool",
				Name:    "tool_calls",
				Open:    []string{"<｜tool▁calls▁begin｜>"},
				Close:   []string{"<｜tool▁calls▁end｜>"},
				Special: true,
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "deepseek_v32",
		Models: []string{"*deepseek*v3.2*", "*deepseek*v3p2*", "*deepseek*v3-2*", "deepseek-reasoner", "deepseek-chat"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role:    "tool",
				Name:    "function_calls",
				Open:    []string{"<｜DSML｜function_calls>"},
				Close:   []string{"</｜DSML｜function_calls>"},
				Special: true,
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "deepseek_v4",
		Models: []string{"*deepseek*v4*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role:    "tool",
				Name:    "tool_calls",
				Open:    []string{"<｜DSML｜tool_calls>", "<｜DSML｜ calls>"},
				Close:   []string{"</｜DSML｜tool_calls>", "</｜DSML｜ calls>"},
				Special: true,
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "qwen3",
		Models: []string{"*qwen3*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role: "tool",
				Tag:  "tool_call",
			},
			{
				Role:    "tool",
				Name:    "function",
				Open:    []string{"<tool_call>\n<function=", "<tool_call><function=", "<function="},
				Close:   []string{"</function>\n</tool_call>", "</function></tool_call>", "</function>"},
				Special: true,
			}},
		PreOpens: "no",
	},
	{
		Name:   "qwen3_thinking",
		Models: []string{"*qwen3*thinking*", "*qwq*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role: "tool",
				Tag:  "tool_call",
			},
			{
				Role:    "tool",
				Name:    "function",
				Open:    []string{"<tool_call>\n<function=", "<tool_call><function=", "<function="},
				Close:   []string{"</function>\n</tool_call>", "</function></tool_call>", "</function>"},
				Special: true,
			}},
		PreOpens: "yes",
	},
	{
		Name:   "qwen35",
		Models: []string{"*qwen3.5*", "*qwen3.6*", "*qwen3p5*", "*qwen3p6*", "*qwen3_5*", "*qwen3_6*", "*qwen3.5*thinking*", "*qwen3.6*thinking*", "*qwen3.7*", "*qwen3.8*", "*qwen3p7*", "*qwen3p8*", "*qwen3_7*", "*qwen3_8*", "*qwen3.7*thinking*", "*qwen3.8*thinking*", "*qwen3*coder*", "ornith*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role: "tool",
				Tag:  "tool_call",
			},
			{
				Role:    "tool",
				Name:    "function",
				Open:    []string{"<tool_call>\n<function=", "<tool_call><function=", "<function="},
				Close:   []string{"</function>\n</tool_call>", "</function></tool_call>", "</function>"},
				Special: true,
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "glm45",
		Models: []string{"*glm-4.5*", "*glm4.5*", "*glm-4p5*", "*glm-4-5*", "*glm-4.6*", "*glm4.6*", "*glm-4p6*", "*glm-4-6*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role:    "tool",
				Name:    "tool_call",
				Open:    []string{"<tool_call>"},
				Close:   []string{"</tool_call>"},
				Special: true,
			}},
		PreOpens: "no",
	},
	{
		Name:   "glm47",
		Models: []string{"*glm-4.7*", "*glm4.7*", "*glm-4p7*", "*glm-4-7*", "*glm-5*", "*glm5*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role:    "tool",
				Name:    "tool_call",
				Open:    []string{"<tool_call>"},
				Close:   []string{"</tool_call>"},
				Special: true,
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "glm53",
		Models: []string{"*glm-5.3*", "*glm5.3*", "*glm-5p3*", "*glm-5-3*", "*glm53*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role:    "tool",
				Name:    "tool_call",
				Open:    []string{"<tool_call>"},
				Close:   []string{"</tool_call>"},
				Special: true,
			}},
		PreOpens: "yes",
	},
	{
		Name:   "kimi_vl",
		Models: []string{"*kimi-vl*"},
		Markers: []Marker{
			{
				Role:  "reasoning",
				Name:  "think",
				Open:  []string{"◁think▷"},
				Close: []string{"◁/think▷"},
			}},
		PreOpens: "no",
	},
	{
		Name:   "kimi_k2",
		Models: []string{"*kimi-k2*", "*kimi*k2*thinking*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role:    "tool",
				Name:    "tool_calls",
				Open:    []string{"<|tool_calls_section_begin|>"},
				Close:   []string{"<|tool_calls_section_end|>"},
				Special: true,
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "kimi_k3",
		Models: []string{"*kimi-k3*"},
		Header: &Header{
			Begin:    []string{"<|open|>", "<|close|>"},
			Body:     []string{"<|sep|>"},
			End:      []string{"<|end_of_msg|>"},
			Close:    []string{"<|close|>"},
			Name:     []string{"<|open|>", "<|close|>"},
			Channels: map[string]Role{"argument": "tool", "call": "tool", "json": "tool", "message": "text", "response": "text", "think": "reasoning", "tools": "tool"},
			Between:  "text",
		},
		PreOpens: "prompt",
	},
	{
		Name:   "minimax_m2",
		Models: []string{"*minimax-m1*", "*minimax*m2*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role: "tool",
				Tag:  "minimax:tool_call",
			}},
		PreOpens: "yes",
	},
	{
		Name:   "minimax_m3",
		Models: []string{"*minimax*m3*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "mm:think",
			},
			{
				Role:    "tool",
				Name:    "tool_call",
				Open:    []string{"]<]minimax[>[<tool_call>"},
				Close:   []string{"]<]minimax[>[</tool_call>"},
				Special: true,
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "magistral",
		Models: []string{"*magistral*", "*ministral*", "*mistral-small-4*"},
		Markers: []Marker{
			{
				Role:  "reasoning",
				Name:  "[THINK]",
				Open:  []string{"[THINK]"},
				Close: []string{"[/THINK]"},
			},
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role:    "tool",
				Name:    "tool_calls",
				Open:    []string{"[TOOL_CALLS]"},
				Special: true,
			}},
		PreOpens: "no",
	},
	{
		Name:   "harmony",
		Models: []string{"*gpt-oss*", "*gptoss*", "*gpt_oss*"},
		Header: &Header{
			Begin:      []string{"<|start|>", "<|channel|>"},
			Body:       []string{"<|message|>"},
			Lead:       []string{" to="},
			End:        []string{"<|end|>", "<|return|>", "<|call|>"},
			Name:       []string{"<|channel|>"},
			Tokens:     []string{"<|constrain|>"},
			Channels:   map[string]Role{"analysis": "reasoning", "commentary": "narration", "final": "text"},
			Recipients: map[string]Role{"*": "tool"},
		},
		PreOpens: "no",
	},
	{
		Name: "harmony_text",
		Markers: []Marker{
			{
				Role:   "reasoning",
				Name:   "analysis",
				Open:   []string{"analysis"},
				Close:  []string{"assistantfinal"},
				Phrase: true,
			},
			{
				Role:    "tool",
				Name:    "call",
				Open:    []string{"assistantcommentary to=", "assistant to="},
				Special: true,
			}},
		Placement: "leading",
	},
	{
		Name:   "llm_jp_harmony",
		Models: []string{"*llm-jp-4*"},
		Header: &Header{
			Begin:      []string{"<|start|>", "<|channel|>"},
			Body:       []string{"<|message|> ", "<|message|>"},
			Lead:       []string{" to="},
			End:        []string{"<|end|>", "<|return|>", "<|call|>"},
			Name:       []string{"<|channel|>"},
			Tokens:     []string{"<|constrain|>"},
			Channels:   map[string]Role{"analysis": "reasoning", "commentary": "narration", "final": "text"},
			Recipients: map[string]Role{"*": "tool"},
		},
		PreOpens: "no",
	},
	{
		Name:   "gemma4",
		Models: []string{"*gemma-4*", "*gemma4*"},
		Markers: []Marker{
			{
				Role:    "tool",
				Name:    "tool_call",
				Open:    []string{"<|tool_call>"},
				Close:   []string{"<tool_call|>"},
				Special: true,
			}},
		Header: &Header{
			Begin:     []string{"<|channel>"},
			Body:      []string{"\n"},
			End:       []string{"<channel|>"},
			Name:      []string{"<|channel>"},
			Channels:  map[string]Role{"thought": "reasoning"},
			Between:   "text",
			MaxHeader: 64,
		},
		PreOpens: "prompt",
	},
	{
		Name:   "granite",
		Models: []string{"*granite*3.2*"},
		Markers: []Marker{
			{
				Role:   "reasoning",
				Name:   "thought process",
				Open:   []string{"Here is my thought process:", "Here's my thought process:"},
				Close:  []string{"Here is my response:", "Here's my response:"},
				Phrase: true,
			}},
		PreOpens:  "no",
		Placement: "leading",
	},
	{
		Name:   "granite33",
		Models: []string{"*granite*3.3*", "*granite-4*", "*granite4*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role: "wrapper",
				Tag:  "response",
			},
			{
				Role: "tool",
				Tag:  "tool_call",
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "granite42",
		Models: []string{"*granite-4.2*", "*granite4.2*", "*granite-4p2*", "*granite-4-2*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role: "tool",
				Tag:  "tool_call",
			},
			{
				Role:    "tool",
				Name:    "function",
				Open:    []string{"<tool_call>\n<function=", "<tool_call><function=", "<function="},
				Close:   []string{"</function>\n</tool_call>", "</function></tool_call>", "</function>"},
				Special: true,
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "hunyuan",
		Models: []string{"*hunyuan*"},
		Markers: []Marker{
			{
				Role:  "reasoning",
				Name:  "think",
				Open:  []string{"<think>\n"},
				Close: []string{"\n</think>\n"},
			},
			{
				Role:  "wrapper",
				Name:  "answer",
				Open:  []string{"<answer>\n"},
				Close: []string{"\n</answer>\n"},
			}},
		PreOpens: "no",
		Code:     &on,
		Stray:    &on,
	},
	{
		Name:   "hunyuan3",
		Models: []string{"hy3*", "hy4*", "*hunyuan3*", "*hunyuan-3*", "*hunyuan4*", "*hunyuan-4*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think:opensource",
			},
			{
				Role:   "reasoning",
				Tag:    "think:6124c78e",
				Family: "think:opensource",
			},
			{
				Role:   "reasoning",
				Tag:    "think",
				Family: "think:opensource",
			},
			{
				Role: "tool",
				Tag:  "tool_calls:opensource",
			},
			{
				Role: "tool",
				Tag:  "tool_calls:6124c78e",
			},
			{
				Role: "tool",
				Tag:  "tool_calls",
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "seed_oss",
		Models: []string{"*seed-oss*", "*seed_oss*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "seed:think",
			},
			{
				Role: "tool",
				Tag:  "seed:tool_call",
			}},
		PreOpens: "no",
	},
	{
		Name:   "command_a",
		Models: []string{"*command-a*", "*command-r7b*", "*command-3*", "*command-4*", "*north-code*", "*cohere2moe*", "*cohere2-moe*"},
		Markers: []Marker{
			{
				Role:  "reasoning",
				Name:  "thinking",
				Open:  []string{"<|START_THINKING|>"},
				Close: []string{"<|END_THINKING|>"},
			},
			{
				Role:  "wrapper",
				Name:  "response",
				Open:  []string{"<|START_RESPONSE|>"},
				Close: []string{"<|END_RESPONSE|>"},
			},
			{
				Role:  "wrapper",
				Name:  "text",
				Open:  []string{"<|START_TEXT|>"},
				Close: []string{"<|END_TEXT|>"},
			},
			{
				Role:    "tool",
				Name:    "action",
				Open:    []string{"<|START_ACTION|>"},
				Close:   []string{"<|END_ACTION|>"},
				Special: true,
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "apertus",
		Models: []string{"*apertus*"},
		Markers: []Marker{
			{
				Role:  "reasoning",
				Name:  "inner",
				Open:  []string{"<|inner_prefix|>"},
				Close: []string{"<|inner_suffix|>"},
			},
			{
				Role:    "tool",
				Name:    "tools",
				Open:    []string{"<|tools_prefix|>"},
				Close:   []string{"<|tools_suffix|>"},
				Special: true,
			}},
		PreOpens:  "no",
		AfterTool: "reasoning",
	},
	{
		Name:   "apertus15",
		Models: []string{"*apertus*1.5*", "*apertus*1p5*", "*apertus15*"},
		Markers: []Marker{
			{
				Role:  "reasoning",
				Name:  "inner",
				Open:  []string{"<|inner_prefix|>"},
				Close: []string{"<|inner_suffix|>"},
			},
			{
				Role:    "tool",
				Name:    "tools",
				Open:    []string{"<|tools_prefix|>"},
				Close:   []string{"<|tools_suffix|>"},
				Special: true,
			},
			{
				Role: "wrapper",
				Name: "assistant",
				Open: []string{"<|assistant_start|>", "<|assistant_end|>"},
			}},
		PreOpens: "no",
	},
	{
		Name:   "step3",
		Models: []string{"step-3*", "step3*", "stepfun*step*3*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role: "tool",
				Tag:  "tool_call",
			},
			{
				Role:    "tool",
				Name:    "function",
				Open:    []string{"<tool_call>\n<function=", "<tool_call><function=", "<function="},
				Close:   []string{"</function>\n</tool_call>", "</function></tool_call>", "</function>"},
				Special: true,
			},
			{
				Role:    "tool",
				Name:    "tool_calls",
				Open:    []string{"<｜tool_calls_begin｜>"},
				Close:   []string{"<｜tool_calls_end｜>"},
				Special: true,
			}},
		PreOpens: "yes",
	},
	{
		Name:   "ernie45",
		Models: []string{"*ernie-4.5*", "*ernie4.5*", "*ernie-4-5*", "*ernie*thinking*"},
		Markers: []Marker{
			{
				Role:  "reasoning",
				Name:  "think",
				Open:  []string{"<think>\n"},
				Close: []string{"\n</think>\n\n"},
			},
			{
				Role:  "wrapper",
				Name:  "response",
				Open:  []string{"<response>\n"},
				Close: []string{"\n</response>\n"},
			},
			{
				Role:    "tool",
				Name:    "tool_call",
				Open:    []string{"<tool_call>"},
				Close:   []string{"</tool_call>"},
				Special: true,
			}},
		PreOpens: "yes",
		Code:     &on,
		Stray:    &on,
	},
	{
		Name:   "nemotron3",
		Models: []string{"*nemotron*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role: "tool",
				Tag:  "tool_call",
			},
			{
				Role:    "tool",
				Name:    "function",
				Open:    []string{"<tool_call>\n<function=", "<tool_call><function=", "<function="},
				Close:   []string{"</function>\n</tool_call>", "</function></tool_call>", "</function>"},
				Special: true,
			},
			{
				Role:    "tool",
				Name:    "TOOLCALL",
				Open:    []string{"<TOOLCALL>"},
				Close:   []string{"</TOOLCALL>"},
				Special: true,
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "olmo3",
		Models: []string{"*olmo-3*", "*olmo3*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			}},
		PreOpens: "yes",
	},
	{
		Name:   "exaone4",
		Models: []string{"*exaone-4*", "*exaone4*", "*k-exaone*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role: "tool",
				Tag:  "tool_call",
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "hyperclovax",
		Models: []string{"*hyperclova*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role: "tool",
				Tag:  "tool_call",
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "phi4",
		Models: []string{"*phi-4*reasoning*", "*phi4*reasoning*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			}},
		PreOpens: "no",
	},
	{
		Name:   "apriel",
		Models: []string{"*apriel*thinker*", "*apriel-1.5*", "*apriel-1.6*"},
		Markers: []Marker{
			{
				Role:  "reasoning",
				Name:  "steps",
				Open:  []string{"Here are my reasoning steps:\n"},
				Close: []string{"\n[BEGIN FINAL RESPONSE]\n"},
			},
			{
				Role: "wrapper",
				Name: "end",
				Open: []string{"[END FINAL RESPONSE]"},
			},
			{
				Role:    "tool",
				Name:    "tool_calls",
				Open:    []string{"<tool_calls>["},
				Close:   []string{"]</tool_calls>"},
				Special: true,
			}},
		PreOpens: "yes",
		Code:     &on,
	},
	{
		Name:   "cogito",
		Models: []string{"*cogito*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "smollm3",
		Models: []string{"*smollm3*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role: "tool",
				Tag:  "tool_call",
			}},
		PreOpens: "no",
	},
	{
		Name:   "lfm2",
		Models: []string{"*lfm2*", "*lfm-2*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role:    "tool",
				Name:    "tool_call",
				Open:    []string{"<|tool_call_start|>"},
				Close:   []string{"<|tool_call_end|>"},
				Special: true,
			}},
		PreOpens: "no",
	},
	{
		Name:   "hermes",
		Models: []string{"*hermes-2*", "*hermes-3*", "*hermes3*", "*hermes-4*", "*hermes4*", "*qwen2.5*", "*qwen2p5*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role:   "reasoning",
				Tag:    "thinking",
				Family: "think",
			},
			{
				Role:   "reasoning",
				Tag:    "thought",
				Family: "think",
			},
			{
				Role:   "reasoning",
				Tag:    "thoughts",
				Family: "think",
			},
			{
				Role: "reasoning",
				Tag:  "reasoning",
			},
			{
				Role: "reasoning",
				Tag:  "reflection",
			},
			{
				Role:   "reasoning",
				Tag:    "scratch_pad",
				Rescue: true,
			},
			{
				Role:   "reasoning",
				Tag:    "scratchpad",
				Family: "scratch_pad",
				Rescue: true,
			},
			{
				Role: "narration",
				Tag:  "narrate",
			},
			{
				Role: "output",
				Tag:  "output",
			},
			{
				Role: "tool",
				Tag:  "tool_call",
			}},
	},
	{
		Name:   "llama",
		Models: []string{"*llama-3*", "*llama3*", "*llama-4*", "*llama4*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role:   "reasoning",
				Tag:    "thinking",
				Family: "think",
			},
			{
				Role:   "reasoning",
				Tag:    "thought",
				Family: "think",
			},
			{
				Role:   "reasoning",
				Tag:    "thoughts",
				Family: "think",
			},
			{
				Role: "reasoning",
				Tag:  "reasoning",
			},
			{
				Role: "reasoning",
				Tag:  "reflection",
			},
			{
				Role:   "reasoning",
				Tag:    "scratch_pad",
				Rescue: true,
			},
			{
				Role:   "reasoning",
				Tag:    "scratchpad",
				Family: "scratch_pad",
				Rescue: true,
			},
			{
				Role: "narration",
				Tag:  "narrate",
			},
			{
				Role: "output",
				Tag:  "output",
			},
			{
				Role:    "tool",
				Name:    "python_tag",
				Open:    []string{"<|python_tag|>"},
				Close:   []string{"<|eom_id|>", "<|eot_id|>"},
				Special: true,
			},
			{
				Role:    "tool",
				Name:    "python_start",
				Open:    []string{"<|python_start|>"},
				Close:   []string{"<|python_end|>"},
				Special: true,
			},
			{
				Role:    "tool",
				Name:    "function",
				Open:    []string{"<function="},
				Close:   []string{"</function>"},
				Special: true,
			}},
	},
	{
		Name:   "mimo",
		Models: []string{"*mimo-*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role: "tool",
				Tag:  "tool_call",
			},
			{
				Role:    "tool",
				Name:    "function",
				Open:    []string{"<tool_call>\n<function=", "<tool_call><function=", "<function="},
				Close:   []string{"</function>\n</tool_call>", "</function></tool_call>", "</function>"},
				Special: true,
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "intern_s1",
		Models: []string{"*intern-s1*", "*interns1*", "*intern-s2*", "*interns2*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role: "tool",
				Tag:  "tool_call",
			},
			{
				Role:    "tool",
				Name:    "function",
				Open:    []string{"<tool_call>\n<function=", "<tool_call><function=", "<function="},
				Close:   []string{"</function>\n</tool_call>", "</function></tool_call>", "</function>"},
				Special: true,
			},
			{
				Role:    "tool",
				Name:    "action",
				Open:    []string{"<|action_start|>"},
				Close:   []string{"<|action_end|>"},
				Special: true,
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "holo2",
		Models: []string{"*holo2*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "ling3",
		Models: []string{"ling-3*", "ling3*", "ring-3*", "ring3*", "bailing-moe-v3*", "bailingmoev3*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role:    "tool",
				Name:    "tool_call",
				Open:    []string{"<tool_call>"},
				Close:   []string{"</tool_call>"},
				Special: true,
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "plamo3",
		Models: []string{"*plamo-3*", "*plamo3*"},
		Markers: []Marker{
			{
				Role:  "reasoning",
				Name:  "think",
				Open:  []string{"<|plamo:begin_think:plamo|>"},
				Close: []string{"<|plamo:end_think:plamo|>"},
			},
			{
				Role:    "tool",
				Name:    "tool_requests",
				Open:    []string{"<|plamo:begin_tool_requests:plamo|>"},
				Close:   []string{"<|plamo:end_tool_requests:plamo|>"},
				Special: true,
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "pangu",
		Models: []string{"*pangu*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role:   "reasoning",
				Name:   "[unused16]",
				Family: "think",
				Open:   []string{"[unused16]"},
				Close:  []string{"[unused17]"},
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "longcat",
		Models: []string{"*longcat*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "longcat_think",
			},
			{
				Role: "tool",
				Tag:  "longcat_tool_call",
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "intellect3",
		Models: []string{"*intellect-3*", "*intellect3*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role: "tool",
				Tag:  "tool_call",
			},
			{
				Role:    "tool",
				Name:    "function",
				Open:    []string{"<tool_call>\n<function=", "<tool_call><function=", "<function="},
				Close:   []string{"</function>\n</tool_call>", "</function></tool_call>", "</function>"},
				Special: true,
			}},
		PreOpens: "yes",
	},
	{
		Name:   "berrylm",
		Models: []string{"*berrylm*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role: "tool",
				Tag:  "tool_call",
			},
			{
				Role:    "tool",
				Name:    "function",
				Open:    []string{"<tool_call>\n<function=", "<tool_call><function=", "<function="},
				Close:   []string{"</function>\n</tool_call>", "</function></tool_call>", "</function>"},
				Special: true,
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "kolibri1",
		Models: []string{"*kolibri-1*", "*kolibri1*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role: "tool",
				Tag:  "tool_call",
			},
			{
				Role:    "tool",
				Name:    "function",
				Open:    []string{"<tool_call>\n<function=", "<tool_call><function=", "<function="},
				Close:   []string{"</function>\n</tool_call>", "</function></tool_call>", "</function>"},
				Special: true,
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "minicpm",
		Models: []string{"*minicpm4*", "*minicpm-4*", "*minicpm-v*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role: "tool",
				Tag:  "tool_call",
			},
			{
				Role:    "tool",
				Name:    "function",
				Open:    []string{"<tool_call>\n<function=", "<tool_call><function=", "<function="},
				Close:   []string{"</function>\n</tool_call>", "</function></tool_call>", "</function>"},
				Special: true,
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "minicpm5",
		Models: []string{"*minicpm5*", "*minicpm-5*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role: "tool",
				Tag:  "tool_call",
			},
			{
				Role:    "tool",
				Name:    "function",
				Open:    []string{"<tool_call>\n<function name=", "<tool_call><function name=", "<function name="},
				Close:   []string{"</function>\n</tool_call>", "</function></tool_call>", "</function>"},
				Special: true,
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "vibethinker",
		Models: []string{"*vibethinker*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role: "tool",
				Tag:  "tool_call",
			}},
		PreOpens: "no",
	},
	{
		Name:   "mirothinker",
		Models: []string{"*mirothinker*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role: "tool",
				Tag:  "use_mcp_tool",
			},
			{
				Role: "tool",
				Tag:  "tool_call",
			}},
		PreOpens: "no",
	},
	{
		Name:   "nanbeige4",
		Models: []string{"*nanbeige4*", "*nanbeige-4*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role: "tool",
				Tag:  "tool_call",
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "dots3",
		Models: []string{"*dots3*", "dots-3*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "telechat4",
		Models: []string{"*telechat*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "gigachat35",
		Models: []string{"*gigachat*3.5*", "*gigachat35*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role:    "tool",
				Name:    "tool_calls",
				Open:    []string{"<｜GCML｜tool_calls>"},
				Close:   []string{"</｜GCML｜tool_calls>"},
				Special: true,
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "rwkv",
		Models: []string{"*rwkv*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "iquest",
		Models: []string{"iquest*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "iquest_q1",
		Models: []string{"iquest-q1*", "iquest_q1*", "iquestq1*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role: "tool",
				Tag:  "iquest_tool_call",
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "xingchen4",
		Models: []string{"*xingchen*", "xing-4*", "xing4*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "laguna",
		Models: []string{"*laguna*", "*poolside*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role:    "tool",
				Name:    "tool_call",
				Open:    []string{"<tool_call>"},
				Close:   []string{"</tool_call>"},
				Special: true,
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "solar_open",
		Models: []string{"*solar-open*"},
		Markers: []Marker{
			{
				Role:  "reasoning",
				Name:  "think",
				Open:  []string{"<|think|>", "<|begin|>assistant<|think|>"},
				Close: []string{"<|end|><|begin|>assistant"},
			},
			{
				Role:  "wrapper",
				Name:  "content",
				Open:  []string{"<|content|>", "<|begin|>assistant<|content|>"},
				Close: []string{"<|end|>", "<|flush|>"},
			},
			{
				Role:    "tool",
				Name:    "tool_calls",
				Open:    []string{"<|tool_calls|>", "<|begin|>assistant<|tool_calls|>"},
				Close:   []string{"<|calls|>"},
				Special: true,
			}},
		PreOpens: "no",
	},
	{
		Name:   "solar_open2",
		Models: []string{"*solar-open2*", "*solar-open-2*"},
		Markers: []Marker{
			{
				Role:  "reasoning",
				Name:  "think",
				Open:  []string{"<|think:start|>"},
				Close: []string{"<|think:end|>"},
			},
			{
				Role:    "tool",
				Name:    "tool_call",
				Open:    []string{"<|tool_call:start|>"},
				Close:   []string{"<|tool_call:end|>"},
				Special: true,
			}},
		PreOpens: "prompt",
	},
	{
		Name:   "inkling",
		Models: []string{"*inkling*"},
		Markers: []Marker{
			{
				Role:  "wrapper",
				Name:  "text",
				Open:  []string{"<|content_text|>", "<|message_model|><|content_text|>"},
				Close: []string{"<|end_message|><|content_model_end_sampling|>", "<|end_message|>"},
			},
			{
				Role:  "reasoning",
				Name:  "thinking",
				Open:  []string{"<|content_thinking|>", "<|message_model|><|content_thinking|>"},
				Close: []string{"<|end_message|><|content_model_end_sampling|>", "<|end_message|>"},
			},
			{
				Role:    "tool",
				Name:    "tool",
				Open:    []string{"<|content_invoke_tool_json|>", "<|message_model|>"},
				Close:   []string{"<|end_message|><|content_model_end_sampling|>", "<|end_message|>"},
				Special: true,
			}},
		PreOpens: "no",
	},
	{
		Name:   "muse_glimmer",
		Models: []string{"*glimmer*"},
		Header: &Header{
			Begin:      []string{"<|start|>"},
			Body:       []string{"<|message|>"},
			Lead:       []string{" to=", "to=", "<|message|>"},
			End:        []string{"<|eom|>", "<|eot|>"},
			Channels:   map[string]Role{"": "text", "self": "reasoning"},
			Recipients: map[string]Role{"*": "tool", "self": "reasoning", "user": "text"},
		},
		PreOpens: "no",
	},
	{
		Name:   "k2_horizon",
		Models: []string{"*k2-horizon*"},
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "ifm|think",
			},
			{
				Role:   "reasoning",
				Tag:    "ifm|think_fast",
				Family: "ifm|think",
			},
			{
				Role:   "reasoning",
				Tag:    "ifm|think_faster",
				Family: "ifm|think",
			},
			{
				Role:    "tool",
				Name:    "tool_calls",
				Open:    []string{"<ifm|tool_calls>"},
				Close:   []string{"</ifm|tool_calls>"},
				Special: true,
			}},
		PreOpens: "prompt",
		Close:    "family",
	},
	{
		Name:   "openthinker",
		Models: []string{"*openthinker*", "*sky-t1*"},
		Markers: []Marker{
			{
				Role:  "reasoning",
				Name:  "thought",
				Open:  []string{"<|begin_of_thought|>"},
				Close: []string{"<|end_of_thought|>"},
			},
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role:  "wrapper",
				Name:  "solution",
				Open:  []string{"<|begin_of_solution|>"},
				Close: []string{"<|end_of_solution|>"},
			}},
		PreOpens: "no",
	},
	{
		Name: "prompted",
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "think",
			},
			{
				Role:   "reasoning",
				Tag:    "thinking",
				Family: "think",
			},
			{
				Role:   "reasoning",
				Tag:    "thought",
				Family: "think",
			},
			{
				Role:   "reasoning",
				Tag:    "thoughts",
				Family: "think",
			},
			{
				Role:   "reasoning",
				Tag:    "antThinking",
				Family: "think",
			},
			{
				Role: "reasoning",
				Tag:  "reasoning",
			},
			{
				Role:   "reasoning",
				Tag:    "reason",
				Family: "reasoning",
			},
			{
				Role: "reasoning",
				Tag:  "reflection",
			},
			{
				Role:   "reasoning",
				Tag:    "scratchpad",
				Rescue: true,
			},
			{
				Role:   "reasoning",
				Tag:    "scratch_pad",
				Family: "scratchpad",
				Rescue: true,
			},
			{
				Role:   "reasoning",
				Tag:    "reasoning_scratchpad",
				Family: "scratchpad",
				Rescue: true,
			},
			{
				Role: "output",
				Tag:  "output",
			}},
	},
	{
		Name: "xml_thinking",
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "thinking",
			}},
	},
	{
		Name: "xml_thought",
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "thought",
			}},
	},
	{
		Name: "xml_reasoning",
		Markers: []Marker{
			{
				Role: "reasoning",
				Tag:  "reasoning",
			}},
	}}
