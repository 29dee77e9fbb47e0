package toolcall

import "strings"

// functions reads <function=NAME>…</function>, once or several times. Between the tags
// is JSON, or <parameter=KEY>TEXT</parameter> for each argument.
func functions(body string) (calls []Call, ok bool) {
	for body = strings.TrimLeft(body, white); body != ""; body = strings.TrimLeft(body, white) {
		s, ok := strings.CutPrefix(body, "<function=")
		if !ok || len(calls) == MaxCalls {
			return nil, false
		}
		name, s, ok := strings.Cut(s, ">")
		if !ok {
			return nil, false
		}
		c := Call{Name: unquote(strings.Trim(name, white))}
		s = strings.TrimLeft(s, white)
		if strings.HasPrefix(s, "{") {
			var v string
			if v, s, ok = value(s); !ok {
				return nil, false
			}
			c.JSON = []byte(v)
		} else if c.Params, s, ok = parameters(s, "<parameter=", "</parameter>"); !ok {
			return nil, false
		}
		if s, ok = strings.CutPrefix(strings.TrimLeft(s, white), "</function>"); !ok {
			return nil, false
		}
		calls, body = append(calls, c), s
	}
	return calls, len(calls) > 0
}

// parameters reads OPENKEY>TEXTCLOSE as often as it comes. One line break on each side
// of a text belongs to the form. A text ends at the close that the next parameter or the
// end of the function follows, because it may hold such markers itself.
func parameters(s, open, close string) (all []Param, rest string, ok bool) {
	seen := map[string]bool{}
	for s = strings.TrimLeft(s, white); strings.HasPrefix(s, open); s = strings.TrimLeft(s, white) {
		key, after, ok := strings.Cut(s[len(open):], ">")
		if !ok {
			return nil, s, false
		}
		text, after, ok := cutText(after, open, close)
		if key = unquote(strings.Trim(key, white)); !ok || key == "" || seen[key] || len(all) == maxParams {
			return nil, s, false
		}
		seen[key] = true
		all = append(all, Param{Name: key, Text: lines(text)})
		s = after
	}
	return all, s, true
}

// cutText cuts a text at its close.
func cutText(s, open, close string) (text, rest string, ok bool) {
	for from := 0; ; {
		n := strings.Index(s[from:], close)
		if n < 0 {
			return "", s, false
		}
		at := from + n
		from = at + len(close)
		next := strings.TrimLeft(s[from:], white)
		if next == "" || strings.HasPrefix(next, open) || strings.HasPrefix(next, "</function>") {
			return s[:at], s[from:], true
		}
	}
}

// lines is a text without one line break on each side.
func lines(text string) string {
	return strings.TrimSuffix(strings.TrimPrefix(text, "\n"), "\n")
}

// unquote takes quotation marks off a name in a tag.
func unquote(name string) string {
	if n := len(name); n > 1 && name[0] == name[n-1] && (name[0] == '"' || name[0] == '\'') {
		return name[1 : n-1]
	}
	return name
}

// keyed reads NAME<arg_key>KEY</arg_key><arg_value>TEXT</arg_value>…
func keyed(body string) (calls []Call, ok bool) {
	at := strings.Index(body, "<arg_key>")
	if at < 0 {
		at = len(body)
	}
	c := Call{Name: strings.Trim(body[:at], white)}
	for body = body[at:]; body != ""; body = strings.TrimLeft(body, white) {
		key, rest, ok := between(body, "<arg_key>", "</arg_key>")
		if !ok || len(c.Params) == maxParams {
			return nil, false
		}
		text, rest, ok := between(strings.TrimLeft(rest, white), "<arg_value>", "</arg_value>")
		if !ok {
			return nil, false
		}
		c.Params = append(c.Params, Param{Name: strings.Trim(key, white), Text: text})
		body = rest
	}
	return []Call{c}, c.unique()
}

// unique reports whether each parameter comes once.
func (c *Call) unique() bool {
	seen := map[string]bool{}
	for _, p := range c.Params {
		if seen[p.Name] {
			return false
		}
		seen[p.Name] = true
	}
	return true
}

// invocations reads <invoke name="NAME"><parameter name="KEY">TEXT</parameter>…</invoke>,
// once or several times. The names of the tags may have a prefix. A parameter may say
// string="true", or false for JSON.
func invocations(prefix string) func(body string) ([]Call, bool) {
	invoke, invoked := "<"+prefix+"invoke", "</"+prefix+"invoke>"
	parameter, close := "<"+prefix+"parameter", "</"+prefix+"parameter>"
	return func(body string) (calls []Call, ok bool) {
		for body = strings.TrimLeft(body, white); body != ""; body = strings.TrimLeft(body, white) {
			name, _, s, ok := tag(body, invoke)
			if !ok || len(calls) == MaxCalls {
				return nil, false
			}
			c := Call{Name: name}
			for s = strings.TrimLeft(s, white); strings.HasPrefix(s, parameter); s = strings.TrimLeft(s, white) {
				key, kind, after, ok := tag(s, parameter)
				if !ok || len(c.Params) == maxParams {
					return nil, false
				}
				text, after, ok := strings.Cut(after, close)
				if !ok {
					return nil, false
				}
				p := Param{Name: key, Text: text, String: kind == "true", JSON: kind == "false"}
				if prefix == "" {
					p.Text = lines(text)
				}
				c.Params, s = append(c.Params, p), after
			}
			if body, ok = strings.CutPrefix(s, invoked); !ok || !c.unique() {
				return nil, false
			}
			calls = append(calls, c)
		}
		return calls, len(calls) > 0
	}
}

// tag reads a tag with the attribute name, and perhaps the attribute string.
func tag(s, open string) (name, kind, rest string, ok bool) {
	if s, ok = strings.CutPrefix(s, open); !ok {
		return "", "", s, false
	}
	attributes, rest, ok := strings.Cut(s, ">")
	if !ok {
		return "", "", s, false
	}
	name, attributes, ok = between(strings.TrimLeft(attributes, white), `name="`, `"`)
	if attributes = strings.Trim(attributes, white); attributes != "" {
		kind, attributes, _ = between(attributes, `string="`, `"`)
		ok = ok && attributes == "" && (kind == "true" || kind == "false")
	}
	return name, kind, rest, ok
}
