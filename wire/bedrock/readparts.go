package bedrock

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire/internal/turns"
	"github.com/sotto-llm/sotto/wire/turn"
)

// kinds are the kinds of blocks that have a source, by their member.
var kinds = map[string]turn.Kind{"image": turn.Image, "document": turn.File, "video": turn.Video, "audio": turn.Audio}

// types has the type of each format whose name is not what follows the slash.
var types = []struct{ member, format, kind string }{
	{"document", "pdf", "application/pdf"}, {"document", "csv", "text/csv"}, {"document", "html", "text/html"},
	{"document", "txt", "text/plain"}, {"document", "md", "text/markdown"}, {"document", "doc", "application/msword"},
	{"document", "docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
	{"document", "xls", "application/vnd.ms-excel"},
	{"document", "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
	{"video", "three_gp", "video/3gpp"}, {"video", "mov", "video/quicktime"}, {"video", "mkv", "video/x-matroska"},
	{"video", "flv", "video/x-flv"}, {"video", "wmv", "video/x-ms-wmv"},
}

// typeOf returns the type of a format, or "" if there is none.
func typeOf(member, format string) string {
	for _, t := range types {
		if t.member == member && t.format == format {
			return t.kind
		}
	}
	if member == "document" || format == "" {
		return ""
	}
	kind := member + "/" + format
	if formatOf(member, kind) != format {
		return "" // it is another format's
	}
	return kind
}

// formatOf returns the format of a type, or "" if there is none.
func formatOf(member, kind string) string {
	for _, t := range types {
		if t.member == member && t.kind == kind {
			return t.format
		}
	}
	format, ok := strings.CutPrefix(kind, member+"/")
	if !ok {
		return ""
	}
	return format
}

// readParts reads a list of blocks. points are its cache points, as members named by the list
// and their place in it.
func readParts(list gjson.Result, path, name string) (parts []turn.Part, points []turn.Member) {
	for i, b := range jsonedit.Members(list) {
		if isCachePoint(b.Value) {
			points = append(points, turn.Member{Key: fmt.Sprintf("%s[%d]", name, i), Value: b.Value.Raw, Aside: true})
			continue
		}
		parts = append(parts, readPart(b.Value, fmt.Sprintf("%s[%d]", path, i), true))
	}
	return parts, points
}

// readPart reads a block. outer says that it may be a thought, a call or a result.
func readPart(v gjson.Result, path string, outer bool) turn.Part {
	whole := turn.Part{Kind: turn.Other, Extra: turns.Whole(apiName, path, v)}
	m, ok := one(v)
	if !ok {
		return whole
	}
	if m.Key == textMember && m.Value.Type == gjson.String {
		return turn.Part{Text: jsonedit.StringOf(chatjson.ValueText(m.Value)), Extra: turn.Extra{API: apiName, Path: path}}
	}
	if m.Key == "json" && !outer {
		whole.Kind, whole.Text = turn.Text, m.Value.Raw // other APIs have it as a text
		return whole
	}
	if !m.Value.IsObject() {
		return whole
	}
	path += "." + m.Key
	var p turn.Part
	switch kind, media := kinds[m.Key]; {
	case media:
		p, ok = readMedia(m.Value, path, m.Key, kind, whole.Extra)
	case !outer:
		return whole
	case m.Key == reasoningMember:
		p, ok = readReasoning(m.Value, path, whole.Extra)
	case m.Key == callMember:
		p, ok = readTurnCall(m.Value, path)
	case m.Key == resultMember:
		p, ok = readResult(m.Value, path)
	case m.Key == citationsMember:
		p, ok = readCited(m.Value, path, whole.Extra)
	default:
		return whole
	}
	if !ok {
		return whole
	}
	return p
}

// readMedia reads a block that has a source. Other APIs have no document whose source is a text:
// it stays whole, and they get its data.
func readMedia(v gjson.Result, path, member string, kind turn.Kind, whole turn.Extra) (p turn.Part, ok bool) {
	f := turn.FieldsOf(v)
	format := turns.Text(f, "format")
	source, ok := one(f.Take("source"))
	if !ok {
		return p, false
	}
	p = turn.Part{Kind: kind, Media: turn.Media{Type: typeOf(member, format)}}
	if kind == turn.File {
		p.Media.Name = turns.Text(f, "name")
	}
	p.Extra = turns.Rest(f, apiName, path)
	switch text := jsonedit.StringOf(chatjson.ValueText(source.Value)); {
	case source.Key == "bytes" && source.Value.Type == gjson.String:
		p.Media.Data = text
	case source.Key == "s3Location":
		p.Media.URL = only(source.Value, "uri").Str
	case source.Key == textMember && source.Value.Type == gjson.String && kind == turn.File:
		if format == "" {
			p.Media.Type = "text/plain"
		}
		p.Media.Data = base64.StdEncoding.EncodeToString([]byte(text))
		p.Extra.Whole = whole.Whole
	}
	return p, p.Media.Type != "" && (p.Media.Data != "" || p.Media.URL != "")
}

// readReasoning reads a block of reasoning. One that is only signed stays whole.
func readReasoning(v gjson.Result, path string, whole turn.Extra) (p turn.Part, ok bool) {
	p = turn.Part{Kind: turn.Thought, Name: reasoningMember}
	switch m, _ := one(v); {
	case m.Key == "reasoningText" && m.Value.IsObject():
		f := turn.FieldsOf(m.Value)
		p.Text, ok = turns.Required(f, "text")
		p.Signature = turns.Text(f, "signature")
		p.Extra = turns.Rest(f, apiName, path+".reasoningText")
		if !ok && p.Signature != "" && len(p.Extra.Members) == 0 {
			p.Extra, ok = whole, true
		}
	case m.Key == "redactedContent" && m.Value.Type == gjson.String:
		p.Sealed = jsonedit.StringOf(chatjson.ValueText(m.Value))
		p.Extra = turn.Extra{API: apiName, Path: path}
		ok = p.Sealed != ""
	}
	return p, ok
}

func readTurnCall(v gjson.Result, path string) (p turn.Part, ok bool) {
	f := turn.FieldsOf(v)
	input := f.Take("input")
	id, has := turns.Required(f, "toolUseId")
	name, named := turns.Required(f, "name")
	p = turn.Part{Kind: turn.Call, ID: id, Name: name, Arguments: input.Raw, Extra: turns.Rest(f, apiName, path)}
	return p, has && named && input.IsObject()
}

func readResult(v gjson.Result, path string) (p turn.Part, ok bool) {
	f := turn.FieldsOf(v)
	p.Kind = turn.Result
	p.ID, ok = turns.Required(f, "toolUseId")
	content := f.Take("content")
	if !ok || !content.IsArray() {
		return p, false
	}
	for i, b := range jsonedit.Members(content) {
		p.Results = append(p.Results, readPart(b.Value, fmt.Sprintf("%s.content[%d]", path, i), false))
	}
	if status := f.Peek("status"); status.Str == "error" || status.Str == "success" {
		f.Take("status")
		p.Failed = status.Str == "error"
	}
	p.Extra = turns.Rest(f, apiName, path)
	return p, true
}

// readCited reads a text whose pieces have sources. It stays whole; other APIs get the text.
func readCited(v gjson.Result, path string, whole turn.Extra) (p turn.Part, ok bool) {
	f := turn.FieldsOf(v)
	pieces := f.Take("content")
	if !pieces.IsArray() {
		return p, false
	}
	var text strings.Builder
	for _, piece := range jsonedit.Members(pieces) {
		said := only(piece.Value, textMember)
		if said.Type != gjson.String {
			return p, false
		}
		text.Write(chatjson.ValueText(said))
	}
	p.Text, p.Extra = text.String(), turns.Rest(f, apiName, path, "citations")
	p.Extra.Whole = whole.Whole
	return p, true
}
