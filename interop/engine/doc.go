// Package engine runs a model server for tests: Ollama, with scripted models. It
// downloads nothing, and does not touch the machine's own Ollama.
//
//	s := engine.Run(t)
//	m := engine.Inline()
//	… POST s.URL + "/api/chat" with "model": m.Name, and expect m.Text
//
// There are two engines. Where $SOTTO_OLLAMA names a program, it is run with models
// written by [github.com/sotto-llm/sotto/interop/gguf]; interop/build-ollama builds
// version 0.6.5. Else the server is
// [github.com/sotto-llm/sotto/interop/ollamawire], in the process of the test: newer
// code of Ollama without its runner. Neither takes a thought of [Models] out of the
// text, as their templates do not show Ollama any tags. So a model's reasoning comes
// inline, as from most servers that have only a chat template. Each token is a stream
// event.
package engine
