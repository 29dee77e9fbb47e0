package gateway

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/reply/startmembers"
	"github.com/sotto-llm/sotto/wire"
)

// A requestEvidence is what a request shows about where its reply begins.
type requestEvidence struct {
	start sotto.Beginning // "" if it does not show it
	// sure says that the server is known to read the request so, and likely that most do:
	// others put a prompt into the model's template, or begin a new turn after a text that
	// begins the reply.
	sure, likely bool
	// unusual says that the request changes how its prompt is made, so what the family, the
	// upstream and earlier replies show does not hold for it.
	unusual bool
	echoes  bool // the reply begins with the prompt
	cuts    bool // it can end a thought before the close
	off     bool // it turns thinking off, in words that some servers honour
	resumed bool // the reply goes on with a text of the client's
	// prefilled says that this text is a last message of the assistant. Servers turn their
	// parser off for it, or put it after an opener of the template.
	prefilled bool
}

// settles reports whether a start can be believed. That the block is open is believed in any
// case; that it is not, where reasoning is hidden, only if it is sure.
func (s requestEvidence) settles(hides bool) bool {
	return s.start != "" && (s.start != sotto.BeginOutside || s.sure || s.likely && !hides && !s.unusual)
}

// teaches reports whether the reply says anything about replies to other requests.
func (s requestEvidence) teaches() bool { return !s.unusual && !s.cuts && !s.resumed }

// doubt notes that what the last message shows may not hold for the server.
func (s *requestEvidence) doubt() {
	if s.prefilled {
		s.sure, s.likely, s.unusual = false, false, true
	}
}

// knownKwargs are the variables of templates that every model's switch of thinking covers.
var knownKwargs = []string{"enable_thinking", "thinking", "reasoning_effort", "thinking_budget"}

// maxNested bounds how deep members stand in members that clients or proxies merge.
const maxNested = 3

// nestedMembers hold members of the request itself.
var nestedMembers = []string{"extra_body", "extra_args", "nvext", "sampling_params", "parameters"}

// evidenceOf returns what the request of an exchange shows.
func evidenceOf(x *exchange) requestEvidence {
	var s requestEvidence
	root := jsonedit.Parse(x.body)
	s.members(root, maxNested)
	s.off = turnsOff(x.request.Switch)
	s.prompt(x, root.Get("prompt"))
	s.begun(x, lastTurn(x.request.Messages))
	return s
}

// lastTurn returns the messages at the end that are the assistant's and have no calls. In the
// Responses API one turn has several: a thought is an item of its own.
func lastTurn(list []wire.Message) []wire.Message {
	n := len(list)
	for n > 0 && list[n-1].Role == "assistant" && !list[n-1].Calls {
		n--
	}
	return list[n:]
}

// turnsOff reports whether a switch turns thinking off. A part that only hides thoughts
// does not.
func turnsOff(word string) bool {
	for part := range strings.SplitSeq(word, ",") {
		path, value, _ := strings.Cut(part, "=")
		hides := slices.Contains([]string{"include_reasoning", "reasoning_split", "reasoning.exclude", "generationConfig.thinkingConfig.includeThoughts"}, path)
		if !hides && slices.Contains([]string{"false", "off", "no", "none", "disabled", "0"}, value) {
			return true
		}
	}
	return false
}

// errEcho refuses a reply that begins with the prompt: the prompt's markers would pass for
// those of the reply.
var errEcho = faults.New(faultname.EchoRefused, http.StatusBadRequest, errors.New("echo gives the prompt as the beginning of the reply, so nothing shows what in it is a thought: where reasoning is hidden, leave it out"))

// members notes the members of an object.
func (s *requestEvidence) members(object gjson.Result, depth int) {
	found := decidingMembers(object)
	if len(found) == 0 {
		return
	}
	for _, m := range startmembers.All {
		name, rest, within := strings.Cut(m.Path, ".")
		v := found[name]
		if within {
			v = v.Get(rest)
		}
		if m.Effect != startmembers.MayRender && v.Exists() && !isUsual(v, m.Usual) {
			s.unusual = s.unusual || m.Effect != startmembers.CutsReply
			s.resumed = s.resumed || m.Effect == startmembers.BringsPrompt
			s.echoes = s.echoes || m.Path == "echo"
			s.cuts = s.cuts || m.Effect == startmembers.CutsReply
		}
	}
	found[templateKwargs].ForEach(func(key, _ gjson.Result) bool {
		s.unusual = s.unusual || !slices.Contains(knownKwargs, key.Str)
		return !s.unusual
	})
	for _, name := range nestedMembers {
		if inner := found[name]; inner.IsObject() && depth > 0 {
			s.members(inner, depth-1)
		}
	}
}

// templateKwargs has the variables of a template.
const templateKwargs = "chat_template_kwargs"

// decidingNames are the members that [requestEvidence.members] looks at.
var decidingNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{templateKwargs: true}
	for _, m := range startmembers.All {
		name, _, _ := strings.Cut(m.Path, ".")
		names[name] = true
	}
	for _, name := range nestedMembers {
		names[name] = true
	}
	return names
})

// decidingMembers returns the members of an object that [requestEvidence.members] looks at, found in one walk: the
// messages beside them may be long. Of two members of a name it is the first.
func decidingMembers(object gjson.Result) (found map[string]gjson.Result) {
	names := decidingNames()
	if !object.IsObject() {
		return nil
	}
	object.ForEach(func(key, value gjson.Result) bool {
		if _, twice := found[key.Str]; names[key.Str] && !twice {
			if found == nil {
				found = map[string]gjson.Result{}
			}
			found[key.Str] = value
		}
		return true
	})
	return found
}

// isUsual reports whether a value changes nothing.
func isUsual(v gjson.Result, usual []string) bool {
	switch {
	case v.Type == gjson.Null, v.Type == gjson.False && !slices.Contains(usual, "true"), v.Type == gjson.String && v.Str == "", v.Type == gjson.Number && v.Num == 0:
		return true
	case v.IsArray():
		return len(v.Array()) == 0
	case v.IsObject():
		return len(v.Map()) == 0
	}
	return slices.Contains(usual, strings.ToLower(v.String()))
}

// prompt notes what a rendered prompt shows. A list of prompts has as many beginnings, and
// tokens show none.
func (s *requestEvidence) prompt(x *exchange, prompt gjson.Result) {
	s.resumed = s.resumed || x.request.Prompt != ""
	if prompt.IsArray() && len(prompt.Array()) > 0 && (len(prompt.Array()) > 1 || prompt.Get("0").Type != gjson.String) {
		s.unusual, s.resumed = true, true
		return
	}
	if x.request.Prompt == "" {
		return
	}
	s.start, _ = x.family.grammar.BeginningOf(x.request.Prompt)
	s.likely = true
	s.sure = x.codec.Capabilities().RawPrompts
}

// begun notes what a last turn of the assistant shows. A server either goes on with it
// or begins another turn.
func (s *requestEvidence) begun(x *exchange, turn []wire.Message) {
	says := func(m wire.Message) bool { return strings.TrimSpace(strings.Join(m.Texts, "")) != "" }
	thinks := func(m wire.Message) bool { return len(m.Thoughts) > 0 }
	if !slices.ContainsFunc(turn, says) && !slices.ContainsFunc(turn, thinks) {
		return
	}
	s.resumed, s.prefilled = true, true
	if slices.ContainsFunc(turn, thinks) || !says(turn[len(turn)-1]) {
		// A server may go on with the thought, or with a message before an empty one.
		s.unusual = true
		return
	}
	s.start, _ = x.family.grammar.BeginningOf("<|assistant|>" + x.request.Prefill)
	s.sure = x.codec.Capabilities().Resumes || jsonedit.Parse(x.body).Get("continue_final_message").Bool()
}
