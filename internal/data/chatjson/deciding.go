package chatjson

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// Keys are the members of an object by which the gateway decides. Each has the
// members that the gateway decides by in its value: in an object, or in each
// element of a list.
//
// Readers of JSON disagree about a member that appears twice: some use the first,
// some the last. Some match keys without regard to case, as encoding/json does. If
// a member of Keys appears twice or in another case, the request could mean one
// thing here and another to the upstream, so it is refused.
type Keys map[string]Keys

var decidingKeys = DecidingKeys()

// DecidingKeys returns the deciding members of requests, for all APIs. All members
// that a codec's Request, the history or the record reads must be here; a test
// compares them.
func DecidingKeys() Keys {
	text := Keys{"type": nil, "text": nil}
	block := Keys{
		"type": nil, "text": text, "thinking": text, "reasoning": text, "summary": text, "content": text,
		"signature": nil, "data": nil, "id": nil, "tool_use_id": nil, "name": nil, "input": nil,
	}
	function := Keys{"name": nil, "arguments": nil}
	message := Keys{
		"role": nil, "content": block, "tool_call_id": nil,
		"tool_calls": {
			"id": nil, "function": function,
			"extra_content": {"google": {"thought_signature": nil}},
		},
		"function_call":     function,
		"reasoning_details": {"type": nil, "text": nil, "summary": nil, "signature": nil, "data": nil, "index": nil},
	}
	for _, name := range nativeFields {
		message[name] = nil
	}
	prompt := Keys{"prompt_string": nil}
	maps.Copy(prompt, block)
	item := Keys{
		"type": nil, "role": nil, "status": nil, "id": nil, "call_id": nil, "name": nil,
		"content": block, "summary": text, "encrypted_content": nil,
		"arguments": nil, "input": nil, "output": block,
	}
	root := Keys{
		"model": nil, "models": nil, "stream": nil, "n": nil,
		"messages": message, "input": item, "prompt": prompt, "system": block, "instructions": block,
		"raw": nil, "template": nil, "suffix": nil, "context": nil,
		"store": nil, "background": nil, "previous_response_id": nil, "conversation": nil,
		"tools": {
			"type": nil, "name": nil, "parameters": nil, "input_schema": nil,
			"function": {"name": nil, "parameters": nil},
		},
		"functions": nil, "tool_choice": {"type": nil},
		"include": nil, "echo": nil, "logprobs": nil, "top_logprobs": nil, "stream_options": nil,
		"options": {}, "chat_template_kwargs": {}, "reasoning": {"summary": nil, "generate_summary": nil}, "thinking": {}, "output_config": {},
	}
	for _, member := range fallbackMembers {
		root[member] = nil
	}
	for _, path := range slices.Concat(switches, formats) {
		root.add(path + ".type")
	}
	return root
}

// ReadRequest parses the body of a request, which must be valid JSON. It returns an
// error if the body is not an object, or if a member of [DecidingKeys] appears in
// it twice or in another case. Every codec's Request begins with it.
func ReadRequest(body []byte) (gjson.Result, error) { return ReadRequestOf(body, decidingKeys) }

// ReadRequestOf is ReadRequest for an API with deciding members of its own.
func ReadRequestOf(body []byte, keys Keys) (gjson.Result, error) {
	root := jsonedit.Parse(body)
	if !root.IsObject() {
		return root, wire.ErrNoObject
	}
	return root, keys.check(root, "")
}

// SwitchKeys returns the members below one of the root by which requests turn thinking on
// or off.
func SwitchKeys(root string) Keys {
	keys := Keys{}
	for _, path := range switches {
		if strings.HasPrefix(path, root+".") {
			keys.add(path + ".type")
		}
	}
	return keys
}

// add adds the members of a path.
func (k Keys) add(path string) {
	for key := range strings.SplitSeq(path, ".") {
		if k[key] == nil {
			k[key] = Keys{}
		}
		k = k[key]
	}
}

// check checks an object, or the elements of a list. path says where it is, in our
// own words: it holds nothing that a peer wrote.
func (k Keys) check(v gjson.Result, path string) (err error) {
	if v.IsArray() {
		i := 0
		v.ForEach(func(_, e gjson.Result) bool {
			if e.IsObject() { // no API has a list in a list
				err = k.check(e, path+"["+strconv.Itoa(i)+"]")
			}
			i++
			return err == nil
		})
		return err
	}
	if !v.IsObject() {
		return nil
	}
	var few [16]string
	seen := few[:0] // it holds no more entries than there are keys
	v.ForEach(func(key, value gjson.Result) bool {
		name, same := k.match(key.Str)
		switch {
		case !utf8.ValidString(key.Str):
			err = fmt.Errorf("a key in %s is not valid UTF-8", where(path))
		case name == "":
		case !same:
			err = fmt.Errorf("the key %q appears in %s with different case", name, where(path))
		case slices.Contains(seen, name):
			err = fmt.Errorf("the key %q appears twice in %s", name, where(path))
		default:
			seen = append(seen, name)
			if inner := k[name]; len(inner) > 0 {
				err = inner.check(value, strings.TrimPrefix(path+"."+name, "."))
			}
		}
		return err == nil
	})
	return err
}

func where(path string) string {
	if path == "" {
		return "the request"
	}
	return path
}

// match returns the member that a reader which folds case takes a key for, or "".
// same says that the key is written exactly so.
func (k Keys) match(key string) (name string, same bool) {
	if _, ok := k[key]; ok {
		return key, true
	}
	var buf [longestKey]byte
	folded, ok := foldKey(buf[:0], key)
	if !ok {
		return "", false
	}
	if _, ok := k[string(folded)]; ok {
		return string(folded), false
	}
	for name := range k { // in camel case
		if len(name) == len(folded) && strings.EqualFold(name, string(folded)) {
			return name, false
		}
	}
	return "", false
}

// longestKey is longer than any member of DecidingKeys.
const longestKey = 32

// foldKey folds a key to lower case as encoding/json does: the long s (ſ) is an s,
// the Kelvin sign a k. ok is false for a key that cannot be a deciding key.
func foldKey(dst []byte, key string) (folded []byte, ok bool) {
	for _, r := range key {
		if r >= utf8.RuneSelf {
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				if f < utf8.RuneSelf {
					r = f
					break
				}
			}
		}
		if r >= utf8.RuneSelf || len(dst) == longestKey {
			return nil, false
		}
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		dst = append(dst, byte(r))
	}
	return dst, true
}
