package house

import (
	"slices"
	"strings"
	"testing"
)

// A vocabulary is the folder of a codec, and words that only its API has: names of members, of
// events and of kinds of blocks.
type vocabulary struct {
	folders []string // where the words may stand: the codec's, and what it shares
	words   string
}

// distinctive are words of the providers' JSON. A word that several providers have, such as
// "usage", is not here.
var distinctive = []vocabulary{
	{[]string{"wire/openai", "internal/data/chatjson", "wire/internal/message"}, "reasoning_content reasoning_details system_fingerprint x_groq prompt_filter_results"},
	{[]string{"wire/openai", "wire/gemini/interactions", "internal/data/chatjson", "wire/internal/message"}, "thought_signature"},
	{[]string{"wire/openai", "wire/cohere"}, "finish_reason"},
	{[]string{"wire/openai", "wire/llamacpp"}, "timings"},
	{[]string{"wire/openai/responses"}, "output_item response.output_text.delta response.completed response.created response.incomplete function_call_arguments " +
		"custom_tool_call reasoning_summary_text reasoning_summary_part summary_index sequence_number"},
	{[]string{"wire/openai/responses", "wire/openai/conversations"}, "output_index"},
	{[]string{"wire/openai/conversations"}, "conversation.response.started conversation.response.done message.output message.output.delta function.call function.call.delta"},
	{[]string{"wire/openai/responses", "wire/anthropic"}, "encrypted_content"},
	{[]string{"wire/anthropic"}, "redacted_thinking content_block content_block_start content_block_delta content_block_stop message_delta message_stop " +
		"input_json_delta partial_json text_delta thinking_delta signature_delta citations_delta"},
	{[]string{"wire/anthropic", "wire/bedrock"}, "server_tool_use"},
	{[]string{"wire/gemini"}, "thoughtSignature functionCall functionResponse executableCode codeExecutionResult inlineData partialArgs usageMetadata finishReason " +
		"promptFeedback modelVersion responseId groundingMetadata safetyRatings thoughtsTokenCount"},
	{[]string{"wire/ollama"}, "prompt_eval_count prompt_eval_duration eval_count done_reason total_duration load_duration remote_model"},
	{[]string{"wire/llamacpp"}, "tokens_predicted tokens_evaluated stopping_word id_slot stop_type"},
	{[]string{"wire/cohere"}, "message-start message-end content-start content-delta content-end tool-call-start tool-call-delta tool-call-end tool-plan-delta citation-start tool_plan"},
	{[]string{"wire/bedrock"}, "messageStart messageStop contentBlockStart contentBlockDelta contentBlockStop toolUse toolUseId toolResult reasoningContent reasoningText redactedContent stopReason"},
}

// A wordReader is a package that is not a codec and has words of some providers.
type wordReader struct{ words, why string }

// besideCodecs are those packages, each with its words and the reason. The words "*" are any.
var besideCodecs = map[string]wordReader{
	"internal/check/scripted":    {"*", "an upstream that imitates the providers: if it used their writers, it would prove nothing about them"},
	"internal/testing/sayings":   {"*", "a reader for tests: if it used the codecs, it would prove nothing about them"},
	"internal/data/chatjson":     {"redacted_thinking server_tool_use encrypted_content reasoningContent reasoningText tool_plan", "requests of every API have reasoning in members, blocks or items: history and the codecs read them with one function"},
	"model":                      {"reasoning_details redacted_thinking", "a reply keeps the reasoning of each API as it goes back"},
	"history":                    {"reasoning_content reasoning_details redacted_thinking thought_signature functionCall", "it says what each provider requires of earlier reasoning"},
	"gateway/internal/account":   {"reasoning_details", "it counts reasoning where a provider repeats it"},
	"gateway/internal/errortext": {"reasoning_details", "errors quote requests and replies of any API"},
	"internal/data/alike":        {"reasoning_content", "frames of any API are compared"},
	"gateway/routing":            {"reasoning_content", "the default of a setting"},
	"gateway/internal/things":    {"response.created content_block", "the ids of what a reply names, in bodies that no codec reads"},
	"gateway/internal/unread":    {"contentBlockDelta", "what looks like a reply, in bodies that no codec reads"},
	"gateway":                    {"usageMetadata sequence_number", "the form of embeddings in results; where a stored stream is resumed"},
	"internal/lab/inputfiles":    {"reasoning_content reasoning_details redacted_thinking server_tool_use finish_reason done_reason", "logs hold the members of the providers' replies"},
	"internal/reply/leak":        {"reasoning_content redacted_thinking server_tool_use finish_reason", "logs hold the members of the providers' replies"},
	"internal/reply/dialectset":  {"finish_reason done_reason", "logs of replies have the reason of an API in a column of its name"},
	"internal/lab/scoring":       {"reasoning_content", "logs hold the reasoning beside the reply"},
	"internal/recorded/otlp":     {"finish_reason", "the conventions of OpenTelemetry have a member of this name"},
	"dialect/dialectfile":        {"reasoning_content", "response templates have a role of this name"},
	"internal/serve/settings":    {"reasoning_content", "the default of a setting"},
	"internal/serve/firstconfig": {"reasoning_content", "a comment in a file of settings"},
	"internal/cli/textcmd":       {"finish_reason done_reason", "the help of a command"},
	"internal/check/doctor":      {"reasoning_content", "what a diagnosis says"},
}

// TestWordsOfOneFolder: what an API calls its members, events and blocks is known in the
// folder of its codec. Other code takes from the codec what it found.
func TestWordsOfOneFolder(t *testing.T) {
	used := map[string]map[string]bool{} // words by packages
	for path, p := range packages(t) {
		eachString(t, path, p, func(file, value string) {
			for _, a := range distinctive {
				for _, word := range strings.Fields(a.words) {
					if !hasWord(value, word) {
						continue
					}
					if used[path] == nil {
						used[path] = map[string]bool{}
					}
					used[path][word] = true
					if r := besideCodecs[path].words; r != "*" && !slices.Contains(strings.Fields(r), word) && !slices.Contains(a.folders, path) {
						t.Errorf("%s/%s: %.80q: %q belongs to %s: take it from what the codec found", path, file, value, word, strings.Join(a.folders, " or "))
					}
				}
			}
		})
	}
	for path, r := range besideCodecs {
		for _, word := range strings.Fields(r.words) {
			if word == "*" && len(used[path]) == 0 || word != "*" && !used[path][word] {
				t.Errorf("%s has no %s: remove it from the list", path, word)
			}
		}
	}
	for _, a := range distinctive {
		for _, word := range strings.Fields(a.words) {
			if !slices.ContainsFunc(a.folders, func(path string) bool { return used[path][word] }) {
				t.Errorf("no codec of %s has %s", strings.Join(a.folders, " or "), word)
			}
		}
	}
}

// hasWord reports whether a text has a word that is not a part of a longer one.
func hasWord(text, word string) bool {
	part := func(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' }
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return false
		}
		at += from
		end := at + len(word)
		if (at == 0 || !part(text[at-1])) && (end == len(text) || !part(text[end])) {
			return true
		}
		from = end
	}
}
