package anthropic

import "github.com/sotto-llm/sotto/wire"

// Provider is Anthropic, and all servers with its API.
var Provider = &wire.Provider{
	Name: "anthropic", Codecs: []wire.Codec{Messages}, Endpoints: endpoints, KeyHeader: "X-Api-Key", KeyPath: "/messages/",
	AddsVersion: true, Headers: map[string]string{"Anthropic-Version": "2023-06-01"},
	Models: models, Counts: counts,
	// https://docs.anthropic.com/en/api/retrieving-message-batch-results
	Batch: &wire.Batch{Reply: "result.message", Codecs: []wire.BatchCodec{{Has: "content", Codec: Messages}}},
}

// https://docs.anthropic.com/en/api
var endpoints = []wire.Endpoint{
	{Methods: "POST", Path: "/v1/messages", Kind: wire.EndpointReplies, Codec: Messages},
	{Methods: "POST", Path: "/messages", Kind: wire.EndpointReplies, Codec: Messages},
	{Methods: "POST", Path: "/v1/messages/count_tokens", Kind: wire.EndpointHarmless, Codec: Messages, Counts: true},
	{Methods: "POST", Path: "/messages/count_tokens", Kind: wire.EndpointHarmless, Codec: Messages, Counts: true},
	{Methods: "GET", Path: "/v1/messages/batches/{}/results", Kind: wire.EndpointResults, Codec: Messages, Of: "batches"},
	{Methods: "GET", Path: "/messages/batches/{}/results", Kind: wire.EndpointResults, Codec: Messages, Of: "batches"},
	{Path: "/v1/messages/batches", Kind: wire.EndpointUnread, Codec: Messages, Of: "batches"},
	{Path: "/messages/batches", Kind: wire.EndpointUnread, Codec: Messages, Of: "batches"},
	{Path: "/v1/messages/batches/{...}", Kind: wire.EndpointUnread, Codec: Messages, Of: "batches"},
	{Path: "/messages/batches/{...}", Kind: wire.EndpointUnread, Codec: Messages, Of: "batches"},
	{Path: "/v1/messages/{...}", Kind: wire.EndpointUnread, Codec: Messages, For: wire.ForOperator},
	{Path: "/messages/{...}", Kind: wire.EndpointUnread, Codec: Messages, For: wire.ForOperator},
	{Methods: "POST", Path: "/v1/complete", Kind: wire.EndpointUnread, Codec: Messages},
	{Path: "/v1/sessions", Kind: wire.EndpointUnread, Codec: Messages, Of: "sessions"},
	{Path: "/v1/sessions/{...}", Kind: wire.EndpointUnread, Codec: Messages, Of: "sessions"},
	{Path: "/v1/organizations/{...}", Kind: wire.EndpointLocal, Codec: Messages},
	{Path: "/v1/skills", Kind: wire.EndpointLocal, Codec: Messages, Of: "skills"},
	{Path: "/v1/skills/{...}", Kind: wire.EndpointLocal, Codec: Messages, Of: "skills"},
}
