package console

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/internal/base/visible"
)

// An askField is a field of a question's form as a page shows it. What comes from the server that
// asks is shown without characters that hide or reorder others; Name is as it is, for the answer.
type askField struct {
	Name, Label, Description string
	Kind                     string // text, email, url, date, number, checkbox, select or several
	Options                  []askOption
	Required                 bool
	Value                    string // the default
}

type askOption struct {
	Value, Label string
	Chosen       bool
}

// askFields returns the fields of a question; nil if it asks for a yes or no alone.
func askFields(q consent.Question) (list []askField) {
	form, err := q.Form()
	if err != nil || form == nil { // what cannot be read was refused when it came
		return nil
	}
	for _, f := range form.Fields {
		x := askField{Name: f.Name, Label: visible.Line(f.Name), Description: visible.Line(f.Description), Kind: inputOf(&f), Required: f.Required}
		if f.Title != "" {
			x.Label = visible.Line(f.Title)
		}
		var chosen []string
		if json.Unmarshal(f.Default, &x.Value) == nil {
			chosen = []string{x.Value}
		} else if json.Unmarshal(f.Default, &chosen) != nil {
			x.Value = string(f.Default)
		}
		for _, o := range f.Options {
			label := o.Title
			if label == "" {
				label = o.Value
			}
			x.Options = append(x.Options, askOption{o.Value, visible.Line(label), slices.Contains(chosen, o.Value)})
		}
		list = append(list, x)
	}
	return list
}

func inputOf(f *consent.Field) string {
	switch {
	case f.Type == "boolean":
		return "checkbox"
	case f.Type == "array":
		return "several"
	case len(f.Options) > 0:
		return "select"
	case f.Type == "number", f.Type == "integer":
		return "number"
	case f.Format == "email", f.Format == "date":
		return f.Format
	case f.Format == "uri":
		return "url"
	}
	return "text"
}

// givenValues are the values that a page sends for the fields of a question, as texts.
func givenValues(q consent.Question, given func(name string) []string) (json.RawMessage, error) {
	form, err := q.Form()
	if err != nil || form == nil {
		return nil, err
	}
	values := map[string]json.RawMessage{}
	for _, f := range form.Fields {
		texts := slices.DeleteFunc(slices.Clone(given(f.Name)), func(s string) bool { return s == "" })
		var v json.RawMessage
		switch {
		case f.Type == "boolean":
			v = json.RawMessage("false") // a box without its tick is not sent
			if len(texts) > 0 {
				v = json.RawMessage("true")
			}
		case len(texts) == 0:
			continue
		case f.Type == "array":
			v, err = json.Marshal(texts)
		case len(texts) > 1:
			err = errors.New(f.Name + ": want one value")
		default:
			v, err = f.ValueOf(texts[0])
		}
		if err != nil {
			return nil, err
		}
		if v != nil {
			values[f.Name] = v
		}
	}
	return json.Marshal(values)
}

// answerOf is the answer to a question that a page sends: allow, refuse or dismiss.
func answerOf(q consent.Question, by consent.Principal, word string, given func(name string) []string) (consent.Answer, error) {
	switch word {
	case "allow":
		values, err := givenValues(q, given)
		return q.With(by, values), err
	case "refuse":
		return q.No(by, ""), nil
	case "dismiss":
		return q.Dismiss(by), nil
	}
	return consent.Answer{}, errors.New("answer: want allow, refuse or dismiss")
}
