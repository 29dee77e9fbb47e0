package inputfiles

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// A preset says where a usual log has its replies. All places are paths in a row. Of
// several paths for one thing, the first that a row has counts.
type preset struct {
	name    string
	what    string     // what the rows are called
	marks   [][]string // a row has all paths of one of these
	replies []string   // a message, or a list with one reply in each element
	last    bool       // of a list of messages, only the last one of the model is the reply
	beside  bool       // the end, and reasoning, are members of the row
	id      []string
	input   []string
	gold    []string
	options []string
	model   []string
	failed  []string // why there is no reply
	scored  []string // a text here says that the row has likelihoods, not replies
	once    string   // rows with another value of this than the first row repeat its replies
}

// presets are in the order in which they are tried on rows.
var presets = []preset{
	{ // lm-evaluation-harness, --log_samples. Each filter repeats the rows.
		name: "lm-eval", what: "samples of lm-eval", marks: [][]string{{"doc_id", "resps"}},
		replies: []string{"resps"}, id: []string{"doc_id"}, gold: []string{"target"},
		input:  []string{"arguments.gen_args_0.arg_0", "arguments.0.0"},
		scored: []string{"arguments.gen_args_0.arg_1", "arguments.0.1"}, once: "filter",
	},
	{ // UK AISI Inspect: the samples of an .eval file or of a log in JSON.
		name: "inspect", what: "samples of Inspect", marks: [][]string{{"epoch", "output", "target"}},
		replies: []string{"output.choices"}, id: []string{"id"}, input: []string{"input"}, gold: []string{"target"},
		options: []string{"choices"}, model: []string{"output.model"}, failed: []string{"error.message", "output.error"},
	},
	{ // ZeroEval, the result files: one list of rows.
		name: "zeroeval", what: "results of ZeroEval", marks: [][]string{{"session_id", "chat_history", "output"}},
		replies: []string{"output"}, id: []string{"session_id"}, input: []string{"chat_history.0"}, gold: []string{"correct_answer", "answer"},
		options: []string{"choices"}, model: []string{"generator"},
	},
	{ // OpenAI, the output file and the error file of a batch, of both APIs.
		name: "openai-batch", what: "rows of an OpenAI batch", marks: [][]string{{"custom_id", "response"}},
		replies: []string{"response.body.choices", "response.body"}, id: []string{"custom_id"}, model: []string{"response.body.model"},
		failed: []string{"error.message", "error.code", "response.body.error.message"},
	},
	{ // Anthropic, the results of a message batch.
		name: "anthropic-batch", what: "rows of an Anthropic batch", marks: [][]string{{"custom_id", "result.type"}},
		replies: []string{"result.message"}, id: []string{"custom_id"}, model: []string{"result.message.model"},
		failed: []string{"result.error.error.message", "result.error.message"},
	},
	{ // Training data and traces: a conversation in each row.
		name: "messages", what: "conversations", marks: [][]string{{"messages.0.role"}, {"conversations.0.from"}, {"conversations.0.role"}, {"conversation.0.role"}},
		replies: []string{"messages", "conversations", "conversation"}, last: true, id: []string{"id"}, gold: []string{"gold", "answer"},
		options: []string{"options"}, model: []string{"model"},
	},
	{ // Ollama, logged replies of /api/chat and /api/generate.
		name: "ollama", what: "replies of Ollama", marks: [][]string{{"message.content", "done"}, {"response", "done"}},
		replies: []string{"message", "response"}, beside: true, model: []string{"model"}, failed: []string{"error"},
	},
}

// Presets lists the names of the presets.
func Presets() []string {
	names := make([]string, len(presets))
	for i := range presets {
		names[i] = presets[i].name
	}
	return names
}

func presetNamed(name string) *preset {
	for i := range presets {
		if presets[i].name == name {
			return &presets[i]
		}
	}
	return nil
}

// single reports whether each row has one reply.
func (p *preset) single() bool { return p.last || p.beside }

// fits reports whether a row looks like one of the preset.
func (p *preset) fits(row gjson.Result) bool {
	for _, marks := range p.marks {
		all := true
		for _, path := range marks {
			all = all && row.Get(path).Exists()
		}
		if all {
			return true
		}
	}
	return false
}

// Suggest returns which preset the rows of a log look like, as the end of an error.
// It returns "" if they look like none of them.
func Suggest(line []byte) string {
	row, err := foreignjson.Parse(line)
	if err != nil {
		return ""
	}
	return suggest(row)
}

func suggest(row gjson.Result) string {
	for i := range presets {
		if p := &presets[i]; p.fits(row) {
			return fmt.Sprintf("; these rows look like %s: --from %s", p.what, p.name)
		}
	}
	return ""
}

// A presetReader gives each reply of a log as a line of JSON: an object with the
// members that Sotto looks for where it is not told otherwise.
type presetReader struct {
	*preset
	lines  *Source
	first  *string // the value of once in the first row
	number int
	most   int // bytes of a row
	out    []byte
	rest   []byte
}

func (r *presetReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if cap(r.out) > 1<<20 {
			r.out = nil
		}
		r.out = r.out[:0]
		line, err := batch.NextLine(r.lines.Reader, r.most/2) // the record has the row, and the texts in it
		var long *batch.LongLineError
		if err != nil && !errors.As(err, &long) {
			return 0, err
		}
		r.number++
		if long != nil {
			r.rest = batch.AppendFault(r.out, fmt.Errorf("%s %d: %w%s", r.lines.Unit, r.number, err, batch.Raise))
			continue
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		from := len(r.out)
		if err := r.row(line); err != nil {
			r.out = batch.AppendFault(r.out[:from], fmt.Errorf("%s %d: %w", r.lines.Unit, r.number, err))
		}
		r.rest = r.out
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// row appends the replies of a row.
func (r *presetReader) row(line []byte) error {
	if err := r.lines.Fault(line); err != nil {
		return err
	}
	row, err := foreignjson.Parse(line)
	if err != nil {
		return err
	}
	if !r.fits(row) {
		return r.stranger(row)
	}
	if get(row, r.scored).Type == gjson.String {
		return errors.New("it has likelihoods of given answers: there is no reply to read")
	}
	if r.once != "" {
		value := row.Get(r.once).String()
		if r.first == nil {
			r.first = &value
		}
		if value != *r.first {
			return nil
		}
	}
	replies := r.repliesOf(row)
	for i := range replies {
		r.append(row, &replies[i], i, len(replies))
	}
	return nil
}

// get returns the value of the first path that a row has.
func get(row gjson.Result, paths []string) gjson.Result {
	for _, path := range paths {
		if v := row.Get(path); v.Exists() && v.Type != gjson.Null {
			return v
		}
	}
	return gjson.Result{}
}

// A logged is a reply of a log.
type logged struct {
	text, reasoning strings.Builder
	spoken          bool // there is a text
	finish          string
	failed          string
	question        string
}

// repliesOf returns the replies of a row. A row whose request failed has one without a
// text, so that it still counts.
func (r *presetReader) repliesOf(row gjson.Result) []logged {
	failed := get(row, r.failed)
	found := get(row, r.replies)
	var list []logged
	switch {
	case r.last:
		list = []logged{lastMessage(found)}
	case found.IsArray():
		found.ForEach(func(_, one gjson.Result) bool {
			for _, reply := range flat(one, 3) {
				var l logged
				l.message(reply, 0)
				list = append(list, l)
			}
			return true
		})
	case found.Exists():
		var l logged
		if r.beside {
			l.ends(row)
			l.native(row)
		}
		l.message(found, 0)
		list = []logged{l}
	}
	if len(list) == 0 {
		list = []logged{{}}
	}
	for i := range list {
		l := &list[i]
		if failed.Exists() && !l.spoken {
			l.failed = failed.String()
		}
		if !l.spoken && l.failed == "" {
			l.failed = "there is no reply"
			if kind := row.Get("result.type").String(); kind != "" && kind != "succeeded" {
				l.failed = kind
			}
		}
	}
	return list
}

// flat returns the elements of lists in lists. A list of parts of one message, which
// are objects, is one element.
func flat(v gjson.Result, depth int) []gjson.Result {
	if !v.IsArray() || depth == 0 || v.Get("0").IsObject() {
		return []gjson.Result{v}
	}
	var all []gjson.Result
	v.ForEach(func(_, one gjson.Result) bool {
		all = append(all, flat(one, depth-1)...)
		return true
	})
	return all
}

// modelRoles are the names that logs give the model in a conversation.
var modelRoles = []string{"assistant", "gpt", "model", "chatgpt", "bot"}

func isModel(role string) bool {
	for _, name := range modelRoles {
		if role == name {
			return true
		}
	}
	return false
}

// lastMessage returns the last message of the model in a conversation.
func lastMessage(list gjson.Result) (l logged) {
	list.ForEach(func(_, message gjson.Result) bool {
		role := get(message, []string{"role", "from"}).String()
		if isModel(role) {
			question := l.question
			l = logged{question: question}
			l.message(message, 0)
		} else if role == "user" || role == "human" {
			var asked logged
			asked.message(message, 0)
			l.question = asked.text.String()
		}
		return true
	})
	return l
}

// message adds a value that holds a reply: a text, a message, a choice, or a list of
// parts. The names of its members are those of the APIs of OpenAI, Anthropic, Ollama,
// and of the logs that follow them.
func (l *logged) message(v gjson.Result, depth int) {
	const deepest = 6
	switch {
	case depth == deepest:
	case v.Type == gjson.String:
		l.text.WriteString(v.String())
		l.spoken = true
	case v.IsArray():
		v.ForEach(func(_, part gjson.Result) bool {
			l.message(part, depth+1)
			return true
		})
	case v.IsObject():
		l.ends(v)
		switch v.Get("type").String() {
		case "reasoning", "thinking":
			l.native(v)
			for _, part := range append(v.Get("summary").Array(), v.Get("content").Array()...) {
				l.think(part.Get("text").String())
			}
			return
		case "redacted_thinking", "tool_use", "server_tool_use", "function_call", "tool_result", "image", "input_image":
			return
		}
		l.native(v)
		if refusal := v.Get("refusal"); refusal.Type == gjson.String && refusal.String() != "" {
			l.failed = "refused: " + refusal.String()
		}
		for _, name := range []string{"message", "content", "output", "text", "response", "value"} {
			if part := v.Get(name); part.Exists() && part.Type != gjson.Null {
				l.message(part, depth+1)
				return
			}
		}
	}
}

// native adds the reasoning that a server has separated.
func (l *logged) native(v gjson.Result) {
	for _, name := range nativeMembers {
		if part := v.Get(name); part.Type == gjson.String {
			l.think(part.String())
			return
		}
	}
}

func (l *logged) think(text string) {
	if text != "" && l.reasoning.Len() > 0 {
		l.reasoning.WriteString("\n")
	}
	l.reasoning.WriteString(text)
}

// ends notes why a reply ended.
func (l *logged) ends(v gjson.Result) {
	for _, path := range []string{"finish_reason", "stop_reason", "done_reason", "incomplete_details.reason"} {
		if reason := v.Get(path); reason.Type == gjson.String && l.finish == "" {
			l.finish = reason.String()
		}
	}
}

// placeMember says where in the log a reply is.
const placeMember = "at"

// Place returns where in the log a record of a preset is. It returns "" if the record
// does not say it: the error of a row that cannot be read does.
func (s *Source) Place(line []byte) string {
	if s.Preset == "" {
		return ""
	}
	row, err := foreignjson.Parse(line)
	if err != nil {
		return ""
	}
	return row.Get(placeMember).String()
}

// append appends the line of a reply.
func (r *presetReader) append(row gjson.Result, l *logged, i, n int) {
	dst := append(r.out, '{')
	member := func(name string, value []byte) {
		if len(value) > 0 {
			dst = append(append(append(append(dst, '"'), name...), `":`...), value...)
			dst = append(dst, ',')
		}
	}
	id := get(row, r.id)
	if n > 1 && id.Exists() {
		member("id", jsontext.AppendString(nil, id.String()+"/"+strconv.Itoa(i+1)))
	} else {
		member("id", oneLine(id.Raw))
	}
	member("group", oneLine(id.Raw))
	member("model", oneLine(get(row, slices.Concat(r.model, modelname.Members)).Raw))
	member("input", oneLine(get(row, r.input).Raw))
	if l.question != "" {
		member("input", jsontext.AppendVerbatim(nil, l.question))
	}
	member("gold", oneLine(get(row, r.gold).Raw))
	member("options", oneLine(get(row, r.options).Raw))
	if l.finish != "" {
		member("finish_reason", jsontext.AppendString(nil, l.finish))
	}
	if l.failed != "" {
		member("failed", jsontext.AppendVerbatim(nil, l.failed))
		member("end", []byte(`"aborted"`))
	}
	if l.reasoning.Len() > 0 {
		member("reasoning", jsontext.AppendVerbatim(nil, l.reasoning.String()))
	}
	at := fmt.Sprintf("%s %d", r.lines.Unit, r.number)
	if n > 1 {
		at += fmt.Sprintf(", reply %d of %d", i+1, n)
	}
	member(placeMember, jsontext.AppendString(nil, at))
	member("row", oneLine(row.Raw))
	dst = jsontext.AppendVerbatim(append(dst, `"raw":`...), l.text.String())
	r.out = append(dst, "}\n"...)
}

// oneLine replaces the line ends between the tokens of JSON: it can have none
// elsewhere.
func oneLine(json string) []byte {
	line := []byte(strings.TrimSpace(json))
	for i, c := range line {
		if c == '\n' || c == '\r' {
			line[i] = ' '
		}
	}
	return line
}
