// Package ollamawire serves scripted models with the code of Ollama 0.17.4 itself: its
// middlewares, templates, renderers, and parsers of thoughts and calls. Only the engine is
// left out, so that it builds without cgo in seconds. It stands in for server/routes.go,
// which needs the engine.
package ollamawire
