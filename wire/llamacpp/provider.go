package llamacpp

import "github.com/sotto-llm/sotto/wire"

// Provider is llama.cpp's server. Its other routes are those of OpenAI and Anthropic.
var Provider = &wire.Provider{Name: "llamacpp", Codecs: []wire.Codec{Completion}, Endpoints: endpoints}

// https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
//
// The server has its own form at /completions too, where other servers have OpenAI's
// form. The codec of OpenAI's completions recognizes it there.
var endpoints = []wire.Endpoint{
	{Methods: "POST", Path: "/completion", Kind: wire.EndpointReplies, Codec: Completion},
	{Methods: "POST", Path: "/infill", Kind: wire.EndpointReplies, Codec: Completion},
	{Path: "/slots", Kind: wire.EndpointUnread, Codec: Completion, For: wire.ForOperator}, // it shows prompts and replies under way
	{Path: "/slots/{...}", Kind: wire.EndpointUnread, Codec: Completion, For: wire.ForOperator},
}
