package openai

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/openai/responses"
)

// https://platform.openai.com/docs/api-reference/models
var models = &wire.Models{
	Path: "/v1/models", Lists: []string{"/v1/models", "/models"}, One: []string{"/v1/models/{...}"},
	Read: readModels,
	Write: func(list []wire.Model) []byte {
		all := listOfModels{Object: "list", Data: make([]listedModel, len(list))}
		for i, m := range list {
			all.Data[i] = listed(m)
		}
		b, _ := json.Marshal(all) // texts and numbers
		return b
	},
	WriteOne: func(m wire.Model) []byte {
		b, _ := json.Marshal(listed(m))
		return b
	},
}

type listOfModels struct {
	Object string        `json:"object"`
	Data   []listedModel `json:"data"`
}

type listedModel struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
	Context int64  `json:"context_length,omitempty"` // as many servers say it
}

func listed(m wire.Model) listedModel {
	l := listedModel{ID: m.Name, Object: "model", OwnedBy: m.Owner, Context: m.Context}
	if !m.Created.IsZero() {
		l.Created = m.Created.Unix()
	}
	return l
}

// contexts are the members in which servers say how long a model's context is.
var contexts = []string{"max_model_len", "max_context_length", "context_length", "context_window", "meta.n_ctx_train"}

func readModels(list []byte) (models []wire.Model) {
	all := jsonedit.Parse(list)
	for i, entry := range all.Get("data").Array() {
		m := wire.Model{Name: entry.Get("id").Str, Owner: entry.Get("owned_by").Str}
		if at := entry.Get("created").Int(); at > 0 {
			m.Created = time.Unix(at, 0).UTC()
		}
		m.Tools, m.Pictures, m.Thinking = abilities(entry)
		for _, member := range contexts {
			if n := entry.Get(member).Int(); n > 0 && m.Context == 0 {
				m.Context = n
			}
		}
		// llama.cpp's server repeats its only model in a second list, with words.
		if own := all.Get("models").Array(); m.Pictures == wire.AbilityUnsaid && i < len(own) && own[i].Get("model").Str == m.Name {
			m.Pictures = inList(own[i].Get("capabilities"), "multimodal")
		}
		models = append(models, m)
	}
	return models
}

// abilities reads what servers of others say of a model beside OpenAI's own members.
func abilities(entry gjson.Result) (tools, pictures, thinking wire.Ability) {
	// https://openrouter.ai/docs/api-reference/list-available-models
	tools, thinking = inList(entry.Get("supported_parameters"), "tools"), inList(entry.Get("supported_parameters"), "reasoning")
	pictures = inList(entry.Get("architecture.input_modalities"), "image")
	// https://docs.mistral.ai/api/endpoint/models
	if can := entry.Get("capabilities"); can.IsObject() {
		for _, c := range []struct {
			name string
			is   *wire.Ability
		}{{"function_calling", &tools}, {"vision", &pictures}, {"reasoning", &thinking}} {
			if v := can.Get(c.name); v.IsBool() {
				*c.is = wire.Able(v.Bool())
			}
		}
	}
	return tools, pictures, thinking
}

// inList reports whether a list of words has one. A list that is empty or missing says nothing.
func inList(list gjson.Result, word string) wire.Ability {
	words := list.Array()
	if !list.IsArray() || len(words) == 0 {
		return wire.AbilityUnsaid
	}
	return wire.Able(slices.ContainsFunc(words, func(v gjson.Result) bool { return v.Str == word }))
}

var counts = []wire.Count{
	{Codec: Chat, Ask: tokenize},
	// https://platform.openai.com/docs/api-reference/responses/input-tokens
	{
		Codec: responses.Codec, Request: func(body []byte) ([]byte, error) { return body, nil }, Reply: responses.Counted,
		Ask: func(send wire.Send, model string, body []byte) (int64, bool) {
			name, _ := json.Marshal(model)
			q := append([]byte(`{"model":`), name...)
			q = append(jsonedit.Pick(q, body, "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "text"), '}')
			n := jsonedit.Parse(send("/v1/responses/input_tokens", q)).Get("input_tokens")
			return n.Int(), n.Type == gjson.Number
		},
	},
}

// tokenize asks servers of open models: vLLM renders and counts a conversation, and llama.cpp's server
// renders it and counts the text.
func tokenize(send wire.Send, model string, body []byte) (int64, bool) {
	name, _ := json.Marshal(model)
	talk := append([]byte(`{"add_generation_prompt":true,"model":`), name...)
	talk = append(jsonedit.Pick(talk, body, "messages", "tools", "chat_template_kwargs"), '}')
	if n := jsonedit.Parse(send("/tokenize", talk)).Get("count"); n.Type == gjson.Number {
		return n.Int(), true
	}
	prompt := jsonedit.Parse(send("/apply-template", talk)).Get("prompt")
	if prompt.Type != gjson.String {
		return 0, false
	}
	tokens := jsonedit.Parse(send("/tokenize", []byte(`{"add_special":true,"parse_special":true,"content":`+prompt.Raw+`}`))).Get("tokens")
	return tokens.Get("#").Int(), tokens.IsArray()
}
