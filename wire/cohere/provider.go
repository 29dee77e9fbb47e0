package cohere

import "github.com/sotto-llm/sotto/wire"

// Provider is Cohere.
var Provider = &wire.Provider{Name: "cohere", Codecs: []wire.Codec{Chat}, Endpoints: endpoints, Models: models}

// https://docs.cohere.com/reference/about
var endpoints = []wire.Endpoint{
	{Methods: "POST", Path: "/v2/chat", Kind: wire.EndpointReplies, Codec: Chat},
	{Methods: "POST", Path: "/v2/embed", Kind: wire.EndpointHarmless, Codec: Chat},
	{Path: "/v1/chat", Kind: wire.EndpointUnread, Codec: Chat}, // version 1 of the API
	{Path: "/v1/generate", Kind: wire.EndpointUnread, Codec: Chat},
	{Path: "/v1/summarize", Kind: wire.EndpointUnread, Codec: Chat},
}
