package gemini

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
)

// Servers of this API read a member of a request under two names: thoughtSignature and
// thought_signature. Both are read here, by [chatjson.Either].

// members are the members of an object by which something is decided, by their names
// in camel case. Each has those in its value: in an object, or in each element of a
// list. A member that stands twice, under whichever name, could mean one thing here
// and another to the upstream, and so could one in another case: such a request is
// refused. chatjson.Keys are the same for the other APIs.
type members map[string]members

var requestMembers = func() members {
	part := members{
		"text": nil, thoughtMember: nil, signatureMember: nil,
		"functionCall":     {"id": nil, "name": nil, "args": nil},
		"functionResponse": {"id": nil, "name": nil, "response": nil},
	}
	content := members{"role": nil, "parts": part}
	return members{
		"contents": content, "systemInstruction": content, "model": nil,
		"tools":      {"functionDeclarations": {"name": nil, "parameters": nil, "parametersJsonSchema": nil}},
		"toolConfig": {"functionCallingConfig": {"mode": nil}},
		"generationConfig": {
			"responseMimeType": nil,
			"thinkingConfig":   {"includeThoughts": nil, "thinkingBudget": nil, "thinkingLevel": nil},
		},
	}
}()

// check checks an object, or the elements of a list. path says where it is, in words
// of the API: it holds nothing that a peer wrote.
func (m members) check(v gjson.Result, path string) (err error) {
	switch {
	case v.IsArray():
		i := 0
		v.ForEach(func(_, e gjson.Result) bool {
			if e.IsObject() {
				err = m.check(e, fmt.Sprintf("%s[%d]", path, i))
			}
			i++
			return err == nil
		})
		return err
	case !v.IsObject():
		return nil
	}
	where := path
	if where == "" {
		where = "the request"
	}
	seen := map[string]bool{} // no more entries than there are members
	v.ForEach(func(key, value gjson.Result) bool {
		name, same := m.match(key.Str)
		switch {
		case !utf8.ValidString(key.Str):
			err = fmt.Errorf("a key in %s is not valid UTF-8", where)
		case name == "":
		case !same:
			err = fmt.Errorf("the key %q appears in %s with different case", name, where)
		case seen[name]:
			err = fmt.Errorf("the key %q appears twice in %s", name, where)
		default:
			seen[name] = true
			err = m[name].check(value, strings.TrimPrefix(path+"."+name, "."))
		}
		return err == nil
	})
	return err
}

// match returns the member that a reader which folds case, or leaves out underscores,
// takes a key for, or "". same says that the key is one of its two names.
func (m members) match(key string) (name string, same bool) {
	if _, ok := m[key]; ok {
		return key, true
	}
	bare := strings.ReplaceAll(key, "_", "")
	for name := range m {
		if strings.EqualFold(name, bare) {
			return name, key == chatjson.Snake(name)
		}
	}
	return "", false
}
