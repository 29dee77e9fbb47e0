package anthropic

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// https://docs.anthropic.com/en/api/models-list
var models = &wire.Models{
	Path: "/v1/models?limit=1000", Lists: []string{"/v1/models", "/models"}, One: []string{"/v1/models/{...}"},
	Asked: func(h http.Header) bool { return h.Get("Anthropic-Version") != "" },
	Read: func(list []byte) (models []wire.Model) {
		for _, entry := range jsonedit.Parse(list).Get("data").Array() {
			m := wire.Model{Name: entry.Get("id").Str, Title: entry.Get("display_name").Str, Context: entry.Get("max_input_tokens").Int()}
			m.Pictures, m.Thinking = ability(entry, "image_input"), ability(entry, "thinking")
			m.Created, _ = time.Parse(time.RFC3339, entry.Get("created_at").Str)
			models = append(models, m)
		}
		return models
	},
	Write: func(list []wire.Model) []byte {
		all := listOfModels{Data: make([]listedModel, len(list))}
		for i, m := range list {
			all.Data[i] = listed(m)
		}
		if n := len(list); n > 0 {
			all.First, all.Last = &list[0].Name, &list[n-1].Name
		}
		b, _ := json.Marshal(all) // texts and times
		return b
	},
	WriteOne: func(m wire.Model) []byte {
		b, _ := json.Marshal(listed(m))
		return b
	},
}

// ability reads one of a model's capabilities.
func ability(entry gjson.Result, name string) wire.Ability {
	if of := entry.Get("capabilities." + name + ".supported"); of.IsBool() {
		return wire.Able(of.Bool())
	}
	return wire.AbilityUnsaid
}

type listOfModels struct {
	Data  []listedModel `json:"data"`
	More  bool          `json:"has_more"`
	First *string       `json:"first_id"`
	Last  *string       `json:"last_id"`
}

type listedModel struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Title   string `json:"display_name"`
	Created string `json:"created_at"`
}

// listed describes a model. Where its date is not known, the API says the epoch.
func listed(m wire.Model) listedModel {
	at := time.Unix(0, 0)
	if !m.Created.IsZero() {
		at = m.Created
	}
	title := m.Title
	if title == "" {
		title = m.Name
	}
	return listedModel{"model", m.Name, title, at.UTC().Format(time.RFC3339)}
}

// https://docs.anthropic.com/en/api/messages-count-tokens
var counts = []wire.Count{{
	Codec:   Messages,
	Request: func(body []byte) ([]byte, error) { return body, nil },
	Reply: func(tokens int64) []byte {
		return append(strconv.AppendInt([]byte(`{"input_tokens":`), tokens, 10), '}')
	},
	Ask: func(send wire.Send, model string, body []byte) (int64, bool) {
		name, _ := json.Marshal(model)
		q := append([]byte(`{"model":`), name...)
		q = append(jsonedit.Pick(q, body, "messages", "system", "tools", "tool_choice", "thinking"), '}')
		n := jsonedit.Parse(send("/v1/messages/count_tokens", q)).Get("input_tokens")
		return n.Int(), n.Type == gjson.Number
	},
}}
