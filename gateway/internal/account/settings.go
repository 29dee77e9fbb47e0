package account

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/record"
)

const (
	maxParameters  = 64 << 10 // bytes of the parameters of a request
	maxDefinitions = 64 << 10 // bytes of the definitions of its tools
	maxTools       = 1024
)

// parameters are the members of requests that set how the model works and that may
// hold more than a number: the sampler, the effort, the form of the reply, and what
// servers add to them. A number or a truth value is a parameter under any name.
var parameters = []string{
	"stop", "stop_sequences", "logit_bias", "reasoning", "reasoning_effort", "thinking", "think", "prompt_mode", "verbosity", "output_config",
	"response_format", "text", "format", "options", "keep_alive", "tool_choice", "function_call", "stream_options", "modalities",
	"service_tier", "truncation", "include", "chat_template_kwargs", "provider", "guided_json", "guided_regex", "guided_choice",
	"guided_grammar", "grammar", "json_schema", "structured_outputs", "reasoning_format", "context_management", "betas",
	"generationConfig", "toolConfig", "safetySettings", "generation_config", "tool_config", "safety_settings",
	"inferenceConfig", "additionalModelRequestFields", "outputConfig", "performanceConfig", "serviceTier", "guardrailConfig",
}

// Settings returns how a request sets the model, as a JSON object, and the tools that
// it offers.
func Settings(body []byte, room *Room) (set record.Content, tools []record.Tool) {
	if !foreignjson.Valid(body) {
		return set, nil
	}
	var object []byte
	jsonedit.Parse(body).ForEach(func(name, v gjson.Result) bool {
		switch {
		case name.Str == "tools" || name.Str == "functions":
			tools = append(tools, definitions(v, room)...)
		case name.Str == "toolConfig" && v.Get("tools").IsArray(): // Amazon Bedrock's
			tools = append(tools, definitions(v.Get("tools"), room)...)
		case isParameter(name.Str, v):
			object = addMember(object, name.Raw, v.Raw, room)
		}
		return true
	})
	if object != nil {
		set = record.Say(string(append(object, '}')))
	}
	return set, tools
}

func isParameter(name string, v gjson.Result) bool {
	switch v.Type {
	case gjson.Number, gjson.True, gjson.False:
		return name != "stream" && !idMembers[name]
	case gjson.String, gjson.JSON:
		return slices.Contains(parameters, name)
	}
	return false
}

// addMember adds a member to an object that is not closed yet, if there is room.
func addMember(object []byte, name, value string, room *Room) []byte {
	size := len(name) + len(value) + 2
	if len(object)+size > maxParameters || size > room.Left {
		room.Cut = true
		return object
	}
	room.Left -= size
	if object == nil {
		object = append(object, '{')
	} else {
		object = append(object, ',')
	}
	return append(append(append(object, name...), ':'), value...)
}

// definitions returns the tools of a list. If their definitions are longer than the
// limit, those that do not fit are replaced by their digests.
func definitions(list gjson.Result, room *Room) (tools []record.Tool) {
	if !list.IsArray() {
		return nil
	}
	left := maxDefinitions
	list.ForEach(func(_, v gjson.Result) bool {
		if inner := v.Get("functionDeclarations"); inner.IsArray() { // a tool of Google's has several
			tools = append(tools, definitions(inner, room)...)
			return true
		}
		if len(tools) == maxTools || !room.Entry() {
			room.Cut = true
			return false
		}
		t := record.Tool{Name: strings.Clone(room.bounded(toolName(v)))}
		if n := len(v.Raw); n <= left && n <= room.Left {
			left -= n
			t.Definition = record.Say(strings.Clone(room.bounded(v.Raw)))
		} else {
			t.Digest = record.DigestOf(v.Raw).String()
		}
		tools = append(tools, t)
		return true
	})
	return tools
}

// toolName returns the name of a tool, which is in one of two places; a tool of the
// provider's own may have only a type.
func toolName(v gjson.Result) string {
	for _, path := range []string{"function.name", "toolSpec.name", "name", "type"} {
		if name := v.Get(path); name.Type == gjson.String && name.Str != "" {
			return name.Str
		}
	}
	return ""
}
