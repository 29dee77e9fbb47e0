package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/anthropic"
	"github.com/sotto-llm/sotto/wire/switches"
	"github.com/sotto-llm/sotto/wire/turn"
)

// messagesAPI is Anthropic's messages.
type messagesAPI struct{ model string }

func newAnthropic(c *Config) api { return &messagesAPI{c.Model} }

func (a *messagesAPI) codec() turn.API                                { return anthropic.Messages }
func (a *messagesAPI) chat() []string                                 { return []string{"v1", "messages"} }
func (a *messagesAPI) called(*listener, *calling, gjson.Result) error { return nil }

// native says that blocks of reasoning come from the server itself: some servers
// sign none.
func (a *messagesAPI) native(q *wire.Request) string {
	for _, m := range q.Messages {
		if slices.ContainsFunc(m.Thoughts, func(t wire.Thought) bool { return t.Name == "thinking" }) {
			return "thinking"
		}
	}
	return ""
}

// anthropicVersion is the version of the API that is spoken here.
const anthropicVersion = "2023-06-01"

func (a *messagesAPI) authorize(h http.Header, key string) {
	h.Set("Anthropic-Version", anthropicVersion)
	if key != "" {
		h.Set("X-Api-Key", key)
	}
}

// defaultMaxTokens is the limit of a reply, which this API requires.
const defaultMaxTokens = 8192

// adjust gives the request the limit that the API requires, and says how to think in words that the
// model takes. The API has no seed.
func (a *messagesAPI) adjust(t *turn.Request) error {
	if !slices.ContainsFunc(t.Messages, func(m turn.Message) bool { return m.Role != turn.System }) {
		return fmt.Errorf("no message besides the system message: Anthropic's API needs one")
	}
	t.Sampling.Seed = ""
	if t.MaxTokens == "" {
		t.MaxTokens = json.Number(strconv.Itoa(defaultMaxTokens))
	}
	name := modelname.Normal(a.model)
	if strings.Contains(name, "claude-") && modelname.Match(budgeted, name) < 0 && t.Thinking.Mode == switches.On {
		t.Thinking.Words = switches.Adaptive
	}
	return nil
}

// budgeted are the models of Anthropic's that take a thinking budget; later ones
// take an effort. Models of others take a budget.
var budgeted = []string{
	"*claude-3*", "*claude*-4", "*claude*-4-0*", "*claude*-4-1*", "*claude*-4.1*", "*claude*-4-5*", "*claude*-4.5*", "*claude*-4-20*",
}
