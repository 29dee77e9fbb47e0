package gateway_test

import (
	"net/url"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
)

// geminiVerb is how a path of the API ends; the verb of a stream stands in its place.
const geminiVerb = ":generateContent"

const geminiPath = "/v1beta/models/m" + geminiVerb

var geminiReasons = map[sotto.Ending]string{
	sotto.EndStopped: "STOP", sotto.EndCut: "MAX_TOKENS", sotto.EndAborted: "SAFETY", sotto.EndUnknown: "FINISH_REASON_UNSPECIFIED",
}

// geminiObject is an event or a body with parts of one candidate, and members of it.
func geminiObject(parts, more string) string {
	return `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"},"index":0` + more +
		`}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":9,"totalTokenCount":17,"thoughtsTokenCount":3},"modelVersion":"m","responseId":"r1"}`
}

func geminiFrame(parts, more string) string { return "data: " + geminiObject(parts, more) + "\n\n" }

func geminiText(text string) string { return `{"text":` + quoted(text) + `}` }

func geminiEnd(end sotto.Ending) string { return `,"finishReason":"` + geminiReasons[end] + `"` }

var geminiSpeaker = speaker{
	codec: codecNamed("gemini.generate"), path: geminiPath, aborts: true,
	say:    func(text string) string { return geminiFrame(geminiText(text), "") },
	finish: func(_ string, end sotto.Ending) string { return geminiFrame(geminiText(""), geminiEnd(end)) },
	whole:  func(text string, end sotto.Ending) string { return geminiObject(geminiText(text), geminiEnd(end)) },
	hear: func(root gjson.Result, h *heard) {
		for _, c := range root.Get("candidates").Array() {
			for _, p := range c.Get("content.parts").Array() {
				if p.Get("thought").Bool() {
					h.thought = append(h.thought, bytesOf(p.Get("text"))...)
				} else {
					h.text = append(h.text, bytesOf(p.Get("text"))...)
				}
			}
			h.done = h.done || c.Get("finishReason").Str != ""
		}
	},
}

func init() { speakers = append(speakers, geminiSpeaker) }

// addressed returns where a client sends a body: the paths of these APIs name the model,
// and say whether the reply is streamed.
func addressed(path, body string) string {
	for whole, streamed := range map[string]string{geminiVerb: ":streamGenerateContent", bedrockVerb: bedrockVerb + "-stream"} {
		before, after, ok := strings.Cut(path, "/m"+whole)
		if !ok {
			continue
		}
		model := gjson.Get(body, "model").Str
		if model == "" || strings.Contains(model, "/") {
			model = "m"
		}
		verb := whole
		if gjson.Get(body, "stream").Bool() {
			verb = streamed
		}
		return before + "/" + url.PathEscape(model) + verb + after
	}
	return path
}

// addressedPath is the path that a record has of it.
func addressedPath(path, body string) string {
	u, err := url.Parse(addressed(path, body))
	if err != nil {
		panic(err)
	}
	return u.Path
}
