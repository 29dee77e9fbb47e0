package agent

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/model"
)

// maxTextCalls bounds how many calls one text can hold. maxTries bounds how many
// things in it may begin like a call and not be one: after these, the search stops.
const (
	maxTextCalls = 32
	maxTries     = 64
)

// textCalls finds the tool calls that a model wrote into its text:
//
//	<list/>   <write key="plan">text</write>   <read><key>plan</key></read>
//	{"name": "read", "arguments": {"key": "plan"}}   [{…}, {…}]
//	{"function": {"name": …, "arguments": …}}   {"tool_calls": [{…}]}
//	<function=read>…</function>   <invoke name="read">…</invoke>
//
// It also finds them in the marks of templates, such as <tool_call>…</tool_call>.
//
// A call begins a line, and nothing follows it on its last line. An element has the
// name of a tool. An object has the members shown; name and arguments may also be
// called tool, action, parameters, args or input. Calls in fenced code are
// examples, unless one fence is the whole text, or ends it and holds nothing else.
// Markup that the dialect knows as a tool's is always a call.
func (b *toolbox) textCalls(visible string, r *sotto.Reply) []model.Call {
	var calls []model.Call
	for _, s := range r.Segments {
		if s.Channel == sotto.ChannelTool && len(calls) < maxTextCalls {
			calls = append(calls, b.markupCall(r.Raw[s.Start:s.End])...)
		}
	}
	text := strings.TrimSpace(visible)
	if body, ok := oneFence(text); ok {
		text = body
	}
	fence, inside, tries := "", "", 0
	for len(text) > 0 && len(calls) < maxTextCalls && tries < maxTries {
		line, rest, _ := strings.Cut(text, "\n")
		mark := fenceMark(line)
		switch {
		case fence == "" && mark != "":
			fence, inside = mark, rest
		case fence != "":
			if strings.HasPrefix(mark, fence) && strings.TrimSpace(line) == mark {
				fence = ""
				if strings.TrimSpace(rest) == "" {
					calls = append(calls, b.onlyCalls(inside[:len(inside)-len(text)])...)
				}
			}
		default:
			trimmed := strings.TrimLeft(text, " \t")
			trimmed = trimmed[len(wrapper.FindString(trimmed)):]
			if b.begins(trimmed) {
				tries++
			}
			if found, n := b.callAt(trimmed); n > 0 {
				if tail, after, _ := strings.Cut(trimmed[n:], "\n"); wrapped.MatchString(tail) {
					calls = append(calls, found...)
					rest = after
					tries--
				}
			}
		}
		text = rest
	}
	return calls[:min(len(calls), maxTextCalls)]
}

// onlyCalls reads a text that consists of calls only.
func (b *toolbox) onlyCalls(text string) (calls []model.Call) {
	for text = strings.TrimSpace(text); text != "" && len(calls) < maxTextCalls; text = strings.TrimSpace(text) {
		found, n := b.callAt(text)
		if n == 0 {
			return nil
		}
		calls, text = append(calls, found...), text[n:]
	}
	return calls
}

// fenceMark is the run of back-ticks or tildes that a line begins with, if it can
// be a fence.
func fenceMark(line string) string {
	line = strings.TrimLeft(line, " \t")
	for _, c := range []string{"`", "~"} {
		n := len(line) - len(strings.TrimLeft(line, c))
		if n >= 3 && (c == "~" || !strings.Contains(line[n:], "`")) {
			return line[:n]
		}
	}
	return ""
}

// oneFence returns the inside of a text that is one fence.
func oneFence(text string) (string, bool) {
	first, rest, ok := strings.Cut(text, "\n")
	mark := fenceMark(first)
	if !ok || mark == "" {
		return "", false
	}
	body, ok := strings.CutSuffix(rest, mark)
	if !ok || strings.Contains(body, mark) {
		return "", false
	}
	return strings.TrimSpace(body), true
}

// Templates put calls into marks of their own. The marks stay in the text if the
// server does not know them, or if the dialect has none.
const wrapperNames = `(?:tool_calls?|function_calls?|tools)`

var (
	wrapper = lazyregexp.New(`^(?:(?:<\|?` + wrapperNames + `\|?>|<\|python_tag\|>|\[TOOL_CALLS\])[ \t]*)+`)
	wrapped = lazyregexp.New(`^\s*(?:(?:</` + wrapperNames + `>|<\|?/` + wrapperNames + `\|?>|<\|e[a-z]+_id\|>)\s*)*$`)
)

// begins reports whether a text begins like a call. Only then does the attempt to
// read it count.
func (b *toolbox) begins(text string) bool {
	if strings.HasPrefix(text, "<") {
		m := opener.FindStringSubmatch(text)
		return m != nil && b.named(m[1]) != nil || functionAt.MatchString(text)
	}
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")
}

// callAt reads the call that a text begins with, and returns how long it is.
func (b *toolbox) callAt(text string) ([]model.Call, int) {
	switch {
	case strings.HasPrefix(text, "<"):
		return b.elementAt(text)
	case strings.HasPrefix(text, "{"), strings.HasPrefix(text, "["):
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		var v any
		if d.Decode(&v) != nil {
			return nil, 0
		}
		if calls := b.objectCalls(v, 0); calls != nil {
			return calls, int(d.InputOffset())
		}
	}
	return nil, 0
}

var (
	opener    = lazyregexp.New(`^<([A-Za-z0-9_-]{1,64})((?:\s+[A-Za-z_][A-Za-z0-9_-]*\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(/?)>`)
	attribute = lazyregexp.New(`([A-Za-z_][A-Za-z0-9_-]*)\s*=\s*(?:"([^"]*)"|'([^']*)')`)
	child     = lazyregexp.New(`^\s*<(?:parameter=|parameter name=")?([A-Za-z_][A-Za-z0-9_-]*)"?>`)
)

// elementAt reads <tool …/> or <tool …>…</tool>.
func (b *toolbox) elementAt(text string) ([]model.Call, int) {
	m := opener.FindStringSubmatch(text)
	if m == nil || b.named(m[1]) == nil {
		return b.functionAt(text)
	}
	arguments := map[string]any{}
	kinds := b.properties(m[1])
	for _, a := range attribute.FindAllStringSubmatch(m[2], -1) {
		arguments[a[1]] = kinds.value(a[1], unescape(a[2]+a[3]))
	}
	n := len(m[0])
	if m[3] == "" {
		closer := "</" + m[1] + ">"
		body, _, ok := strings.Cut(text[n:], closer)
		if !ok {
			return nil, 0
		}
		n += len(body) + len(closer)
		kinds.body(arguments, body)
	}
	return []model.Call{{Name: m[1], Arguments: string(encode(arguments))}}, n
}

var functionAt = lazyregexp.New(`^<(?:function=([A-Za-z0-9_-]{1,64})|invoke name="([A-Za-z0-9_-]{1,64})")>`)

// functionAt reads <function=tool>…</function> and <invoke name="tool">…</invoke>,
// if there is such a tool.
func (b *toolbox) functionAt(text string) ([]model.Call, int) {
	m := functionAt.FindStringSubmatch(text)
	if m == nil || b.named(m[1]+m[2]) == nil {
		return nil, 0
	}
	name, closer := m[1]+m[2], "</function>"
	if m[2] != "" {
		closer = "</invoke>"
	}
	body, _, ok := strings.Cut(text[len(m[0]):], closer)
	if !ok {
		return nil, 0
	}
	arguments := map[string]any{}
	b.properties(name).body(arguments, body)
	return []model.Call{{Name: name, Arguments: string(encode(arguments))}}, len(m[0]) + len(body) + len(closer)
}

// A property of a tool's arguments, in the order in which a body fills them.
type properties struct {
	required []string
	kinds    map[string]string
}

func (b *toolbox) properties(name string) properties {
	var s struct {
		Required   []string `json:"required"`
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(b.named(name).Spec().Schema, &s) // it compiled before, so this cannot fail
	p := properties{s.Required, map[string]string{}}
	for name, x := range s.Properties {
		kind, _ := x.Type.(string)
		p.kinds[name] = kind
	}
	return p
}

// value converts a text to a property's type, if it can be.
func (p properties) value(name, text string) any {
	switch p.kinds[name] {
	case "integer", "number":
		if json.Valid([]byte(text)) {
			return json.Number(strings.TrimSpace(text))
		}
	case "boolean":
		if v, err := strconv.ParseBool(text); err == nil {
			return v
		}
	case "object", "array":
		var v any
		if json.Unmarshal([]byte(text), &v) == nil {
			return v
		}
	}
	return text
}

// body fills in what an element holds: elements named after the properties, a JSON
// object, or the text of the first required property that is left.
func (p properties) body(arguments map[string]any, body string) {
	if strings.TrimSpace(body) == "" {
		return
	}
	if found, ok := p.children(body); ok {
		for name, v := range found {
			arguments[name] = v
		}
		return
	}
	if v, err := decodeArguments(strings.TrimSpace(body)); err == nil {
		for name, x := range v.(map[string]any) {
			arguments[name] = x
		}
		return
	}
	for _, name := range p.required {
		if _, filled := arguments[name]; !filled {
			arguments[name] = p.value(name, strings.Trim(body, "\r\n"))
			return
		}
	}
}

// children reads a body of nothing but elements named after properties.
func (p properties) children(body string) (map[string]any, bool) {
	found := map[string]any{}
	for strings.TrimSpace(body) != "" {
		m := child.FindStringSubmatch(body)
		if m == nil {
			return nil, false
		}
		closer := "</" + m[1] + ">"
		if strings.Contains(m[0], "<parameter") && m[1] != "parameter" {
			closer = "</parameter>"
		}
		text, rest, ok := strings.Cut(body[len(m[0]):], closer)
		if _, known := p.kinds[m[1]]; !ok || !known {
			return nil, false
		}
		found[m[1]] = p.value(m[1], strings.Trim(text, "\r\n"))
		body = rest
	}
	return found, len(found) > 0
}

var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'", "&amp;", "&")

func unescape(s string) string { return entities.Replace(s) }

var (
	nameMembers     = []string{"name", "tool", "tool_name", "action"}
	argumentMembers = []string{"arguments", "parameters", "args", "input", "tool_input", "action_input"}
)

// objectCalls reads the calls in a JSON value; nil if it holds none.
func (b *toolbox) objectCalls(v any, depth int) []model.Call {
	if depth > 3 {
		return nil
	}
	var calls []model.Call
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			one := b.objectCalls(x, depth+1)
			if one == nil {
				return nil
			}
			calls = append(calls, one...)
		}
	case map[string]any:
		if list, ok := v["tool_calls"].([]any); ok {
			return b.objectCalls(list, depth+1)
		}
		if f, ok := v["function"].(map[string]any); ok {
			return b.objectCalls(f, depth+1)
		}
		return b.objectCall(v)
	}
	return calls
}

// objectCall reads {"name": …, "arguments": …}. If it has no arguments, it must
// hold only the name of a tool.
func (b *toolbox) objectCall(v map[string]any) []model.Call {
	if s, ok := v["function"].(string); ok && v["name"] == nil {
		v = map[string]any{"name": s, "arguments": firstOf(v, argumentMembers)}
	}
	name, _ := firstOf(v, nameMembers).(string)
	if !toolName.MatchString(name) {
		return nil
	}
	call := model.Call{Name: name}
	switch a := firstOf(v, argumentMembers).(type) {
	case map[string]any:
		call.Arguments = string(encode(a))
	case string: // as OpenAI writes them
		call.Arguments = a
		if b.named(name) == nil {
			return nil
		}
	default:
		others := slices.DeleteFunc(keysOf(v), func(k string) bool {
			return slices.Contains(nameMembers, k) || k == "id" || k == "type" || k == "arguments"
		})
		if b.named(name) == nil || len(others) > 0 {
			return nil
		}
		call.Arguments = "{}"
	}
	call.ID, _ = v["id"].(string)
	return []model.Call{call}
}

func firstOf(v map[string]any, names []string) any {
	for _, name := range names {
		if x, ok := v[name]; ok && x != nil {
			return x
		}
	}
	return nil
}

func keysOf(v map[string]any) []string {
	list := make([]string, 0, len(v))
	for k := range v {
		list = append(list, k)
	}
	return list
}

var functionForm = lazyregexp.New(`<function=([A-Za-z0-9_-]{1,64})>`)

// markupCall reads a block that the dialect says is a tool's. If the block cannot
// be understood, it is still a call, of no known tool.
func (b *toolbox) markupCall(block string) []model.Call {
	if m := functionForm.FindStringSubmatchIndex(block); m != nil {
		name := block[m[2]:m[3]]
		body, _, _ := strings.Cut(block[m[1]:], "</function>")
		arguments := map[string]any{}
		if b.named(name) != nil {
			b.properties(name).body(arguments, body)
		}
		return []model.Call{{Name: name, Arguments: string(encode(arguments))}}
	}
	if i := strings.IndexAny(block, "{["); i >= 0 {
		if calls, n := b.callAt(block[i:]); n > 0 {
			return calls
		}
	}
	return []model.Call{{Name: "unknown", Arguments: cmp.Or(strings.TrimSpace(block), "{}")}}
}
