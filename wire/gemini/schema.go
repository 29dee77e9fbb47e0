package gemini

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// jsonSchemaOf returns a schema of the API's own kind as a JSON Schema. The two differ in a few
// words: types are in capitals, "nullable" stands for a type more, and numbers may be strings. What is
// a JSON Schema already stays byte for byte.
func jsonSchemaOf(v gjson.Result) string {
	s := schemaEdits{at: v.Index, raw: v.Raw}
	s.schema(v)
	if len(s.edits) == 0 {
		return v.Raw
	}
	return string(jsonedit.Splice(nil, jsonedit.BytesOf(v.Raw), s.edits))
}

// schemaEdits are the edits of a schema that begins at an offset.
type schemaEdits struct {
	at    int
	raw   string
	edits []jsonedit.Edit
}

// replace edits a value.
func (s *schemaEdits) replace(v gjson.Result, with string) {
	start := v.Index - s.at
	s.edits = append(s.edits, jsonedit.Edit{Span: jsonedit.Span{Start: start, End: start + len(v.Raw)}, With: []byte(with)})
}

// counts are the members whose numbers may be strings, because they have 64 bits.
var counts = map[string]bool{
	"minItems": true, "maxItems": true, "minLength": true, "maxLength": true, "minProperties": true, "maxProperties": true,
	"min_items": true, "max_items": true, "min_length": true, "max_length": true, "min_properties": true, "max_properties": true,
}

// schema edits a schema and those in it. Its depth is that of the body, which is bounded.
func (s *schemaEdits) schema(v gjson.Result) {
	if !v.IsObject() {
		return
	}
	members := jsonedit.Members(v)
	nullable := false
	for _, m := range members {
		nullable = nullable || m.Key == "nullable" && m.Value.Type == gjson.True
	}
	for _, m := range members {
		switch {
		case m.Key == "type":
			s.kind(m.Value, nullable)
		case m.Key == "items" || chatjson.Named(m.Key, "additionalProperties"):
			s.schema(m.Value)
		case m.Key == "properties":
			m.Value.ForEach(func(_, of gjson.Result) bool { s.schema(of); return true })
		case chatjson.Named(m.Key, "anyOf") && m.Value.IsArray():
			m.Value.ForEach(func(_, of gjson.Result) bool { s.schema(of); return true })
		case counts[m.Key] && m.Value.Type == gjson.String:
			if n, err := strconv.ParseUint(m.Value.Str, 10, 63); err == nil {
				s.replace(m.Value, strconv.FormatUint(n, 10))
			}
		}
		s.rename(m)
	}
	s.cut(members)
}

const noType = "TYPE_UNSPECIFIED"

// kind edits a type.
func (s *schemaEdits) kind(v gjson.Result, nullable bool) {
	if v.Type != gjson.String {
		return
	}
	word := strings.ToLower(v.Str)
	with := string(jsontext.AppendVerbatim(nil, word))
	switch {
	case v.Str == noType: // it is cut
	case nullable && word != "null":
		s.replace(v, "["+with+`,"null"]`)
	case word != v.Str:
		s.replace(v, with)
	}
}

// rename edits a key that a JSON Schema has in camel case alone.
func (s *schemaEdits) rename(m jsonedit.Member) {
	if !strings.Contains(m.Key, "_") {
		return
	}
	for _, name := range []string{"anyOf", "additionalProperties", "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"} {
		at := m.At - s.at
		if key := `"` + chatjson.Snake(name) + `"`; strings.HasPrefix(s.raw[at:], key) {
			s.edits = append(s.edits, jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at + len(key)}, With: []byte(`"` + name + `"`)})
		}
	}
}

// cut removes members that a JSON Schema does not have.
func (s *schemaEdits) cut(members []jsonedit.Member) {
	for i := range members {
		members[i].At -= s.at
		members[i].Value.Index -= s.at
	}
	s.edits = jsonedit.Cut(s.edits, members, func(i int) bool {
		m := members[i]
		return m.Key == "nullable" && m.Value.IsBool() || chatjson.Named(m.Key, "propertyOrdering") ||
			m.Key == "type" && m.Value.Str == noType
	})
}
