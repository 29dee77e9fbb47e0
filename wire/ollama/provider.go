package ollama

import (
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
)

// Provider is Ollama.
var Provider = &wire.Provider{Name: "ollama", Codecs: []wire.Codec{Chat, Generate}, Endpoints: endpoints, Template: template, Models: models}

var template = &wire.Template{Method: "POST", Path: "/api/show", Member: "template", Body: func(model string) []byte {
	return append(jsontext.AppendVerbatim([]byte(`{"model":`), []byte(model)), '}')
}}

// https://github.com/ollama/ollama/blob/main/server/routes.go
var endpoints = []wire.Endpoint{
	{Methods: "POST", Path: "/api/chat", Kind: wire.EndpointReplies, Codec: Chat},
	{Methods: "POST", Path: "/api/generate", Kind: wire.EndpointReplies, Codec: Generate},
	{Methods: "GET", Path: "/api/tags", Kind: wire.EndpointHarmless, Codec: Chat},
	{Methods: "GET", Path: "/api/version", Kind: wire.EndpointHarmless, Codec: Chat, Stands: always(`{"version":"`+version+`"}`, jsonType)},
	{Methods: "GET", Path: "/api/ps", Kind: wire.EndpointHarmless, Codec: Chat, Stands: always(`{"models":[]}`, jsonType)},
	{Methods: "POST", Path: "/api/show", Kind: wire.EndpointHarmless, Codec: Chat, Stands: show},
	{Methods: "POST", Path: "/api/embed", Kind: wire.EndpointHarmless, Codec: Chat},
	{Methods: "POST", Path: "/api/embeddings", Kind: wire.EndpointHarmless, Codec: Chat},
	{Methods: "GET", Path: "/", Kind: wire.EndpointHarmless, Codec: Chat, Stands: always("Ollama is running", "text/plain; charset=utf-8")}, // "Ollama is running": its client asks before anything else
	{Path: "/api/blobs/{}", Kind: wire.EndpointLocal, Codec: Chat},
	{Path: "/api/copy", Kind: wire.EndpointLocal, Codec: Chat},
	{Path: "/api/create", Kind: wire.EndpointLocal, Codec: Chat},
	{Path: "/api/delete", Kind: wire.EndpointLocal, Codec: Chat},
	{Path: "/api/me", Kind: wire.EndpointLocal, Codec: Chat},
	{Path: "/api/pull", Kind: wire.EndpointLocal, Codec: Chat},
	{Path: "/api/push", Kind: wire.EndpointLocal, Codec: Chat},
	{Path: "/api/signin", Kind: wire.EndpointLocal, Codec: Chat},
	{Path: "/api/signout", Kind: wire.EndpointLocal, Codec: Chat},
	{Path: "/api/web_fetch", Kind: wire.EndpointLocal, Codec: Chat},
	{Path: "/api/web_search", Kind: wire.EndpointLocal, Codec: Chat},
}
