// Package switches translates how requests control thinking: turn it on or off, or say
// how much of it. Each API has members of its own for that, and so have the servers
// behind one API:
//
//	{"reasoning_effort": "none"}                              OpenAI
//	{"thinking": {"type": "disabled"}}                        Anthropic, Cohere, DeepSeek
//	{"think": false}                                          Ollama
//	{"chat_template_kwargs": {"enable_thinking": false}}      vLLM, SGLang, llama.cpp
//	{"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}   Gemini
//
// A set of such members is called the [Words] of a server. [Translate] reads a request in
// any words, and writes it in those that the server understands. In between stands a
// [Setting], which is in no API's words.
//
// What holds:
//
//   - A request that says nothing about thinking, or says it in the server's own words, is
//     not touched. In any other, only the members that control thinking change.
//   - A request is never translated into another meaning: one that turns thinking off is
//     refused if the words cannot say it. An amount may be approximated or lost, and
//     [Result] says so.
//   - Members that contradict each other are refused, and so is a value that is not known.
//     Errors and results hold names of members and numbers, but no text of the request.
//   - Translating twice is the same as translating once.
package switches
