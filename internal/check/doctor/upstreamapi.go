package doctor

import (
	"net/url"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/check/checks"
	"github.com/sotto-llm/sotto/internal/check/modelserver"
	"github.com/sotto-llm/sotto/wire/providers"
)

// speak are the APIs that servers have, by their names in settings. The first is the one in which
// Sotto asks the server for clients of others. Versions differ in the rest.
var speak = map[string][]string{
	Ollama: {"ollama", "chat", "messages", "responses"}, LlamaCPP: {"chat", "messages", "responses"}, VLLM: {"chat", "responses", "messages"},
	SGLang: {"chat", "responses", "messages", "ollama"}, LMStudio: {"chat", "responses", "messages"},
	"Anthropic": {"messages"}, "OpenAI": {"chat", "responses"}, OpenRouter: {"chat", "responses", "messages"}, "Gemini": {"gemini", "chat"},
	"DeepSeek": {"chat"}, "Groq": {"chat", "responses"}, "Together": {"chat"}, "Mistral": {"chat"}, "xAI": {"chat", "responses", "messages"},
	"Moonshot": {"chat"}, "Fireworks": {"chat", "responses"},
}

// UpstreamAPIs returns the APIs of a server at a base URL, by their names in settings, the one to set
// as upstream-api first. It is empty if that is not known.
func UpstreamAPIs(server, base string) []string {
	if u, err := url.Parse(base); err == nil && server == "Gemini" && strings.Contains(u.Path, "/openai") {
		return []string{"chat"}
	}
	return slices.Clone(speak[server])
}

// listedBy returns the API whose servers have a list of models of this form; "" if it is not a list.
func listedBy(list *modelserver.Response) string {
	v, ok := list.JSON()
	switch {
	case !ok || !isList(list):
		return ""
	case strings.HasPrefix(v.Get("models.0.name").Str, "models/"):
		return "gemini"
	case v.Get("models.0.endpoints").IsArray() && !v.Get("data").IsArray():
		return "cohere"
	case v.Get("data.0.type").Str == "model" && v.Get("data.0.display_name").Exists():
		return "anthropic"
	}
	return "openai"
}

// settingsNames are what the settings call the APIs of this package.
var settingsNames = map[string]string{"openai": "chat", "anthropic": "messages"}

// settingsName returns the name of an API in settings.
func settingsName(name string) string {
	if other := settingsNames[name]; other != "" {
		return other
	}
	return name
}

// describeUpstreamAPI says which upstream-api is right, what clients of each API get with it, and
// whether the one that the options name is wrong.
func (d *diagnosis) describeUpstreamAPI() {
	r := d.report
	for _, name := range r.APIs {
		r.Speaks = append(r.Speaks, settingsName(name))
	}
	slices.Sort(r.Speaks)
	r.Speaks = slices.Compact(r.Speaks)
	set := settingsName(d.api.name)
	if len(r.Speaks) > 0 && !slices.Contains(r.Speaks, set) {
		set = r.Speaks[0]
	}
	r.UpstreamAPI = set
	var others []string
	for _, a := range providers.APIs() {
		if !slices.Contains(r.Speaks, a.Name) && a.Name != set {
			others = append(others, a.Name)
		}
	}
	switch named := d.options.UpstreamAPI; {
	case named == "" || named == set:
	case len(r.Speaks) == 0:
		d.found("upstream-api", found{checks.Unknown, checks.APIUnknown, "whether the server speaks " + named + " cannot be told: it lists no models in the form of an API", ""})
	case !slices.Contains(r.Speaks, named):
		d.found("upstream-api", found{checks.Finding, checks.UpstreamAPI, "the settings say " + named + ", and the server speaks " + strings.Join(r.Speaks, ", "), "set upstream-api: " + set})
	}
	r.Sotto = append(r.Sotto, "serves clients of "+strings.Join(others, ", ")+" too, with upstream-api: "+set+": it translates their requests and the replies")
}
