package gemini

import (
	"strings"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
	"github.com/sotto-llm/sotto/wire/turn"
)

// isOwn reports whether this codec has read a part. What it read without a name has none in the API.
func isOwn(p *turn.Part) bool { return p.Extra.API == apiName }

func writePart(to *jsonwrite.List, p *turn.Part) error {
	if isOwn(p) && p.Extra.Whole != "" {
		to.Raw(p.Extra.Whole)
		return nil
	}
	var o turn.Object
	var nested []string // the member that is written with what the extra has of it
	var err error
	switch p.Kind {
	case turn.Text, turn.Refusal:
		o.Text("text", p.Text)
	case turn.Thought:
		err = writeThought(&o, p)
	case turn.Call:
		nested, err = []string{callMember}, writeCall(&o, p)
	case turn.Result:
		nested, err = []string{resultMember}, writeResult(&o, p)
	case turn.Image, turn.Audio, turn.Video, turn.File:
		nested, err = []string{mediaMember(&p.Media)}, writeMedia(&o, p)
	default:
		err = unsupported("a part of another API")
	}
	if err != nil {
		return turn.At(err, p.Extra.Path)
	}
	if p.Signature != "" {
		o.Text(signatureMember, p.Signature)
	}
	o.Rest(&p.Extra, apiName, nested...)
	to.Raw(string(o.End()))
	return nil
}

func writeThought(o *turn.Object, p *turn.Part) error {
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

func writeCall(o *turn.Object, p *turn.Part) error {
	if p.Free {
		return unsupported("a call whose input is a text")
	}
	var in turn.Object
	addText(&in, "id", p.ID)
	addText(&in, "name", p.Name)
	if p.Arguments != "" {
		if v, ok := objectOf(strings.TrimSpace(p.Arguments)); ok {
			in.Raw("args", v.Raw)
		} else {
			var malformed jsonwrite.Object
			malformed.Text("malformed", p.Arguments)
			in.Add("args", string(malformed.End()))
		}
	}
	in.RestIn(&p.Extra, apiName, callMember)
	o.Add(callMember, string(in.End()))
	return nil
}

func addText(o *turn.Object, key, text string) {
	if text != "" {
		o.Text(key, text)
	}
}

func writeResult(o *turn.Object, p *turn.Part) error {
	if p.Name == "" && !isOwn(p) {
		return unsupported("the result of a call that is not in the conversation")
	}
	var in turn.Object
	var texts []string
	var media jsonwrite.List
	for i := range p.Results {
		switch r := &p.Results[i]; r.Kind {
		case turn.Text:
			texts = append(texts, r.Text)
		case turn.Image, turn.Audio, turn.Video, turn.File, turn.Other:
			m := *r
			if !isOwn(r) {
				m.Media.Detail = "" // parts of a response do not have it
			}
			if err := writePart(&media, &m); err != nil {
				return err
			}
		default:
			return unsupported("a tool's result that is not a text or a file")
		}
	}
	addText(&in, "id", p.ID)
	addText(&in, "name", p.Name)
	var left turn.Object
	left.RestIn(&p.Extra, apiName, resultMember)
	if rest := jsonedit.Parse(left.End()); !rest.Get("response").Exists() {
		in.Raw("response", responseOf(texts, p.Failed))
	}
	if !media.Empty() {
		in.List("parts", media)
	}
	in.RestIn(&p.Extra, apiName, resultMember)
	o.Add(resultMember, string(in.End()))
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

func mediaMember(m *turn.Media) string {
	if m.Data != "" {
		return inlineMember
	}
	return fileMember
}

func writeMedia(o *turn.Object, p *turn.Part) error {
	m := &p.Media
	var in turn.Object
	switch {
	case m.Data != "":
		in.Text("data", m.Data)
	case m.URL != "":
		in.Text("fileUri", m.URL)
	default:
		return unsupported("a file by an ID of its provider")
	}
	kind := m.Type
	if kind == "" && !isOwn(p) {
		kind = m.Kind() // the API wants to know it
	}
	addText(&in, "mimeType", kind)
	addText(&in, "displayName", m.Name)
	in.RestIn(&p.Extra, apiName, mediaMember(m))
	o.Add(mediaMember(m), string(in.End()))
	for word, detail := range details {
		if detail == m.Detail {
			var level jsonwrite.Object
			level.Text("level", word)
			o.Add(resolutionMember, string(level.End()))
		}
	}
	return nil
}
