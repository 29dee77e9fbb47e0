package record

import (
	"bytes"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// Payloads are encoded here, byte for byte as encoding/json does without HTML
// escaping. encoding/json copies every text and looks at each of its bytes
// separately, which took half the time of an append. Kinds of values that payloads
// do not use are left to encoding/json.

// An encoder appends the JSON of a value.
type encoder func(dst []byte, v reflect.Value) ([]byte, error)

var encoders sync.Map // of reflect.Type

// appendJSON appends the JSON of v.
func appendJSON(dst []byte, v any) ([]byte, error) {
	r := reflect.ValueOf(v)
	return encoderOf(r.Type())(dst, r)
}

func encoderOf(t reflect.Type) encoder {
	if e, ok := encoders.Load(t); ok {
		return e.(encoder)
	}
	e := newEncoder(t)
	encoders.Store(t, e)
	return e
}

var (
	textType          = reflect.TypeFor[Text]()
	digestType        = reflect.TypeFor[Digest]()
	jsonMarshalerType = reflect.TypeFor[json.Marshaler]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
)

func newEncoder(t reflect.Type) encoder {
	switch {
	case t == textType:
		return func(dst []byte, v reflect.Value) ([]byte, error) { return Text(v.String()).append(dst), nil }
	case t == digestType:
		return appendDigest
	case t.Implements(jsonMarshalerType) || reflect.PointerTo(t).Implements(jsonMarshalerType):
		return appendOther
	case t.Implements(textMarshalerType) && t.Kind() == reflect.Uint8:
		return nameEncoder(t)
	case t.Implements(textMarshalerType):
		return appendMarshaled
	case reflect.PointerTo(t).Implements(textMarshalerType):
		return appendOther
	}
	switch t.Kind() {
	case reflect.String:
		return func(dst []byte, v reflect.Value) ([]byte, error) { return jsontext.AppendString(dst, v.String()), nil }
	case reflect.Bool:
		return func(dst []byte, v reflect.Value) ([]byte, error) { return strconv.AppendBool(dst, v.Bool()), nil }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(dst []byte, v reflect.Value) ([]byte, error) { return strconv.AppendInt(dst, v.Int(), 10), nil }
	case reflect.Uint, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(dst []byte, v reflect.Value) ([]byte, error) { return strconv.AppendUint(dst, v.Uint(), 10), nil }
	case reflect.Pointer:
		return pointerEncoder(encoderOf(t.Elem()))
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return sliceEncoder(encoderOf(t.Elem()))
		}
	case reflect.Struct:
		return structEncoder(t)
	}
	return appendOther
}

func appendDigest(dst []byte, v reflect.Value) ([]byte, error) {
	if v.CanAddr() { // without a copy in new memory
		return append(hex.AppendEncode(append(dst, '"'), v.Bytes()), '"'), nil
	}
	d := v.Interface().(Digest)
	return append(hex.AppendEncode(append(dst, '"'), d[:]), '"'), nil
}

// nameEncoder encodes a type of which every value is a byte with a name. The names are
// made once.
func nameEncoder(t reflect.Type) encoder {
	var names [256]struct {
		text []byte
		err  error
	}
	v := reflect.New(t).Elem()
	for i := range names {
		v.SetUint(uint64(i))
		names[i].text, names[i].err = appendMarshaled(nil, v)
	}
	return func(dst []byte, v reflect.Value) ([]byte, error) {
		name := &names[v.Uint()]
		return append(dst, name.text...), name.err
	}
}

func appendMarshaled(dst []byte, v reflect.Value) ([]byte, error) {
	text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
	return jsontext.AppendString(dst, string(text)), err
}

// appendOther leaves a value to encoding/json.
func appendOther(dst []byte, v reflect.Value) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v.Interface())
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func pointerEncoder(elem encoder) encoder {
	return func(dst []byte, v reflect.Value) ([]byte, error) {
		if v.IsNil() {
			return append(dst, "null"...), nil
		}
		return elem(dst, v.Elem())
	}
}

func sliceEncoder(elem encoder) encoder {
	return func(dst []byte, v reflect.Value) (_ []byte, err error) {
		if v.IsNil() {
			return append(dst, "null"...), nil
		}
		dst = append(dst, '[')
		for i := range v.Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = elem(dst, v.Index(i)); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	}
}

// A jsonMember is a field of a struct.
type jsonMember struct {
	index int
	name  string // with its quotes and colon
	omit  func(reflect.Value) bool
	value encoder
}

func structEncoder(t reflect.Type) encoder {
	var members []jsonMember
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		if !f.IsExported() && !f.Anonymous || tag == "-" {
			continue
		}
		if f.Anonymous || name == "" || options != "" && options != "omitempty" && options != "omitzero" {
			return appendOther // this file does not need to know it
		}
		m := jsonMember{index: i, name: string(append(jsontext.AppendString(nil, name), ':')), value: encoderOf(f.Type)}
		switch options {
		case "omitempty":
			m.omit = isEmpty
		case "omitzero":
			if _, ok := f.Type.MethodByName("IsZero"); ok {
				return appendOther
			}
			m.omit = reflect.Value.IsZero
		}
		members = append(members, m)
	}
	return func(dst []byte, v reflect.Value) (_ []byte, err error) {
		open := len(dst)
		dst = append(dst, '{')
		for i := range members {
			m := &members[i]
			value := v.Field(m.index)
			if m.omit != nil && m.omit(value) {
				continue
			}
			if len(dst) > open+1 {
				dst = append(dst, ',')
			}
			if dst, err = m.value(append(dst, m.name...), value); err != nil {
				return dst, err
			}
		}
		return append(dst, '}'), nil
	}
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// append appends the text as it stands in JSON.
func (t Text) append(dst []byte) []byte {
	if t.plain() {
		return jsontext.AppendString(dst, string(t))
	}
	coded, _ := t.MarshalText()
	return append(append(append(dst, '"'), coded...), '"') // base64 needs no escapes
}
