package consent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestForm: what is sent is what the person gave and the defaults of the rest, if each value is of
// the kind, the format and the range that the form wants. The error names the field, and no value.
func TestForm(t *testing.T) {
	const secret = "s3cr3t"
	for _, tt := range []struct{ properties, required, values, want string }{
		{`"a":{"type":"string"}`, `"a"`, `{"a":"x"}`, `{"a":"x"}`},
		{`"a":{"type":"string"}`, `"a"`, ``, "a: a value is needed"},
		{`"a":{"type":"string"}`, ``, ``, `{}`},
		{`"a":{"type":"string","default":"d"}`, `"a"`, ``, `{"a":"d"}`},
		{`"a":{"type":"string","maxLength":3}`, ``, `{"a":"s3cr3t"}`, "a: "},
		{`"a":{"type":"string","format":"email"}`, ``, `{"a":"s3cr3t"}`, "a: want an address"},
		{`"a":{"type":"string","format":"email"}`, ``, `{"a":"a@example.org"}`, `{"a":"a@example.org"}`},
		{`"a":{"type":"string","format":"uri"}`, ``, `{"a":"s3cr3t"}`, "a: want an address"},
		{`"a":{"type":"string","format":"date"}`, ``, `{"a":"2026-02-30"}`, "a: want a date"},
		{`"a":{"type":"string","format":"date-time"}`, ``, `{"a":"2026-02-28T08:00:00Z"}`, `{"a":"2026-02-28T08:00:00Z"}`},
		{`"a":{"type":"integer","minimum":1,"maximum":9}`, ``, `{"a":10}`, "a: "},
		{`"a":{"type":"integer"}`, ``, `{"a":1.5}`, "a: "},
		{`"a":{"type":"integer"}`, ``, `{"a":123456789012345678901234567890}`, `{"a":123456789012345678901234567890}`},
		{`"a":{"type":"number"}`, ``, `{"a":"s3cr3t"}`, "a: "},
		{`"a":{"type":"boolean"}`, `"a"`, ``, `{"a":true}`},
		{`"a":{"type":"boolean"}`, `"a"`, `{"a":false}`, `{"a":false}`},
		{`"a":{"enum":["x"]},"c":{"const":"y"}`, `"a","c"`, ``, `{"a":"x","c":"y"}`},
		{`"a":{"type":"string","enum":["x","y"],"enumNames":["The X","The Y"]}`, `"a"`, `{"a":"s3cr3t"}`, "a: "},
		{`"a":{"type":"string","oneOf":[{"const":"x","title":"X"},{"const":"y"}]}`, `"a"`, `{"a":"y"}`, `{"a":"y"}`},
		{`"a":{"type":"array","maxItems":1,"items":{"anyOf":[{"const":"x"},{"const":"y"}]}}`, ``, `{"a":["x","y"]}`, "a: "},
		{`"a":{"type":"array","items":{"type":"string","enum":["x","y"]}}`, ``, `{"a":["y"]}`, `{"a":["y"]}`},
		{`"a":{"type":"string"}`, ``, `{"b":1}`, `"b" is not a field`},
		{`"a":{"type":"string"}`, ``, `[]`, "not a JSON object"},
		{`"a":{"type":"string"}`, ``, `{"a":"` + strings.Repeat("x", MaxValues) + `"}`, "the limit is"},
		{`"a":{"type":"object"}`, ``, ``, "which is not a text"},
		{`"a":{"type":"string","format":"password"}`, ``, ``, "which is not known"},
		{`"a":{"type":"array","items":{"type":"string"}}`, ``, ``, "cannot be chosen from"},
		{`"a":{"type":"integer","default":"d"}`, ``, ``, "default that does not fit"},
		{`"a":null`, ``, ``, "no schema of"},
		{`"` + strings.Repeat("a", 65) + `":{"type":"string"}`, ``, ``, "whose name is not"},
	} {
		f, err := ReadForm([]byte(`{"type":"object","properties":{` + tt.properties + `},"required":[` + tt.required + `]}`))
		var got json.RawMessage
		if err == nil {
			if f, err = ReadForm(f.Schema()); err != nil { // as the question brings it
				t.Fatalf("%s: %v", tt.properties, err)
			}
			got, err = f.Fill(json.RawMessage(tt.values))
		}
		if err != nil {
			got = json.RawMessage(err.Error())
		}
		if !strings.Contains(string(got), tt.want) || err == nil && string(got) != tt.want || strings.Contains(string(got), secret) {
			t.Errorf("%s with %.100s: %s, want %s", tt.properties, tt.values, got, tt.want)
		}
	}
	for schema, want := range map[string]string{
		`[]`: "no schema that can be read", `{"properties":{"a":{"type":"string","title":"` + strings.Repeat("x", MaxForm) + `"}}}`: "the limit is",
		`{"properties":{` + strings.TrimSuffix(strings.Join(many(21, `"a%d":{"type":"string"},`), ""), ",") + `}}`:              "21 fields",
		`{"properties":{"a":{"type":"string","enum":[` + strings.TrimSuffix(strings.Join(many(201, `"%d",`), ""), ",") + `]}}}`: "201 choices",
	} {
		if _, err := ReadForm([]byte(schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100s: %v, want %s", schema, err, want)
		}
	}
}

func many(n int, form string) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf(form, i))
	}
	return list
}

// TestAsk: at a terminal a form is filled in line by line; what does not fit is asked for again, and
// "-" leaves the default. A no refuses, and "-" to the question dismisses it.
func TestAsk(t *testing.T) {
	q := About(call, "{}", now)
	q.Schema = json.RawMessage(`{"properties":{"age":{"type":"integer","default":7},"big":{"type":"boolean"},"name":{"type":"string","minLength":2},"of":{"type":"array","items":{"enum":["x","y"],"enumNames":["The X"]}}},"required":["name"]}`)
	for lines, want := range map[string]string{
		"yes|-|-|Ada|-":            `{"name":"Ada"}`,
		"yes|8|no|Ada|the x, y":    `{"age":8,"big":false,"name":"Ada","of":["x","y"]}`,
		"yes|many|8|-|A|-|Ada|z|-": `{"age":8,"name":"Ada"}`,
		"yes|-|-|-|-|-|-":          "refused",
		"no":                       "refused",
		"-":                        "dismissed",
		"yes|-":                    "the end",
	} {
		all, asked := strings.Split(lines, "|"), 0
		end := errors.New("the end")
		a, err := q.Ask(by, func(string) (string, error) {
			if asked++; asked > len(all) {
				return "", end
			}
			return all[asked-1], nil
		})
		got := string(a.Values)
		switch {
		case err != nil:
			got = err.Error()
		case a.Dismissed:
			got = "dismissed"
		case !a.Agree:
			got = "refused"
		}
		if got != want || asked < len(all) {
			t.Errorf("%s: %s after %d lines, want %s", lines, got, asked, want)
		}
	}
}

// TestValuesCount: values count for the question that asks for them, and a yes without them does not.
func TestValuesCount(t *testing.T) {
	q := About(call, "{}", now.Add(1e9))
	if err := q.Counts(q.With(by, json.RawMessage(`{"a":1}`)), here); !errors.Is(err, ErrValues) {
		t.Errorf("values that nobody asked for: %v", err)
	}
	q.Schema = json.RawMessage(`{"properties":{"a":{"type":"integer"}},"required":["a"]}`)
	for values, want := range map[string]error{`{"a":1}`: nil, `{"a":"x"}`: ErrValues, ``: ErrValues} {
		if err := q.Counts(q.With(by, json.RawMessage(values)), here); !errors.Is(err, want) || err != nil && want == nil {
			t.Errorf("%s: %v", values, err)
		}
	}
	if err := q.Counts(q.Dismiss(by), here); err != nil {
		t.Errorf("a dismissal: %v", err)
	}
}
