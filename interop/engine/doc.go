// Package engine runs a true model server for tests: Ollama, with scripted
// models that [github.com/sotto-llm/sotto/interop/gguf] writes. Nothing is
// downloaded, and nothing of the machine's own Ollama is touched.
//
//	s := engine.Run(t) // skips where $SOTTO_OLLAMA is not set
//	m := engine.Inline()
//	… POST s.URL + "/api/chat" with "model": m.Name, and expect m.Text
//
// The server is 0.6.5, which interop/build-ollama builds. It has no notion of
// thinking: what a model thinks comes inline in its content, on /api/generate,
// /api/chat and /v1/chat/completions, as it does from most servers that have
// only a chat template. A token is a stream event.
package engine
