package promptshown

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
)

// Evidence is what a server shows about where the replies to a question begin.
type Evidence struct {
	// Start is [sotto.BeginOutside] or a [sotto.BeginInside], or empty if nothing shows
	// it.
	Start sotto.Beginning
	// MayOpen says that the prompt opens a block in some case.
	MayOpen bool
	// Separates says that the server takes thoughts out of the text itself.
	Separates bool
}

// opens reports whether the prompt may open a block.
func (e Evidence) opens() bool { return e.MayOpen || isInside(e.Start) }

func isInside(s sotto.Beginning) bool { return s != "" && s != sotto.BeginOutside }

// A Send sends a request to the server. The path stands beside the version of a base
// URL. If the status is 200 and the body is JSON, read gets it, and must not keep it.
type Send func(method, path string, body []byte, read func(gjson.Result)) (status int, err error)

// MaxRequests is the most requests that a question costs.
const MaxRequests = 10

// Ask asks a server in the ways of all that are known, first in the one named first.
// from names the way that had an answer. ok is false if the server may answer later: it
// could not be reached, or refused.
func Ask(g *sotto.Grammar, q Question, send Send, first string) (e Evidence, from string, ok bool) {
	a := &asking{grammar: g, question: q, send: send}
	order := slices.Clone(ways)
	slices.SortStableFunc(order, func(x, y way) int {
		return boolOf(y.name == first) - boolOf(x.name == first)
	})
	for _, w := range order {
		if e, found := w.ask(a); found {
			return a.doubt(e), w.name, true
		}
		if a.down {
			break
		}
	}
	return Evidence{}, "", a.reached && !a.refused
}

func boolOf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A way is how servers of one kind show what they do with a prompt.
type way struct {
	name string
	ask  func(a *asking) (e Evidence, found bool)
}

var ways = []way{
	{"apply-template", (*asking).applied},
	{"template", (*asking).templated},
	{"render", (*asking).rendered},
	{"tokenize", (*asking).tokenized},
	{"chat_tokenize", (*asking).chatTokenized},
	{"server_info", (*asking).served},
}

// An asking is a question on its way.
type asking struct {
	grammar  *sotto.Grammar
	question Question
	send     Send
	reached  bool // something answered
	refused  bool // one of the answers may be another later
	down     bool // nothing answers
}

// get sends a request, and reports whether read got an answer.
func (a *asking) get(method, path string, body any, read func(v gjson.Result)) (got bool) {
	var data []byte
	if body != nil {
		data, _ = json.Marshal(body)
	}
	status, err := a.send(method, path, data, func(v gjson.Result) {
		if got = v.IsObject(); got {
			read(v)
		}
	})
	switch {
	case err != nil:
		a.down = true
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusRequestTimeout, status == http.StatusTooManyRequests:
		a.reached, a.refused = true, true
	case status >= 500 && status != http.StatusNotImplemented:
		a.refused = true
	default:
		a.reached = true
	}
	return got
}

// doubt takes back what is not shown of a request that changes its prompt.
func (a *asking) doubt(e Evidence) Evidence {
	if a.question.Altered {
		return Evidence{MayOpen: true}
	}
	return e
}

// faithful reports whether a rendering endpoint reads the members as the endpoint of the
// request does.
func (a *asking) faithful() bool { return a.question.Chat || a.question.silent() }

// evidence reads a prompt that the server rendered.
func (a *asking) evidence(prompt string) Evidence {
	e := Evidence{Start: startOf(a.grammar, prompt, a.question.last())}
	if !a.faithful() {
		e = Evidence{MayOpen: e.opens()}
	}
	return e
}

// applied asks llama.cpp, which reads the body as it reads that of a chat completion:
// https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md.
func (a *asking) applied() (e Evidence, found bool) {
	a.get("POST", "/apply-template", a.question.body(), func(v gjson.Result) {
		if prompt := v.Get("prompt"); prompt.Type == gjson.String {
			e = a.evidence(prompt.Str)
			found = e != Evidence{}
		}
	})
	return e, found
}

// templated reads the text of a template, where a server shows it.
func (a *asking) templated() (e Evidence, found bool) {
	for _, p := range providers.All() {
		t := p.Template
		if t == nil || found || a.down {
			continue
		}
		a.getTemplate(t, func(v gjson.Result) {
			text := v.Get(t.Member)
			if text.Type == gjson.String && text.Str != "" || v.Get("capabilities").IsArray() {
				e, found = a.shown(v, text.Str), true
			}
		})
	}
	return e, found
}

func (a *asking) getTemplate(t *wire.Template, read func(v gjson.Result)) {
	var body any
	if t.Body != nil {
		body = json.RawMessage(t.Body(a.question.Model))
	}
	a.get(t.Method, t.Path, body, read)
}

// shown reads what a server says of a model: its template, and for Ollama whether it
// takes thoughts out (api.ShowResponse and server/routes.go of
// https://github.com/ollama/ollama, v0.17.4).
func (a *asking) shown(v gjson.Result, text string) Evidence {
	thinks := slices.ContainsFunc(v.Get("capabilities").Array(), func(c gjson.Result) bool { return c.Str == "thinking" })
	source := v.Get("template_source").Str
	built := v.Get("renderer").Str != "" || v.Get("parser").Str != "" || source != "" && source != "go_template"
	e := readTemplate(a.grammar, text)
	if built { // another template than the one that is shown
		e = Evidence{MayOpen: thinks || e.MayOpen}
	}
	q := &a.question
	byDefault := v.Get("parser").Str != "" || v.Get("thinking.default").Bool() || slices.Contains(words[1:6], v.Get("thinking.default").Str)
	e.Separates = thinks && (q.turnsOn() || q.silent() && byDefault)
	return e
}

// rendered asks vLLM for the tokens of a chat completion's prompt, and for their text
// (vllm/entrypoints/serve/render/api_router.py of https://github.com/vllm-project/vllm).
func (a *asking) rendered() (e Evidence, found bool) {
	var tokens []int64
	a.get("POST", "/v1/chat/completions/render", a.question.body(), func(v gjson.Result) {
		list := v.Get("token_ids").Array()
		for _, id := range list[max(0, len(list)-maxTokens):] {
			if id.Type == gjson.Number && id.Num >= 0 && id.Num == float64(id.Int()) {
				tokens = append(tokens, id.Int())
			}
		}
	})
	if len(tokens) == 0 || a.down {
		return e, false
	}
	a.get("POST", "/detokenize", object{"model": a.question.Model, "tokens": tokens}, func(v gjson.Result) {
		if prompt := v.Get("prompt"); prompt.Type == gjson.String {
			e = a.evidence(prompt.Str)
			found = e != Evidence{}
		}
	})
	return e, found
}

// maxTokens is more than the tokens of what a template writes after the last message.
const maxTokens = 1024

// tokenized asks vLLM for the tokens of a conversation
// (vllm/entrypoints/serve/tokenize/protocol.py). This endpoint reads only the arguments of
// the template, and some versions do not read those that the server has by default. So a
// reply begins outside only if it does so with thinking turned on, too.
func (a *asking) tokenized() (e Evidence, found bool) {
	q := a.question
	plain := a.tokens(gjson.Get(q.Members, kwargsMember).Raw)
	if plain == (Evidence{}) {
		return plain, false
	}
	if !q.onlyKwargs() {
		on := a.tokens(thinkingOn)
		return Evidence{MayOpen: plain.opens() || on.opens()}, true
	}
	if plain.Start == sotto.BeginOutside && !q.explicit() {
		if on := a.tokens(thinkingOn); on.Start != sotto.BeginOutside {
			return Evidence{MayOpen: on.opens()}, true
		}
	}
	return plain, true
}

const thinkingOn = `{"enable_thinking":true,"thinking":true}`

func (a *asking) tokens(kwargs string) (e Evidence) {
	body := a.question.body()
	for _, name := range plain {
		delete(body, name)
	}
	delete(body, kwargsMember)
	if kwargs != "" {
		body[kwargsMember] = json.RawMessage(kwargs)
	}
	body["add_generation_prompt"], body["return_token_strs"] = true, true
	a.get("POST", "/tokenize", body, func(v gjson.Result) {
		list := v.Get("token_strs").Array()
		texts := make([]string, 0, min(len(list), maxTokens))
		for _, t := range list[max(0, len(list)-maxTokens):] {
			texts = append(texts, t.Str)
		}
		if len(texts) > 0 {
			e = a.evidence(joinTokens(texts))
		}
	})
	return e
}

// chatTokenized asks text-generation-inference (ChatTokenizeResponse in router/src/lib.rs
// of https://github.com/huggingface/text-generation-inference).
func (a *asking) chatTokenized() (e Evidence, found bool) {
	a.get("POST", "/chat_tokenize", a.question.body(), func(v gjson.Result) {
		if prompt := v.Get("templated_text"); prompt.Type == gjson.String {
			e = a.evidence(prompt.Str)
			found = e != Evidence{}
		}
	})
	return e, found
}

// forcing are the parsers of SGLang that take everything before a close for a thought,
// with or without an opener (python/sglang/srt/parser/reasoning_parser.py of
// https://github.com/sgl-project/sglang). The others leave a thought in the text if the
// prompt opened it.
var forcing = []string{"deepseek-r1", "qwen3-thinking"}

// served asks SGLang for its parser of reasoning. SGLang renders no prompt.
func (a *asking) served() (e Evidence, found bool) {
	for _, path := range []string{"/get_server_info", "/server_info"} {
		if a.down || found {
			break
		}
		a.get("GET", path, nil, func(v gjson.Result) {
			parser := v.Get("reasoning_parser")
			if found = parser.Exists(); found {
				e.Separates = a.question.Chat && a.question.silent() && slices.Contains(forcing, parser.Str)
			}
		})
	}
	return e, found
}
