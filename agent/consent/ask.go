package consent

import (
	"encoding/json"
	"fmt"
	"strings"
)

const (
	// askTimes is how often a person at a terminal is asked for the same value.
	askTimes = 3
	// nothing is what a person writes to say nothing: an empty line may not arrive.
	nothing = "-"
)

// Ask asks a person at a terminal, one line after another: a question without a form by one line
// as [Question.Said] reads it; a form field by field, after a yes. ask shows a text and returns
// the line that was written.
func (q Question) Ask(by Principal, ask func(text string) (string, error)) (Answer, error) {
	form, err := q.Form()
	if err != nil {
		return Answer{}, err
	}
	text := q.Text()
	if form != nil {
		text += "\nAnswer yes to give the values, no to refuse, or - to dismiss the question."
	}
	line, err := ask(text)
	if err != nil || form == nil {
		return q.Said(by, line), err
	}
	if line = strings.TrimSpace(line); line == "" || line == nothing {
		return q.Dismiss(by), nil
	}
	a := q.Said(by, line)
	if !a.Agree {
		return a, nil
	}
	values := map[string]json.RawMessage{}
	for i := range form.Fields {
		v, err := form.askField(&form.Fields[i], ask)
		if err != nil {
			return Answer{}, err
		}
		if v != nil {
			values[form.Fields[i].Name] = v
		}
	}
	if a.Values, err = json.Marshal(values); err != nil {
		return Answer{}, err
	}
	if err := q.fitting(a.Values); err != nil {
		return q.No(by, err.Error()), nil
	}
	return a, nil
}

// askField asks for one value until it fits, but not forever. A value that does not fit refuses the
// whole question.
func (f *Form) askField(x *Field, ask func(string) (string, error)) (v json.RawMessage, err error) {
	why := ""
	for range askTimes {
		line, err := ask(why + x.prompt())
		if err != nil {
			return nil, err
		}
		if line = strings.TrimSpace(line); line == nothing {
			line = ""
		}
		v, err = x.ValueOf(line)
		switch {
		case err == nil && v != nil:
			err = f.fits(map[string]json.RawMessage{x.Name: v}, nil)
		case err == nil && x.Required && x.Default == nil:
			err = fmt.Errorf("%s: a value is needed", x.Name)
		}
		if err == nil {
			return v, nil
		}
		v, why = nil, err.Error()+"\n"
	}
	return v, nil
}

// prompt is the field in words.
func (x *Field) prompt() string {
	kinds := map[string]string{"string": "text", "array": "choices, with commas between them", "boolean": "yes or no"}
	kind := x.Type
	if k := kinds[kind]; k != "" {
		kind = k
	}
	if x.Format != "" {
		kind = formats[x.Format]
	}
	var b strings.Builder
	b.WriteString(x.Name)
	if x.Title != "" {
		b.WriteString(" (" + x.Title + ")")
	}
	b.WriteString(": " + kind)
	if x.Type == "string" && len(x.Options) > 0 || x.Type == "array" {
		b.WriteString(", of")
		for i, o := range x.Options {
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString(" " + o.Value)
			if o.Title != "" {
				b.WriteString(" (" + o.Title + ")")
			}
		}
	}
	switch {
	case x.Default != nil:
		b.WriteString("; - for " + string(x.Default))
	case !x.Required:
		b.WriteString("; - to leave it out")
	}
	if x.Description != "" {
		b.WriteString("\n" + x.Description)
	}
	return b.String()
}
