package honest

import (
	"fmt"
	"regexp"
	"strings"
)

// A script says what a model writes, whatever it is asked.
type script struct {
	name    string
	thought string // with canaries, as %[1]s0, %[1]s1 …; %[1]s tells the choices apart
	loose   bool   // the close is not alone on its line
	eos     string // if set, the model stops within the thought, and the server gives this as the reason
	answer  string // if empty, an ordinary one
	calls   bool   // the server reads a call of the tool w at the end of the reply
}

// canary is what no client may get but in the place of reasoning, and word what each
// client should get once.
var (
	canary = regexp.MustCompile(`canary\d+x\d+`)
	word   = regexp.MustCompile(`(canary|answer)\d+x\d+`)
)

const aThought = "canary%[1]sx0 is the secret, so I\nkeep it: canary%[1]sx1.\n\nWe are done with canary%[1]sx2"

var scripts = []script{
	{name: "plain", thought: aThought},
	{name: "loose close", thought: aThought, loose: true},
	{name: "stops in the thought", thought: aThought, eos: "stop"},
	{name: "repeats in the thought", thought: aThought, eos: "repetition"},
	{name: "calls from the thought", thought: aThought, eos: "stop", calls: true},
	{name: "mentions a call", thought: "canary%[1]sx0 The tag <tool_call> is used. canary%[1]sx1 so"},
	{name: "drafts a call", thought: "canary%[1]sx0 <tool_call>\n{\"name\": \"frob\", \"arguments\": {}}\n</tool_call> canary%[1]sx1 so"},
	{name: "begins a call", thought: "canary%[1]sx0 <tool_call>\n{\"name\": \"w\", canary%[1]sx1 so"},
}

const anAnswer = "answer%[1]sx0 is four."

// A saying is what a model made of a prompt.
type saying struct {
	text   string
	reason string // "stop", "length", or what the script says
	word   string // the stop word that ended it
}

// state says where in its reply a prompt leaves a model.
type state uint8

const (
	before  state = iota // the reply has not begun
	inside               // the thought was opened
	outside              // the thought is over, or the answer has begun
)

func (f family) stateOf(prompt string) state {
	tail := prompt
	at := strings.LastIndex(prompt, f.header)
	if at >= 0 {
		tail = prompt[at+len(f.header):]
	}
	if f.open == "" {
		return outside
	}
	opened, closed := strings.LastIndex(tail, f.open), strings.LastIndex(tail, f.close)
	switch {
	case opened > closed:
		return inside
	case closed >= 0, at >= 0 && strings.TrimSpace(tail) != "":
		return outside
	}
	return before
}

// say continues a prompt.
func (f family) say(sc script, prompt string, choice int) saying {
	id := fmt.Sprint(choice)
	answer := sc.answer
	if answer == "" {
		answer = fmt.Sprintf(anAnswer, id)
	}
	at := f.stateOf(prompt)
	if at == outside {
		return saying{text: answer, reason: "stop"}
	}
	thought := fmt.Sprintf(sc.thought, id)
	if at == before {
		thought = f.open + "\n" + thought
	}
	switch {
	case sc.eos != "":
		return saying{text: thought, reason: sc.eos}
	case sc.loose:
		return saying{text: thought + f.close + answer, reason: "stop"}
	}
	return saying{text: thought + "\n" + f.close + "\n\n" + answer, reason: "stop"}
}

// halt ends a reply at the first stop word, or at the limit of tokens, as every server
// does: the text of a stop word is left out unless include is set.
func (s saying) halt(stops []string, tokens int, include bool) saying {
	at := len(s.text)
	for _, w := range stops {
		i := strings.Index(s.text, w)
		if w == "" || i < 0 {
			continue
		}
		if include {
			i += len(w)
		}
		if i < at {
			at, s.reason, s.word = i, "stop", w
		}
	}
	if tokens > 0 {
		if limit := endOfToken(s.text, tokens); limit < at {
			at, s.reason, s.word = limit, "length", ""
		}
	}
	s.text = s.text[:at]
	return s
}

// endOfToken returns where the nth token ends; a token is a word with the space before
// it.
func endOfToken(text string, n int) int {
	for i := range text {
		if i > 0 && strings.ContainsRune(" \n", rune(text[i])) {
			if n--; n == 0 {
				return i
			}
		}
	}
	return len(text)
}
