// Package toolcall reads tool calls that models write into their texts. Each family
// of models has a form of its own:
//
//	<tool_call>{"name":…,"arguments":{…}}</tool_call>              Hermes, Qwen
//	<tool_call><function=f><parameter=a>…</parameter></function></tool_call>
//	                                                               Qwen3-Coder, Seed-OSS
//	<function=f>{…}</function>                                     Llama
//	<tool_call>f<arg_key>a</arg_key><arg_value>…</arg_value></tool_call>
//	                                                               GLM
//	<|channel|>commentary to=functions.f <|message|>{…}<|call|>    Harmony
//	[TOOL_CALLS][{…}]  and  [TOOL_CALLS]f[ARGS]{…}                 Mistral
//	<|python_tag|>[f(a="b", n=3)]  and  <|python_tag|>{"name":…,"parameters":{…}}
//	                                                               Llama 3
//	<|python_start|>[f(a="b", n=3)]<|python_end|>                  Llama 4, LFM2
//	<｜tool▁calls▁begin｜>…f<｜tool▁sep｜>{…}…                        DeepSeek
//	<|tool_calls_section_begin|>…functions.f:0…{…}…                Kimi
//	<minimax:tool_call><invoke name="f"><parameter name="a">…      MiniMax, DeepSeek 3.2
//
// [Parse] reads the markup of one block. Arguments that are JSON stay as they are,
// byte for byte. The others are texts, which [Call.Arguments] converts by the tool's
// JSON schema.
//
// What a model writes is foreign: size, depth and number are bounded, and time is linear
// in the markup. What is not understood completely is no call.
package toolcall
