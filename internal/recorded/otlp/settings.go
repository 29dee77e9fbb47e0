package otlp

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/sotto-llm/sotto/record"
)

// A setting is an attribute for a parameter of a request.
type setting struct {
	attribute string
	whole     bool // a whole number
}

// settings are the attributes of the conventions, by the names that the APIs have for
// the parameters.
var settings = map[string]setting{
	"temperature": {"gen_ai.request.temperature", false}, "top_p": {"gen_ai.request.top_p", false}, "top_k": {"gen_ai.request.top_k", false},
	"frequency_penalty": {"gen_ai.request.frequency_penalty", false}, "presence_penalty": {"gen_ai.request.presence_penalty", false},
	"max_tokens": {maxTokens, true}, "max_completion_tokens": {maxTokens, true}, "max_output_tokens": {maxTokens, true}, "num_predict": {maxTokens, true},
	"seed": {"gen_ai.request.seed", true}, "n": {"gen_ai.request.choice.count", true},
}

// settingNames are the names of the parameters, the same in every export.
var settingNames = slices.Sorted(maps.Keys(settings))

const (
	maxTokens     = "gen_ai.request.max_tokens"
	stopSequences = "gen_ai.request.stop_sequences"
)

// first sets when the first thought and the first answer came. What came first of all
// is the first chunk.
func (c *modelCall) first(a *attributes) {
	chunk := c.thought
	if chunk == 0 || c.answer > 0 && c.answer < chunk {
		chunk = c.answer
	}
	for _, x := range []struct {
		key string
		ms  int64
	}{{GenAIFirstChunk, chunk}, {"sotto.reply.time_to_first_thought", c.thought}, {"sotto.reply.time_to_first_answer", c.answer}} {
		if x.ms > 0 {
			a.double(x.key, float64(x.ms)/1000)
		}
	}
}

// settings sets the parameters for which the conventions have an attribute. Ollama
// has some of them in its options.
func (c *modelCall) settings(a *attributes) {
	members := map[string]json.RawMessage{}
	if !c.parameters.Whole() || json.Unmarshal([]byte(c.parameters.Text), &members) != nil {
		return
	}
	var options map[string]json.RawMessage
	if json.Unmarshal(members["options"], &options) == nil {
		for name, value := range options {
			members[name] = value
		}
	}
	set := map[string]bool{}
	for _, name := range settingNames {
		s := settings[name]
		var f float64
		if set[s.attribute] || json.Unmarshal(members[name], &f) != nil {
			continue
		}
		set[s.attribute] = true
		if s.whole {
			a.number(s.attribute, int64(f))
		} else {
			a.double(s.attribute, f)
		}
	}
	for _, name := range []string{"stop", "stop_sequences"} {
		var list []string
		var one string
		if json.Unmarshal(members[name], &one) == nil && one != "" {
			list = []string{one}
		} else {
			_ = json.Unmarshal(members[name], &list)
		}
		a.texts(stopSequences, list)
	}
}

// A toolDefinition is a tool by the conventions' schema gen-ai-tool-definitions.json.
type toolDefinition struct {
	Type       string          `json:"type"`
	Name       string          `json:"name"`
	Definition json.RawMessage `json:"sotto.definition,omitempty"` // as the request has it
}

func toolDefinitions(list []record.Tool) []toolDefinition {
	var out []toolDefinition
	for _, t := range list {
		d := toolDefinition{Type: "function", Name: t.Name}
		if t.Definition.Whole() && json.Valid([]byte(t.Definition.Text)) {
			d.Definition = json.RawMessage(t.Definition.Text)
		}
		out = append(out, d)
	}
	return out
}
