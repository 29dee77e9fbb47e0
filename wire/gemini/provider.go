package gemini

import (
	"net/url"
	"strings"

	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/gemini/interactions"
)

// Provider is Google, and all servers with its API.
var Provider = &wire.Provider{
	Name: "gemini", Codecs: []wire.Codec{GenerateContent, interactions.Codec}, Endpoints: endpoints,
	Carriers: []wire.Carrier{{Type: "application/json", First: '[', Asked: func(query url.Values) bool { return query.Get("alt") != "sse" }, Begin: func(wire.Settings) wire.Carriage { return &array{} }}},
	Batch:    &wire.Batch{Reply: "response", Codecs: []wire.BatchCodec{{Has: "candidates", Codec: GenerateContent}}},
	Models:   models, Counts: tokenCounts,
	KeyHeader: "X-Goog-Api-Key", KeyPath: "/v1beta/models/", KeyInURL: true, ReadPath: readPath,
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
	of := func(kind wire.EndpointKind, name string, paths ...string) {
		for _, path := range paths {
			list = append(list, wire.Endpoint{Path: path, Kind: kind, Codec: GenerateContent, Of: name})
		}
	}
	for _, models := range modelPaths {
		add("POST", models+"{}:"+wholeVerb, wire.EndpointReplies)
		add("POST", models+"{}:"+streamVerb, wire.EndpointReplies)
		list = append(list, wire.Endpoint{Methods: "POST", Path: models + "{}:" + countVerb, Kind: wire.EndpointHarmless, Codec: GenerateContent, Counts: true})
		add("POST", models+"{}:embedContent", wire.EndpointHarmless)
		add("POST", models+"{}:batchEmbedContents", wire.EndpointHarmless)
		list = append(list, wire.Endpoint{Methods: "POST", Path: models + "{}:batchGenerateContent", Kind: wire.EndpointUnread, Codec: GenerateContent, Of: "batches"})
		add("POST", models+"{}:{}", wire.EndpointUnread) // rawPredict …
	}
	add("POST", "/endpoints/{}:{}", wire.EndpointUnread)
	add("GET", "/v1beta/models", wire.EndpointHarmless)
	add("GET", "/v1beta/models/{}", wire.EndpointHarmless)
	of(wire.EndpointUnread, "batches", "/v1beta/batches", "/v1beta/batches/{}:{}", "/v1beta/batches/{...}")
	of(wire.EndpointUnread, "files", "/v1beta/files/{}:{}", "/v1beta/files/{...}")
	for _, version := range []string{"/v1beta", "/v1", "/v1alpha"} {
		list = append(list, wire.Endpoint{Methods: "POST", Path: version + "/interactions", Kind: wire.EndpointReplies, Codec: interactions.Codec})
		list = append(list, wire.Endpoint{Path: version + "/interactions/{...}", Kind: wire.EndpointUnread, Codec: interactions.Codec, Of: "interactions"})
	}
	of(wire.EndpointUnread, "operations", "/v1beta/operations/{...}", "/v1beta/models/{}/operations/{...}")
	of(wire.EndpointLocal, "files", "/v1beta/files", "/upload/v1beta/files")
	of(wire.EndpointLocal, "cachedContents", "/v1beta/cachedContents", "/v1beta/cachedContents/{...}")
	add("", "/ws/{...}", wire.EndpointUnread) // BidiGenerateContent
	return list
}()
