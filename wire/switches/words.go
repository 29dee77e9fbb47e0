package switches

import "slices"

// Words are the members in which a server reads whether and how much to think.
type Words string

// The words. They are named by their members, because servers of one API differ in them,
// and so do the versions of one server and the chat templates of models.
const (
	Untouched Words = "untouched" // nothing is translated
	Native    Words = "native"    // those of the API itself

	ReasoningEffort    Words = "reasoning_effort"     // a level, or none
	Reasoning          Words = "reasoning"            // reasoning.effort; in chat completions also enabled and max_tokens
	Thinking           Words = "thinking"             // thinking.type, with a budget where the API has one
	ThinkingAndEffort  Words = "thinking-and-effort"  // thinking.type and reasoning_effort
	Adaptive           Words = "adaptive"             // thinking.type adaptive and output_config.effort
	ChatTemplateKwargs Words = "chat_template_kwargs" // enable_thinking, thinking and reasoning_effort in it
	EnableThinking     Words = "enable_thinking"      // with thinking_budget
	Think              Words = "think"                // true, false or a level
	ThinkingBudget     Words = "thinkingBudget"       // in generationConfig.thinkingConfig
	ThinkingLevel      Words = "thinkingLevel"        // likewise
)

// All lists the words.
func All() []Words {
	return []Words{
		Untouched, Native, ReasoningEffort, Reasoning, Thinking, ThinkingAndEffort, Adaptive,
		ChatTemplateKwargs, EnableThinking, Think, ThinkingBudget, ThinkingLevel,
	}
}

// The APIs in which the words differ.
const (
	chat      = "openai.chat"
	responses = "openai.responses"
	messages  = "anthropic.messages"
	cohere    = "cohere.chat"
	gemini    = "gemini.generate"
)

// held has the words that requests of an API can hold, its own first. An API that has no
// row takes a rendered prompt, has no words that are known, or leaves them to the models,
// as Bedrock's does: its additionalModelRequestFields have the members of the model that
// the request names, and are not read here.
var held = map[string][]Words{
	chat:              {ReasoningEffort, Reasoning, Thinking, ThinkingAndEffort, ChatTemplateKwargs, EnableThinking},
	responses:         {Reasoning, ChatTemplateKwargs},
	messages:          {Thinking, Adaptive, ChatTemplateKwargs},
	cohere:            {Thinking},
	"ollama.chat":     {Think},
	"ollama.generate": {Think},
	gemini:            {ThinkingBudget, ThinkingLevel},
}

// In returns the words that are used in an API in place of w: w itself, the API's own if
// its requests cannot hold w, or none if it has no words.
func (w Words) In(api string) Words {
	list := held[api]
	switch {
	case w == "" || w == Untouched:
		return Untouched
	case slices.Contains(list, w):
		return w
	case len(list) > 0:
		return list[0]
	}
	return ""
}
