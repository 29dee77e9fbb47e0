package leak

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
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
	Parts        []Part
	Leaks        []Placed
	Text         string // what was said; of several texts, the first that leaks
	// Hint is the beginning of an answer that may be a thought, by its wording; see [Hint].
	Hint string
}

// A Part is a member that a reply was read from, such as "raw" or "choices".
type Part struct {
	Column string
	Leaks  bool
}

// Texts are the names of the texts of a row that do not leak.
type Texts struct {
	Model, Route string
	// Named are those whose names say that they are replies, the likeliest first, and
	// Others the rest.
	Named, Others []string
	// Answered says that the row has another reply. Else one of Named is its reply, with
	// the Hint of a [Reply].
	Answered bool
	Hint     string
}

// A Sink takes what a record holds.
type Sink interface {
	Reply(Reply)
	Unread(Texts)
}

// A Placed is a leak and where it is.
type Placed struct {
	Where Where
	Leak
}

// A walk finds the replies in a record of a log.
type walk struct {
	*Finder
	to    Sink
	left  int // values that may still be looked at
	inner int // how many texts were parsed as JSON, one in another
}

// at is what a value inherits from what it is in.
type at struct {
	model, route string
	column       string
	answered     bool // the row has its reply
	asked        bool // it is a request, or what is right
}

// The bounds of a walk.
const (
	maxValues = 100_000
	maxDepth  = 24
	maxInner  = 3
	maxName   = 200 // bytes of the name of a model or a route
)

// Record gives each reply in a record of a log, whatever its shape: a message or a
// conversation, a request with its response, a response of OpenAI, Anthropic, Ollama or
// Gemini, or a row with a column for the reply. What users, systems and requests say is
// not a reply.
func (f *Finder) Record(v gjson.Result, to Sink) {
	w := &walk{Finder: f, to: to, left: maxValues}
	w.value(v, at{}, 0)
}

// Field gives each reply in one field of a record, and nothing else.
func (f *Finder) Field(record, field gjson.Result, name string, to Sink) {
	w := &walk{Finder: f, to: to, left: maxValues}
	in := at{column: name}
	in.name(objectOf(record))
	w.field(field, in, 0)
}

func (w *walk) field(v gjson.Result, in at, depth int) {
	switch {
	case depth > maxDepth:
	case v.Type == gjson.String:
		if !w.structured(v.Str, in, depth) {
			w.reply(&Message{Text: v.Str}, sotto.EndStopped, in)
		}
	case v.IsArray() && !v.Get("0.type").Exists():
		v.ForEach(func(_, one gjson.Result) bool {
			w.left--
			w.field(one, in, depth+1)
			return w.left > 0
		})
	case v.IsArray(), v.IsObject():
		w.reply(ReadMessage(v), sotto.EndStopped, in)
	}
}

// name takes the names of the model and the route that a record has.
func (in *at) name(o object) {
	if name := o.first(modelname.Members...); name.Type == gjson.String && name.Str != "" {
		in.model = shorttext.Cut(name.Str, maxName)
	}
	if name := o.first("route", "endpoint", "path", "api", "url"); name.Type == gjson.String && name.Str != "" {
		in.route = shorttext.Cut(name.Str, maxName)
	}
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
		w.object(objectOf(v), in, depth)
	}
}

// modelRoles and toolRoles are the names of roles in logs.
var (
	modelRoles = map[string]bool{"assistant": true, "gpt": true, "model": true, "chatgpt": true, "bot": true, "ai": true}
	toolRoles  = map[string]bool{"tool": true, "function": true, "ipython": true}
)

// The members of a row that hold its reply as a text, of which the first counts where none
// holds a marker; those at the top of a row only; and what was asked.
var (
	replyNames   = []string{"response", "completion", "output", "answer", "reply", "raw", "generated_text", "generation", "model_output", "output_text", "response_body"}
	rowNames     = []string{"content", "text", "body", "assistant"}
	requestNames = map[string]bool{
		"request": true, "request_body": true, "prompt": true, "input": true, "inputs": true, "messages": true, "instructions": true, "instruction": true,
		"question": true, "query": true, "problem": true, "system": true, "system_prompt": true, "user": true, "user_input": true, "chat_history": true,
		"prompt_messages": true, "full_prompt": true, "arguments": true, "context": true, "source": true,
	}
)

// judgedNames are the members with what is right and with scores: their texts are no
// replies of the model.
var judgedNames = map[string]bool{
	"reference": true, "references": true, "reference_outputs": true, "expected": true, "expected_output": true, "expectedOutput": true, "ideal": true,
	"target": true, "targets": true, "gold": true, "label": true, "labels": true, "score": true, "scores": true, "metrics": true, "gradingResult": true, "grade": true,
}

// listNames are the members of a row that hold several replies.
var listNames = []string{"resps", "output", "outputs", "output_list", "completions", "responses", "generations", "samples", "sampled", "predictions", "turns", "candidates"}

func (w *walk) object(o object, in at, depth int) {
	in.name(o)
	if role := strings.ToLower(o.first("role", "from", "author.role").Str); role != "" {
		w.message(o, role, in)
		return
	}
	answered := in.answered // so that messages beside the reply are its request
	if choices := o.get("choices"); choices.IsArray() && choices.Get("0").IsObject() {
		choices.ForEach(func(_, choice gjson.Result) bool {
			answered = w.choice(choice, in) || answered
			return true
		})
	}
	if output := o.get("output"); output.IsArray() && output.Get("0.type").Exists() {
		answered = true
		in := in
		in.column = "output"
		w.reply(ReadMessage(output), sotto.EndStopped, in)
	}
	if !in.asked {
		answered = w.texts(o, in, depth, answered)
	}
	response := slices.ContainsFunc(replyNames, func(name string) bool { return o.get(name).IsObject() })
	for _, m := range o {
		switch inner := in; {
		case m.name == "title" || strings.HasSuffix(m.name, "_title"):
			w.title(m.value, in)
		case m.name == "choices", (answered || response) && requestNames[m.name], m.name == "output" && m.value.IsArray():
		default:
			inner.answered = answered
			inner.asked = in.asked || requestNames[m.name] || judgedNames[m.name]
			w.value(m.value, inner, depth+1)
		}
		if w.left <= 0 {
			break
		}
	}
}

// choice takes a choice of a response, or one with several turns. It reports whether that
// holds a reply.
func (w *walk) choice(v gjson.Result, in at) bool {
	in.column = "choices"
	if turns := v.Get("turns"); turns.IsArray() {
		w.field(turns, in, 0)
		return true
	}
	if !v.IsObject() {
		return false
	}
	end := sotto.EndStopped
	if v.Get("finish_reason").Str == "length" {
		end = sotto.EndCut
	}
	w.reply(ReadMessage(v), end, in)
	return true
}

// A column is a text of a row.
type column struct {
	name, text string
	rank       int      // in replyNames and rowNames; -1 for others
	dialects   []string // whose markers the text has
}

// texts takes the texts of a row. Of those whose names say that they are replies, each that
// holds a marker is read, and the first if none does. Any other text is read if it leaks.
// All that are read are one reply; each text of a list is one. It reports whether the row
// has its reply.
func (w *walk) texts(o object, in at, depth int, answered bool) bool {
	names := replyNames
	if depth == 0 {
		names = append(names[:len(names):len(names)], rowNames...)
	}
	var named, others []column
	for _, m := range o {
		c := column{name: m.name, text: m.value.Str, rank: slices.Index(names, m.name)}
		switch {
		case requestNames[c.name], judgedNames[c.name], slices.Contains(reasoningFields, c.name), c.name == "title", strings.HasSuffix(c.name, "_title"):
		case m.value.IsArray():
			answered = w.list(c.name, m.value, in, depth) || answered
		case m.value.Type != gjson.String || strings.TrimSpace(c.text) == "":
		case c.rank >= 0:
			named = append(named, c)
		default:
			others = append(others, c)
		}
	}
	slices.SortFunc(named, func(a, b column) int { return a.rank - b.rank })
	var read []column
	for i := range named {
		c := &named[i]
		if c.dialects = w.dialectsIn(c.text); len(c.dialects) > 0 || looksStructured(c.text) {
			read = append(read, *c)
		}
	}
	for _, c := range others {
		c.dialects = w.dialectsIn(c.text)
		if _, leaks := w.find(c.text, c.dialects, sotto.EndStopped, Answer); leaks {
			read = append(read, c)
		}
	}
	likely := len(read) == 0 && !answered && len(named) > 0 // one of them is the reply
	if likely {
		read = named[:1]
	}
	var reply Reply
	for _, c := range read {
		in := in
		in.column = c.name
		if c.rank >= 0 && w.structured(c.text, in, depth) {
			answered = true
			continue
		}
		m := &Message{Text: c.text, searched: true, dialects: c.dialects}
		for _, name := range reasoningFields {
			if m.Reasoning == "" {
				m.Reasoning = o.get(name).Str
			}
		}
		one := w.judge(m, sotto.EndStopped, in)
		if len(reply.Leaks) == 0 {
			reply.Text = one.Text
		}
		reply.Model, reply.Route, reply.Hint = one.Model, one.Route, cmp.Or(reply.Hint, one.Hint)
		reply.Parts, reply.Leaks = append(reply.Parts, one.Parts...), append(reply.Leaks, one.Leaks...)
	}
	if likely && len(reply.Parts) > 0 && len(reply.Leaks) == 0 {
		w.to.Unread(Texts{in.model, in.route, besides(named, nil), besides(others, nil), false, reply.Hint})
		return true
	}
	if len(reply.Parts) > 0 {
		answered = true
		w.to.Reply(reply)
	}
	if rest := (Texts{in.model, in.route, besides(named, read), besides(others, read), answered, ""}); len(rest.Named)+len(rest.Others) > 0 {
		w.to.Unread(rest)
	}
	return answered
}

// besides returns the names of the columns that are not read.
func besides(all, read []column) (names []string) {
	for _, c := range all {
		if !slices.ContainsFunc(read, func(r column) bool { return r.name == c.name }) {
			names = append(names, c.name)
		}
	}
	return names
}

// list takes a list of texts, or of lists of them: of a member whose name says that it
// holds replies, all, and of another those that leak.
func (w *walk) list(name string, v gjson.Result, in at, depth int) (read bool) {
	in.column = name
	v.ForEach(func(_, one gjson.Result) bool {
		w.left--
		switch {
		case depth > maxDepth || w.left < 0:
		case one.IsArray():
			read = w.list(name, one, in, depth+1) || read
		case one.Type == gjson.String && strings.TrimSpace(one.Str) != "":
			if !slices.Contains(listNames, name) {
				if _, leaks := w.Find(one.Str, sotto.EndStopped, Answer); !leaks {
					break
				}
			}
			w.reply(&Message{Text: one.Str}, sotto.EndStopped, in)
			read = true
		}
		return w.left > 0
	})
	return read
}

// message takes a message of a conversation.
func (w *walk) message(o object, role string, in at) {
	in.column = "messages"
	switch {
	case modelRoles[role]:
		w.reply(messageOf(o), sotto.EndStopped, in)
	case toolRoles[role]:
		w.reply(&Message{Results: []string{messageOf(o).Text}}, sotto.EndStopped, in)
	}
}

func looksStructured(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[{") || strings.HasPrefix(text, "data:") || strings.HasPrefix(text, "event:")
}

// structured takes a text that is the JSON of a response, or a stream. It reports whether
// that is one.
func (w *walk) structured(text string, in at, depth int) bool {
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
	return false
}

func (w *walk) title(v gjson.Result, in at) {
	if v.Type != gjson.String {
		return
	}
	if l, ok := w.Find(v.Str, sotto.EndStopped, Answer); ok {
		w.to.Reply(Reply{in.model, in.route, []Part{{"title", true}}, []Placed{{InTitle, l}}, v.Str, ""})
	}
}

func (w *walk) reply(m *Message, end sotto.Ending, in at) { w.to.Reply(w.judge(m, end, in)) }

func (w *walk) judge(m *Message, end sotto.Ending, in at) Reply {
	found := w.of(in.model).In(m, end)
	r := Reply{Model: in.model, Route: in.route, Text: m.Text}
	for _, one := range []struct {
		where Where
		leak  *Leak
	}{{InAnswer, found.Answer}, {InArguments, found.Arguments}, {InResult, found.Results}} {
		if one.leak != nil {
			r.Leaks = append(r.Leaks, Placed{one.where, *one.leak})
		}
	}
	if found.Answer == nil {
		r.Hint = Hint(m.Text)
	}
	r.Parts = []Part{{in.column, len(r.Leaks) > 0}}
	return r
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
		delta := objectOf(v).first("choices.0", "delta", "message")
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
var speaker = lazyregexp.New(`(?im)^[ \t]*(?:#+ *|\*\*|<\|)?(user|human|assistant|ai|model|bot|system|developer|tool|function)(?:\*\*|\|>)?[ \t]*:`)

// Whole gives each reply in a text that is not a file of records: in one JSON object over
// several lines, or in a transcript.
func (f *Finder) Whole(text []byte, to Sink) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		if v, err := foreignjson.Parse(text); err == nil {
			f.Record(v, to)
			return
		}
	}
	if len(bytes.TrimSpace(text)) > 0 {
		f.transcript(string(text), to)
	}
}

// transcript gives each reply in plain text: for what the model says where
// lines begin with the names of speakers, and otherwise for the text as one reply.
func (f *Finder) transcript(text string, to Sink) {
	w := &walk{Finder: f, to: to}
	in := at{column: "text"}
	places := speaker.FindAllStringSubmatchIndex(text, -1)
	if len(places) == 0 {
		w.reply(&Message{Text: text}, sotto.EndStopped, in)
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
			w.reply(&Message{Text: strings.TrimPrefix(said, " ")}, sotto.EndStopped, in)
		case toolRoles[role]:
			w.reply(&Message{Results: []string{said}}, sotto.EndStopped, in)
		}
	}
}
