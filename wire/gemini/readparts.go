package gemini

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire/turn"
)

// The members that say what a part is, beside its text.
const (
	callMember       = "functionCall"
	resultMember     = "functionResponse"
	inlineMember     = "inlineData"
	fileMember       = "fileData"
	resolutionMember = "mediaResolution"
)

// readTurnContent reads a content. The results of tools stand in the user's; one of nothing else
// is a tool's message.
func readTurnContent(v gjson.Result, path string) turn.Message {
	f := turn.FieldsOf(v)
	m := turn.Message{Role: turn.User}
	system := path == "systemInstruction"
	if role := f.Peek("role"); role.Type == gjson.String && !system { // there the API does not read it
		switch role.Str {
		case "user", "":
			f.Take("role")
		case "model":
			f.Take("role")
			m.Role = turn.Assistant
		}
	}
	if list := f.Peek("parts"); isFilled(list) {
		f.Take("parts")
		for i, v := range contents(list) {
			m.Parts = append(m.Parts, readTurnPart(v, fmt.Sprintf("%s.parts[%d]", path, i)))
		}
	}
	m.Extra = f.Rest(apiName, path)
	m.Extra.Empty("parts")
	isResult := func(p turn.Part) bool { return p.Kind == turn.Result }
	if m.Role == turn.User && len(m.Parts) > 0 && !slices.ContainsFunc(m.Parts, func(p turn.Part) bool { return !isResult(p) }) {
		m.Role = turn.ToolRole
		m.Extra.Same("role", `"function"`) // the older name of the role
	}
	if system {
		m.Extra.Same("role", "")
	}
	return m
}

func readTurnPart(v gjson.Result, path string) turn.Part {
	f := turn.FieldsOf(v)
	thinks := f.Peek(thoughtMember).Type == gjson.True
	signature := f.Peek(signatureMember)
	var p turn.Part
	nested := ""
	var inside turn.Extra
	switch text := f.Peek("text"); {
	case f.Peek(callMember).IsObject():
		p, inside = readTurnCall(f.Take(callMember))
		nested = callMember
	case f.Peek(resultMember).IsObject():
		p, inside = readTurnResult(f.Take(resultMember), path+"."+resultMember)
		nested = resultMember
	case text.Type == gjson.String && thinks:
		f.Take(thoughtMember)
		p = turn.Part{Kind: turn.Thought, Name: thoughtMember, Text: f.Text("text")}
	case text.Type == gjson.String:
		p.Text = f.Text("text")
	case signature.Type == gjson.String && signature.Str != "" && turn.HasOnly(v, signatureMember):
		// A client has left out the empty text that a signature comes with.
		p = turn.Part{Kind: turn.Thought, Name: signatureMember}
	case thinks: // a picture that it thought of
		return readOther(v, path)
	default:
		return readTurnMedia(v, path)
	}
	p.Signature = f.Text(signatureMember)
	p.Extra = f.Rest(apiName, path)
	p.Extra.Nest(nested, inside)
	p.Extra.Same(thoughtMember, "false")
	return p
}

// readOther reads a part that only this API has.
func readOther(v gjson.Result, path string) turn.Part {
	return turn.Part{Kind: turn.Other, Extra: turn.Extra{API: apiName, Path: path, Whole: v.Raw}}
}

func readTurnCall(v gjson.Result) (p turn.Part, left turn.Extra) {
	f := turn.FieldsOf(v)
	p = turn.Part{Kind: turn.Call, ID: f.Text("id"), Name: f.Text("name")}
	if f.Peek("args").IsObject() {
		p.Arguments = f.Take("args").Raw
	}
	return p, f.Rest(apiName, "")
}

// readTurnMedia reads data, or a file.
func readTurnMedia(v gjson.Result, path string) turn.Part {
	f := turn.FieldsOf(v)
	var p turn.Part
	var in *turn.Fields
	nested := ""
	switch data, file := f.Peek(inlineMember), f.Peek(fileMember); {
	case isText(data.Get("data")):
		nested, in = inlineMember, turn.FieldsOf(f.Take(inlineMember))
		p.Media.Data = in.Text("data")
	case isText(chatjson.Either(file, "fileUri")):
		nested, in = fileMember, turn.FieldsOf(f.Take(fileMember))
		p.Media.URL = in.Text("fileUri")
	}
	if p.Media == (turn.Media{}) {
		return readOther(v, path)
	}
	p.Media.Type, p.Media.Name = in.Text("mimeType"), in.Text("displayName")
	p.Kind = kindOfMedia(p.Media.Type)
	p.Media.Detail = takeDetail(f)
	p.Signature = f.Text(signatureMember)
	p.Extra = f.Rest(apiName, path)
	p.Extra.Nest(nested, in.Rest(apiName, ""))
	p.Extra.Same(thoughtMember, "false")
	return p
}

func isText(v gjson.Result) bool { return v.Type == gjson.String && v.Str != "" }

func kindOfMedia(mime string) turn.Kind {
	switch {
	case strings.HasPrefix(mime, "image/"):
		return turn.Image
	case strings.HasPrefix(mime, "audio/"):
		return turn.Audio
	case strings.HasPrefix(mime, "video/"):
		return turn.Video
	}
	return turn.File
}

// details are how closely an image is looked at, in the API's words.
var details = map[string]string{"MEDIA_RESOLUTION_LOW": "low", "MEDIA_RESOLUTION_HIGH": "high"}

func takeDetail(f *turn.Fields) string {
	v := f.Peek(resolutionMember)
	detail := details[v.Get("level").Str]
	if detail != "" && turn.HasOnly(v, "level") {
		f.Take(resolutionMember)
		return detail
	}
	return ""
}

// readTurnResult reads what a tool answered. Its parts are media; the answer itself is an object.
func readTurnResult(v gjson.Result, path string) (p turn.Part, left turn.Extra) {
	f := turn.FieldsOf(v)
	p = turn.Part{Kind: turn.Result, ID: f.Text("id"), Name: f.Text("name")}
	if v := f.Peek("response"); v.IsObject() {
		f.Take("response")
		p.Failed, p.Results = readResponse(v)
	}
	if list := f.Peek("parts"); isFilled(list) {
		f.Take("parts")
		for i, v := range contents(list) {
			p.Results = append(p.Results, readTurnMedia(v, fmt.Sprintf("%s.parts[%d]", path, i)))
		}
	}
	left = f.Rest(apiName, path)
	left.Empty("parts")
	return p, left
}

// The members of a response in which the API expects what a tool has said, or its error. A response without
// them is the answer itself.
const (
	outputMember = "output"
	errorMember  = "error"
)

// readResponse reads a response as texts. One in output or error alone is that text, and a list of
// texts there is as many. Any other is a text of JSON.
func readResponse(v gjson.Result) (failed bool, results []turn.Part) {
	members := jsonedit.Members(v)
	if len(members) == 0 {
		return false, nil
	}
	if key, texts := saidIn(members); texts != nil && (key == errorMember || len(texts) > 1 || isWrapped(texts[0])) {
		for _, text := range texts {
			results = append(results, turn.Part{Text: text})
		}
		return key == errorMember, results
	}
	return false, []turn.Part{{Text: v.Raw}}
}

// saidIn returns the texts of an object whose only member is output or error, if that is a text or a
// list of several.
func saidIn(members []jsonedit.Member) (key string, texts []string) {
	if len(members) != 1 || members[0].Key != outputMember && members[0].Key != errorMember {
		return "", nil
	}
	switch v := members[0].Value; {
	case v.Type == gjson.String:
		texts = []string{valueText(v)}
	case v.IsArray():
		if texts = turn.TextsOf(v); len(texts) < 2 {
			return "", nil
		}
	}
	return members[0].Key, texts
}

// isWrapped reports whether a tool's text is written in output. One that is a JSON object is the response
// itself, unless [readResponse] would take that object for another text.
func isWrapped(text string) bool {
	for {
		v, ok := objectOf(text)
		if !ok {
			return true
		}
		members := jsonedit.Members(v)
		key, texts := saidIn(members)
		switch {
		case texts == nil:
			return len(members) == 0
		case key == errorMember || len(texts) > 1:
			return true
		}
		text = texts[0] // shorter than the one it was in
	}
}

// objectOf returns a text as a JSON object.
func objectOf(text string) (v gjson.Result, ok bool) {
	if !strings.HasPrefix(text, "{") || !strings.HasSuffix(text, "}") {
		return v, false
	}
	v, err := foreignjson.Parse(jsonedit.BytesOf(text))
	return v, err == nil
}
