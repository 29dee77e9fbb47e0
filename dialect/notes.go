// Code generated from dialects.json by go generate. DO NOT EDIT.

//go:build !sotto_shipped

package dialect

func init() {
	for i, n := range allNotes {
		d := &table[i]
		d.Title, d.Sources, d.PreOpensSince, d.Prompt = n.Title, n.Sources, n.PreOpensSince, n.Prompt
	}
}

var allNotes = []notes{
	{
		Title:   "anything not known better: the tags that prompts and models use most",
		Sources: []string{"Sotto's own reading, rule G2"},
	},
	{
		Title:   "prompted: a scratch pad, then the answer in an output block",
		Sources: []string{"protoAgent, output protocol"},
		Prompt:  "Write every reply as two blocks, in this order.\n\n<scratch_pad>\nYour working: what you know, what is missing, which tools you will call and why, what their results mean, how you will put the answer together. Only you read this.\n</scratch_pad>\n<output>\nThe answer, complete and ready to be read. Only this reaches the reader, so whatever they need must be in here.\n</output>\n\nClose the scratch pad before you open the output block, and close the output block at the end. Write each of the two once, and nothing outside them. A short answer still goes into an output block. If you have to ask something back, the question is the output. Should the text itself have to show one of these tags, put it into `back-ticks`.",
	},
	{
		Title:   "prompted: a thought first, then a line of narration, then the turn's text or tool calls",
		Sources: []string{"clark-agent, thinking filter"},
		Prompt:  "Begin each turn with one thought, before anything else:\n\n<thought>\nWhat you make of the situation and what you will do next, in as few words as will do. The user never sees it.\n</thought>\n\nIf the user would like to know what is going on, go on with one sentence for them, in plain words and without details of tools:\n\n<narrate>I am looking through the invoices from March.</narrate>\n\nThen make your tool calls, or write your answer as ordinary text. Close each tag before you go on, write no second thought in the same turn, and keep the answer outside both tags.",
	},
	{
		Title:   "prompted: free reasoning, then the result in an answer block that a program reads",
		Sources: []string{"Graph-BoT, output parsing"},
		Prompt:  "Work the problem out step by step, in as many lines as you need; put the working into <think> and </think> if you like.\n\nThen give the result once, at the very end, like this:\n\n<answer>\n(1 + 2) * 8\n</answer>\n\nA program reads the answer block, so it holds the bare result in the form the task asks for and nothing else: no sentence, no label, no units unless they are asked for, no equals sign with the value behind it, no Markdown. Write no other answer block before it, not even as an example.",
	},
	{
		Title:   "prompted: private thinking, then the message",
		Sources: []string{"ContReAct, reasoning tags"},
		Prompt:  "Think before you act, in a block of your own:\n\n<thinking>\nYour observations, doubts and plans. This part is kept in the record and shown to no one, and you will not see it again in later turns.\n</thinking>\n\nAfter the closing tag write what shall count: your message, your conclusion, or your tool call. Whatever you want to remember must stand there, in words that make sense without the thinking. One block at the start is enough, and it always ends with </thinking>.",
	},
	{
		Title:   "what `ollama run` prints of a thinking model",
		Sources: []string{"Ollama cmd (read once)"},
	},
	{
		Title:         "DeepSeek-R1 and its distills",
		Sources:       []string{"vLLM tests/reasoning/test_deepseekr1_reasoning_parser", "LocalAI reasoning_test"},
		PreOpensSince: "2025-02-09: tokenizer_config.json of DeepSeek-R1; R1-0528-Qwen3-8B does not (chat-template-drift)",
	},
	{
		Title:         "DeepSeek V3 and V3.1",
		Sources:       []string{"Ollama deepseek3.go", "smg factory.rs"},
		PreOpensSince: "3.1, 2025-08-21: tokenizer_config.json of DeepSeek-V3.1 (chat-template-drift)",
	},
	{
		Title:         "DeepSeek V3.2",
		Sources:       []string{"vLLM parser/deepseek_v32.py"},
		PreOpensSince: "3.2: llama.cpp templates/deepseek-ai-DeepSeek-V3.2.jinja, as rendered in a public test",
	},
	{
		Title:         "DeepSeek V4 and V4.1",
		Sources:       []string{"vLLM parser/deepseek_v4.py", "vLLM parser/deepseek_v41.py"},
		PreOpensSince: "4: llama.cpp templates/deepseek-ai-DeepSeek-V4.jinja, as rendered in a public test",
	},
	{
		Title:         "Qwen3 hybrid and instruct",
		Sources:       []string{"Ollama qwen3.go", "vLLM reasoning/qwen3", "transformers serve (response template)"},
		PreOpensSince: "2025-04-28: tokenizer_config.json of Qwen3-8B (chat-template-drift)",
	},
	{
		Title:         "Qwen3-Thinking-2507, QwQ",
		Sources:       []string{"Ollama qwen3_test.go", "SGLang qwen3-thinking"},
		PreOpensSince: "QwQ 2025-03-05, Qwen3-Thinking 2025-08-05: tokenizer_config.json of QwQ-32B and Qwen3-4B-Thinking-2507 (chat-template-drift)",
	},
	{
		Title:         "Qwen3.5 to Qwen3.8, Qwen3-Coder, Ornith",
		Sources:       []string{"Ollama qwen35.go", "transformers serve qwen3_5", "Ollama renderers/testdata/qwen38_chat_template.jinja"},
		PreOpensSince: "3.8, 2026-08-14: Ollama renderers/testdata/qwen38_chat_template.jinja; 3.5 and 3.6: Ollama renderers/qwen35.go",
	},
	{
		Title:         "GLM-4.5 and 4.6",
		Sources:       []string{"vLLM parser/glm47_moe.py", "Ollama glm47.go"},
		PreOpensSince: "2025-07-28: chat_template.jinja of GLM-4.5-Air (chat-template-drift)",
	},
	{
		Title:         "GLM-4.7 and GLM-5 to 5.2",
		Sources:       []string{"Ollama glm47.go"},
		PreOpensSince: "4.7, 2026-01-19: chat_template.jinja of GLM-4.7-Flash; 5.2, 2026-06-16: the same of GLM-5.2 (chat-template-drift)",
	},
	{
		Title:         "GLM-5.3",
		Sources:       []string{"SGLang template_detection.py (glm53_always_think)"},
		PreOpensSince: "5.3: SGLang template_detection.py; llama.cpp template glm53-flash.jinja, as rendered in a public test",
	},
	{
		Title:   "Kimi-VL-Thinking",
		Sources: []string{"dynamo base_parser.rs", "Open WebUI tag list"},
	},
	{
		Title:         "Kimi K2-Thinking, K2.5 and K2.6",
		Sources:       []string{"vLLM parser/kimi_k2.py", "smg factory.rs"},
		PreOpensSince: "K2.5: dynamo reasoning/mod.rs, llama.cpp PR 19234; K2-Thinking does not: chat_template.jinja, 2025-11-08 (chat-template-drift)",
	},
	{
		Title:         "Kimi K3 (XTML)",
		Sources:       []string{"smg kimi_k3.rs", "SGLang PR 32567", "llama.cpp parsers/kimi-k3.cpp"},
		PreOpensSince: "llama.cpp templates/Kimi-K3.jinja",
	},
	{
		Title:         "MiniMax M1 and M2",
		Sources:       []string{"vLLM reasoning/minimax_m2", "GoModel PR 1068"},
		PreOpensSince: "M2.7 at the latest, 2026-04-09: chat_template.jinja of MiniMax-M2.7 (chat-template-drift)",
	},
	{
		Title:         "MiniMax M3",
		Sources:       []string{"vLLM Rust reasoning tests", "llama.cpp parsers/minimax-m3.cpp"},
		PreOpensSince: "SGLang reasoning_parser.py: the prompt opens with thinking_mode enabled only",
	},
	{
		Title:         "Mistral: Magistral, Ministral, Small 4",
		Sources:       []string{"vLLM parser/mistral.py", "Ollama ministral.go"},
		PreOpensSince: "Ministral 3: llama.cpp templates/mistralai-Ministral-3-14B-Reasoning-2512.jinja, as rendered in a public test",
	},
	{
		Title:         "gpt-oss (Harmony)",
		Sources:       []string{"openai/harmony src/encoding.rs", "Ollama harmonyparser.go"},
		PreOpensSince: "2025-08-05: chat_template.jinja of gpt-oss-20b (chat-template-drift)",
	},
	{
		Title:   "gpt-oss (Harmony) whose special tokens were lost on the way",
		Sources: []string{"llama-farm/llamafarm issue 753", "oobabooga/textgen issue 7374"},
	},
	{
		Title:   "LLM-jp 4 (Harmony with a space after each token)",
		Sources: []string{"llama.cpp parsers/llm-jp-harmony.cpp (read once)"},
	},
	{
		Title:         "Gemma 4",
		Sources:       []string{"Ollama gemma4.go", "transformers serve (response template)"},
		PreOpensSince: "after a tool result, with thinking, 2026-07-14 at the latest: Ollama renderers/testdata/gemma4_31b_chat_template.jinja2",
	},
	{
		Title:         "Granite 3.2: phrases instead of markers",
		Sources:       []string{"vLLM reasoning/granite_reasoning_parser.py"},
		PreOpensSince: "3.2: resources/ollama/granite3.2/template.txt of ibm-granite/gguf",
	},
	{
		Title:         "Granite 3.3 and 4.0",
		Sources:       []string{"llama.cpp chat.cpp", "vLLM reasoning/granite_thinking"},
		PreOpensSince: "3.3 does not: llama.cpp templates/ibm-granite-granite-3.3-2B-Instruct.jinja; 4.0: no template found",
	},
	{
		Title:         "Granite 4.2 (thinking)",
		Sources:       []string{"vLLM parser/granite_thinking.py", "Ollama renderers/granite_thinking.go"},
		PreOpensSince: "4.2: Ollama renderers/granite_thinking.go",
	},
	{
		Title:         "Hunyuan A13B",
		Sources:       []string{"vLLM reasoning/hunyuan_a13b_reasoning_parser.py"},
		PreOpensSince: "2025-06-27: tokenizer_config.json of Hunyuan-A13B-Instruct (chat-template-drift)",
	},
	{
		Title:         "Hunyuan 3 and 4 (Hy3, Hy4)",
		Sources:       []string{"vLLM reasoning/hy_v3", "vLLM Rust hy.rs", "vLLM reasoning/hy_v4"},
		PreOpensSince: "Hy3: llama.cpp templates/tencent-Hunyuan-V3.jinja, as rendered in a public test; Hy4: vLLM reasoning/hy_v4",
	},
	{
		Title:         "Seed-OSS (ByteDance)",
		Sources:       []string{"vLLM reasoning/seed_oss"},
		PreOpensSince: "2025-08-26; before, with thinking_budget 0, it did: chat_template.jinja of Seed-OSS-36B-Instruct (chat-template-drift)",
	},
	{
		Title:         "Cohere Command A, Command 3 and 4, Command R7B, North Code",
		Sources:       []string{"Ollama cohere.go", "SGLang cohere_command4", "cohere-ai/melody", "llama.cpp parsers/cohere2moe.cpp"},
		PreOpensSince: "2026-06-16 at the latest: Ollama renderers/cohere.go; North Code: llama.cpp parsers/cohere2moe.cpp",
	},
	{
		Title:         "Apertus",
		Sources:       []string{"llama.cpp chat.cpp", "vLLM reasoning/apertus_reasoning_parser.py"},
		PreOpensSince: "2025-11-14 at the latest: chat_template.jinja of Apertus-8B-Instruct-2509 (chat-template-drift)",
	},
	{
		Title:         "Apertus 1.5",
		Sources:       []string{"Ollama parsers/apertus15.go", "Ollama renderers/apertus15.go"},
		PreOpensSince: "1.5: Ollama renderers/apertus15.go",
	},
	{
		Title:         "Step3, Step3.5 and Step3.7",
		Sources:       []string{"vLLM reasoning/step3_reasoning_parser.py", "vLLM reasoning/step3p5_reasoning_parser.py", "llama.cpp templates/StepFun3.7-Flash.jinja"},
		PreOpensSince: "Step3 2025-07-31, 3.5 2026-02-01, 3.7 2026-05-23: the chat templates of step3, Step-3.5-Flash and Step-3.7-Flash (chat-template-drift)",
	},
	{
		Title:   "ERNIE 4.5 VL and Thinking",
		Sources: []string{"vLLM reasoning/ernie45_reasoning_parser.py", "vLLM tool_parsers/ernie45_tool_parser.py"},
	},
	{
		Title:         "Nemotron Nano v2, v3 and Super",
		Sources:       []string{"Ollama nemotron3nano.go", "smg nano_v3.rs"},
		PreOpensSince: "3, 2025-12-04: chat_template.jinja of Nemotron-3-Nano-30B-A3B (chat-template-drift); 3.5: Ollama renderers/testdata/nemotron35_chat_template.jinja2",
	},
	{
		Title:         "OLMo 3 Think",
		Sources:       []string{"vLLM reasoning/olmo3_reasoning_parser.py", "vLLM issue 55195"},
		PreOpensSince: "2025-10-31: chat_template.jinja of Olmo-3-7B-Think (chat-template-drift)",
	},
	{
		Title:         "EXAONE 4, K-EXAONE",
		Sources:       []string{"vLLM reasoning/exaone4_reasoning_parser.py (read once)"},
		PreOpensSince: "EXAONE 4, with enable_thinking: chat_template.jinja, as copied in RkFeeder/LG-AI-Research; K-EXAONE: the prompt in plyght/ditch src/chat.zig",
	},
	{
		Title:         "HyperCLOVA X Seed Think",
		Sources:       []string{"vLLM reasoning/hyperclovax_seed_think_reasoning_parser.py", "chat_template.jinja of HyperCLOVAX-SEED-Think-32B"},
		PreOpensSince: "2025-12-29; for a day before, always: chat_template.jinja of HyperCLOVAX-SEED-Think-32B (chat-template-drift)",
	},
	{
		Title:         "Phi-4-reasoning",
		Sources:       []string{"mistral.rs (read once)"},
		PreOpensSince: "2025-04-29: tokenizer_config.json of Phi-4-mini-reasoning (chat-template-drift)",
	},
	{
		Title:         "Apriel Thinker 1.5 and 1.6 (ServiceNow)",
		Sources:       []string{"llama.cpp templates/Apriel-1.6-15b-Thinker-fixed.jinja", "llama.cpp templates/unsloth-Apriel-1.5.jinja"},
		PreOpensSince: "1.6: llama.cpp templates/Apriel-1.6-15b-Thinker-fixed.jinja; 1.5 does not: unsloth-Apriel-1.5.jinja",
	},
	{
		Title:         "Cogito v1 and v2",
		Sources:       []string{"Ollama cogito.go (read once)"},
		PreOpensSince: "v2, 2025-11-18: Ollama renderers/cogito.go",
	},
	{
		Title:         "SmolLM3",
		Sources:       []string{"transformers SmolLM3 chat template", "transformers docs, response parsing"},
		PreOpensSince: "2025-07-08: chat_template.jinja of SmolLM3-3B (chat-template-drift)",
	},
	{
		Title:         "LFM2 and LFM2.5 Thinking",
		Sources:       []string{"Ollama lfm2.go", "llama.cpp parsers/lfm2.cpp"},
		PreOpensSince: "2.5, 2026-05-28: chat_template.jinja of LFM2.5-8B-A1B (chat-template-drift)",
	},
	{
		Title:   "Hermes 2 to 4 and Qwen2.5: the default dialect, and calls",
		Sources: []string{"Sotto's own reading, rule G2", "vLLM tool_parsers/hermes_tool_parser.py"},
	},
	{
		Title:   "Llama 3 and 4: the default dialect, and calls",
		Sources: []string{"Sotto's own reading, rule G2", "vLLM tool_parsers/llama_tool_parser.py", "vLLM tool_parsers/llama4_pythonic_tool_parser.py"},
	},
	{
		Title:         "MiMo",
		Sources:       []string{"vLLM parser/mimo.py (read once)"},
		PreOpensSince: "MiMo V2, without thinking an empty block: the prompt in plyght/ditch src/chat.zig",
	},
	{
		Title:   "Intern-S1, Intern-S2",
		Sources: []string{"vLLM reasoning/intern_s1_reasoning_parser.py", "SGLang PR 14866", "LMDeploy interns2preview_tool_parser.py"},
	},
	{
		Title:   "Holo2",
		Sources: []string{"vLLM reasoning/holo2_reasoning_parser.py (read once)"},
	},
	{
		Title:         "Ling 3 and Ring 3 (Bailing MoE V3)",
		Sources:       []string{"llama.cpp parsers/ling3.cpp", "vLLM parser/ling3.py", "Ollama parsers/bailing.go"},
		PreOpensSince: "3: Ollama parsers/bailing.go",
	},
	{
		Title:   "PLaMo 3",
		Sources: []string{"vLLM parser/plamo3.py (read once)"},
	},
	{
		Title:         "openPangu",
		Sources:       []string{"vLLM reasoning/pangu_reasoning_parser.py", "vLLM reasoning/openpangu_v2_reasoning_parser.py"},
		PreOpensSince: "2: vLLM reasoning/openpangu_v2_reasoning_parser.py reads the reply as it does R1",
	},
	{
		Title:         "LongCat",
		Sources:       []string{"vLLM reasoning/longcat_reasoning_parser.py", "Ollama longcatflash.go"},
		PreOpensSince: "with enable_thinking: the prompt in the model card of LongCat-Flash-Thinking-ZigZag",
	},
	{
		Title:         "INTELLECT-3",
		Sources:       []string{"Ollama parsers/intellect3.go", "Ollama renderers/intellect3.go"},
		PreOpensSince: "2025-12-04: PrimeIntellect prime-envs PR 18; Ollama renderers/intellect3.go",
	},
	{
		Title:         "BerryLM",
		Sources:       []string{"vLLM parser/berrylm.py (read once)"},
		PreOpensSince: "first release, 2026-09: vLLM parser/berrylm.py begins inside unless enable_thinking is false",
	},
	{
		Title:         "Kolibri 1",
		Sources:       []string{"vLLM parser/kolibri1.py (read once)"},
		PreOpensSince: "1: vLLM parser/kolibri1.py follows the switches of the template, on by default",
	},
	{
		Title:         "MiniCPM 4.1 and MiniCPM-V",
		Sources:       []string{"vLLM parser/minicpmv.py", "tokenizer_config.json of MiniCPM4.1-8B"},
		PreOpensSince: "MiniCPM-V: vLLM parser/minicpmv.py, thinking is off by default; MiniCPM4.1 does not: tokenizer_config.json, 2025-09-02 (chat-template-drift)",
	},
	{
		Title:         "MiniCPM 5",
		Sources:       []string{"llama.cpp parsers/minicpm5.cpp", "Ollama parsers/minicpm5.go", "chat_template.jinja of MiniCPM5-1B"},
		PreOpensSince: "2026-05-23, with enable_thinking true only: chat_template.jinja of MiniCPM5-1B (chat-template-drift)",
	},
	{
		Title:         "VibeThinker",
		Sources:       []string{"llama.cpp issue 25292", "tokenizer_config.json of VibeThinker-3B"},
		PreOpensSince: "2026-06-16: tokenizer_config.json of VibeThinker-3B (chat-template-drift)",
	},
	{
		Title:         "MiroThinker",
		Sources:       []string{"llama.cpp templates/MiroThinker-v1.jinja"},
		PreOpensSince: "v1: llama.cpp templates/MiroThinker-v1.jinja",
	},
	{
		Title:   "Nanbeige 4",
		Sources: []string{"SGLang reasoning_parser_names.py and public notes on Nanbeige4.1-3B (read once)"},
	},
	{
		Title:   "dots3 (rednote)",
		Sources: []string{"SGLang cookbook of dots3.note and public notes on its parser (read once)"},
	},
	{
		Title:         "TeleChat 4",
		Sources:       []string{"vLLM reasoning/telechat4_reasoning_parser.py", "SGLang reasoning_parser.py"},
		PreOpensSince: "4: SGLang reasoning_parser.py says that the template writes the marker",
	},
	{
		Title:         "GigaChat 3.5",
		Sources:       []string{"vLLM reasoning/gigachat35_reasoning_parser.py", "llama.cpp templates/GigaChat3.5.jinja"},
		PreOpensSince: "3.5: llama.cpp templates/GigaChat3.5.jinja",
	},
	{
		Title:         "RWKV",
		Sources:       []string{"vLLM reasoning/rwkv_reasoning_parser.py (read once)"},
		PreOpensSince: "with enable_thinking: chat_template.jinja of shiroko98/RWKV-LM-V7, a derived model",
	},
	{
		Title:   "iQuest Coder",
		Sources: []string{"vLLM reasoning/iquest_reasoning_parser.py", "vLLM reasoning/iquest_coder_v2_reasoning_parser.py"},
	},
	{
		Title:         "iQuest Q1",
		Sources:       []string{"SGLang function_call IQuestQ1Detector", "SGLang test_iquest_q1_reasoning_parser.py"},
		PreOpensSince: "Q1: SGLang test_iquest_q1_reasoning_parser.py, thinking is on by default",
	},
	{
		Title:         "XingChen 4, Xing 4.0",
		Sources:       []string{"vLLM reasoning/xingchen4_reasoning_parser.py", "vLLM reasoning/xing4_0_reasoning_parser.py"},
		PreOpensSince: "Xing 4.0: vLLM reasoning/xing4_0_reasoning_parser.py says that the template writes the marker",
	},
	{
		Title:         "Laguna (Poolside v1)",
		Sources:       []string{"Ollama laguna.go", "chat_template.jinja of Laguna-XS.2"},
		PreOpensSince: "2026-04-28: chat_template.jinja of Laguna-XS.2 (chat-template-drift); v8: Ollama renderers/testdata/laguna_v8_chat_template.jinja2",
	},
	{
		Title:         "Solar Open",
		Sources:       []string{"LocalAI reasoning tag list", "vLLM reasoning/solar_open"},
		PreOpensSince: "Solar Open: the prompt in plyght/ditch src/chat.zig",
	},
	{
		Title:   "Solar Open 2",
		Sources: []string{"vLLM reasoning/solar_open2_reasoning_parser.py (read once)"},
	},
	{
		Title:   "Inkling (TMLv0)",
		Sources: []string{"smg inkling.rs", "llama.cpp parsers/inkling.cpp"},
	},
	{
		Title:         "Muse Glimmer",
		Sources:       []string{"Ollama glimmer.go", "vLLM parser/muse_glimmer.py"},
		PreOpensSince: "2026-08-10: Ollama renderers/testdata/glimmer_chat_template.jinja",
	},
	{
		Title:         "K2 Horizon (IFM)",
		Sources:       []string{"llama.cpp parsers/k2-horizon.cpp", "vLLM reasoning/k2_horizon_reasoning_parser.py"},
		PreOpensSince: "a block for each reasoning_effort, an empty one without thinking: prompts in public runtimes (read twice)",
	},
	{
		Title:   "OpenThinker, Sky-T1 and others trained like s1",
		Sources: []string{"Open WebUI tag list (read once)"},
	},
	{
		Title:   "every tag that prompts and distilled models use",
		Sources: []string{"Open WebUI tag list", "openclaw PR 6678", "hermes-agent issue 2118"},
	},
	{
		Title:   "prompted: the tag thinking and no other",
		Sources: []string{"Open WebUI tag list"},
	},
	{
		Title:   "prompted: the tag thought and no other",
		Sources: []string{"Open WebUI tag list"},
	},
	{
		Title:   "prompted: the tag reasoning and no other",
		Sources: []string{"Open WebUI tag list"},
	}}
