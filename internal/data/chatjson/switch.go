package chatjson

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/wire"
)

// switches are the members by which requests turn thinking on or off, as paths.
var switches = []string{
	"chat_template_kwargs.enable_thinking", "chat_template_kwargs.thinking", "chat_template_kwargs.reasoning_effort", "chat_template_kwargs.thinking_budget",
	"enable_thinking", "thinking_budget", "think", "thinking", "reasoning_effort", "reasoning_split",
	"reasoning.effort", "reasoning.enabled", "reasoning.max_tokens", "reasoning.exclude",
	"options.think", "output_config.effort", "include_reasoning",
	"generationConfig.thinkingConfig.includeThoughts", "generationConfig.thinkingConfig.thinkingBudget", "generationConfig.thinkingConfig.thinkingLevel",
	"additionalModelRequestFields.thinking", "additionalModelRequestFields.reasoning_config", "additionalModelRequestFields.reasoning_effort",
	"additionalModelRequestFields.reasoningConfig", "additionalModelRequestFields.reasoningConfig.maxReasoningEffort",
	"additionalModelRequestFields.output_config.effort",
}

// Switches returns the paths of the members by which requests turn thinking on or off, or
// say how much of it is shown.
func Switches() []string { return slices.Clone(switches) }

// switchWords are the known values of switches. For any other value a digest is
// used: switches are kept in files and shown, and clients choose their values.
var switchWords = []string{
	"true", "false", "on", "off", "yes", "no", "none", "auto", "default", "enabled", "disabled", "adaptive",
	"minimal", "low", "medium", "high", "xhigh", "max", "think", "no_think", "concise", "detailed", "summarized",
}

// maxSwitch is the maximum size of a switch in bytes: requests are hostile, and
// switches are remembered.
const maxSwitch = 128

// SwitchOf returns how a request turns thinking on or off, as one word that is the
// same for the same setting. It holds no text from the request itself.
func SwitchOf(root gjson.Result, messages []wire.Message) string {
	var all []string
	values := pick(root, switches)
	for i, path := range switches {
		v := values[i]
		if v.IsObject() { // {"type": "enabled", "budget_tokens": 1024}
			v = v.Get("type")
			path += ".type"
		}
		switch v.Type {
		case gjson.String, gjson.True, gjson.False, gjson.Number:
			all = append(all, path+"="+switchValue(v))
		}
	}
	if flag := thinkFlag(messages); flag != "" {
		all = append(all, flag)
	}
	s := strings.Join(all, ",")
	if len(s) > maxSwitch {
		return digest(s)
	}
	return s
}

// Members returns members of an object in one walk over it, however long others are. Of two of a name it is the first.
func Members(root gjson.Result, names ...string) []gjson.Result {
	values := make([]gjson.Result, len(names))
	root.ForEach(func(key, value gjson.Result) bool {
		if i := slices.Index(names, key.Str); i >= 0 && !values[i].Exists() {
			values[i] = value
		}
		return true
	})
	return values
}

// pick returns the values of paths in one walk over an object, however long its
// other members are. Members in camel case are found by either of their names.
func pick(root gjson.Result, paths []string) []gjson.Result {
	values := make([]gjson.Result, len(paths))
	root.ForEach(func(key, value gjson.Result) bool {
		for i, path := range paths {
			if key.Str == "" || key.Str[0] != path[0] { // as with most: both names of a member begin alike
				continue
			}
			name, rest, _ := strings.Cut(path, ".")
			if values[i].Exists() || !Named(key.Str, name) {
				continue
			}
			values[i] = value
			for name := range strings.SplitSeq(rest, ".") {
				if name != "" {
					values[i] = Either(values[i], name)
				}
			}
		}
		return true
	})
	return values
}

// switchValue writes a value. For a number, which is a budget of tokens, only its
// sign counts.
func switchValue(v gjson.Result) string {
	switch {
	case v.Type == gjson.Number && v.Num > 0:
		return "positive"
	case v.Type == gjson.Number && v.Num < 0:
		return "negative"
	case v.Type == gjson.Number:
		return "0"
	}
	word := strings.ToLower(strings.TrimSpace(v.String()))
	if slices.Contains(switchWords, word) {
		return word
	}
	return digest(v.String())
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "#" + hex.EncodeToString(sum[:6])
}

// IsSwitch reports whether a text is one that SwitchOf may return.
func IsSwitch(s string) bool {
	if len(s) > maxSwitch {
		return false
	}
	for part := range strings.SplitSeq(s, ",") {
		path, value, valued := strings.Cut(part, "=")
		switch {
		case s == "", part == "/think", part == "/no_think", !valued && isDigest(part):
		case !valued || !slices.Contains(switches, strings.TrimSuffix(path, ".type")):
			return false
		case !slices.Contains(switchWords, value) && !slices.Contains([]string{"0", "positive", "negative"}, value) && !isDigest(value):
			return false
		}
	}
	return true
}

func isDigest(s string) bool {
	sum, err := hex.DecodeString(strings.TrimPrefix(s, "#"))
	return err == nil && len(sum) == 6 && s[0] == '#'
}

// thinkFlag returns the soft switch that Qwen3 and SmolLM3 read in the last
// message of the user, or in the system's.
func thinkFlag(messages []wire.Message) string {
	flag := ""
	for _, m := range messages {
		if m.Role != "user" && m.Role != "system" {
			continue
		}
		for _, t := range m.Texts {
			if !strings.Contains(t, "think") { // as most; this search is much faster than those from the end
				continue
			}
			on, off := lastWord(t, "/think"), lastWord(t, "/no_think")
			switch {
			case on > off:
				flag = "/think"
			case off >= 0:
				flag = "/no_think"
			}
		}
	}
	return flag
}

// lastWord returns where a word last stands in s between white space, or -1.
func lastWord(s, word string) int {
	for end := len(s); ; {
		i := strings.LastIndex(s[:end], word)
		if i < 0 {
			return -1
		}
		after := i + len(word)
		if (i == 0 || isSpace(s[i-1])) && (after == len(s) || isSpace(s[after])) {
			return i
		}
		end = i
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
