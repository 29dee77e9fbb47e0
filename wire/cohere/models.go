package cohere

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// https://docs.cohere.com/reference/list-models
var models = &wire.Models{
	Path: "/v1/models?page_size=1000&endpoint=chat", Lists: []string{"/v1/models"}, One: []string{"/v1/models/{...}"},
	Asked: func(h http.Header) bool { return strings.Contains(h.Get("X-Fern-Sdk-Name"), "cohere") },
	Read: func(list []byte) (models []wire.Model) {
		for _, entry := range jsonedit.Parse(list).Get("models").Array() {
			m := wire.Model{Name: entry.Get("name").Str, Context: entry.Get("context_length").Int()}
			m.Tools, m.Pictures, m.Thinking = abilities(entry)
			models = append(models, m)
		}
		return models
	},
	Write: func(list []wire.Model) []byte {
		all := make([]listedModel, len(list))
		for i, m := range list {
			all[i] = listed(m)
		}
		b, _ := json.Marshal(map[string]any{"models": all}) // texts and numbers
		return b
	},
	WriteOne: func(m wire.Model) []byte {
		b, _ := json.Marshal(listed(m))
		return b
	},
}

// abilities reads what a model's features say. A list of features that has none is of a
// model of which nothing is said.
func abilities(entry gjson.Result) (tools, pictures, thinking wire.Ability) {
	if vision := entry.Get("supports_vision"); vision.IsBool() {
		pictures = wire.Able(vision.Bool())
	}
	features := entry.Get("features").Array()
	if len(features) > 0 {
		tools = wire.AbilityLacks
	}
	for _, f := range features {
		switch f.Str {
		case "tools":
			tools = wire.AbilityHas
		case "vision":
			pictures = wire.AbilityHas
		case "reasoning":
			thinking = wire.AbilityHas
		}
	}
	return tools, pictures, thinking
}

type listedModel struct {
	Name      string   `json:"name"`
	Endpoints []string `json:"endpoints"`
	Context   int64    `json:"context_length,omitempty"`
}

func listed(m wire.Model) listedModel { return listedModel{m.Name, []string{"chat"}, m.Context} }
