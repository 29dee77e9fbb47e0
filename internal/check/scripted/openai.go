package scripted

import (
	"encoding/json"
	"net/http"
)

// openaiError is OpenAI's JSON for an error.
func openaiError(x *exchange, f *fault) object {
	message, kind, code := f.message, "invalid_request_error", any(nil)
	switch f.status {
	case http.StatusNotFound:
		if f.code == "model_not_found" {
			message = "The model `" + f.message + "` does not exist or you do not have access to it."
		}
	case http.StatusTooManyRequests:
		message = "Rate limit reached for " + x.name + " on requests per min (RPM). Please try again in 1s."
		kind, code = "requests", "rate_limit_exceeded"
	case http.StatusInternalServerError:
		kind = "server_error"
	}
	if f.code != "" {
		code = f.code
	}
	if f.kind != "" {
		kind = f.kind
	}
	return object{{"error", object{{"message", message}, {"type", kind}, {"param", nil}, {"code", code}}}}
}

// serveNothing answers for paths that belong to no API.
func serveNothing(x *exchange) error {
	return &fault{
		status:  http.StatusNotFound,
		message: "Invalid URL (" + x.r.Method + " " + x.r.URL.Path + ")",
	}
}

// serveModels lists the models in OpenAI's form or, if the request asks for it, in
// Anthropic's.
func serveModels(x *exchange) error {
	models := load()
	data := make(array, len(models))
	if x.r.Header.Get("Anthropic-Version") != "" {
		for i := range models {
			data[i] = anthropicModel(&models[i])
		}
		return x.reply(http.StatusOK, object{
			{"data", data}, {"has_more", false}, {"first_id", models[0].Name}, {"last_id", models[len(models)-1].Name},
		})
	}
	for i := range models {
		data[i] = openaiModel(models[i].Name)
	}
	return x.reply(http.StatusOK, object{{"object", "list"}, {"data", data}})
}

func serveModel(x *exchange) error {
	name := x.r.PathValue("model")
	model, ok := Find(name)
	switch {
	case !ok:
		return &fault{status: http.StatusNotFound, message: name, code: "model_not_found"}
	case x.r.Header.Get("Anthropic-Version") != "":
		return x.reply(http.StatusOK, anthropicModel(model))
	}
	return x.reply(http.StatusOK, openaiModel(model.Name))
}

// modelTime is the reported creation time of the models.
const modelTime = 1735689600

func openaiModel(name string) object {
	return object{{"id", name}, {"object", "model"}, {"created", modelTime}, {"owned_by", "scripted"}}
}

// openaiUsage counts the tokens of all choices. Reasoning is counted separately
// only if it has its own field.
func openaiUsage(x *exchange, choices []performance) object {
	wrote, thoughts := 0, 0
	for i := range choices {
		wrote += choices[i].wrote
		thoughts += choices[i].thoughts()
	}
	prompt := x.promptTokens()
	usage := object{{"prompt_tokens", prompt}, {"completion_tokens", wrote}, {"total_tokens", prompt + wrote}}
	if thoughts > 0 {
		usage = append(usage,
			member{"prompt_tokens_details", object{{"cached_tokens", 0}}},
			member{"completion_tokens_details", object{{"reasoning_tokens", thoughts}}})
	}
	return usage
}

// maxChoices bounds n.
const maxChoices = 128

func checkChoices(n int) (int, error) {
	if n < 0 || n > maxChoices {
		return 0, badRequest("Invalid 'n': expected a value between 1 and %d.", maxChoices)
	}
	return max(n, 1), nil
}

// streamOptions is the member stream_options of a request.
type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// fail sends what a server that fails in mid-stream sends.
func (s *sink) failOpenAI() error {
	f := &fault{status: http.StatusInternalServerError, message: failure}
	return s.data(openaiError(s.x, f))
}

// A thinkSwitch collects the ways in which a request can turn thinking on or off.
type thinkSwitch struct {
	Effort   string          `json:"reasoning_effort"`
	Think    json.RawMessage `json:"think"`
	Thinking struct {
		Type string `json:"type"`
	} `json:"thinking"`
	Reasoning struct {
		Effort  string `json:"effort"`
		Enabled *bool  `json:"enabled"`
	} `json:"reasoning"`
	EnableThinking *bool `json:"enable_thinking"`
	Template       struct {
		EnableThinking *bool `json:"enable_thinking"`
		Thinking       *bool `json:"thinking"`
	} `json:"chat_template_kwargs"`
}

// off reports whether the request turns thinking off.
func (t *thinkSwitch) off() bool {
	for _, on := range []*bool{t.Reasoning.Enabled, t.EnableThinking, t.Template.EnableThinking, t.Template.Thinking} {
		if on != nil && !*on {
			return true
		}
	}
	return t.Effort == "none" || t.Reasoning.Effort == "none" || t.Thinking.Type == "disabled" || string(t.Think) == "false"
}
