package dialectfile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/internal/base/modelname"
)

// A checkpoint may declare the format of its replies as response_template in
// tokenizer_config.json (Hugging Face transformers, "Response Parsing"): fields
// of the message, each with the delimiters of the region that fills it.
//
// Here a field says only on which channel its region is. The values are not
// parsed, so keys that say how to parse them (content, transform, …) are ignored.

var templateKeys = []string{"version", "defaults", "fields", "start_anchor", "start_anchor_pattern"}

var templateFieldKeys = []string{
	"open", "open_pattern", "close", "close_pattern", "repeats", "optional",
	"content", "content_args", "transform", "transform_each", "join",
}

// templateRoles maps a message's field to the role of its region. A field that is
// not listed is reasoning, as a header's channel of an unknown name is: it is not
// known to be for the user.
var templateRoles = map[string]dialect.Role{
	"thinking":          dialect.RoleReasoning,
	"reasoning":         dialect.RoleReasoning,
	"reasoning_content": dialect.RoleReasoning,
	"content":           dialect.RoleWrapper,
	"tool_calls":        dialect.RoleTool,
}

func isTokenizerConfig(n *jsonNode) bool {
	if n.member("markers") != nil || n.member("header") != nil {
		return false
	}
	return n.member("tokenizer_class") != nil || n.member("added_tokens_decoder") != nil || n.member("chat_template") != nil ||
		n.member("response_schema") != nil
}

// findResponseTemplate returns a file's template and the path to it, or nil if
// the file is not of that kind.
func findResponseTemplate(root *jsonNode) (t *jsonNode, path string) {
	if root.kind != jsonObject || root.member("markers") != nil || root.member("header") != nil {
		return nil, ""
	}
	if t := root.member("response_template"); t != nil {
		return t, "response_template"
	}
	if root.member("fields") != nil {
		return root, ""
	}
	return nil, ""
}

func (r *dialectFile) responseTemplate(root, t *jsonNode, path string) (dialect.Dialect, error) {
	off := false
	d := dialect.Dialect{
		Name:     templateName(root),
		Title:    "declared by the checkpoint itself",
		Sources:  []string{"response_template of tokenizer_config.json"},
		PreOpens: "prompt",
		Start:    "auto",
		Code:     &off, Stray: &off,
	}
	if t.kind != jsonObject {
		return d, r.faultf(t.offset, path, "is %s: write an object with fields", t.kindName())
	}
	for _, m := range t.members {
		if !slices.Contains(templateKeys, m.key) {
			return d, r.faultf(m.offset, joinKey(path, m.key), "unknown key: %s", choice(m.key, templateKeys))
		}
		if m.key == "version" && fmt.Sprint(m.node.value) != "1" {
			return d, r.faultf(m.node.offset, joinKey(path, m.key), "is %v: only version 1 is known", m.node.value)
		}
	}
	fields := t.member("fields")
	at := joinKey(path, "fields")
	if fields == nil || fields.kind != jsonObject || len(fields.members) == 0 {
		return d, r.faultf(locate(t, "fields").offset, at, "missing: a template needs fields with delimiters")
	}
	implicit := ""
	var others []dialect.Marker
	for _, m := range fields.members {
		if m.node.kind == jsonObject && m.node.member("open") == nil && m.node.member("open_pattern") == nil {
			if implicit != "" {
				return d, r.faultf(m.offset, joinKey(at, m.key), "has no open, like %s: only one field may be the text between the regions", implicit)
			}
			implicit = m.key
		}
		marker, err := r.templateField(m, joinKey(at, m.key))
		if err != nil {
			return d, err
		}
		switch {
		case marker == nil:
		case templateRoles[m.key] == "":
			others = append(others, *marker)
		default:
			d.Markers = append(d.Markers, *marker)
		}
	}
	d.Markers = append(d.Markers, others...) // the first reasoning marker must be that of a known field
	if len(d.Markers) == 0 {
		return d, r.faultf(fields.offset, at, "have no delimiters to look for")
	}
	if err := d.Check(); err != nil {
		// Faults of single strings were reported above. The remaining faults concern
		// several fields, and have no single place.
		var field *dialect.FieldError
		if errors.As(err, &field) {
			err = errors.New(field.Msg)
		}
		return d, r.fault(fields.offset, at, err)
	}
	return d, nil
}

func (r *dialectFile) templateField(m jsonMember, at string) (*dialect.Marker, error) {
	if m.node.kind != jsonObject {
		return nil, r.faultf(m.node.offset, at, "is %s: write an object with open and close", m.node.kindName())
	}
	for _, f := range m.node.members {
		if strings.HasSuffix(f.key, "_pattern") && slices.Contains(templateFieldKeys, f.key) {
			return nil, r.faultf(f.offset, joinKey(at, f.key), "is a regular expression, and delimiters are read as literal strings: write the dialect by hand with the literal part of it")
		}
		if !slices.Contains(templateFieldKeys, f.key) {
			return nil, r.faultf(f.offset, joinKey(at, f.key), "unknown key: %s", choice(f.key, templateFieldKeys))
		}
	}
	open, err := r.templateLiterals(m.node.member("open"), joinKey(at, "open"))
	if err != nil {
		return nil, err
	}
	closes, err := r.templateLiterals(m.node.member("close"), joinKey(at, "close"))
	if err != nil {
		return nil, err
	}
	marker := &dialect.Marker{Role: cmp.Or(templateRoles[m.key], dialect.RoleReasoning), Name: m.key, Open: open, Close: closes}
	switch {
	case len(open) > 0 && len(closes) == 0 && marker.Role == dialect.RoleReasoning:
		return nil, r.faultf(m.offset, joinKey(at, "close"), "missing: reasoning without an end would hide every answer")
	case len(open) == 0 && marker.Role != dialect.RoleWrapper:
		return nil, r.faultf(m.offset, joinKey(at, "open"), "missing: only content may be the text between the regions")
	case len(open) == 0 && len(closes) == 0:
		return nil, nil
	case len(open) == 0:
		// What ends the text is markup, and nothing is expected after it; a
		// wrapper that it opens says so.
		marker.Name, marker.Open, marker.Close = "end of "+m.key, closes, nil
	}
	var field *dialect.FieldError
	if errors.As(marker.Check(), &field) {
		key, _, _ := strings.Cut(field.Path, "[")
		if n := m.node.member(key); n != nil && n.kind == jsonArray {
			key = field.Path
		}
		return nil, r.fault(locate(m.node, key).offset, joinKey(at, key), errors.New(field.Msg))
	}
	return marker, nil
}

// templateLiterals reads a delimiter, a string or a list of them. The string
// "eos" stands for the end of the reply, which needs no marker.
func (r *dialectFile) templateLiterals(n *jsonNode, at string) ([]string, error) {
	if n == nil {
		return nil, nil
	}
	elems := n.elems
	if n.kind == jsonString {
		elems = []*jsonNode{n}
	} else if n.kind != jsonArray || len(elems) == 0 {
		return nil, r.faultf(n.offset, at, "is %s: write a string or a list of strings", n.kindName())
	}
	var list []string
	for i, e := range elems {
		key := at
		if n.kind == jsonArray {
			key = fmt.Sprintf("%s[%d]", at, i)
		}
		s, ok := e.value.(string)
		if !ok || e.kind != jsonString {
			return nil, r.faultf(e.offset, key, "is %s: write a string", e.kindName())
		}
		if s == "eos" {
			if len(elems) > 1 {
				return nil, r.faultf(e.offset, key, "\"eos\" cannot be combined with other strings: it is the end of the reply")
			}
			return nil, nil
		}
		if slices.Contains(list, s) {
			continue
		}
		list = append(list, s)
	}
	return list, nil
}

// templateName makes a dialect's name from the checkpoint's, if the file has it.
func templateName(root *jsonNode) string {
	if n := root.member("name_or_path"); n != nil && n.kind == jsonString {
		name := strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
				return r
			}
			return -1
		}, modelname.Normal(n.value.(string)))
		if name != "" {
			return name
		}
	}
	return "checkpoint"
}
