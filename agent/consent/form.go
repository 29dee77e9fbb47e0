package consent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/sotto-llm/sotto/internal/data/jsonschema"
)

// The bounds of a form and of what fills it in.
const (
	MaxForm    = 32 << 10 // bytes of a schema
	MaxValues  = 32 << 10 // bytes of values
	maxFields  = 20
	maxOptions = 200 // of a field
	maxField   = 64  // bytes of a field's name
)

// A Form is what a question asks for beside a yes or no: some values, each of which is a text, a
// number, a yes or no, or a choice.
type Form struct {
	Fields []Field // by their names
	schema []byte  // as it is kept: see [Form.Schema]
	check  *jsonschema.Schema
}

// A Field asks for one value.
type Field struct {
	Name, Title, Description string
	Type                     string // string, number, integer, boolean, or array: several options
	Format                   string // of a string: email, uri, date or date-time; "" for any
	Options                  []Option
	Required                 bool
	// Default is what is sent if the person says nothing; nil if nothing is.
	Default json.RawMessage
}

// An Option is a value that can be chosen.
type Option struct{ Value, Title string }

// A property is a field as its JSON Schema has it. What is not here is left out, and decides
// nothing.
type property struct {
	Type        string          `json:"type,omitempty"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Format      string          `json:"format,omitempty"`
	Enum        []string        `json:"enum,omitempty"`
	EnumNames   []string        `json:"enumNames,omitempty"`
	OneOf       []constant      `json:"oneOf,omitempty"`
	AnyOf       []constant      `json:"anyOf,omitempty"`
	Const       string          `json:"const,omitempty"`
	MinLength   *int            `json:"minLength,omitempty"`
	MaxLength   *int            `json:"maxLength,omitempty"`
	Minimum     json.Number     `json:"minimum,omitempty"`
	Maximum     json.Number     `json:"maximum,omitempty"`
	MinItems    *int            `json:"minItems,omitempty"`
	MaxItems    *int            `json:"maxItems,omitempty"`
	Items       *property       `json:"items,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"`
}

type constant struct {
	Const string `json:"const"`
	Title string `json:"title,omitempty"`
}

type object struct {
	Type       string               `json:"type"`
	Properties map[string]*property `json:"properties"`
	Required   []string             `json:"required,omitempty"`
	Closed     *bool                `json:"additionalProperties"`
}

// ReadForm reads a form: the JSON Schema of a flat object, as MCP's elicitation has it. The error
// says what nobody can be asked for.
func ReadForm(schema []byte) (*Form, error) {
	if len(schema) > MaxForm {
		return nil, fmt.Errorf("the form has %d bytes: the limit is %d", len(schema), MaxForm)
	}
	var o object
	if err := json.Unmarshal(schema, &o); err != nil {
		return nil, errors.New("the form has no schema that can be read")
	}
	if len(o.Properties) > maxFields {
		return nil, fmt.Errorf("the form has %d fields: the limit is %d", len(o.Properties), maxFields)
	}
	f := &Form{}
	o.Type, o.Closed = "object", new(bool)
	for name, p := range o.Properties {
		if name == "" || len(name) > maxField || strings.ContainsFunc(name, unicode.IsControl) {
			return nil, fmt.Errorf("the form has a field whose name is not 1 to %d bytes of text", maxField)
		}
		if p == nil {
			return nil, fmt.Errorf("the form has no schema of %q", name)
		}
		field, err := p.field(name, slices.Contains(o.Required, name))
		if err != nil {
			return nil, err
		}
		f.Fields = append(f.Fields, field)
	}
	slices.SortFunc(f.Fields, func(a, b Field) int { return cmp.Compare(a.Name, b.Name) })
	var err error
	if f.schema, err = json.Marshal(o); err != nil {
		return nil, err
	}
	if f.check, err = jsonschema.CompileText(f.schema); err != nil {
		return nil, fmt.Errorf("the form has a schema that cannot be used: %w", err)
	}
	for _, x := range f.Fields {
		if x.Default == nil {
			continue
		}
		if err := f.fits(map[string]json.RawMessage{x.Name: x.Default}, nil); err != nil {
			return nil, fmt.Errorf("the form has a default that does not fit: %w", err)
		}
	}
	return f, nil
}

// field reads a field, and completes its schema: what must be a yes or no is a yes, unless the
// person says no, and the only choice is made.
func (p *property) field(name string, required bool) (Field, error) {
	if p.Type == "" && (len(p.Enum) > 0 || len(p.OneOf) > 0 || p.Const != "") {
		p.Type = "string"
	}
	f := Field{Name: name, Title: p.Title, Description: p.Description, Type: p.Type, Format: p.Format, Required: required, Default: p.Default}
	switch p.Type {
	case "string", "number", "integer", "boolean":
		if p.Type == "string" {
			f.Options = p.options()
		}
		p.Items = nil
	case "array":
		if p.Items == nil {
			return f, fmt.Errorf("it asks for %q, and does not say which values there are", name)
		}
		if f.Options = p.Items.options(); len(f.Options) == 0 {
			return f, fmt.Errorf("it asks for %q, a list of values that cannot be chosen from", name)
		}
		p.Items.Type, p.Items.Default = "string", nil
	default:
		return f, fmt.Errorf("it asks for %q, which is not a text, a number, a yes or no, or a choice", name)
	}
	switch {
	case len(f.Options) > maxOptions:
		return f, fmt.Errorf("it asks for %q, which has %d choices: the limit is %d", name, len(f.Options), maxOptions)
	case !slices.Contains([]string{"", "email", "uri", "date", "date-time"}, p.Format):
		return f, fmt.Errorf("it asks for %q in the format %.32q, which is not known", name, p.Format)
	case f.Default != nil || !required:
	case p.Type == "boolean":
		f.Default = json.RawMessage("true")
	case p.Type == "string" && len(f.Options) == 1:
		f.Default, _ = json.Marshal(f.Options[0].Value)
	}
	if bytes.Equal(f.Default, []byte("null")) {
		f.Default = nil
	}
	p.Default = f.Default
	return f, nil
}

// options are the values of a choice.
func (p *property) options() (list []Option) {
	for i, v := range p.Enum {
		o := Option{Value: v}
		if i < len(p.EnumNames) {
			o.Title = p.EnumNames[i]
		}
		list = append(list, o)
	}
	for _, c := range slices.Concat(p.OneOf, p.AnyOf) {
		list = append(list, Option{c.Const, c.Title})
	}
	if len(list) == 0 && p.Const != "" {
		list = []Option{{Value: p.Const}}
	}
	return list
}

// Schema returns the form as a question has it: with the defaults, and nothing else than what
// [ReadForm] reads.
func (f *Form) Schema() json.RawMessage { return f.schema }

// Fill returns what is sent for the values of a person: those and the defaults of the others. The
// error says which field does not fit, and no value.
func (f *Form) Fill(values json.RawMessage) (json.RawMessage, error) {
	if len(values) > MaxValues {
		return nil, fmt.Errorf("the values have %d bytes: the limit is %d", len(values), MaxValues)
	}
	all := map[string]json.RawMessage{}
	if len(values) > 0 {
		if err := json.Unmarshal(values, &all); err != nil || all == nil {
			return nil, errors.New("the values are not a JSON object")
		}
	}
	var missing []string
	for _, x := range f.Fields {
		if _, there := all[x.Name]; there {
			continue
		}
		if x.Default != nil {
			all[x.Name] = x.Default
		} else if x.Required {
			missing = append(missing, x.Name)
		}
	}
	if err := f.fits(all, missing); err != nil {
		return nil, err
	}
	return json.Marshal(all)
}

// fits checks values. missing are those that must be there and are not.
func (f *Form) fits(values map[string]json.RawMessage, missing []string) error {
	if len(missing) > 0 {
		return fmt.Errorf("%s: a value is needed", strings.Join(missing, ", "))
	}
	for name, text := range values {
		i := slices.IndexFunc(f.Fields, func(x Field) bool { return x.Name == name })
		if i < 0 {
			return fmt.Errorf("%.64q is not a field of the form", name)
		}
		one := map[string]any{}
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			return fmt.Errorf("%s: not a JSON value", name)
		}
		one[name] = v
		for _, fault := range f.check.Check(one) {
			if len(fault.Path) > 0 && fault.Path[0] == name { // others are about fields that are not here
				return fmt.Errorf("%s: %s", name, fault.What)
			}
		}
		if s, ok := v.(string); ok && !inFormat(s, f.Fields[i].Format) {
			return fmt.Errorf("%s: want %s", name, formats[f.Fields[i].Format])
		}
	}
	return nil
}

// formats are the formats in words.
var formats = map[string]string{"email": "an address such as ann@example.org", "uri": "an address such as https://example.org", "date": "a date such as 2026-11-29", "date-time": "a time such as 2026-11-29T08:00:00Z"}

func inFormat(s, format string) bool {
	switch format {
	case "email":
		a, err := mail.ParseAddress(s)
		return err == nil && a.Address == s
	case "uri":
		u, err := url.Parse(s)
		return err == nil && u.IsAbs()
	case "date":
		_, err := time.Parse(time.DateOnly, s)
		return err == nil
	case "date-time":
		_, err := time.Parse(time.RFC3339, s)
		return err == nil
	}
	return true
}

// ErrValues is in the error of an answer whose values do not fit its question's form.
var ErrValues = errors.New("the values of the answer do not fit")

// Form returns what the question asks for beside a yes or no; nil if it asks for nothing.
func (q Question) Form() (*Form, error) {
	if len(q.Schema) == 0 {
		return nil, nil
	}
	return ReadForm(q.Schema)
}

// Needs reports why a bare yes does not answer the question: it asks for values. It is nil if a
// yes is enough.
func (q Question) Needs() error { return q.fitting(nil) }

// fitting reports why values do not answer the question.
func (q Question) fitting(values json.RawMessage) error {
	f, err := q.Form()
	switch {
	case err != nil:
	case f != nil:
		_, err = f.Fill(values)
	case len(values) > 0:
		err = errors.New("the question asks for none")
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrValues, err)
	}
	return nil
}

// With answers the question with values.
func (q Question) With(by Principal, values json.RawMessage) Answer {
	a := q.Yes(by)
	a.Values = values
	return a
}

// Dismiss says that the person decided nothing: neither yes nor no.
func (q Question) Dismiss(by Principal) Answer {
	a := q.No(by, "")
	a.Dismissed = true
	return a
}

// ValueOf reads what a person wrote into a field as JSON; nil if nothing was written. Several
// options are separated by commas.
func (x *Field) ValueOf(text string) (json.RawMessage, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	switch x.Type {
	case "number", "integer":
		if d := json.RawMessage(text); json.Valid(d) && strings.ContainsAny(text[:1], "-0123456789") {
			return d, nil
		}
		return nil, fmt.Errorf("%s: want a number", x.Name)
	case "boolean":
		switch strings.ToLower(text) {
		case "yes", "y", "true", "on":
			return json.RawMessage("true"), nil
		case "no", "n", "false", "off":
			return json.RawMessage("false"), nil
		}
		return nil, fmt.Errorf("%s: want yes or no", x.Name)
	case "array":
		list := []string{}
		for part := range strings.SplitSeq(text, ",") {
			list = append(list, x.valueNamed(strings.TrimSpace(part)))
		}
		return json.Marshal(list)
	}
	return json.Marshal(x.valueNamed(text))
}

// valueNamed returns the option that a text names, or the text.
func (x *Field) valueNamed(text string) string {
	for _, o := range x.Options {
		if o.Value == text {
			return text
		}
	}
	for _, o := range x.Options {
		if strings.EqualFold(o.Title, text) {
			return o.Value
		}
	}
	return text
}
