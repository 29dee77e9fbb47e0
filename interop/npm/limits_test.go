package npm_test

import "fmt"

// A limit is what a client itself does with every server, so that no reply of the
// gateway can help. The judge wants exactly that: a version of the client that does
// otherwise fails the test.
type limit struct {
	client, aspect string
	streamed       bool // only of streams
	cell           string
	why, place     string
}

var limits = []limit{
	{
		client: "@langchain/deepseek", aspect: text, streamed: true,
		cell:  "yes, without the tags in a stream",
		why:   "it takes `<think>` in the text of a stream for the tag of a thought, also in code and under `tags` and `keep`",
		place: "`ChatDeepSeek._streamResponseChunks` in `@langchain/deepseek/dist/chat_models.js`",
	},
	{
		client: "@langchain/openai, responses", aspect: reasoning, streamed: true,
		cell:  "twice in a stream",
		why:   "`contentBlocks` of the last chunk of a stream has all summaries again, after the chunks that had them",
		place: "`convertToV1FromResponses` in `@langchain/core/dist/messages/block_translators/openai.js`",
	},
	{
		client: "@mistralai/mistralai", aspect: text, streamed: true,
		cell:  "yes, with a `finish_reason` in each chunk",
		why:   "it refuses a stream whose chunks leave `finish_reason` out until the last, as those of Gemini's server for OpenAI's API do",
		place: "`CompletionResponseStreamChoice$inboundSchema` in `@mistralai/mistralai/esm/models/components/completionresponsestreamchoice.js`",
	},
	{
		client: "@mistralai/mistralai", aspect: tools, streamed: true,
		cell:  "in whole replies",
		why:   "it refuses a stream in which a call comes in pieces, as in OpenAI's; Mistral's servers send each call whole",
		place: "`FunctionCall$inboundSchema` in `@mistralai/mistralai/esm/models/components/functioncall.js`",
	},
	{
		client: "ai 7, cohere", aspect: bare,
		cell:  "calls without their text",
		why:   "it reads no `tool_plan`, and sends calls back without the text and the plan beside them, so that nothing is restored",
		place: "`convertToCohereChatPrompt` in `@ai-sdk/cohere/dist/index.js`",
	},
	{
		client: "llamaindex, ollama", aspect: history,
		cell:  "sends no calls back",
		why:   "it sends the results of tools back, and not the calls, so that nothing is restored",
		place: "`Ollama.chat` in `@llamaindex/ollama/dist/index.js`",
	},
}

// limit returns the limit of a client in an aspect, or nil.
func (c *npmClient) limit(aspect string) *limit {
	for i := range limits {
		if l := &limits[i]; l.client == c.Name && l.aspect == aspect {
			return l
		}
	}
	return nil
}

// repeats reports whether a client reads the reasoning of a conversation twice.
func (c *npmClient) repeats(stream bool) bool {
	l := c.limit(reasoning)
	return l != nil && (stream || !l.streamed)
}

// sentence is what the document says about a limit, under the table.
func (l *limit) sentence() string {
	return fmt.Sprintf("- %s: %s (%s).\n", l.client, l.why, l.place)
}
