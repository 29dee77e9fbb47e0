package switches

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// A set gives a member a value.
type set struct{ path, value string }

func number(path string, n int) set { return set{path, strconv.Itoa(n)} }
func word(path, w string) set       { return set{path, `"` + w + `"`} }

// truth is true unless thinking is off.
func truth(path string, s Setting) set { return set{path, strconv.FormatBool(s.Mode != Off)} }

// A writer writes settings in the words of a server.
type writer struct {
	words Words
	api   string
	most  int // tokens that the reply may have, if the request says so; 0 otherwise
}

// write returns the members that say a setting, or as much of it as the words can say.
func (w writer) write(s Setting) ([]set, error) {
	switch w.words {
	case ReasoningEffort:
		return []set{effort("reasoning_effort", s)}, nil
	case Reasoning:
		return w.reasoning(s), nil
	case Thinking:
		return w.thinking(s)
	case ThinkingAndEffort:
		list := []set{kind(s, "enabled")}
		if s.Mode != Off && s.amount() {
			list = append(list, word("reasoning_effort", string(s.level())))
		}
		return list, nil
	case Adaptive:
		list := []set{kind(s, "adaptive")}
		if s.Mode != Off && s.amount() {
			list = append(list, word(effortPath, string(s.level().atMost(effortLevels...))))
		}
		return list, nil
	case ChatTemplateKwargs:
		const in = "chat_template_kwargs."
		list := []set{truth(in+"enable_thinking", s), truth(in+"thinking", s)}
		if s.Mode != Off && s.amount() {
			list = append(list, word(in+"reasoning_effort", string(s.level())))
		}
		return list, nil
	case EnableThinking:
		list := []set{truth("enable_thinking", s)}
		if s.Mode != Off && s.amount() {
			list = append(list, number("thinking_budget", s.budget()))
		}
		return list, nil
	case Think:
		if s.Mode == Off || !s.amount() {
			return []set{truth("think", s)}, nil
		}
		return []set{word("think", string(s.level().atMost(thinkLevels...)))}, nil
	case ThinkingBudget:
		n := -1
		switch {
		case s.Mode == Off:
			n = 0
		case s.amount():
			n = s.budget()
		}
		return []set{number(configPath+"thinkingBudget", n)}, nil
	case ThinkingLevel:
		if s.Mode == Off {
			return nil, fmt.Errorf("the request turns thinking off, and thinkingLevel cannot say that: the model has no such setting")
		}
		return []set{word(configPath+"thinkingLevel", string(cmp.Or(s.level(), Medium).atMost(geminiLevels...)))}, nil
	}
	return nil, fmt.Errorf("the request has a switch of thinking, and its API has none")
}

// The levels that servers take, in order.
var (
	effortLevels = []Level{Low, Medium, High, XHigh, Max}
	thinkLevels  = []Level{Low, Medium, High, Max}
	geminiLevels = []Level{Minimal, Low, Medium, High}
	routerLevels = []Level{Minimal, Low, Medium, High, XHigh}
)

// effort is a level, or none. Thinking without an amount is medium, as OpenAI's default.
func effort(path string, s Setting) set {
	if s.Mode == Off {
		return word(path, "none")
	}
	return word(path, string(cmp.Or(s.level(), Medium)))
}

// kind is the type of a thinking object; on is the one that turns thinking on.
func kind(s Setting, on string) set {
	if s.Mode == Off {
		on = "disabled"
	}
	return word(thinkingPath+".type", on)
}

// reasoning writes the object of OpenAI's responses, or OpenRouter's in chat completions,
// which has one of three members.
func (w writer) reasoning(s Setting) []set {
	switch {
	case w.api == responses:
		return []set{effort("reasoning.effort", s)}
	case s.Mode == Off || !s.amount():
		return []set{truth("reasoning.enabled", s)}
	case s.Level != "":
		return []set{word("reasoning.effort", string(s.Level.atMost(routerLevels...)))}
	}
	return []set{number("reasoning.max_tokens", s.Budget)}
}

// MinBudget is the smallest budget that Anthropic's API accepts. It must also be less than
// the limit of the reply.
const MinBudget = 1024

// FitBudget returns the budget nearest to a number of tokens that Anthropic's API accepts
// for a reply of at most most tokens, or any if most is 0. One that is too large becomes
// half of most. ok is false if no budget fits.
func FitBudget(tokens, most int) (budget int, ok bool) {
	tokens = max(MinBudget, tokens)
	if most > 0 && tokens >= most {
		tokens = max(MinBudget, most/2)
	}
	return tokens, most <= 0 || most > MinBudget
}

func (w writer) thinking(s Setting) ([]set, error) {
	list := []set{kind(s, "enabled")}
	switch {
	case s.Mode == Off || w.api == chat:
	case w.api == cohere:
		if s.amount() {
			list = append(list, number(thinkingPath+".token_budget", s.budget()))
		}
	default:
		n, ok := FitBudget(cmp.Or(s.budget(), Medium.Budget()), w.most)
		if !ok {
			return nil, fmt.Errorf("the request turns thinking on, which needs max_tokens of more than %d, not %d", MinBudget, w.most)
		}
		list = append(list, number(thinkingPath+".budget_tokens", n))
	}
	return list, nil
}

// alsoNative has the other words of APIs that have two. Later models read these.
var alsoNative = map[string]Words{messages: Adaptive, gemini: ThinkingLevel}

// ownsAll reports whether all members are the server's own.
func (w writer) ownsAll(list []said) bool {
	return !slices.ContainsFunc(list, func(s said) bool { return !w.owns(s, list) })
}

// owns reports whether a member is one of a server's own, with a value that it takes.
func (w writer) owns(s said, all []said) bool {
	in := func(path string) bool { return strings.HasPrefix(s.path, path) }
	kind := s.value.Get("type").Str
	budgets := 0
	for _, name := range budgetMembers {
		if s.value.IsObject() && s.value.Get(name).Exists() {
			budgets++
		}
	}
	switch w.words {
	case ReasoningEffort:
		return in("reasoning_effort")
	case Reasoning:
		return s.path == "reasoning.effort" || w.api != responses && in("reasoning.")
	case Thinking:
		if s.path != thinkingPath {
			// Some models take both a budget and an effort.
			return w.api == messages && s.path == effortPath && w.ownsThinking(all)
		}
		switch w.api {
		case chat:
			return budgets == 0 && (kind == "enabled" || kind == "disabled")
		case cohere:
			return !s.value.Get("budget_tokens").Exists() && (kind == "enabled" || kind == "disabled")
		}
		return kind == "disabled" || kind == "enabled" && s.value.Get("budget_tokens").Exists() && budgets == 1
	case ThinkingAndEffort:
		return s.path == thinkingPath && budgets == 0 && (kind == "enabled" || kind == "disabled") ||
			in("reasoning_effort") && s.says.Mode == On
	case Adaptive:
		return s.path == thinkingPath && budgets == 0 && (kind == "adaptive" || kind == "disabled") ||
			s.path == effortPath && s.says.Level != Minimal && s.says.Mode == On
	case ChatTemplateKwargs:
		return in("chat_template_kwargs.")
	case EnableThinking:
		return s.path == "enable_thinking" || s.path == "thinking_budget"
	case Think:
		return s.path == "think" && (s.value.IsBool() || s.says.Level != "" && s.says.Level.atMost(thinkLevels...) == s.says.Level)
	case ThinkingBudget:
		return s.path == configPath+"thinkingBudget"
	case ThinkingLevel:
		return s.path == configPath+"thinkingLevel" && s.says.Mode == On && s.says.Level.atMost(geminiLevels...) == s.says.Level
	}
	return false
}

// ownsThinking reports whether the thinking object of a request is the server's own.
func (w writer) ownsThinking(all []said) bool {
	for _, s := range all {
		if s.path == thinkingPath {
			return w.owns(s, all)
		}
	}
	return false
}

// mostOf returns the limit of tokens of a request in Anthropic's API.
func mostOf(root gjson.Result) int {
	if n := root.Get("max_tokens"); n.Type == gjson.Number && n.Num >= 1 && n.Num <= maxBudget {
		return int(n.Num)
	}
	return 0
}
