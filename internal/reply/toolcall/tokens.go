package toolcall

import "strings"

// deepseek reads <｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{…}<｜tool▁call▁end｜>, as often as it
// comes. The first models write function<｜tool▁sep｜>NAME, and a fence around the JSON.
func deepseek(body string) (calls []Call, ok bool) {
	const sep = "<｜tool▁sep｜>"
	for body != "" {
		inside, rest, ok := between(body, "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>")
		if !ok || len(calls) == MaxCalls {
			return nil, false
		}
		name, args, ok := strings.Cut(inside, sep)
		if !ok {
			return nil, false
		}
		if fence := strings.Index(args, "```json"); fence >= 0 && strings.TrimSpace(name) == "function" {
			name, args = args[:fence], strings.Trim(args[fence+len("```json"):], white)
			if args, ok = strings.CutSuffix(args, "```"); !ok {
				return nil, false
			}
		}
		v, ok := arguments(args)
		if !ok {
			return nil, false
		}
		calls = append(calls, Call{Name: strings.Trim(name, white), JSON: v})
		body = strings.TrimLeft(rest, white)
	}
	return calls, true
}

// kimi reads <|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{…}<|tool_call_end|>,
// as often as it comes.
func kimi(body string) (calls []Call, ok bool) {
	for body != "" {
		inside, rest, ok := between(body, "<|tool_call_begin|>", "<|tool_call_end|>")
		if !ok || len(calls) == MaxCalls {
			return nil, false
		}
		id, args, _ := strings.Cut(inside, "<|tool_call_argument_begin|>")
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.Trim(id, white), "functions."), ":")
		v, ok := arguments(args)
		if !ok {
			return nil, false
		}
		calls = append(calls, Call{Name: name, JSON: v})
		body = strings.TrimLeft(rest, white)
	}
	return calls, true
}

// harmony reads a message to a function: the recipient stands in the header, before or
// after the channel.
func harmony(markup string) (calls []Call, ok bool) {
	header, args, ok := strings.Cut(markup, "<|message|>")
	if !ok {
		return nil, false
	}
	_, to, ok := strings.Cut(header, " to=")
	if !ok {
		return nil, false
	}
	if i := strings.IndexAny(to, white+"<"); i >= 0 {
		to = to[:i]
	}
	name, ok := strings.CutPrefix(to, "functions.")
	if !ok { // a tool of the model's own, such as python
		return nil, false
	}
	v, ok := arguments(args)
	return []Call{{Name: name, JSON: v}}, ok
}
