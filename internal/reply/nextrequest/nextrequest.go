// Package nextrequest decides what a client without a gateway sends back of a model's earlier
// reasoning, by the table that the gateway has.
package nextrequest

//go:generate go test -run ^TestTable$ . -update

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/wire/providers"
)

// maxBytes is the longest body of a request.
const maxBytes = 64 << 20

// Body returns the body of a request as it should go to the model that it names: without the
// reasoning that its family does not need back, and with what the provider requires. The API is
// one of those of [providers.APIs], such as chat or messages; if it is empty, chat. Every byte
// that need not change stays. It may return body itself.
func Body(api string, body []byte) ([]byte, error) {
	if api == "" {
		api = "chat"
	}
	codec, ok := providers.Named(api)
	if !ok {
		return nil, fmt.Errorf("unknown API %q: want %s", api, strings.Join(names(), ", "))
	}
	if len(body) > maxBytes {
		return nil, fmt.Errorf("the request has %d bytes: the most are %d", len(body), maxBytes)
	}
	root, err := foreignjson.Parse(body)
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	request, err := codec.Request(body)
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	// Gemini and Bedrock have the model in the path. Their SDKs take it beside what becomes the body.
	for _, member := range []string{"model", "modelId"} {
		if request.Model == "" {
			request.Model = root.Get(member).Str
		}
	}
	plan := history.PlanFor(request, history.Auto, history.Knowledge{}, codec)
	if !plan.Changed() {
		return body, nil
	}
	return codec.Edit(nil, body, plan.Changes)
}

func names() []string {
	var list []string
	for _, a := range providers.APIs() {
		list = append(list, a.Name)
	}
	slices.Sort(list)
	return list
}
