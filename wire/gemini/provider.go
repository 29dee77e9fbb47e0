package gemini

import (
	"strings"

	"github.com/sotto-llm/sotto/wire"
)

// Provider is Google, and all servers with its API.
var Provider = &wire.Provider{
	Name: "gemini", Codecs: []wire.Codec{GenerateContent}, Endpoints: endpoints,
	Carriers:  []wire.Carrier{{Type: "application/json", First: '[', Begin: func(wire.Settings) wire.Carriage { return &array{} }}},
	KeyHeader: "X-Goog-Api-Key", KeyPath: "/v1beta/models/", ReadPath: readPath,
}

// The verbs whose replies are read.
const (
	wholeVerb  = "generateContent"
	streamVerb = "streamGenerateContent"
)

// readPath reads the model and the verb, which are the last segment of a path:
// MODEL:VERB.
func readPath(path string, q *wire.Request) {
	last := path[strings.LastIndexByte(path, '/')+1:]
	i := strings.LastIndexByte(last, ':')
	if i < 0 {
		return
	}
	q.Model = last[:i]
	q.Stream = strings.EqualFold(last[i+1:], streamVerb)
}

// modelPaths are what stands before the name of a model, in Google's two services: the
// Gemini API, and Vertex AI with projects/…/publishers/google/models/MODEL:VERB.
var modelPaths = []string{
	"/v1beta/models/", "/v1/models/", "/v1alpha/models/", "/models/", "/v1beta/tunedModels/", "/tunedModels/",
	"/v1/projects/{...}/", "/v1/publishers/{...}/", "/v1beta1/{...}/",
}

// https://ai.google.dev/api
var endpoints = func() []wire.Endpoint {
	var list []wire.Endpoint
	add := func(methods, path string, kind wire.EndpointKind) {
		list = append(list, wire.Endpoint{Methods: methods, Path: path, Kind: kind, Codec: GenerateContent})
	}
	for _, models := range modelPaths {
		add("POST", models+"{}:"+wholeVerb, wire.EndpointReplies)
		add("POST", models+"{}:"+streamVerb, wire.EndpointReplies)
		add("POST", models+"{}:countTokens", wire.EndpointHarmless)
		add("POST", models+"{}:embedContent", wire.EndpointHarmless)
		add("POST", models+"{}:batchEmbedContents", wire.EndpointHarmless)
		add("POST", models+"{}:{}", wire.EndpointUnread) // rawPredict, batchGenerateContent …
	}
	add("POST", "/endpoints/{}:{}", wire.EndpointUnread)
	add("GET", "/v1beta/models", wire.EndpointHarmless)
	add("GET", "/v1beta/models/{}", wire.EndpointHarmless)
	add("", "/v1beta/batches", wire.EndpointUnread)
	add("", "/v1beta/batches/{...}", wire.EndpointUnread)
	add("", "/v1beta/files/{...}", wire.EndpointUnread)
	add("", "/v1beta/interactions", wire.EndpointUnread)
	add("", "/v1beta/interactions/{...}", wire.EndpointUnread)
	add("", "/ws/{...}", wire.EndpointUnread) // BidiGenerateContent
	return list
}()
