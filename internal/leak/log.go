package leak

import (
	"regexp"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/foreignjson"
	"github.com/sotto-llm/sotto/internal/shorttext"
	"github.com/sotto-llm/sotto/sse"
)

// A Where is the part of a reply that a leak is in.
type Where string

// The parts.
const (
	InAnswer    Where = "answer"
	InTitle     Where = "title"
	InArguments Where = "tool arguments"
	InResult    Where = "tool result"
)

// A Reply is what a model said in one message of a log, or a title.
type Reply struct {
	Model, Route string // "" if the log does not say
	Leaks        []Placed
}

// A Placed is a leak and where it is.
type Placed struct {
	Where Where
	Leak
}

// A walk finds the replies in a record of a log.
type walk struct {
	*Finder
	see   func(Reply)
	left  int // values that may still be looked at
	inner int // how many texts were parsed as JSON, one in another
}

// at is what a value inherits from what it is in.
type at struct{ model, route string }

// The bounds of a walk.
const (
	maxValues = 100_000
	maxDepth  = 24
	maxInner  = 3
	maxName   = 200 // bytes of the name of a model or a route
)

// Record calls see for each reply in a record of a log, whatever its shape: a message
// or a conversation, a request with its response, a response of OpenAI, Anthropic,
// Ollama or Gemini, or a row with a column for the reply. What users, systems and
// requests say is not a reply.
func (f *Finder) Record(v gjson.Result, see func(Reply)) {
	w := &walk{Finder: f, see: see, left: maxValues}
	w.value(v, at{}, 0)
}

func (w *walk) value(v gjson.Result, in at, depth int) {
	if w.left--; w.left < 0 || depth > maxDepth {
		return
	}
	switch {
	case v.IsArray():
		v.ForEach(func(_, one gjson.Result) bool {
			w.value(one, in, depth+1)
			return w.left > 0
		})
	case v.IsObject():
		w.object(v, in, depth)
	}
}

// modelRoles and toolRoles are the names of roles in logs.
var (
	modelRoles = map[string]bool{"assistant": true, "gpt": true, "model": true, "chatgpt": true, "bot": true, "ai": true}
	toolRoles  = map[string]bool{"tool": true, "function": true, "ipython": true}
)

// The members of a row that hold its reply as a text, and those beside which the
// messages are only what was asked.
var (
	replyNames   = []string{"response", "completion", "output", "answer", "reply", "raw", "generated_text", "generation", "model_output", "output_text", "response_body"}
	rowNames     = []string{"content", "text", "body", "assistant"}
	requestNames = map[string]bool{"request": true, "request_body": true, "prompt": true, "input": true, "messages": true, "instructions": true}
)

func (w *walk) object(v gjson.Result, in at, depth int) {
	if name := first(v, "model", "model_name", "model_id", "request.model", "request.body.model"); name.Type == gjson.String && name.Str != "" {
		in.model = shorttext.Cut(name.Str, maxName)
	}
	if name := first(v, "route", "endpoint", "path", "api", "url"); name.Type == gjson.String && name.Str != "" {
		in.route = shorttext.Cut(name.Str, maxName)
	}
	if role := strings.ToLower(first(v, "role", "from", "author.role").Str); role != "" {
		w.message(v, role, in)
		return
	}
	answered := false // the record has a reply, so that messages beside it are its request
	if choices := v.Get("choices"); choices.IsArray() {
		answered = true
		choices.ForEach(func(_, choice gjson.Result) bool {
			end := sotto.EndStopped
			if choice.Get("finish_reason").Str == "length" {
				end = sotto.EndCut
			}
			w.reply(ReadMessage(choice), end, in)
			return true
		})
	}
	if output := v.Get("output"); output.IsArray() && output.Get("0.type").Exists() {
		answered = true
		w.reply(ReadMessage(output), sotto.EndStopped, in)
	}
	names := replyNames
	if depth == 0 {
		names = append(names[:len(names):len(names)], rowNames...)
	}
	for _, name := range names {
		text := v.Get(name)
		if text.IsObject() {
			answered = true // looked at below
			break
		}
		if !answered && text.Type == gjson.String && strings.TrimSpace(text.Str) != "" {
			answered = w.text(v, text.Str, in, depth)
			break
		}
	}
	v.ForEach(func(name, one gjson.Result) bool {
		switch {
		case name.Str == "title" || strings.HasSuffix(name.Str, "_title"):
			w.title(one, in)
		case name.Str == "choices", answered && requestNames[name.Str], name.Str == "output" && one.IsArray():
		default:
			w.value(one, in, depth+1)
		}
		return w.left > 0
	})
}

// message takes a message of a conversation.
func (w *walk) message(v gjson.Result, role string, in at) {
	switch {
	case modelRoles[role]:
		w.reply(ReadMessage(v), sotto.EndStopped, in)
	case toolRoles[role]:
		w.reply(&Message{Results: []string{ReadMessage(v).Text}}, sotto.EndStopped, in)
	}
}

// text takes the reply of a row: a text, the JSON of a response, or a stream. It
// reports whether that is one.
func (w *walk) text(row gjson.Result, text string, in at, depth int) bool {
	trimmed := strings.TrimSpace(text)
	switch {
	case w.inner < maxInner && (strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[{")):
		if v, err := foreignjson.Parse([]byte(trimmed)); err == nil {
			w.inner++
			w.value(v, in, depth+1)
			w.inner--
			return true
		}
	case strings.HasPrefix(trimmed, "data:") || strings.HasPrefix(trimmed, "event:"):
		if m, ok := readEvents(trimmed); ok {
			w.reply(m, sotto.EndUnknown, in)
			return true
		}
	}
	m := &Message{Text: text}
	for _, name := range reasoningFields {
		if m.Reasoning == "" {
			m.Reasoning = row.Get(name).Str
		}
	}
	w.reply(m, sotto.EndStopped, in)
	return true
}

func (w *walk) title(v gjson.Result, in at) {
	if v.Type != gjson.String {
		return
	}
	if l, ok := w.Find(v.Str, sotto.EndStopped, Answer); ok {
		w.see(Reply{in.model, in.route, []Placed{{InTitle, l}}})
	}
}

func (w *walk) reply(m *Message, end sotto.End, in at) {
	found := w.In(m, end)
	r := Reply{Model: in.model, Route: in.route}
	for _, one := range []struct {
		where Where
		leak  *Leak
	}{{InAnswer, found.Answer}, {InArguments, found.Arguments}, {InResult, found.Results}} {
		if one.leak != nil {
			r.Leaks = append(r.Leaks, Placed{one.where, *one.leak})
		}
	}
	w.see(r)
}

// readEvents joins the deltas of a stream in a log.
func readEvents(text string) (*Message, bool) {
	var all, thoughts strings.Builder
	var scanner sse.Scanner
	came := false
	for data := []byte(text); len(data) > 0; {
		f, ok := scanner.Next(data)
		if !ok {
			if f, ok = scanner.Last(data); !ok {
				break
			}
		}
		data = data[len(f.Raw):]
		v, err := foreignjson.Parse(f.Data)
		if err != nil {
			continue
		}
		delta := first(v, "choices.0", "delta", "message")
		if !delta.Exists() {
			continue
		}
		came = true
		m := ReadMessage(delta)
		all.WriteString(m.Text)
		thoughts.WriteString(m.Reasoning)
	}
	return &Message{Text: all.String(), Reasoning: thoughts.String()}, came
}

// speaker begins what someone says in a transcript.
var speaker = regexp.MustCompile(`(?im)^[ \t]*(?:#+ *|\*\*|<\|)?(user|human|assistant|ai|model|bot|system|developer|tool|function)(?:\*\*|\|>)?[ \t]*:`)

// Transcript calls see for each reply in plain text: for what the model says where
// lines begin with the names of speakers, and otherwise for the text as one reply.
func (f *Finder) Transcript(text string, see func(Reply)) {
	w := &walk{Finder: f, see: see}
	places := speaker.FindAllStringSubmatchIndex(text, -1)
	if len(places) == 0 {
		w.reply(&Message{Text: text}, sotto.EndStopped, at{})
		return
	}
	for i, p := range places {
		end := len(text)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		said, role := text[p[1]:end], strings.ToLower(text[p[2]:p[3]])
		switch {
		case modelRoles[role]:
			w.reply(&Message{Text: strings.TrimPrefix(said, " ")}, sotto.EndStopped, at{})
		case toolRoles[role]:
			w.reply(&Message{Results: []string{said}}, sotto.EndStopped, at{})
		}
	}
}
