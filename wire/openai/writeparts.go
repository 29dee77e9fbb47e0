package openai

import (
	"strings"

	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
	"github.com/sotto-llm/sotto/wire/turn"
)

// writeContent writes the content of a message: one plain text as a text, since many servers take
// nothing else, and else a list of parts. must says that a message without content gets an empty one.
func (c chat) writeContent(o *jsonwrite.Object, parts []turn.Part, must bool) error {
	switch {
	case len(parts) == 0 && must:
		o.Text("content", "")
		return nil
	case len(parts) == 0:
		return nil
	case len(parts) == 1 && parts[0].Kind == turn.Text && !parts[0].Extra.Of(c.name):
		o.Text("content", parts[0].Text)
		return nil
	}
	var list jsonwrite.List
	for i := range parts {
		if err := c.writePart(&list, &parts[i]); err != nil {
			return turn.At(err, parts[i].Extra.Path)
		}
	}
	o.List("content", list)
	return nil
}

func (c chat) writePart(list *jsonwrite.List, p *turn.Part) error {
	if p.Extra.API == c.name && p.Extra.Whole != "" {
		list.Raw(p.Extra.Whole)
		return nil
	}
	var o, in jsonwrite.Object
	kind := ""
	switch p.Kind {
	case turn.Text, turn.Refusal:
		if kind = "text"; p.Kind == turn.Refusal {
			kind = "refusal"
		}
		o.Text("type", kind)
		o.Text(kind, p.Text)
		p.Extra.Write(&o, c.name)
		list.Object(o)
		return nil
	case turn.Image, turn.Video:
		if kind = "image_url"; p.Kind == turn.Video {
			kind = "video_url"
		}
		if p.Media.ID != "" {
			return c.unsupported("an image by the id of a file")
		}
		link := p.Media.Link()
		if link == "" {
			return c.unsupported("data of an unknown type")
		}
		in.Text("url", link)
		if p.Media.Detail != "" {
			in.Text("detail", p.Media.Detail)
		}
	case turn.Audio:
		kind = "input_audio"
		if p.Media.Data == "" {
			return c.unsupported("a sound by a URL")
		}
		in.Text("data", p.Media.Data)
		if format, ok := strings.CutPrefix(p.Media.Type, "audio/"); ok {
			if p.Extra.API != c.name {
				format = audioFormat(format)
			}
			in.Text("format", format)
		}
	case turn.File:
		kind = "file"
		if p.Media.URL != "" && p.Extra.API != c.name {
			return c.unsupported("a file by a URL")
		}
		if data := p.Media.Link(); data != "" {
			in.Text("file_data", data)
		}
		if p.Media.ID != "" {
			in.Text("file_id", p.Media.ID)
		}
		if p.Media.Name != "" {
			in.Text("filename", p.Media.Name)
		}
	default:
		return c.unsupported("a part of this kind")
	}
	o.Text("type", kind)
	o.Object(kind, in)
	p.Extra.Write(&o, c.name)
	list.Object(o)
	return nil
}

// audioFormat is the API's name for the subtype of a media type.
func audioFormat(subtype string) string {
	switch subtype {
	case "mpeg":
		return "mp3"
	case "x-wav", "wave", "vnd.wave":
		return "wav"
	}
	return subtype
}

func (c chat) unsupported(what string) error { return &turn.UnsupportedError{What: what, API: c.name} }
