package gemini

import (
	"encoding/base64"
	"net/http"
	"path"
	"strings"

	"github.com/sotto-llm/sotto/internal/jsonedit"
	"github.com/sotto-llm/sotto/internal/jsonwrite"
	"github.com/sotto-llm/sotto/wire/turn"
)

// isOwn reports whether this codec has read a part. What it read without a name has none in the API.
func isOwn(p *turn.Part) bool { return p.Extra.API == apiName }

func writePart(to *jsonwrite.List, p *turn.Part) error {
	if isOwn(p) && p.Extra.Whole != "" {
		to.Raw(p.Extra.Whole)
		return nil
	}
	var o jsonwrite.Object
	nested, err := "", error(nil)
	switch p.Kind {
	case turn.Text, turn.Refusal:
		o.Text("text", p.Text)
	case turn.Thought:
		err = writeThought(&o, p)
	case turn.Call:
		nested, err = callMember, writeCall(&o, p)
	case turn.Result:
		nested, err = resultMember, writeResult(&o, p)
	case turn.Image, turn.Audio, turn.Video, turn.File:
		nested, err = writeMedia(&o, p)
	default:
		err = unsupported("a part of another API")
	}
	if err != nil {
		return err
	}
	if p.Signature != "" {
		o.Text(signatureMember, p.Signature)
	}
	p.Extra.WriteBut(&o, apiName, nested)
	to.Object(o)
	return nil
}

func writeThought(o *jsonwrite.Object, p *turn.Part) error {
	switch {
	case p.Sealed != "":
		return unsupported("encrypted reasoning")
	case p.Name == signatureMember && p.Text == "" && p.Signature != "":
		return nil // it came without the empty text
	}
	o.Text("text", p.Text)
	o.Bool(thoughtMember, true)
	return nil
}

func writeCall(o *jsonwrite.Object, p *turn.Part) error {
	if p.Free {
		return unsupported("a call whose input is a text")
	}
	var in jsonwrite.Object
	addText(&in, "id", p.ID)
	addText(&in, "name", p.Name)
	if p.Arguments != "" {
		if v, ok := objectOf(strings.TrimSpace(p.Arguments)); ok {
			in.Raw("args", v.Raw)
		} else {
			var malformed jsonwrite.Object
			malformed.Text("malformed", p.Arguments)
			in.Object("args", malformed)
		}
	}
	p.Extra.WriteNested(&in, apiName, callMember)
	o.Object(callMember, in)
	return nil
}

func addText(o *jsonwrite.Object, key, text string) {
	if text != "" {
		o.Text(key, text)
	}
}

func writeResult(o *jsonwrite.Object, p *turn.Part) error {
	if p.Name == "" && !isOwn(p) {
		return unsupported("the result of a call that is not in the conversation")
	}
	var in jsonwrite.Object
	var texts []string
	var media jsonwrite.List
	for i := range p.Results {
		switch r := &p.Results[i]; r.Kind {
		case turn.Text:
			texts = append(texts, r.Text)
		case turn.Image, turn.Audio, turn.Video, turn.File, turn.Other:
			if err := writePart(&media, r); err != nil {
				return err
			}
		default:
			return unsupported("a tool's result that is not a text or a file")
		}
	}
	addText(&in, "id", p.ID)
	addText(&in, "name", p.Name)
	var left jsonwrite.Object
	p.Extra.WriteNested(&left, apiName, resultMember)
	if rest := jsonedit.Parse(left.End()); !rest.Get("response").Exists() {
		in.Raw("response", responseOf(texts, p.Failed))
	}
	if !media.Empty() {
		in.List("parts", media)
	}
	p.Extra.WriteNested(&in, apiName, resultMember)
	o.Object(resultMember, in)
	return nil
}

// responseOf is what [readResponse] reads as the texts.
func responseOf(texts []string, failed bool) string {
	var o jsonwrite.Object
	key := outputMember
	if failed {
		key = errorMember
	}
	switch {
	case len(texts) > 1:
		o.List(key, textList(texts))
	case len(texts) == 0:
		if failed {
			o.Text(key, "")
		}
	case !failed && !isWrapped(texts[0]):
		return texts[0]
	default:
		o.Text(key, texts[0])
	}
	return string(o.End())
}

func textList(texts []string) (list jsonwrite.List) {
	for _, text := range texts {
		list.Text(text)
	}
	return list
}

func writeMedia(o *jsonwrite.Object, p *turn.Part) (nested string, err error) {
	m := &p.Media
	var in jsonwrite.Object
	switch {
	case m.Data != "":
		nested = inlineMember
		in.Text("data", m.Data)
	case m.URL != "":
		nested = fileMember
		in.Text("fileUri", m.URL)
	default:
		return "", unsupported("a file by an ID of its provider")
	}
	kind := m.Type
	if kind == "" && !isOwn(p) {
		kind = guessType(m)
	}
	addText(&in, "mimeType", kind)
	addText(&in, "displayName", m.Name)
	p.Extra.WriteNested(&in, apiName, nested)
	o.Object(nested, in)
	for word, detail := range details {
		if detail == m.Detail {
			var level jsonwrite.Object
			level.Text("level", word)
			o.Object(resolutionMember, level)
		}
	}
	return nested, nil
}

// extensions are the types of files that models read, for a URL.
var extensions = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp", ".gif": "image/gif", ".heic": "image/heic",
	".pdf": "application/pdf", ".txt": "text/plain", ".mp4": "video/mp4", ".mp3": "audio/mp3", ".wav": "audio/wav",
}

// guessType returns the type of data or of a file whose sender did not say it, because the API wants
// it; or nothing.
func guessType(m *turn.Media) string {
	if m.Data == "" {
		name, _, _ := strings.Cut(m.URL, "?")
		return extensions[strings.ToLower(path.Ext(name))]
	}
	const enough = 512 // for DetectContentType, which reads as much
	head := m.Data[:min(len(m.Data), enough)]
	data, err := base64.StdEncoding.DecodeString(head[:len(head)/4*4])
	kind, _, _ := strings.Cut(http.DetectContentType(data), ";")
	if err != nil || kind == "application/octet-stream" {
		return ""
	}
	return kind
}
