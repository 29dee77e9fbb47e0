package anthropic

import "github.com/sotto-llm/sotto/wire"

// Provider is Anthropic, and all servers with its API.
var Provider = &wire.Provider{
	Name: "anthropic", Codecs: []wire.Codec{Messages}, Endpoints: endpoints, KeyHeader: "X-Api-Key", KeyPath: "/messages/",
	AddsVersion: true,
	// https://docs.anthropic.com/en/api/retrieving-message-batch-results
	Batch: &wire.Batch{Reply: "result.message", Codecs: []wire.BatchCodec{{Has: "content", Codec: Messages}}},
}

// https://docs.anthropic.com/en/api
var endpoints = []wire.Endpoint{
	{Methods: "POST", Path: "/v1/messages", Kind: wire.EndpointReplies, Codec: Messages},
	{Methods: "POST", Path: "/messages", Kind: wire.EndpointReplies, Codec: Messages},
	{Methods: "POST", Path: "/v1/messages/count_tokens", Kind: wire.EndpointHarmless, Codec: Messages},
	{Methods: "POST", Path: "/messages/count_tokens", Kind: wire.EndpointHarmless, Codec: Messages},
	{Methods: "GET", Path: "/v1/messages/batches/{}/results", Kind: wire.EndpointResults, Codec: Messages},
	{Methods: "GET", Path: "/messages/batches/{}/results", Kind: wire.EndpointResults, Codec: Messages},
	{Path: "/v1/messages/{...}", Kind: wire.EndpointUnread, Codec: Messages}, // batches and their results
	{Path: "/messages/{...}", Kind: wire.EndpointUnread, Codec: Messages},
	{Methods: "POST", Path: "/v1/complete", Kind: wire.EndpointUnread, Codec: Messages},
	{Path: "/v1/sessions", Kind: wire.EndpointUnread, Codec: Messages},
	{Path: "/v1/sessions/{...}", Kind: wire.EndpointUnread, Codec: Messages},
	{Path: "/v1/organizations/{...}", Kind: wire.EndpointLocal, Codec: Messages},
	{Path: "/v1/skills", Kind: wire.EndpointLocal, Codec: Messages},
	{Path: "/v1/skills/{...}", Kind: wire.EndpointLocal, Codec: Messages},
}
