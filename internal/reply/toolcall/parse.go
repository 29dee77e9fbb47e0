package toolcall

import (
	"bytes"
	"strings"

	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// The bounds of one block of markup.
const (
	MaxMarkup = 1 << 20 // bytes
	MaxCalls  = 128
	maxDepth  = 100 // of arguments
	maxParams = 1024
	maxName   = 256
)

// limits bound JSON in the markup.
var limits = jsontext.Limits{Depth: maxDepth, Members: 100_000}

// A Call is one call that was read.
type Call struct {
	Name string
	// JSON are the arguments, an object, if the form has them as JSON or as literals
	// of Python; else they are Params.
	JSON   []byte
	Params []Param
}

// A Param is an argument that is given as text.
type Param struct {
	Name, Text string
	// JSON says that the text is JSON, and String that it is a string, where the form
	// tells.
	JSON, String bool
}

// A form is the way in which a block of calls is written. A close that is empty means
// that the form has none.
type form struct {
	open, close string
	body        func(body string) ([]Call, bool) // nil if the markers are part of the call
}

// forms are all forms, by how they begin.
var forms = []form{
	{"<tool_call>", "</tool_call>", anyOf(functions, list, keyed)},
	{"<function=", "</function>", nil},
	{"<tool_calls>", "</tool_calls>", list},
	{"<TOOLCALL>", "</TOOLCALL>", list},
	{"<longcat_tool_call>", "</longcat_tool_call>", anyOf(list, keyed)},
	{"<iquest_tool_call>", "</iquest_tool_call>", list},
	{"<seed:tool_call>", "</seed:tool_call>", functions},
	{"<minimax:tool_call>", "</minimax:tool_call>", invocations("")},
	{"<｜DSML｜function_calls>", "</｜DSML｜function_calls>", invocations("｜DSML｜")},
	{"<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>", invocations("｜DSML｜")},
	{"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", deepseek},
	{"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", kimi},
	{"<|tool_call_start|>", "<|tool_call_end|>", anyOf(pythonic, list)},
	{"<|START_ACTION|>", "<|END_ACTION|>", list},
	{"<|python_tag|>", "", anyOf(pythonic, list)},
	{"<|python_start|>", "<|python_end|>", anyOf(pythonic, list)},
	{"[TOOL_CALLS]", "", anyOf(list, named)},
	{"<|start|>", "<|call|>", nil},
	{"<|channel|>", "<|call|>", nil},
}

// anyOf is the first of several ways that understands a body.
func anyOf(ways ...func(string) ([]Call, bool)) func(string) ([]Call, bool) {
	return func(body string) ([]Call, bool) {
		for _, way := range ways {
			if calls, ok := way(body); ok {
				return calls, true
			}
		}
		return nil, false
	}
}

// formOf returns the form that markup begins with.
func formOf[T string | []byte](markup T) (form, bool) {
	for _, f := range forms {
		if len(markup) >= len(f.open) && string(markup[:len(f.open)]) == f.open {
			return f, true
		}
	}
	return form{}, false
}

// Closed reports whether markup ends with the close of the form that it begins with, so
// that the calls in it are complete. It takes constant time.
func Closed(markup []byte) bool {
	markup = trimLeft(markup)
	f, ok := formOf(markup)
	return ok && f.close != "" && bytes.HasSuffix(markup, []byte(f.close))
}

// Parse reads the calls of one block of markup, which begins and ends with its markers.
// The close may be missing: whether the model had finished is for the caller to know. ok
// is false if there is anything in it that is not understood.
func Parse(markup string) (calls []Call, ok bool) {
	if len(markup) > MaxMarkup {
		return nil, false
	}
	markup = strings.Trim(markup, white)
	for _, end := range []string{"<|eom_id|>", "<|eot_id|>"} { // Llama's ends of a message
		markup = strings.TrimRight(strings.TrimSuffix(markup, end), white)
	}
	f, known := formOf(markup)
	switch {
	case !known:
		return nil, false
	case f.close == "<|call|>":
		calls, ok = harmony(strings.TrimSuffix(markup, f.close))
	case f.body == nil:
		calls, ok = functions(strings.TrimSuffix(markup, "</tool_call>"))
	default:
		calls, ok = f.body(strings.Trim(strings.TrimSuffix(markup[len(f.open):], f.close), white))
	}
	if !ok || len(calls) == 0 || len(calls) > MaxCalls {
		return nil, false
	}
	closed := strings.HasSuffix(markup, f.close) || strings.HasSuffix(markup, "</function>") || strings.HasSuffix(markup, "</tool_call>")
	for _, c := range calls {
		if !isName(c.Name) || len(c.Params) > maxParams || !closed && c.JSON == nil { // JSON shows its end
			return nil, false
		}
	}
	return calls, true
}

// isName reports whether a tool may have a name: without white space, control characters
// and brackets.
func isName(name string) bool {
	odd := func(c rune) bool { return c <= ' ' || c == 0x7f || strings.ContainsRune(`<>{}[]()"'`, c) }
	return name != "" && len(name) <= maxName && !strings.ContainsFunc(name, odd)
}

// white are the characters that count as white space between markers.
const white = " \t\n\v\f\r"

func trimLeft(b []byte) []byte {
	for len(b) > 0 && strings.IndexByte(white, b[0]) >= 0 {
		b = b[1:]
	}
	return b
}

// between cuts what stands between open, at the beginning of s, and the next close.
func between(s, open, close string) (inside, rest string, ok bool) {
	if s, ok = strings.CutPrefix(s, open); !ok {
		return "", s, false
	}
	return strings.Cut(s, close)
}
