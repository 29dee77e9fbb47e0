package gemini

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/switches"
	"github.com/sotto-llm/sotto/wire/turn"
)

var _ turn.API = codec{}

// ReadTurn reads a request. The model and whether the reply is streamed are in its path, not here.
//
// What is below generationConfig and not read stands in the Extra of the Format, because that is in
// the same object. The API's own kind of schema is read as a JSON Schema, and kept beside it.
func (codec) ReadTurn(body []byte) (*turn.Request, error) {
	root := jsonedit.Parse(body)
	if !root.IsObject() {
		return nil, wire.ErrNoObject
	}
	q, f := &turn.Request{}, turn.FieldsOf(root)
	if v := f.Object("systemInstruction"); v.Exists() {
		m := readTurnContent(v, "systemInstruction")
		m.Role, m.Apart = turn.System, true
		q.Messages = append(q.Messages, m)
	}
	if list := takeObjects(f, "contents"); list != nil {
		for i, v := range list {
			q.Messages = append(q.Messages, readTurnContent(v, fmt.Sprintf("contents[%d]", i)))
		}
		joinable(q.Messages)
	}
	if list := f.Peek("tools"); isFilled(list) {
		f.Take("tools")
		for i, v := range contents(list) {
			q.Tools = append(q.Tools, readTurnTools(v, fmt.Sprintf("tools[%d]", i))...)
		}
	}
	readTurnConfig(q, f.Object("generationConfig"), body)
	left := readTurnChoice(&q.Choice, f.Object("toolConfig"))
	// Labels, store and the tier are for the operator of the server, and the safety settings for a filter
	// that only this provider has.
	q.Extra = f.Rest(apiName, "", "labels", "store", "serviceTier", "service_tier", "safetySettings", "safety_settings")
	q.Extra.Nest("toolConfig", left)
	q.Extra.Empty("contents", "tools", "safetySettings", "safety_settings", "systemInstruction", "system_instruction",
		"generationConfig", "generation_config", "toolConfig", "tool_config")
	q.Extra.Same("model", "") // the path says it
	return q, nil
}

// takeObjects takes a list of objects, or a single one.
func takeObjects(f *turn.Fields, name string) []gjson.Result {
	v := f.Peek(name)
	list := contents(v)
	if !isFilled(v) || slices.ContainsFunc(list, func(e gjson.Result) bool { return !e.IsObject() }) {
		return nil
	}
	f.Take(name)
	return list
}

// isFilled reports whether a value is a list with an element, or a single object in place of one.
func isFilled(v gjson.Result) bool { return v.IsObject() || v.IsArray() && !turn.Hollow(v) }

func valueText(v gjson.Result) string { return jsonedit.StringOf(chatjson.ValueText(v)) }

func readTurnConfig(q *turn.Request, v gjson.Result, body []byte) {
	f := turn.FieldsOf(v)
	number := func(name string) json.Number { return json.Number(f.Number(name)) }
	q.MaxTokens, q.Choices = number("maxOutputTokens"), number("candidateCount")
	q.Sampling = turn.Sampling{
		Temperature: number("temperature"), TopP: number("topP"), TopK: number("topK"), Seed: number("seed"),
		PresencePenalty: number("presencePenalty"), FrequencyPenalty: number("frequencyPenalty"),
	}
	q.Stop = f.Texts("stopSequences")
	q.Thinking = readTurnThinking(f, body)
	q.Format = readTurnFormat(f)
}

func readTurnFormat(f *turn.Fields) (format turn.Format) {
	own := false
	switch kind := f.Peek("responseMimeType"); {
	case kind.Type != gjson.String:
	case kind.Str == "text/plain":
		f.Take("responseMimeType")
		format.Mode = turn.PlainText
	case kind.Str == "application/json":
		f.Take("responseMimeType")
		format.Mode = turn.JSON
		if v := f.Peek("responseJsonSchema"); v.IsObject() {
			format.Mode, format.Schema = turn.Schema, f.Take("responseJsonSchema").Raw
		} else if v := f.Peek("responseSchema"); v.IsObject() {
			format.Mode, format.Schema, own = turn.Schema, jsonSchemaOf(v), true
		}
	}
	format.Extra = f.Rest(apiName, "generationConfig")
	format.Extra.Empty("stopSequences", "stop_sequences", "thinkingConfig", "thinking_config", "responseModalities", "response_modalities")
	if own {
		format.Extra.Same("responseSchema", "")
	}
	for i, m := range format.Extra.Members {
		// Whether thoughts are shown does not change them.
		if chatjson.Named(m.Key, "thinkingConfig") && turn.HasOnly(jsonedit.Parse([]byte(m.Value)), "includeThoughts") {
			format.Extra.Members[i].Aside = true
		}
	}
	return format
}

// readTurnThinking reads the switch of thinking. Members that cannot be understood, and those of
// another API, stay in the request.
func readTurnThinking(f *turn.Fields, body []byte) turn.Thinking {
	t := turn.Thinking{Extra: turn.Extra{API: apiName, Path: "generationConfig"}}
	says, members, err := switches.Find(body)
	v := f.Peek("thinkingConfig")
	if err != nil || says == (switches.Setting{}) || !turn.HasOnly(v, "thinkingBudget", "thinkingLevel", "includeThoughts") ||
		slices.ContainsFunc(members, func(name string) bool { return name != "generationConfig" }) {
		return t
	}
	f.Take("thinkingConfig")
	t.Setting = says
	t.Extra.Members = []turn.Member{{Key: "thinkingConfig", Value: v.Raw}}
	return t
}

// The modes of a choice. The names of tools go with any, as a must, and with validated, as all
// that may be called.
const (
	modeAuto, modeNone, modeAny, modeValidated = "AUTO", "NONE", "ANY", "VALIDATED"
)

// readTurnChoice reads toolConfig, and returns what else it has.
func readTurnChoice(c *turn.Choice, config gjson.Result) (left turn.Extra) {
	f := turn.FieldsOf(config)
	in := turn.FieldsOf(f.Object("functionCallingConfig"))
	mode, names := in.Peek("mode"), []string(nil)
	switch {
	case mode.Type != gjson.String:
	case mode.Str == modeAuto:
		c.Mode = turn.Auto
	case mode.Str == modeNone:
		c.Mode = turn.None
	case mode.Str == modeAny:
		c.Mode, names = turn.Required, in.Texts("allowedFunctionNames")
	case mode.Str == modeValidated:
		if names = in.Texts("allowedFunctionNames"); names != nil {
			c.Mode = turn.Auto
		}
	}
	if c.Names = names; c.Mode != "" {
		in.Take("mode")
	}
	c.Extra = in.Rest(apiName, "toolConfig.functionCallingConfig")
	c.Extra.Empty("allowedFunctionNames", "allowed_function_names")
	left = f.Rest(apiName, "toolConfig")
	left.Empty("functionCallingConfig", "function_calling_config")
	return left
}

// readTurnTools reads an element of the tools, which has functions or a tool of Google's, or both. The
// paths of the tools say which of them stood together.
func readTurnTools(v gjson.Result, path string) (tools []turn.Tool) {
	f := turn.FieldsOf(v)
	if list := f.Peek("functionDeclarations"); isFilled(list) {
		f.Take("functionDeclarations")
		for i, v := range contents(list) {
			tools = append(tools, readTurnTool(v, fmt.Sprintf("%s.%s[%d]", path, "functionDeclarations", i)))
		}
	}
	rest := f.Rest(apiName, path)
	switch {
	case tools == nil:
		tools = append(tools, turn.Tool{Extra: turn.Extra{API: apiName, Path: path, Whole: v.Raw}})
	case len(rest.Members) > 0:
		var all turn.Extra
		all.Nest("", rest)
		tools = append(tools, turn.Tool{Extra: turn.Extra{API: apiName, Path: path, Whole: all.Members[0].Value}})
	}
	return tools
}

// readTurnTool reads the declaration of a function.
func readTurnTool(v gjson.Result, path string) turn.Tool {
	f := turn.FieldsOf(v)
	t := turn.Tool{Name: f.Text("name"), Description: f.Text("description")}
	if t.Name == "" {
		return turn.Tool{Extra: turn.Extra{API: apiName, Path: path, Whole: v.Raw}}
	}
	own := false
	if v := f.Peek("parametersJsonSchema"); v.IsObject() {
		t.Schema = f.Take("parametersJsonSchema").Raw
	} else if v := f.Peek("parameters"); v.IsObject() {
		t.Schema, own = jsonSchemaOf(v), true
	}
	t.Extra = f.Rest(apiName, path)
	if own {
		t.Extra.Same("parameters", "")
	}
	return t
}

// joinable marks contents of the model that stand next to each other as items of one message: SDKs keep a
// streamed reply as its chunks.
func joinable(messages []turn.Message) {
	for i := 1; i < len(messages); i++ {
		if a, b := &messages[i-1], &messages[i]; a.Role == turn.Assistant && b.Role == turn.Assistant {
			a.Item, b.Item = true, true
		}
	}
}

// Word implements [turn.API].
func (codec) Word(f turn.Field) string { return fieldWords[f] }

var fieldWords = map[turn.Field]string{
	turn.OfChoice: "toolConfig.functionCallingConfig", turn.OfThinking: "generationConfig.thinkingConfig",
	turn.OfFormat: "generationConfig.responseMimeType", turn.OfMaxTokens: "generationConfig.maxOutputTokens",
	turn.OfStop: "generationConfig.stopSequences", turn.OfChoices: "generationConfig.candidateCount",
	turn.OfTemperature: "generationConfig.temperature", turn.OfTopP: "generationConfig.topP", turn.OfTopK: "generationConfig.topK",
	turn.OfPresence: "generationConfig.presencePenalty", turn.OfFrequency: "generationConfig.frequencyPenalty", turn.OfSeed: "generationConfig.seed",
	turn.OfDetail: resolutionMember, turn.OfFailed: resultMember + ".response." + errorMember,
}
