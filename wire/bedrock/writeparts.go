package bedrock

import (
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
	"github.com/sotto-llm/sotto/wire/internal/turns"
	"github.com/sotto-llm/sotto/wire/turn"
)

// A turnWriter writes the parts of a conversation.
type turnWriter struct {
	names map[string]int // how many documents are named so, or after it
}

// parts returns what a message says as JSON, and the number of its blocks. name is that of the
// list.
func (w *turnWriter) parts(m *turn.Message, name string) (content string, n int, err error) {
	l := newBlocks(&m.Extra, name)
	for _, p := range turns.Spoken(m.Parts, apiName) {
		if err := w.part(&l, &p, true); err != nil {
			return "", 0, turn.At(err, p.Extra.Path)
		}
	}
	content = l.end()
	return content, l.n, nil
}

// part writes a part as a block. outer says that it does not stand in a result.
func (w *turnWriter) part(l *blockList, p *turn.Part, outer bool) (err error) {
	if p.Extra.API == apiName && p.Extra.Whole != "" {
		l.add(p.Extra.Whole)
		return nil
	}
	var key string
	var o jsonwrite.Object
	switch p.Kind {
	case turn.Text, turn.Refusal: // a refusal is what the model said
		o.Text(textMember, p.Text)
		l.add(string(o.End()))
		return nil
	case turn.Thought:
		writeThought(l, p)
		return nil
	case turn.Image:
		key = "image"
		err = w.media(&o, p, key)
	case turn.File:
		key = "document"
		err = w.media(&o, p, key)
	case turn.Video:
		key = "video"
		err = w.media(&o, p, key)
	case turn.Audio:
		if key = "audio"; !outer {
			return unsupported("a sound in a tool's result")
		}
		err = w.media(&o, p, key)
	case turn.Call:
		if p.Free {
			return unsupported("a call whose argument is a text")
		}
		key = callMember
		o.Text("toolUseId", p.ID)
		o.Text("name", p.Name)
		o.Raw("input", turn.ArgumentsObject(p.Arguments))
	case turn.Result:
		key = resultMember
		err = w.result(&o, p)
	default:
		return unsupported("a part of another API")
	}
	if err != nil {
		return err
	}
	p.Extra.Write(&o, apiName)
	var block jsonwrite.Object
	block.Object(key, o)
	l.add(string(block.End()))
	return nil
}

func (w *turnWriter) result(o *jsonwrite.Object, p *turn.Part) error {
	o.Text("toolUseId", p.ID)
	var l blockList
	for _, r := range turns.Spoken(p.Results, apiName) {
		if err := w.part(&l, &r, false); err != nil {
			return err
		}
	}
	o.Raw("content", l.end())
	if p.Failed {
		o.Text("status", "error")
	}
	return nil
}

// writeThought writes a thought, and encrypted reasoning as a block of its own.
func writeThought(l *blockList, p *turn.Part) {
	add := func(key, value string) {
		var reasoning, block jsonwrite.Object
		reasoning.Raw(key, value)
		block.Object(reasoningMember, reasoning)
		l.add(string(block.End()))
	}
	if p.Text != "" || p.Signature != "" || p.Sealed == "" && p.Extra.API == apiName {
		var o jsonwrite.Object
		o.Text("text", p.Text)
		if p.Signature != "" {
			o.Text("signature", p.Signature)
		}
		p.Extra.Write(&o, apiName)
		add("reasoningText", string(o.End()))
	}
	if p.Sealed != "" {
		add("redactedContent", string(jsonwrite.AppendText(nil, p.Sealed)))
	}
}

// media writes a block that has a source.
func (w *turnWriter) media(o *jsonwrite.Object, p *turn.Part, member string) error {
	m := &p.Media
	kind := turns.TypeOf(p, apiName)
	format := formatOf(member, kind)
	var source jsonwrite.Object
	switch {
	case m.Data != "":
		source.Text("bytes", m.Data)
	case strings.HasPrefix(m.URL, "s3://") || m.URL != "" && p.Extra.API == apiName:
		var location jsonwrite.Object
		location.Text("uri", m.URL)
		source.Object("s3Location", location)
	case m.URL != "":
		return unsupported("a URL that is not of S3")
	case m.ID != "":
		return unsupported("a file that another provider has")
	default:
		return unsupported("an image or a file without data")
	}
	switch {
	case kind == "":
		return unsupported("an image or a file whose type is not known")
	case format == "":
		return unsupported("a " + member + " of the type " + kind)
	}
	o.Text("format", format)
	if member == "document" {
		if p.Extra.API != apiName {
			o.Text("name", w.name(m.Name))
		} else if m.Name != "" {
			o.Text("name", m.Name)
		}
	}
	o.Object("source", source)
	return nil
}

// maxDocumentName is shorter than the longest name of a document that the API accepts, by a number.
const maxDocumentName = 180

// name returns a name for a document that the API accepts: of few characters, and no other's.
func (w *turnWriter) name(of string) string {
	var b strings.Builder
	space := true // names have no two spaces that follow each other
	for _, c := range of {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.ContainsRune("-()[]", c):
			b.WriteRune(c)
			space = false
		case c != ' ':
			b.WriteByte('-')
			space = false
		case !space:
			b.WriteByte(' ')
			space = true
		}
		if b.Len() == maxDocumentName {
			break
		}
	}
	base := strings.TrimSpace(b.String())
	if base == "" {
		base = "document"
	}
	name := base
	for w.names[name] > 0 {
		w.names[base]++
		name = base + "-" + strconv.Itoa(w.names[base])
	}
	w.names[name]++
	return name
}
