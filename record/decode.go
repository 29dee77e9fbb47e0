package record

import (
	"bytes"
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// Events are decoded here, in one pass over the line. encoding/json reads each byte of
// a text four times: it checks the line, finds the payload, checks that, and decodes
// it. Whatever a writer of this package would not write (a name in other letters, a
// member twice, a wrong type, bytes that are not UTF-8) is left to encoding/json, so
// that the result is the same.

// decoding is one value of JSON that is decoded.
type decoding struct {
	b         []byte
	noPrompts bool // leave out the members that say what was sent to a model
}

// A decoder decodes the value that begins at d.b[i], or after white space there, into
// v, which is zero. It returns the place after the value. If ok is false,
// encoding/json must decode the whole.
type decoder func(d *decoding, i int, v reflect.Value) (end int, ok bool)

// decodeJSON decodes data, which is one value, into the value that p points to. It
// decodes as encoding/json does.
func decodeJSON[T any](data []byte, p *T, noPrompts bool) error {
	d := decoding{data, noPrompts}
	v := reflect.ValueOf(p).Elem()
	if end, ok := decoderOf(v.Type())(&d, 0, v); ok && jsontext.Space(data, end) == len(data) {
		return nil
	}
	var again T
	err := json.Unmarshal(data, &again)
	*p = again
	return err
}

var decoders sync.Map // of reflect.Type

func decoderOf(t reflect.Type) decoder {
	if d, ok := decoders.Load(t); ok {
		return d.(decoder)
	}
	d := newDecoder(t)
	decoders.Store(t, d)
	return d
}

var (
	rawType             = reflect.TypeFor[json.RawMessage]()
	jsonUnmarshalerType = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func newDecoder(t reflect.Type) decoder {
	switch {
	case t == rawType:
		return decodeRaw
	case t == textType:
		return decodeText
	case reflect.PointerTo(t).Implements(jsonUnmarshalerType):
		return decodeOther
	case reflect.PointerTo(t).Implements(textUnmarshalerType):
		return decodeUnmarshaler
	}
	switch t.Kind() {
	case reflect.String:
		return decodeString
	case reflect.Bool:
		return decodeBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return decodeInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return decodeUint
	case reflect.Pointer:
		return pointerDecoder(t)
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return sliceDecoder(t)
		}
	case reflect.Struct:
		return structDecoder(t)
	}
	return decodeOther
}

// skip returns the place after a value.
func (d *decoding) skip(i int) (end int, ok bool) {
	end, _, fault := jsontext.Limits{Depth: 1000, Members: math.MaxInt}.Value(d.b, i)
	return end, fault == ""
}

// decodeRaw keeps a value as it is, without a copy.
func decodeRaw(d *decoding, i int, v reflect.Value) (int, bool) {
	i = jsontext.Space(d.b, i)
	end, ok := d.skip(i)
	if ok {
		v.SetBytes(d.b[i:end:end])
	}
	return end, ok
}

// decodeOther leaves a value to encoding/json.
func decodeOther(d *decoding, i int, v reflect.Value) (int, bool) {
	end, ok := d.skip(i)
	return end, ok && json.Unmarshal(d.b[i:end], v.Addr().Interface()) == nil
}

// token returns a scalar, and the place after it.
func (d *decoding) token(i int) (token []byte, end int, ok bool) {
	if i = jsontext.Space(d.b, i); i >= len(d.b) || d.b[i] == '{' || d.b[i] == '[' {
		return nil, i, false
	}
	end, fault := jsontext.Scalar(d.b, i)
	if fault != "" {
		return nil, end, false
	}
	return d.b[i:end], end, true
}

// text returns the text of a string, and the place after it.
func (d *decoding) text(i int) (text string, end int, ok bool) {
	token, end, ok := d.token(i)
	if !ok || token[0] != '"' || !utf8.Valid(token) {
		return "", end, false
	}
	if bytes.IndexByte(token, '\\') < 0 {
		return string(token[1 : len(token)-1]), end, true
	}
	return jsontext.Unquote(token), end, true
}

func decodeString(d *decoding, i int, v reflect.Value) (int, bool) {
	text, end, ok := d.text(i)
	if ok {
		v.SetString(text)
	}
	return end, ok
}

func decodeText(d *decoding, i int, v reflect.Value) (int, bool) {
	text, end, ok := d.text(i)
	if ok && strings.HasPrefix(text, base64Mark) {
		var t Text
		ok = t.UnmarshalText([]byte(text)) == nil
		text = string(t)
	}
	if ok {
		v.SetString(text)
	}
	return end, ok
}

func decodeUnmarshaler(d *decoding, i int, v reflect.Value) (int, bool) {
	text, end, ok := d.text(i)
	return end, ok && v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)) == nil
}

func decodeBool(d *decoding, i int, v reflect.Value) (int, bool) {
	token, end, ok := d.token(i)
	truth := string(token) == "true"
	if ok {
		v.SetBool(truth)
	}
	return end, ok && (truth || string(token) == "false")
}

func decodeInt(d *decoding, i int, v reflect.Value) (int, bool) {
	token, end, ok := d.token(i)
	n, err := strconv.ParseInt(string(token), 10, 64)
	if ok = ok && err == nil && !v.OverflowInt(n); ok {
		v.SetInt(n)
	}
	return end, ok
}

func decodeUint(d *decoding, i int, v reflect.Value) (int, bool) {
	token, end, ok := d.token(i)
	n, err := strconv.ParseUint(string(token), 10, 64)
	if ok = ok && err == nil && !v.OverflowUint(n); ok {
		v.SetUint(n)
	}
	return end, ok
}

func pointerDecoder(t reflect.Type) decoder {
	elem := decoderOf(t.Elem())
	return func(d *decoding, i int, v reflect.Value) (int, bool) {
		if i = jsontext.Space(d.b, i); i < len(d.b) && d.b[i] == 'n' {
			end, fault := jsontext.Scalar(d.b, i)
			return end, fault == ""
		}
		v.Set(reflect.New(t.Elem()))
		return elem(d, i, v.Elem())
	}
}

func sliceDecoder(t reflect.Type) decoder {
	elem := decoderOf(t.Elem())
	zero := reflect.Zero(t.Elem())
	return func(d *decoding, i int, v reflect.Value) (int, bool) {
		i = jsontext.Space(d.b, i)
		if i >= len(d.b) || d.b[i] != '[' {
			return i, false
		}
		if at := jsontext.Space(d.b, i+1); at < len(d.b) && d.b[at] == ']' {
			v.Set(reflect.MakeSlice(t, 0, 0))
			return at + 1, true
		}
		for n := 0; ; n++ {
			v.Set(reflect.Append(v, zero))
			end, ok := elem(d, i+1, v.Index(n))
			if !ok {
				return end, false
			}
			if i = jsontext.Space(d.b, end); i >= len(d.b) {
				return i, false
			}
			if d.b[i] == ']' {
				return i + 1, true
			}
			if d.b[i] != ',' {
				return i, false
			}
		}
	}
}

// A decodedMember is a field of a struct.
type decodedMember struct {
	index  int
	value  decoder
	prompt bool // it says what was sent to a model
}

// prompts are the members of exchanges and invocations that say what was sent to the
// model: mostly more than what came back.
var prompts = map[string]bool{"messages": true, "tools": true, "revisions": true, "asked": true}

var (
	exchangeType   = reflect.TypeFor[Exchange]()
	invocationType = reflect.TypeFor[Invocation]()
)

func structDecoder(t reflect.Type) decoder {
	members, lower := map[string]decodedMember{}, map[string]bool{}
	if t.NumField() > 64 {
		return decodeOther
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "" || name == "-" || !f.IsExported() {
			return decodeOther // this file does not need to know it
		}
		members[name] = decodedMember{i, decoderOf(f.Type), prompts[name] && (t == exchangeType || t == invocationType)}
		lower[strings.ToLower(name)] = true
	}
	return func(d *decoding, i int, v reflect.Value) (_ int, ok bool) {
		i = jsontext.Space(d.b, i)
		if i >= len(d.b) || d.b[i] != '{' {
			return i, false
		}
		if at := jsontext.Space(d.b, i+1); at < len(d.b) && d.b[at] == '}' {
			return at + 1, true
		}
		for seen := uint64(0); ; {
			from := jsontext.Space(d.b, i+1)
			end, fault := jsontext.Key(d.b, from)
			if fault != "" {
				return end, false
			}
			name := d.b[from+1 : end-1]
			if i, fault = jsontext.Colon(d.b, end); fault != "" {
				return i, false
			}
			m, known := members[string(name)]
			switch {
			case !known && (!isPlainName(name) || lower[strings.ToLower(string(name))]),
				known && seen>>m.index&1 == 1:
				return i, false
			case !known || m.prompt && d.noPrompts:
				i, ok = d.skip(i)
			default:
				i, ok = m.value(d, i, v.Field(m.index))
			}
			if !ok {
				return i, false
			}
			if known {
				seen |= 1 << m.index
			}
			if i = jsontext.Space(d.b, i); i >= len(d.b) {
				return i, false
			}
			if d.b[i] == '}' {
				return i + 1, true
			}
			if d.b[i] != ',' {
				return i, false
			}
		}
	}
}

// isPlainName reports whether a name has neither escapes nor letters that
// encoding/json could take for others.
func isPlainName(name []byte) bool {
	for _, c := range name {
		if c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
