package switches

import (
	"fmt"
	"math"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
)

// A place is a member that controls thinking. read returns what a value there says; ok is
// false if that is not known.
type place struct {
	path string
	read func(v gjson.Result) (says Setting, ok bool)
}

const (
	configPath   = "generationConfig.thinkingConfig."
	thinkingPath = "thinking"
	effortPath   = "output_config.effort"
)

// places lists them. Members that only say whether reasoning is shown are not among them.
var places = []place{
	{"reasoning_effort", readLevel},
	{"reasoning.effort", readLevel}, {"reasoning.enabled", readBool}, {"reasoning.max_tokens", readBudget},
	{thinkingPath, readThinking},
	{"chat_template_kwargs.enable_thinking", readBool}, {"chat_template_kwargs.thinking", readBool},
	{"chat_template_kwargs.reasoning_effort", readLevel}, {"chat_template_kwargs.thinking_budget", readBudget},
	{"enable_thinking", readBool}, {"thinking_budget", readBudget},
	{"think", readThink}, {"options.think", readThink},
	{configPath + "thinkingBudget", readBudget}, {configPath + "thinkingLevel", readLevel},
	{effortPath, readLevel}, // last: it counts beside others
}

func readBool(v gjson.Result) (Setting, bool) {
	if v.Type == gjson.True {
		return Setting{Mode: On}, true
	}
	return Setting{Mode: Off}, v.Type == gjson.False
}

func readLevel(v gjson.Result) (Setting, bool) {
	word := strings.ToLower(v.Str)
	switch {
	case v.Type != gjson.String:
		return Setting{}, false
	case word == "none":
		return Setting{Mode: Off}, true
	case word == "auto" || word == "default":
		return Setting{Mode: Auto}, true
	}
	level := Level(word)
	return Setting{Mode: On, Level: level}, level.Budget() > 0
}

func readThink(v gjson.Result) (Setting, bool) {
	if v.IsBool() {
		return readBool(v)
	}
	return readLevel(v)
}

// maxBudget is beyond any model's context.
const maxBudget = math.MaxInt32

func readBudget(v gjson.Result) (Setting, bool) {
	switch {
	case v.Type != gjson.Number || v.Num != math.Trunc(v.Num) || v.Num < -1 || v.Num > maxBudget:
		return Setting{}, false
	case v.Num < 0:
		return Setting{Mode: Auto}, true
	case v.Num == 0:
		return Setting{Mode: Off}, true
	}
	return Setting{Mode: On, Budget: int(v.Num)}, true
}

// readThinking reads the object of Anthropic's API, and those of others that are like it.
func readThinking(v gjson.Result) (Setting, bool) {
	if v.IsBool() {
		return readBool(v)
	}
	var s Setting
	switch v.Get("type").Str {
	case "disabled":
		return Setting{Mode: Off}, true
	case "enabled":
		s.Mode = On
	case "adaptive", "auto":
		s.Mode = Auto
	default:
		return Setting{}, false
	}
	for _, name := range budgetMembers {
		b := v.Get(name)
		if b.Type == gjson.Null { // also if there is none
			continue
		}
		amount, ok := readBudget(b)
		if !ok || amount.Budget == 0 {
			return s, false
		}
		if s, ok = s.and(Setting{Budget: amount.Budget}); !ok {
			return s, false
		}
	}
	return s, true
}

// budgetMembers are the names that the budget has beside thinking.type.
var budgetMembers = []string{"budget_tokens", "token_budget"}

// A said is what one member of a request says about thinking.
type said struct {
	path  string
	value gjson.Result
	says  Setting
	ok    bool // it is known what the value says
}

// find returns what the members of a request say, in the order of places. A member that is
// null says nothing.
func find(root gjson.Result) ([]said, error) {
	values := map[string]gjson.Result{}
	if err := collect(values, root, ""); err != nil {
		return nil, err
	}
	var list []said
	thinks := false
	for _, p := range places {
		v, exists := values[p.path]
		if !exists || v.Type == gjson.Null || p.path == effortPath && !thinks {
			continue // without a switch, the effort is that of the whole answer
		}
		says, ok := p.read(v)
		list = append(list, said{p.path, v, says, ok})
		thinks = thinks || ok && says.Mode != Off
	}
	return list, nil
}

// collect finds the values of places below an object whose own path is given.
func collect(values map[string]gjson.Result, object gjson.Result, path string) (err error) {
	for _, m := range jsonedit.Members(object) {
		seen := map[string]bool{}
		for _, p := range places {
			rest, below := strings.CutPrefix(p.path, path)
			name, more, inner := strings.Cut(rest, ".")
			if !below || seen[name] || !chatjson.Named(m.Key, name) {
				continue
			}
			seen[name] = true
			full := path + name
			if _, twice := values[full]; twice {
				return fmt.Errorf("the key %q appears twice in the request", full)
			}
			values[full] = m.Value
			if inner && more != "" && m.Value.IsObject() {
				if err := collect(values, m.Value, full+"."); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// join returns what all members together say.
func join(list []said) (Setting, error) {
	var all Setting
	for i, s := range list {
		if !s.ok {
			return all, fmt.Errorf("the value of %s is not known, so it cannot be translated", s.path)
		}
		var ok bool
		if all, ok = all.and(s.says); !ok {
			return all, fmt.Errorf("%s contradicts %s", s.path, pathsOf(list[:i]))
		}
	}
	return all, nil
}

func pathsOf(list []said) string {
	paths := make([]string, len(list))
	for i, s := range list {
		paths[i] = s.path
	}
	return strings.Join(paths, " and ")
}
