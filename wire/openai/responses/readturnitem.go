package responses

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire/turn"
)

// wholeItem is the Name of a part that is an item, whole in its extra. A part of the same
// kind without that name is a part of a message's content.
const wholeItem = "item"

// The roles that a message has here.
var itemRoles = map[string]turn.Role{"system": turn.System, "developer": turn.Developer, "user": turn.User, "assistant": turn.Assistant}

// turnItem reads an item of the input. One of another kind, or without what its kind needs, is
// whole.
func turnItem(v gjson.Result, path string) turn.Message {
	f := turn.FieldsOf(v)
	kind := f.Peek("type")
	ok := v.IsObject()
	m := turn.Message{Role: turn.Assistant, Item: true}
	switch {
	case !ok:
	case kind.Str == "message", kind.Type == gjson.Null && f.Peek("role").Exists():
		ok = readMessage(&m, f, path)
	case kind.Str == "reasoning", kind.Str == "item_reference" && strings.HasPrefix(f.Peek("id").Str, thoughtPrefix):
		m.Parts = []turn.Part{readThought(v, f, path)}
	case kind.Str == pictureItem:
		ok = readPicture(&m, v, path)
	case kind.Str == "function_call", kind.Str == "custom_tool_call":
		ok = readCall(&m, f, path)
	case kind.Str == "function_call_output", kind.Str == "custom_tool_call_output":
		ok = readResult(&m, v, f, path)
	default:
		ok = false
	}
	if !ok {
		m = turn.Message{Role: turn.Assistant, Item: true, Parts: []turn.Part{wholePart(v, path)}}
		m.Parts[0].Name = wholeItem
		if strings.HasSuffix(kind.Str, "_output") || strings.HasSuffix(kind.Str, "_response") {
			m.Role = turn.ToolRole
		}
	}
	return m
}

func wholePart(v gjson.Result, path string) turn.Part {
	return turn.Part{Kind: turn.Other, Extra: turn.Extra{API: apiName, Path: path, Whole: v.Raw}}
}

func readMessage(m *turn.Message, f *turn.Fields, path string) bool {
	role, known := itemRoles[f.Text("role")]
	content := f.Peek("content")
	if !known || content.Type != gjson.String && !content.IsArray() {
		return false
	}
	m.Role = role
	if content.Type == gjson.String {
		m.Parts = []turn.Part{{Text: f.Text("content")}}
	} else {
		f.Take("content")
		m.Parts = turnParts(content, path+".content", role)
	}
	f.Take("type")
	m.Extra = f.Rest(apiName, path, "id", "status", "phase")
	return true
}

// thoughtPrefix begins the ids of reasoning items. A program that leaves it to the provider to keep
// them refers to them by these.
const thoughtPrefix = "rs_"

// readThought reads a reasoning item, which is kept as it came too: the provider knows it by
// its id, and its texts may stand in several parts.
func readThought(v gjson.Result, f *turn.Fields, path string) turn.Part {
	p := turn.Part{Kind: turn.Thought, Name: "reasoning", ID: someText(f, "id"), Sealed: someText(f, "encrypted_content")}
	f.Take("type")
	for _, list := range []string{"content", "summary"} {
		var texts []string
		for _, m := range jsonedit.Members(f.Take(list, gjson.JSON)) {
			if text := turn.FieldsOf(m.Value).Text("text"); text != "" {
				texts = append(texts, text)
			}
		}
		if p.Text == "" && len(texts) > 0 {
			p.Text, p.Summary = strings.Join(texts, "\n\n"), list == "summary"
		}
	}
	p.Extra = f.Rest(apiName, path, "status")
	p.Extra.Whole = v.Raw
	return p
}

func readCall(m *turn.Message, f *turn.Fields, path string) bool {
	p := turn.Part{
		Kind: turn.Call, Free: f.Text("type") == "custom_tool_call", ID: someText(f, "call_id"),
		Name: someText(f, "name"), Space: someText(f, "namespace"),
	}
	arguments := "arguments"
	if p.Free {
		arguments = "input"
	}
	if p.ID == "" || p.Name == "" || f.Peek(arguments).Type != gjson.String {
		return false
	}
	p.Arguments = f.Text(arguments)
	p.Extra = f.Rest(apiName, path, "id", "status", "parsed_arguments")
	m.Parts = []turn.Part{p}
	return true
}

// readResult reads what a tool gave. The API's word for a tool that failed is a result that
// is incomplete.
func readResult(m *turn.Message, v gjson.Result, f *turn.Fields, path string) bool {
	p := turn.Part{Kind: turn.Result, Free: f.Text("type") == "custom_tool_call_output", ID: someText(f, "call_id")}
	output := f.Peek("output")
	if p.ID == "" || output.Type != gjson.String && !output.IsArray() {
		return false
	}
	if f.Peek("status").Str == failedResult {
		p.Failed = true
		f.Take("status")
	}
	whole := ""
	if output.Type == gjson.String {
		p.Results = []turn.Part{{Text: f.Text("output")}}
	} else if p.Results = turnParts(f.Take("output"), path+".output", turn.ToolRole); len(p.Results) == 0 {
		whole = v.Raw // an empty list, and not an empty text
	}
	p.Extra = f.Rest(apiName, path, "id", "status")
	p.Extra.Whole = whole
	m.Role, m.Parts = turn.ToolRole, []turn.Part{p}
	return true
}

// failedResult is the status of a result of a tool that failed.
const failedResult = "incomplete"

func turnParts(list gjson.Result, path string, role turn.Role) (parts []turn.Part) {
	for i, m := range jsonedit.Members(list) {
		parts = append(parts, turnPart(m.Value, element(path, i), role))
	}
	return parts
}

// turnPart reads a part of a message of a role, or of a tool's result.
func turnPart(v gjson.Result, path string, role turn.Role) turn.Part {
	if !v.IsObject() {
		return wholePart(v, path)
	}
	f := turn.FieldsOf(v)
	var p turn.Part
	ok, whole := false, ""
	switch kind := f.Text("type"); kind {
	case "input_text", "output_text", "text":
		ok = f.Peek("text").Type == gjson.String
		p.Text = f.Text("text")
		if kind != textType(role) {
			whole = v.Raw // the same text in other words
		}
	case "refusal":
		ok = role == turn.Assistant && f.Peek("refusal").Type == gjson.String
		p = turn.Part{Kind: turn.Refusal, Text: f.Text("refusal")}
	case "input_image":
		p.Kind = turn.Image
		ok = role != turn.Assistant && readImage(&p.Media, f)
	case "input_file":
		p.Kind = turn.File
		ok = role != turn.Assistant && readFile(&p.Media, f)
	case "input_audio":
		p.Kind = turn.Audio
		ok = (role == turn.User || role == turn.System || role == turn.Developer) && readAudio(&p.Media, f)
	}
	if !ok {
		return wholePart(v, path)
	}
	p.Extra = f.Rest(apiName, path, "annotations", "logprobs", "parsed", "prompt_cache_breakpoint")
	p.Extra.Whole = whole
	return p
}

// textType is the type of a text in a message of a role.
func textType(role turn.Role) string {
	if role == turn.Assistant {
		return "output_text"
	}
	return "input_text"
}

func readImage(m *turn.Media, f *turn.Fields) bool {
	m.URL, m.ID = someText(f, "image_url"), someText(f, "file_id")
	if kind, data, ok := fromDataURL(m.URL); ok {
		m.Type, m.Data, m.URL = kind, data, ""
	}
	m.Detail = someText(f, "detail")
	return m.Data != "" || m.URL != "" || m.ID != ""
}

// readFile reads a file, whose data are a data URL or base64 alone.
func readFile(m *turn.Media, f *turn.Fields) bool {
	m.Data, m.URL, m.ID = someText(f, "file_data"), someText(f, "file_url"), someText(f, "file_id")
	m.Name, m.Detail = someText(f, "filename"), someText(f, "detail")
	if kind, data, ok := fromDataURL(m.Data); ok {
		m.Type, m.Data = kind, data
	} else if strings.HasPrefix(m.Data, "data:") {
		return false
	}
	return m.Data != "" || m.URL != "" || m.ID != ""
}

func readAudio(m *turn.Media, f *turn.Fields) bool {
	v := f.Take("input_audio", gjson.JSON)
	if !v.IsObject() {
		return false
	}
	of := turn.FieldsOf(v)
	m.Data = someText(of, "data")
	format := someText(of, "format")
	m.Type = "audio/" + format
	if format == "mp3" {
		m.Type = "audio/mpeg"
	}
	return m.Data != "" && format != "" && audioFormat(m.Type) == format && len(of.Rest(apiName, "").Members) == 0
}

// audioFormat is the API's word for a type of sound.
func audioFormat(kind string) string {
	format := strings.TrimPrefix(kind, "audio/")
	switch format {
	case "mpeg":
		return "mp3"
	case "x-wav", "wave":
		return "wav"
	}
	return format
}

// fromDataURL returns the type and the base64 of a data URL.
func fromDataURL(url string) (kind, data string, ok bool) {
	rest, is := strings.CutPrefix(url, "data:")
	kind, data, ok = strings.Cut(rest, ";base64,")
	return kind, data, is && ok && kind != "" && data != ""
}

// someText takes a string that is not empty. An empty one stays in the extra, because a writer
// would not know of it.
func someText(f *turn.Fields, name string) string {
	if v := f.Peek(name); v.Type != gjson.Null && v.Str == "" {
		return ""
	}
	return f.Text(name)
}

// numberOf takes a number.
func numberOf(f *turn.Fields, name string) json.Number { return json.Number(f.Number(name)) }

// A memberNumber is a number and its member.
type memberNumber struct {
	member string
	number *json.Number
}

// numbersOf has the numbers of a sampling that the API has.
func numbersOf(s *turn.Sampling) []memberNumber {
	return []memberNumber{
		{"temperature", &s.Temperature}, {"top_p", &s.TopP},
		{"presence_penalty", &s.PresencePenalty}, {"frequency_penalty", &s.FrequencyPenalty},
	}
}

// element is the path of an element of a list.
func element(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }
