// Package engine runs a real model server for tests: Ollama, with scripted models
// written by [github.com/sotto-llm/sotto/interop/gguf]. It downloads nothing, and
// does not touch the machine's own Ollama.
//
//	s := engine.Run(t) // skips where $SOTTO_OLLAMA is not set
//	m := engine.Inline()
//	… POST s.URL + "/api/chat" with "model": m.Name, and expect m.Text
//
// The server is version 0.6.5, which interop/build-ollama builds. It does not know
// about thinking. A model's reasoning comes inline in its content, on
// /api/generate, /api/chat and /v1/chat/completions, as from most servers that have
// only a chat template. Each token is a stream event.
package engine
