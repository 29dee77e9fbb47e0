package openai

import (
	"strings"

	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/openai/conversations"
	"github.com/sotto-llm/sotto/wire/openai/responses"
)

// Provider is OpenAI, and all servers with its APIs.
var Provider = &wire.Provider{
	Name: "openai", Codecs: []wire.Codec{Chat, Completions, responses.Codec, conversations.Codec}, Endpoints: endpoints, ReadPath: readPath, Batch: batch,
	Models: models, Counts: counts,
	Template: &wire.Template{Method: "GET", Path: "/props", Member: "chat_template"}, // of llama.cpp's server
}

// https://platform.openai.com/docs/api-reference/batch/request-output
var batch = &wire.Batch{Reply: "response.body", Codecs: []wire.BatchCodec{
	{Has: "choices.0.message", Codec: Chat}, {Has: "choices", Codec: Completions}, {Has: "output", Codec: responses.Codec},
}}

// readPath adds the model that a path names, as Azure's paths do. The request's
// body may name another. A path of a conversation says that its model is the provider's to know, whatever the body names.
func readPath(path string, q *wire.Request) {
	if conversations.Continues(path) {
		q.Model, q.Unnamed = "", true
	}
	_, after, _ := strings.Cut(path, "/deployments/")
	if name, _, _ := strings.Cut(after, "/"); name != "" {
		q.Fallbacks = append(q.Fallbacks, name)
	}
}

var mistral = &wire.Else{Codec: conversations.Codec, Asks: conversations.IsRequest}

// https://platform.openai.com/docs/api-reference. If the base URL holds the
// version, clients leave /v1 out; llama.cpp's server accepts both. Azure puts a
// deployment into the path.
var endpoints = []wire.Endpoint{
	{Methods: "POST", Path: "/v1/chat/completions", Kind: wire.EndpointReplies, Codec: Chat},
	{Methods: "POST", Path: "/chat/completions", Kind: wire.EndpointReplies, Codec: Chat},
	{Methods: "POST", Path: "/openai/deployments/{}/chat/completions", Kind: wire.EndpointReplies, Codec: Chat},
	{Methods: "POST", Path: "/v1/completions", Kind: wire.EndpointReplies, Codec: Completions},
	{Methods: "POST", Path: "/completions", Kind: wire.EndpointReplies, Codec: Completions},
	{Methods: "POST", Path: "/openai/deployments/{}/completions", Kind: wire.EndpointReplies, Codec: Completions},
	{Methods: "POST", Path: "/v1/agents/completions", Kind: wire.EndpointReplies, Codec: Chat}, // Mistral's agents, and fill in the middle
	{Methods: "POST", Path: "/v1/fim/completions", Kind: wire.EndpointReplies, Codec: Chat},
	{Methods: "POST", Path: "/v1/responses", Kind: wire.EndpointReplies, Codec: responses.Codec},
	{Methods: "POST", Path: "/responses", Kind: wire.EndpointReplies, Codec: responses.Codec},

	{Methods: "POST", Path: "/v1/responses/input_tokens", Kind: wire.EndpointHarmless, Codec: responses.Codec, Counts: true},
	{Methods: "POST", Path: "/responses/input_tokens", Kind: wire.EndpointHarmless, Codec: responses.Codec, Counts: true},
	{Methods: "GET", Path: "/v1/models", Kind: wire.EndpointHarmless},
	{Methods: "GET", Path: "/models", Kind: wire.EndpointHarmless},
	{Methods: "POST", Path: "/v1/embeddings", Kind: wire.EndpointHarmless},
	{Methods: "POST", Path: "/embeddings", Kind: wire.EndpointHarmless},

	// Stored replies: anyone who knows an id, or reads the list, can read another
	// caller's.
	{Path: "/v1/chat/completions/{...}", Kind: wire.EndpointUnread, Codec: Chat, Of: "completions"},
	{Path: "/chat/completions/{...}", Kind: wire.EndpointUnread, Codec: Chat, Of: "completions"},
	{Methods: "GET", Path: "/v1/chat/completions", Kind: wire.EndpointUnread, Codec: Chat, Of: "completions"},
	{Methods: "GET", Path: "/chat/completions", Kind: wire.EndpointUnread, Codec: Chat, Of: "completions"},
	{Path: "/v1/completions/{...}", Kind: wire.EndpointUnread, Codec: Completions, Of: "completions"},
	{Methods: "GET", Path: "/v1/responses", Kind: wire.EndpointUnread, Codec: responses.Codec, Of: "responses"},
	{Methods: "GET", Path: "/responses", Kind: wire.EndpointUnread, Codec: responses.Codec, Of: "responses"},
	{Methods: "GET", Path: "/v1/responses/{}", Kind: wire.EndpointStored, Codec: responses.Codec, Of: "responses", Kept: wire.KeptReplies},
	{Methods: "GET", Path: "/responses/{}", Kind: wire.EndpointStored, Codec: responses.Codec, Of: "responses", Kept: wire.KeptReplies},
	{Methods: "DELETE", Path: "/v1/responses/{}", Kind: wire.EndpointUnread, Codec: responses.Codec, Of: "responses", Kept: wire.KeptReplies},
	{Methods: "DELETE", Path: "/responses/{}", Kind: wire.EndpointUnread, Codec: responses.Codec, Of: "responses", Kept: wire.KeptReplies},
	{Methods: "GET", Path: "/v1/responses/{}/input_items", Kind: wire.EndpointUnread, Codec: responses.Codec, Of: "responses", Kept: wire.KeptInput},
	{Methods: "GET", Path: "/responses/{}/input_items", Kind: wire.EndpointUnread, Codec: responses.Codec, Of: "responses", Kept: wire.KeptInput},
	{Methods: "POST", Path: "/v1/responses/{}/cancel", Kind: wire.EndpointStored, Codec: responses.Codec, Of: "responses", Kept: wire.KeptCancel},
	{Methods: "POST", Path: "/responses/{}/cancel", Kind: wire.EndpointStored, Codec: responses.Codec, Of: "responses", Kept: wire.KeptCancel},
	{Methods: "POST", Path: "/v1/responses/compact", Kind: wire.EndpointUnread, Codec: responses.Codec, Kept: wire.KeptCompact},
	{Methods: "POST", Path: "/responses/compact", Kind: wire.EndpointUnread, Codec: responses.Codec, Kept: wire.KeptCompact},
	{Path: "/v1/responses/{...}", Kind: wire.EndpointUnread, Codec: responses.Codec, Of: "responses"},
	{Path: "/responses/{...}", Kind: wire.EndpointUnread, Codec: responses.Codec, Of: "responses"},
	// Mistral's conversations are at the same paths: a request there asks for a reply.
	{Methods: "POST", Path: "/v1/conversations", Kind: wire.EndpointUnread, Codec: responses.Codec, Of: "conversations", Kept: wire.KeptConversations, Else: mistral},
	{Methods: "GET POST DELETE", Path: "/v1/conversations/{}", Kind: wire.EndpointUnread, Codec: responses.Codec, Of: "conversations", Kept: wire.KeptOne, Else: mistral},
	{Methods: "POST", Path: "/v1/conversations/{}/restart", Kind: wire.EndpointReplies, Codec: conversations.Codec, Of: "conversations"},
	{Methods: "GET", Path: "/v1/conversations/{}/messages", Kind: wire.EndpointStored, Codec: conversations.Codec, Of: "conversations"},
	{Methods: "GET", Path: "/v1/conversations/{}/history", Kind: wire.EndpointStored, Codec: conversations.Codec, Of: "conversations"},
	{Methods: "GET POST", Path: "/v1/conversations/{}/items", Kind: wire.EndpointUnread, Codec: responses.Codec, Of: "conversations", Kept: wire.KeptOfOne},
	{Methods: "GET DELETE", Path: "/v1/conversations/{}/items/{}", Kind: wire.EndpointUnread, Codec: responses.Codec, Of: "conversations", Kept: wire.KeptItemOfOne},
	{Path: "/v1/conversations", Kind: wire.EndpointUnread, Codec: responses.Codec, Of: "conversations"},
	{Path: "/v1/conversations/{...}", Kind: wire.EndpointUnread, Codec: responses.Codec, Of: "conversations"},
	{Path: "/v1/batch/jobs", Kind: wire.EndpointUnread, Of: "jobs"}, // Mistral's
	{Path: "/v1/batch/jobs/{...}", Kind: wire.EndpointUnread, Of: "jobs"},
	{Path: "/v1/batches", Kind: wire.EndpointUnread, Of: "batches"},
	{Path: "/v1/batches/{...}", Kind: wire.EndpointUnread, Of: "batches"},
	{Methods: "GET", Path: "/v1/files/{}/content", Kind: wire.EndpointResults, Codec: Chat, Of: "files"},
	{Methods: "GET", Path: "/files/{}/content", Kind: wire.EndpointResults, Codec: Chat, Of: "files"},
	{Path: "/v1/containers", Kind: wire.EndpointLocal, Of: "containers"},
	{Path: "/v1/containers/{...}", Kind: wire.EndpointUnread, Of: "containers"},
	{Methods: "POST", Path: "/v1/threads/runs", Kind: wire.EndpointUnread, Of: "threads"}, // makes a thread too
	{Path: "/v1/threads", Kind: wire.EndpointUnread, Of: "threads"},
	{Path: "/v1/threads/{...}", Kind: wire.EndpointUnread, Of: "threads"},
	{Path: "/v1/evals", Kind: wire.EndpointUnread, Of: "evals"},
	{Path: "/v1/evals/{...}", Kind: wire.EndpointUnread, Of: "evals"},
	{Path: "/v1/realtime", Kind: wire.EndpointUnread, For: wire.ForOperator},
	{Path: "/v1/realtime/{...}", Kind: wire.EndpointUnread, For: wire.ForOperator}, // keys of the upstream, and calls that pass by the gateway
	{Path: "/realtime", Kind: wire.EndpointUnread, For: wire.ForOperator},
	{Path: "/openai/realtime", Kind: wire.EndpointUnread, For: wire.ForOperator},
	{Path: "/v1/chatkit/{...}", Kind: wire.EndpointUnread, For: wire.ForOperator},
	// A model that transcribes audio may think too: llama.cpp's server asks the
	// chat model.
	{Methods: "POST", Path: "/v1/audio/transcriptions", Kind: wire.EndpointAudio},
	{Methods: "POST", Path: "/v1/audio/translations", Kind: wire.EndpointAudio},
	{Methods: "POST", Path: "/audio/transcriptions", Kind: wire.EndpointAudio},
	{Methods: "POST", Path: "/audio/translations", Kind: wire.EndpointAudio},
	{Methods: "POST", Path: "/v1/audio/speech", Kind: wire.EndpointHarmless},
	{Methods: "POST", Path: "/audio/speech", Kind: wire.EndpointHarmless},
	{Methods: "POST", Path: "/v1/images/generations", Kind: wire.EndpointHarmless},
	{Methods: "POST", Path: "/v1/images/edits", Kind: wire.EndpointHarmless},
	{Methods: "POST", Path: "/v1/images/variations", Kind: wire.EndpointHarmless},
	{Methods: "POST", Path: "/images/generations", Kind: wire.EndpointHarmless},
	{Methods: "POST", Path: "/images/edits", Kind: wire.EndpointHarmless},
	{Methods: "POST", Path: "/images/variations", Kind: wire.EndpointHarmless},

	{Path: "/v1/assistants", Kind: wire.EndpointLocal, Of: "assistants"},
	{Path: "/v1/assistants/{...}", Kind: wire.EndpointLocal, Of: "assistants"},
	{Path: "/files", Kind: wire.EndpointLocal, Of: "files"},
	{Path: "/files/{}", Kind: wire.EndpointLocal, Of: "files"},
	{Path: "/batches", Kind: wire.EndpointUnread, Of: "batches"},
	{Path: "/batches/{...}", Kind: wire.EndpointUnread, Of: "batches"},
	{Path: "/v1/files", Kind: wire.EndpointLocal, Of: "files"},
	{Path: "/v1/files/{}", Kind: wire.EndpointLocal, Of: "files"},
	{Path: "/v1/fine_tuning/jobs", Kind: wire.EndpointLocal, Of: "jobs"},
	{Path: "/v1/fine_tuning/jobs/{...}", Kind: wire.EndpointLocal, Of: "jobs"},
	{Path: "/v1/fine_tuning/{...}", Kind: wire.EndpointLocal},
	{Path: "/v1/images/{...}", Kind: wire.EndpointLocal},
	{Path: "/v1/moderations", Kind: wire.EndpointLocal, For: wire.ForAll},
	{Path: "/v1/organization/{...}", Kind: wire.EndpointLocal},
	{Path: "/v1/uploads", Kind: wire.EndpointLocal, Of: "uploads"},
	{Path: "/v1/uploads/{...}", Kind: wire.EndpointLocal, Of: "uploads"},
	{Path: "/v1/vector_stores", Kind: wire.EndpointLocal, Of: "vector_stores"},
	{Path: "/v1/vector_stores/{...}", Kind: wire.EndpointLocal, Of: "vector_stores"},
	{Path: "/v1/videos", Kind: wire.EndpointLocal, Of: "videos"},
	{Path: "/v1/videos/{...}", Kind: wire.EndpointLocal, Of: "videos"},
}
