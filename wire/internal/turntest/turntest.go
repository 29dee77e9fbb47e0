// Package turntest checks what package turn says of codecs: a request that one codec reads
// and writes is the same JSON, whatever members it has.
package turntest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/sotto-llm/sotto/wire/turn"
)

// Same checks the law for the body of a request, and for each body that differs from it in one
// place: an object has a member that nobody knows, a value is null, or of another type, or a text is
// another one. normal brings forms of the API that mean the same into one; it may change what it gets.
func Same(t *testing.T, api turn.API, body string, normal func(v any) any) {
	t.Helper()
	if err := same(api, decode(t, body), normal, true); err != nil {
		t.Errorf("%v\nof  %s", err, body)
		return
	}
	failed := 0
	report := func(what string, err error) {
		if err == nil || failed > 5 {
			return
		}
		failed++
		t.Errorf("%s: %v", what, err)
	}
	for i := range places(decode(t, body)) {
		for _, c := range changes {
			root := decode(t, body)
			p := places(root)[i]
			v, ok := c.of(p.get())
			if !ok {
				continue
			}
			p.set(v)
			report(c.name+" at "+p.path, same(api, root, normal, c.must))
		}
	}
}

// A change changes one value. must says that the request stays one of the API, whatever the place.
type change struct {
	name string
	must bool
	of   func(v any) (any, bool)
}

var changes = []change{
	{"a new member", true, func(v any) (any, bool) {
		m, ok := v.(map[string]any)
		if ok {
			m["zz_new"] = map[string]any{"a": []any{json.Number("1.50"), "x"}}
		}
		return m, ok
	}},
	{"another text", false, func(v any) (any, bool) {
		_, ok := v.(string)
		return "<think>\u00e9\U0001F600 \"\\/\n</think>", ok
	}},
	{"a number", false, func(any) (any, bool) { return json.Number("12345678901234567890"), true }},
	{"a text", false, func(v any) (any, bool) { _, is := v.(string); return "text", !is }},
	{"true", false, func(any) (any, bool) { return true, true }},
	{"an object", false, func(any) (any, bool) { return map[string]any{"k": "v"}, true }},
	{"a list", false, func(any) (any, bool) { return []any{"v", json.Number("1")}, true }},
	{"null", false, func(any) (any, bool) { return nil, true }},
}

// A place is a value below the root.
type place struct {
	path string
	get  func() any
	set  func(v any)
}

// places lists the values below v, and v itself if it is an object, in one order.
func places(v any) (list []place) {
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				list = append(list, place{path + "." + key, func() any { return v[key] }, func(to any) { v[key] = to }})
				walk(path+"."+key, v[key])
			}
		case []any:
			for i := range v {
				at := fmt.Sprintf("%s[%d]", path, i)
				list = append(list, place{at, func() any { return v[i] }, func(to any) { v[i] = to }})
				walk(at, v[i])
			}
		}
	}
	list = append(list, place{"the root", func() any { return v }, func(any) {}})
	walk("", v)
	return list
}

// same reads and writes a request. must says that it is one of the API.
func same(api turn.API, root any, normal func(any) any, must bool) error {
	body, err := json.Marshal(root)
	if err != nil {
		return err
	}
	if _, ok := root.(map[string]any); !ok {
		return nil
	}
	q, err := api.ReadTurn(body)
	if err != nil {
		if must {
			return fmt.Errorf("not read: %w", err)
		}
		return nil
	}
	if left, err := q.For(api.Name()); err != nil || left != nil {
		return fmt.Errorf("for its own API: left %q, %w", left, err)
	}
	out, err := api.WriteTurn(nil, q)
	if err != nil {
		return fmt.Errorf("not written: %w", err)
	}
	if err := twice(json.NewDecoder(bytes.NewReader(out))); err != nil {
		return fmt.Errorf("%w in %s", err, out)
	}
	was, is := Normal(body, normal), Normal(out, normal)
	if !reflect.DeepEqual(was, is) {
		return fmt.Errorf("written as\n    %s\nnormal:\n    %s\nwant\n    %s", out, encode(is), encode(was))
	}
	return nil
}

// Normal returns the JSON without what means the same with and without it: members that are null, and
// after the API's own normal form.
func Normal(body []byte, normal func(any) any) any {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return fmt.Sprintf("not JSON: %v: %q", err, body)
	}
	v = withoutNull(v)
	if normal != nil {
		v = normal(v)
	}
	return v
}

func withoutNull(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, of := range v {
			if of == nil {
				delete(v, key)
			} else {
				v[key] = withoutNull(of)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNull(v[i])
		}
	}
	return v
}

func decode(t *testing.T, body string) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader([]byte(body)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return v
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// twice reads a value, and returns an error if an object in it has a member twice.
func twice(d *json.Decoder) error {
	open, err := d.Token()
	if err != nil || open != json.Delim('{') && open != json.Delim('[') {
		return err
	}
	seen := map[json.Token]bool{}
	for d.More() {
		if open == json.Delim('{') {
			key, err := d.Token()
			if err != nil {
				return err
			}
			if seen[key] {
				return fmt.Errorf("member %v twice", key)
			}
			seen[key] = true
		}
		if err := twice(d); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}
