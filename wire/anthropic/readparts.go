package anthropic

import (
	"encoding/base64"
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire/internal/turns"
	"github.com/sotto-llm/sotto/wire/turn"
)

// The kinds of blocks.
const (
	textBlock     = "text"
	imageBlock    = "image"
	documentBlock = "document"
	thinkingBlock = "thinking"
	sealedBlock   = "redacted_thinking"
	callBlock     = "tool_use"
	resultBlock   = "tool_result"
)

const (
	plainType = "text/plain"
	pdfType   = "application/pdf"
)

// readParts reads what a message or a result says: a text, or a list of blocks. outer says
// that it may have calls and results.
func readParts(content gjson.Result, path string, outer bool) (parts []turn.Part) {
	if content.Type == gjson.String {
		text := jsonedit.StringOf(chatjson.ValueText(content))
		return []turn.Part{{Kind: turn.Text, Text: text, Extra: turn.Extra{API: apiName, Path: path}}}
	}
	for i, b := range jsonedit.Members(content) {
		at := fmt.Sprintf("%s[%d]", path, i)
		p, f, ok := readBlock(b.Value, at, outer)
		if ok {
			p.Extra = turns.Rest(f, apiName, at, asideOfBlock[p.Kind]...)
		} else {
			p = turn.Part{Kind: turn.Other, Extra: turns.Whole(apiName, at, b.Value)}
		}
		parts = append(parts, p)
	}
	return parts
}

// asideOfBlock are the members of blocks on which the answer does not depend. Replies have
// some of them, and clients send them back: where a text was cited from, and who called a tool.
var asideOfBlock = map[turn.Kind][]string{
	turn.Text:   {cacheMember, "citations"},
	turn.Image:  {cacheMember},
	turn.File:   {cacheMember},
	turn.Call:   {cacheMember, "caller"},
	turn.Result: {cacheMember},
}

// readBlock reads a block. ok is false if the neutral form cannot hold it.
func readBlock(v gjson.Result, path string, outer bool) (p turn.Part, f *turn.Fields, ok bool) {
	if !v.IsObject() {
		return p, nil, false
	}
	f = turn.FieldsOf(v)
	switch kind := f.Text("type"); {
	case kind == textBlock:
		p.Text, ok = turns.Required(f, "text")
	case kind == imageBlock:
		p.Kind = turn.Image
		p.Media, ok = readSource(f, false)
	case kind == documentBlock:
		p.Kind = turn.File
		if p.Media, ok = readSource(f, true); ok {
			p.Media.Name = turns.Text(f, "title")
		}
	case !outer:
	case kind == thinkingBlock:
		p.Kind, p.Name = turn.Thought, thinkingBlock
		p.Text, ok = turns.Required(f, "thinking")
		signature := f.Peek("signature")
		p.Signature, ok = f.Text("signature"), ok && (signature.Type == gjson.String || signature.Type == gjson.Null)
	case kind == sealedBlock:
		p.Kind, p.Name = turn.Thought, sealedBlock
		p.Sealed = turns.Text(f, "data")
		ok = p.Sealed != ""
	case kind == callBlock:
		p.Kind = turn.Call
		input := f.Take("input")
		var named bool
		p.ID, ok = turns.Required(f, "id")
		p.Name, named = turns.Required(f, "name")
		p.Arguments, ok = input.Raw, ok && named && input.IsObject()
	case kind == resultBlock:
		return readResult(f, path)
	}
	return p, f, ok
}

func readResult(f *turn.Fields, path string) (p turn.Part, _ *turn.Fields, ok bool) {
	p.Kind = turn.Result
	p.ID, ok = turns.Required(f, "tool_use_id")
	switch content := f.Peek("content"); {
	case content.Type == gjson.String:
		p.Results = readParts(content, path+".content", false)
		f.Take("content")
	case content.IsArray():
		if p.Results = readParts(content, path+".content", false); p.Results != nil {
			f.Take("content")
		}
	case content.Type != gjson.Null:
		return p, f, false
	}
	switch failed := f.Peek("is_error"); failed.Type {
	case gjson.True, gjson.False:
		f.Take("is_error")
		p.Failed = failed.Type == gjson.True
	}
	return p, f, ok
}

// readSource reads where an image or a document is. ok is false for a source that has more
// than the neutral form.
func readSource(f *turn.Fields, document bool) (m turn.Media, ok bool) {
	source := f.Take("source")
	if !source.IsObject() {
		return m, false
	}
	s := turn.FieldsOf(source)
	switch kind := s.Text("type"); {
	case kind == "base64":
		m.Type, m.Data = s.Text("media_type"), s.Text("data")
		// A document that is a text has another source.
		ok = m.Type != "" && m.Data != "" && !(document && m.Type == plainType)
	case kind == "url":
		m.URL = s.Text("url")
		if ok = m.URL != ""; document {
			m.Type = pdfType // the only one
		}
	case kind == "file":
		m.ID = s.Text("file_id")
		ok = m.ID != ""
	case kind == "text" && document:
		m.Type = s.Text("media_type")
		m.Data = base64.StdEncoding.EncodeToString([]byte(s.Text("data")))
		ok = m.Type == plainType && m.Data != ""
	}
	return m, ok && len(turns.Rest(s, apiName, "").Members) == 0
}
