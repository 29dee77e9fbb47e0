package firstconfig

import (
	"encoding/json"
	"fmt"
	"slices"
)

// An Application is a client whose settings are known.
type Application struct {
	Name string // as in sotto init --for
	Chat bool   // it speaks chat completions
	// lines are what a user pastes, for a gateway at a base URL and a model.
	lines func(base, model string) []string
}

// anyKey is the API key of clients on this machine, where a gateway needs no token. Most refuse to
// start without one.
const anyKey = "local"

var applications = []Application{
	{"claude-code", false, func(base, model string) []string {
		return []string{
			fmt.Sprintf("export ANTHROPIC_BASE_URL=%s ANTHROPIC_AUTH_TOKEN=%s ANTHROPIC_MODEL=%s ANTHROPIC_DEFAULT_HAIKU_MODEL=%[3]s", base, anyKey, Word(model)),
			"claude",
		}
	}},
	{"codex", false, func(base, model string) []string {
		return []string{
			"export SOTTO_KEY=" + anyKey,
			// Its search of the web runs at OpenAI.
			"codex -c model_provider=sotto -c web_search=disabled -c " + Word(`model_providers.sotto={name="sotto",base_url="`+base+`/v1",wire_api="responses",env_key="SOTTO_KEY"}`) + " -m " + Word(model),
		}
	}},
	{"gemini-cli", false, func(base, model string) []string {
		return []string{fmt.Sprintf("export GOOGLE_GEMINI_BASE_URL=%s GEMINI_API_KEY=%s", base, anyKey), "gemini -m " + Word(model)}
	}},
	{"opencode", true, func(base, model string) []string {
		type object = map[string]any
		config, _ := json.Marshal(object{ // texts
			"model": "sotto/" + model,
			"provider": object{"sotto": object{
				"npm": "@ai-sdk/openai-compatible", "name": "sotto", "options": object{"baseURL": base + "/v1", "apiKey": anyKey},
				"models": object{model: object{"tool_call": true, "reasoning": true}},
			}},
		})
		return []string{"export OPENCODE_CONFIG_CONTENT=" + Word(string(config)), "opencode"}
	}},
	{"copilot", true, func(base, model string) []string {
		return []string{
			fmt.Sprintf("export COPILOT_PROVIDER_BASE_URL=%s/v1 COPILOT_PROVIDER_API_KEY=%s COPILOT_MODEL=%s COPILOT_OFFLINE=true", base, anyKey, Word(model)),
			"copilot",
		}
	}},
	{"cline", true, func(base, model string) []string {
		return []string{fmt.Sprintf("cline auth -p openai -k %s -m %s -b %s/v1", anyKey, Word(model), base), "cline"}
	}},
	{"openai-sdk", true, func(base, model string) []string {
		return []string{fmt.Sprintf("export OPENAI_BASE_URL=%s/v1 OPENAI_API_KEY=%s", base, anyKey), "export OPENAI_MODEL=" + Word(model)}
	}},
	{"anthropic-sdk", false, func(base, model string) []string {
		return []string{fmt.Sprintf("export ANTHROPIC_BASE_URL=%s ANTHROPIC_API_KEY=%s", base, anyKey), "export ANTHROPIC_MODEL=" + Word(model)}
	}},
}

// Applications are the names of the applications whose settings are known.
func Applications() []string {
	var names []string
	for _, a := range applications {
		names = append(names, a.Name)
	}
	return names
}

// ApplicationNamed returns the application with a name.
func ApplicationNamed(name string) (Application, bool) {
	i := slices.IndexFunc(applications, func(a Application) bool { return a.Name == name })
	if i < 0 {
		return Application{}, false
	}
	return applications[i], true
}

// Lines are what a user pastes into a shell to use a model through the gateway.
func (a Application) Lines(listen, model string) []string {
	_, base := addressOf(listen)
	return a.lines(base, model)
}
