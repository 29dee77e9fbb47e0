package anthropic

import (
	"cmp"
	"encoding/base64"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
	"github.com/sotto-llm/sotto/wire/internal/turns"
	"github.com/sotto-llm/sotto/wire/turn"
)

// writeParts returns what a message or a result says as JSON, and the number of its blocks. One
// plain text is a text: some servers of this API take nothing else.
func writeParts(parts []turn.Part) (content string, n int, err error) {
	parts = turns.Spoken(parts, apiName)
	if len(parts) == 1 && parts[0].Kind == turn.Text && !parts[0].Extra.Of(apiName) {
		return string(jsonwrite.AppendText(nil, parts[0].Text)), 1, nil
	}
	var l jsonwrite.List
	for i := range parts {
		if err := writePart(&l, &parts[i]); err != nil {
			return "", 0, turn.At(err, parts[i].Extra.Path)
		}
	}
	if l.Empty() {
		n = 0
	} else {
		n = len(parts)
	}
	return string(l.End()), n, nil
}

func writePart(l *jsonwrite.List, p *turn.Part) error {
	if p.Extra.API == apiName && p.Extra.Whole != "" {
		l.Raw(p.Extra.Whole)
		return nil
	}
	var o jsonwrite.Object
	switch p.Kind {
	case turn.Text, turn.Refusal: // a refusal is what the model said
		o.Text("type", textBlock)
		o.Text("text", p.Text)
	case turn.Image, turn.File:
		if err := writeMedia(&o, p); err != nil {
			return err
		}
	case turn.Thought:
		return writeThought(l, p)
	case turn.Call:
		if p.Free {
			return unsupported("a call whose argument is a text")
		}
		o.Text("type", callBlock)
		o.Text("id", p.ID)
		o.Text("name", p.Name)
		o.Raw("input", turn.ArgumentsObject(p.Arguments))
	case turn.Result:
		o.Text("type", resultBlock)
		o.Text("tool_use_id", p.ID)
		content, n, err := writeParts(p.Results)
		if err != nil {
			return err
		}
		if n > 0 {
			o.Raw("content", content)
		}
		if p.Failed {
			o.Bool("is_error", true)
		}
	case turn.Audio:
		return unsupported("a sound")
	case turn.Video:
		return unsupported("a video")
	default:
		return unsupported("a part of another API")
	}
	p.Extra.Write(&o, apiName)
	l.Object(o)
	return nil
}

// writeThought writes a thought, and encrypted reasoning as a block of its own. A thought
// without a signature has an empty one: servers that sign nothing take it.
func writeThought(l *jsonwrite.List, p *turn.Part) error {
	var o, sealed jsonwrite.Object
	read := p.Extra.API == apiName
	if p.Text != "" || p.Signature != "" || p.Sealed == "" && read {
		o.Text("type", thinkingBlock)
		o.Text("thinking", p.Text)
		o.Text("signature", p.Signature)
		p.Extra.Write(&o, apiName)
		l.Object(o)
	}
	if p.Sealed != "" {
		sealed.Text("type", sealedBlock)
		sealed.Text("data", p.Sealed)
		p.Extra.Write(&sealed, apiName)
		l.Object(sealed)
	}
	return nil
}

// writeMedia writes an image or a document.
func writeMedia(o *jsonwrite.Object, p *turn.Part) error {
	m := &p.Media
	kind, document := turns.TypeOf(p, apiName), p.Kind == turn.File
	var source jsonwrite.Object
	switch {
	case m.Data != "" && kind == "":
		return unsupported("an image or a file whose type is not known")
	case m.Data != "" && document && kind == plainType:
		text, err := base64.StdEncoding.DecodeString(m.Data)
		if err != nil || !utf8.Valid(text) && p.Extra.API != apiName {
			return unsupported("a text file that is not base64 of UTF-8")
		}
		source.Text("type", "text")
		source.Text("media_type", kind)
		source.Text("data", string(text))
	case m.Data != "":
		if document && kind != pdfType && p.Extra.API != apiName {
			return unsupported("a file of the type " + kind)
		}
		source.Text("type", "base64")
		source.Text("media_type", kind)
		source.Text("data", m.Data)
	case m.URL != "":
		if document && cmp.Or(kind, pdfType) != pdfType {
			return unsupported("the URL of a file of the type " + kind)
		}
		source.Text("type", "url")
		source.Text("url", m.URL)
	case m.ID != "":
		source.Text("type", "file")
		source.Text("file_id", m.ID)
	default:
		return unsupported("an image or a file without data")
	}
	if !document {
		o.Text("type", imageBlock)
	} else if o.Text("type", documentBlock); m.Name != "" {
		o.Text("title", m.Name)
	}
	o.Object("source", source)
	return nil
}
