// Bifrost serves chat completions with the core of Bifrost, a gateway that decodes
// and re-encodes every frame; and messages of Anthropic's API, by the core's own
// translation to and from chat completions. It is a rival for the load generator. It is
// a separate module, so that nothing else needs its dependencies.
//
//	go build -C load/bifrost -o /tmp/bifrost . && go run ./load -case streams -bifrost /tmp/bifrost
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	bifrost "github.com/maximhq/bifrost/core"
	"github.com/maximhq/bifrost/core/providers/anthropic"
	"github.com/maximhq/bifrost/core/schemas"
)

// An account knows one upstream, which speaks OpenAI's API.
type account struct{ upstream string }

func (account) GetConfiguredProviders() ([]schemas.ModelProvider, error) {
	return []schemas.ModelProvider{schemas.OpenAI}, nil
}

func (account) GetKeysForProvider(*context.Context, schemas.ModelProvider) ([]schemas.Key, error) {
	return []schemas.Key{{ID: "1", Name: "key", Value: "key", Weight: 1}}, nil
}

func (a account) GetConfigForProvider(schemas.ModelProvider) (*schemas.ProviderConfig, error) {
	return &schemas.ProviderConfig{
		NetworkConfig:            schemas.NetworkConfig{BaseURL: a.upstream, DefaultRequestTimeoutInSeconds: 60},
		ConcurrencyAndBufferSize: schemas.ConcurrencyAndBufferSize{Concurrency: 512, BufferSize: 1024},
	}, nil
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: bifrost UPSTREAM")
	}
	client, err := bifrost.Init(context.Background(), schemas.BifrostConfig{
		Account: account{os.Args[1]}, InitialPoolSize: 512, Logger: bifrost.NewDefaultLogger(schemas.LogLevelError),
	})
	if err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	s := &http.Server{Handler: handler{client}, ReadHeaderTimeout: 10 * time.Second}
	go func() { log.Fatal(s.Serve(l)) }()
	fmt.Println(l.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

type handler struct{ client *bifrost.Bifrost }

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/messages" {
		h.messages(w, r)
		return
	}
	var q struct {
		Model    string                `json:"model"`
		Messages []schemas.ChatMessage `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	request := &schemas.BifrostChatRequest{Provider: schemas.OpenAI, Model: q.Model, Input: q.Messages}
	h.stream(w, r, request, "data: [DONE]\n\n", func(frame *schemas.BifrostStream) (string, error) {
		data, err := json.Marshal(frame)
		return fmt.Sprintf("data: %s\n\n", data), err
	})
}

// messages serves a client of the Messages API. The core's translation of a frame does not say when a
// message begins and ends, which costs it less.
func (h handler) messages(w http.ResponseWriter, r *http.Request) {
	var q anthropic.AnthropicMessageRequest
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	request := q.ToBifrostChatRequest()
	request.Provider, request.Model = schemas.OpenAI, q.Model
	const end = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	h.stream(w, r, request, end, func(frame *schemas.BifrostStream) (string, error) {
		if frame.BifrostError != nil {
			return anthropic.ToAnthropicChatCompletionStreamError(frame.BifrostError), nil
		}
		return anthropic.ToAnthropicChatCompletionStreamResponse(frame.BifrostChatResponse), nil
	})
}

// stream asks the upstream, and writes each frame as a client gets it.
func (h handler) stream(w http.ResponseWriter, r *http.Request, request *schemas.BifrostChatRequest, end string, write func(*schemas.BifrostStream) (string, error)) {
	stream, fault := h.client.ChatCompletionStreamRequest(r.Context(), request)
	if fault != nil {
		http.Error(w, fmt.Sprint(fault.Error), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	for frame := range stream {
		text, err := write(frame)
		if err != nil {
			return // the client sees that the end is missing
		}
		if _, err := io.WriteString(w, text); err != nil {
			return
		}
		_ = control.Flush()
	}
	_, _ = io.WriteString(w, end)
}
