package scripted

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/reply/demo"
)

//go:embed models.jsonl
var further string

//go:embed loops.jsonl
var looping string

// A Model is a model that plays scripted replies.
type Model struct {
	Name    string
	Caption string // one line about what is special in its replies
	Dialect string // the name of the sotto dialect that reads them
	// Wire names the provider whose form of OpenAI's chat completions the model
	// follows: "" (a plain server's), deepseek, moonshot, openrouter, routed
	// (OpenRouter in front of Anthropic), ollama, google, openai or litellm (in front of Anthropic).
	Wire string
	// Switch says that the model obeys a request that turns its thinking off.
	Switch bool
	Fault  Fault // how it fails, if it does

	Reply  Reply  // the reply to an ordinary request
	Call   *Reply // the reply if tools are offered; nil for models without tools
	Again  *Reply // the reply after the first result of a turn, with a second call; nil for most models
	Result *Reply // the reply after a tool's result
	Quiet  *Reply // the reply with thinking off; if nil, Reply without Thought
}

// A Reply is one scripted reply, and its right reading.
type Reply struct {
	Start  sotto.Beginning // where the text begins
	End    sotto.Ending
	Deltas []string // the text: the content field
	// Thought is the reasoning that the provider sends in its own field. It is nil
	// if the provider leaves the reasoning in the text.
	Thought  []string
	Redacted bool      // a redacted thought follows Thought
	ToolCall *ToolCall // the tool call that ends the reply, or nil

	// Visible is the text for the user.
	Visible string
	// Reasoning are the thoughts, wherever they stand. A thought that is both in
	// its field and in the text counts once.
	Reasoning []string
}

// A ToolCall is a call of a tool.
type ToolCall struct {
	// Name is the tool's name. If the request offers only other tools, the first of
	// those is called.
	Name      string
	Arguments string // JSON
	// InText says that the call is in the text, as markup.
	InText bool
}

// A Fault is a way to fail. A model that fails in mid-reply plays the first half of
// its deltas. Its Reply has all of them.
type Fault string

const (
	BreaksOff Fault = "breaks_off" // the connection breaks in mid-reply
	HangsUp   Fault = "hangs_up"   // the stream ends in mid-reply, as if it were complete
	Fails     Fault = "fails"      // an error in mid-reply
	Busy      Fault = "busy"       // an error instead of a reply: too many requests
)

// Text returns the reply's text.
func (r *Reply) Text() string { return strings.Join(r.Deltas, "") }

// replies returns the replies of a model.
func (m *Model) replies() []*Reply {
	return slices.DeleteFunc([]*Reply{&m.Reply, m.Call, m.Again, m.Result, m.Quiet}, func(r *Reply) bool { return r == nil })
}

// thought reports whether a text is the thought of a reply that calls a tool.
func (m *Model) thought(text string) bool {
	return slices.ContainsFunc(m.replies(), func(r *Reply) bool { return r.ToolCall != nil && strings.Join(r.Thought, "") == text })
}

// Models returns the models, those of the demo first.
func Models() []Model { return slices.Clone(load()) }

// Loops returns further models, which call twice in a turn. They are for tests of what a client sends back,
// and no API lists them.
func Loops() []Model { return slices.Clone(loops()) }

// Find returns the model with a name, in any usual spelling: with a provider before
// it, or a tag after it.
func Find(name string) (*Model, bool) {
	name = strings.TrimSuffix(strings.ToLower(name[strings.LastIndexByte(name, '/')+1:]), ":latest")
	for _, models := range [][]Model{load(), loops()} {
		for i := range models {
			if models[i].Name == name {
				return &models[i], true
			}
		}
	}
	return nil, false
}

// load and loops read the models' texts.
var (
	load  = sync.OnceValue(func() []Model { return readModels(demo.Lines() + further) })
	loops = sync.OnceValue(func() []Model { return readModels(looping) })
)

func readModels(text string) []Model {
	var models []Model
	index := map[string]int{}
	for line := range strings.Lines(text) {
		var l textLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			panic(fmt.Sprintf("scripted: %v in %s", err, line))
		}
		i, known := index[l.Model]
		if !known {
			i = len(models)
			index[l.Model] = i
			models = append(models, Model{Name: l.Model})
		}
		l.addTo(&models[i])
	}
	return models
}

// A textLine is a line of the files: one reply of one model.
type textLine struct {
	Model   string
	Turn    string // call, again, result, quiet, or empty
	Caption string
	Dialect string
	Wire    string
	Switch  bool
	Fault   Fault

	Start     sotto.Beginning
	End       sotto.Ending
	Deltas    []string
	Raw       string // the text, to be cut at places as awkward as the boundaries of tokens
	Thought   string
	Redacted  bool
	Calls     string // "field" or "text"
	Visible   string
	Reasoning []string
}

func (l *textLine) addTo(m *Model) {
	r := Reply{
		Start: l.Start, End: l.End, Deltas: l.Deltas, Thought: cut(l.Thought, 1), Redacted: l.Redacted,
		Visible: l.Visible, Reasoning: l.Reasoning,
	}
	if r.Start == "" {
		r.Start = sotto.BeginOutside
	}
	if r.End == sotto.EndUnknown {
		r.End = sotto.EndStopped
	}
	if r.Deltas == nil {
		r.Deltas = cut(l.Raw, 0)
	}
	if l.Calls != "" {
		r.ToolCall = &ToolCall{Name: toolName, Arguments: toolArguments, InText: l.Calls == "text"}
	}
	switch l.Turn {
	case "call":
		m.Call = &r
	case "again":
		m.Again = &r
	case "result":
		m.Result = &r
	case "quiet":
		m.Quiet = &r
	default:
		m.Caption, m.Dialect, m.Wire, m.Switch, m.Fault, m.Reply = l.Caption, l.Dialect, l.Wire, l.Switch, l.Fault, r
	}
}

// The call that every model makes.
const (
	toolName      = "get_weather"
	toolArguments = `{"city": "Oslo"}`
)

// cut cuts text between characters, at places as awkward as the boundaries of
// tokens. A different shift cuts at other places.
func cut(text string, shift int) []string {
	var deltas []string
	for i := shift; text != ""; i++ {
		n := [...]int{3, 5, 1, 7, 2, 4}[i%6]
		end := len(text)
		for at := range text {
			if n == 0 {
				end = at
				break
			}
			n--
		}
		deltas, text = append(deltas, text[:end]), text[end:]
	}
	return deltas
}
