package honest

import (
	"math/rand/v2"
	"strings"
)

// An api is a form of requests and replies.
type api struct {
	name    string
	path    string // of a request; {} is the model
	kind    string // the content type of a stream
	raw     bool   // without a chat template
	choices bool   // n is known
	stop    string // where the stop words are, with dots between the members
	limits  []string
	base    func(f family) object
	whole   func(model string, replies []reply) object
	frames  func(model string, replies []reply, cut func(string) []string) []string
}

const (
	sse    = "text/event-stream"
	ndjson = "application/x-ndjson"
)

const question = "How much is two and two?"

func userTurns(name string, content any) func(family) object {
	return func(f family) object {
		return object{"model": f.model, name: []any{object{"role": "user", "content": content}}}
	}
}

var apis = []api{
	{
		name: "chat", path: "/v1/chat/completions", kind: sse, choices: true, stop: "stop", limits: []string{"max_tokens", "max_completion_tokens"},
		base: userTurns("messages", question), whole: chatWhole, frames: chatFrames,
	},
	{
		name: "completions", path: "/v1/completions", kind: sse, raw: true, choices: true, stop: "stop", limits: []string{"max_tokens"},
		base: promptOf, whole: completionsWhole, frames: completionsFrames,
	},
	{
		name: "completion", path: "/completion", kind: sse, raw: true, stop: "stop", limits: []string{"n_predict"},
		base: promptOf, whole: completionWhole, frames: completionFrames,
	},
	{
		name: "responses", path: "/v1/responses", kind: sse, stop: "stop", limits: []string{"max_output_tokens"},
		base: func(f family) object { return object{"model": f.model, "input": question} }, whole: responsesWhole, frames: responsesFrames,
	},
	{
		name: "messages", path: "/v1/messages", kind: sse, stop: "stop_sequences", limits: []string{"max_tokens"},
		base: func(f family) object {
			o := userTurns("messages", question)(f)
			o["max_tokens"] = 1000.0
			return o
		}, whole: messagesWhole, frames: messagesFrames,
	},
	{
		name: "ollama.chat", path: "/api/chat", kind: ndjson, stop: "options.stop", limits: []string{"options.num_predict"},
		base: userTurns("messages", question), whole: ollamaWhole("message"), frames: ollamaFrames("message"),
	},
	{
		name: "ollama.generate", path: "/api/generate", kind: ndjson, stop: "options.stop", limits: []string{"options.num_predict"},
		base: func(f family) object { return object{"model": f.model, "prompt": question} }, whole: ollamaWhole("response"), frames: ollamaFrames("response"),
	},
	{
		name: "gemini", path: "/v1beta/models/{}", kind: sse, stop: "generationConfig.stopSequences", limits: []string{"generationConfig.maxOutputTokens"},
		base: func(family) object {
			return object{"contents": []any{object{"role": "user", "parts": []any{object{"text": question}}}}}
		}, whole: geminiWhole, frames: geminiFrames,
	},
	{
		name: "cohere", path: "/v2/chat", kind: sse, stop: "stop_sequences", limits: []string{"max_tokens"},
		base: userTurns("messages", question), whole: cohereWhole, frames: cohereFrames,
	},
	{
		name: "bedrock", path: "/model/{}", kind: sse, stop: "inferenceConfig.stopSequences", limits: []string{"inferenceConfig.maxTokens"},
		base: func(family) object {
			return object{"messages": []any{object{"role": "user", "content": []any{object{"text": question}}}}}
		}, whole: bedrockWhole, frames: bedrockFrames,
	},
}

// promptOf is a prompt as a client renders it that has the model's template.
func promptOf(f family) object {
	return object{"model": f.model, "prompt": f.render([]turn{{role: "user", text: question}}) + f.generation(true)}
}

func named(name string) *api {
	for i := range apis {
		if apis[i].name == name {
			return &apis[i]
		}
	}
	panic("no API " + name)
}

// apiOf returns the API that a path belongs to.
func apiOf(path string) *api {
	for i := range apis {
		prefix, _, _ := strings.Cut(apis[i].path, "{}")
		if path == prefix || prefix != apis[i].path && strings.HasPrefix(path, prefix) {
			return &apis[i]
		}
	}
	return nil
}

// at is the path of a request.
func (a *api) at(model string, stream bool) string {
	path := strings.ReplaceAll(a.path, "{}", model)
	switch {
	case a.name == "gemini" && stream:
		return path + ":streamGenerateContent?alt=sse"
	case a.name == "gemini":
		return path + ":generateContent"
	case a.name == "bedrock" && stream:
		return path + "/converse-stream"
	case a.name == "bedrock":
		return path + "/converse"
	}
	return path
}

// inPath reports whether the path, and not a member, asks for a stream.
func (a *api) inPath() bool { return strings.Contains(a.path, "{}") }

func (a *api) streams(path string, body object, asked bool) bool {
	if a.inPath() {
		return strings.Contains(path, "stream")
	}
	_, said := body["stream"]
	return asked || !said && strings.HasPrefix(a.name, "ollama.")
}

// get returns a member, which may be in an object.
func (a *api) get(body object, member string) any {
	outer, inner, nested := strings.Cut(member, ".")
	if !nested {
		return body[member]
	}
	in, _ := body[outer].(object)
	return in[inner]
}

// set sets a member.
func set(body object, member string, value any) {
	outer, inner, nested := strings.Cut(member, ".")
	if !nested {
		body[member] = value
		return
	}
	in, _ := body[outer].(object)
	if in == nil {
		in = object{}
	}
	in[inner] = value
	body[outer] = in
}

// stream is what a stream sends, in pieces that are cut anywhere.
func (a *api) stream(model string, replies []reply, cuts *rand.Rand) []string {
	return a.frames(model, replies, func(text string) (pieces []string) {
		runes := []rune(text)
		for len(runes) > 0 {
			n := min(len(runes), 1+cuts.IntN(12))
			pieces = append(pieces, string(runes[:n]))
			runes = runes[n:]
		}
		return pieces
	})
}

func data(o object) string { return "data: " + string(encode(o)) + "\n\n" }
func line(o object) string { return string(encode(o)) + "\n" }

func event(kind string, o object) string {
	o["type"] = kind
	return "event: " + kind + "\n" + data(o)
}

// reasonOf is the reason in the words of an API.
func reasonOf(reason string, words map[string]string) string {
	if w, ok := words[reason]; ok {
		return w
	}
	return reason
}
