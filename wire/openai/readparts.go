package openai

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/wire/internal/message"
	"github.com/sotto-llm/sotto/wire/turn"
)

// readContent reads the content of a message: a text, or a list of typed parts.
func (c chat) readContent(f *turn.Fields, path string) []turn.Part {
	v := f.Peek("content")
	if v.Type == gjson.String {
		f.Take("content")
		return []turn.Part{{Text: text(v)}}
	}
	if v.Type == gjson.Null {
		f.Take("content")
	}
	if !v.IsArray() {
		return nil
	}
	f.Take("content")
	var parts []turn.Part
	for i, p := range v.Array() {
		parts = append(parts, c.readPart(p, path+".content["+strconv.Itoa(i)+"]"))
	}
	return parts
}

// readPart reads a part of the content. One that has members besides those of its kind is kept
// whole as well.
func (c chat) readPart(v gjson.Result, path string) turn.Part {
	f := turn.FieldsOf(v)
	kind := f.Text("type")
	in := turn.FieldsOf(f.Peek(kind))
	var p turn.Part
	switch kind {
	case "text", "refusal":
		if p.Kind = turn.Text; kind == "refusal" {
			p.Kind = turn.Refusal
		}
		if f.Peek(kind).Type != gjson.String {
			return c.other(v, path)
		}
		p.Text = f.Text(kind)
		p.Extra = f.Rest(c.name, path, cacheHint)
		return p
	case "thinking": // Mistral's
		p.Kind, p.Name, p.Text = turn.Thought, kind, chatjson.ThoughtText(v)
		p.Extra = turn.Extra{API: c.name, Path: path, Whole: v.Raw}
		return p
	case "image_url", "video_url":
		if p.Kind = turn.Image; kind == "video_url" {
			p.Kind = turn.Video
		}
		p.Media = turn.MediaOf(in.Text("url"))
		p.Media.Detail = in.Text("detail")
	case "input_audio":
		p.Kind, p.Media.Data = turn.Audio, in.Text("data")
		if format := in.Text("format"); format != "" {
			p.Media.Type = "audio/" + format
		}
	case "file":
		p.Kind = turn.File
		p.Media = turn.MediaOf(in.Text("file_data"))
		p.Media.ID, p.Media.Name = in.Text("file_id"), in.Text("filename")
	default:
		return c.other(v, path)
	}
	if p.Media.Data == "" && p.Media.URL == "" && p.Media.ID == "" {
		return c.other(v, path)
	}
	f.Take(kind)
	p.Extra = message.Nested(f, in, kind, v, c.name, path, cacheHint)
	return p
}
