package gemini

import (
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

const namePrefix = "models/"

// https://ai.google.dev/api/models
var models = &wire.Models{
	Path: "/v1beta/models?pageSize=1000", Lists: []string{"/v1beta/models"}, One: []string{"/v1beta/models/{}"},
	Read: func(list []byte) (models []wire.Model) {
		thinking := false
		for _, entry := range jsonedit.Parse(list).Get("models").Array() {
			m := wire.Model{Name: strings.TrimPrefix(entry.Get("name").Str, namePrefix), Title: entry.Get("displayName").Str, Context: entry.Get("inputTokenLimit").Int()}
			if entry.Get("thinking").Bool() {
				m.Thinking, thinking = wire.AbilityHas, true
			}
			models = append(models, m)
		}
		for i := range models {
			if thinking && models[i].Thinking == wire.AbilityUnsaid { // what is false is left out of the list
				models[i].Thinking = wire.AbilityLacks
			}
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

type listedModel struct {
	Name    string   `json:"name"`
	Title   string   `json:"displayName"`
	Context int64    `json:"inputTokenLimit,omitempty"`
	Methods []string `json:"supportedGenerationMethods"`
}

func listed(m wire.Model) listedModel {
	title := m.Title
	if title == "" {
		title = m.Name
	}
	return listedModel{namePrefix + m.Name, title, m.Context, []string{wholeVerb, streamVerb, countVerb}}
}

const countVerb = "countTokens"

// https://ai.google.dev/api/tokens
var tokenCounts = []wire.Count{{
	Codec: GenerateContent,
	Request: func(body []byte) ([]byte, error) {
		asked := jsonedit.Parse(body)
		if whole := asked.Get("generateContentRequest"); whole.IsObject() {
			return []byte(whole.Raw), nil
		}
		if contents := asked.Get("contents"); contents.IsArray() {
			return []byte(`{"contents":` + contents.Raw + `}`), nil
		}
		return nil, errors.New("there is neither contents nor generateContentRequest")
	},
	Reply: func(tokens int64) []byte {
		return append(strconv.AppendInt([]byte(`{"totalTokens":`), tokens, 10), '}')
	},
	Ask: func(send wire.Send, model string, body []byte) (int64, bool) {
		name, _ := json.Marshal(namePrefix + model)
		whole := append(append([]byte(`{"generateContentRequest":{"model":`), name...), ',')
		whole = append(append(whole, strings.TrimPrefix(strings.TrimSpace(string(body)), "{")...), '}')
		n := jsonedit.Parse(send("/v1beta/models/"+url.PathEscape(model)+":"+countVerb, whole)).Get("totalTokens")
		return n.Int(), n.Type == gjson.Number
	},
}}
