package settings

import (
	"slices"

	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// routeKeys are the keys of one route: those that say what it takes, and those that it has
// from the top of the file if it leaves them out.
func routeKeys(r *routing.Route, g *guardServer) []key {
	return slices.Concat(matchKeys(r), replyKeys(r), guardKeys(&r.Guard, g))
}

// matchKeys are the keys that a route alone has.
func matchKeys(r *routing.Route) []key {
	return []key{
		{name: "name", shown: "`routes[N]`", value: textValue(&r.Name, "a name such as small-models", nil),
			doc: "the name of the route in `sotto_route_leaks_total` and in the record: letters and digits, with `.`, `-` or `_` between them. What no route takes is `default`"},
		{name: "models", shown: "any", value: listValue(&r.Models, "a list of models' names, * for any run of characters", checkText),
			doc: "patterns of model names: lower case, without the registry path, with a hyphen for `:` and `@`, and `*` for any run of characters. `qwen3-8b*` matches `library/Qwen3:8b-q4`"},
		{name: "apis", shown: "any", value: listValue(&r.APIs, "a list of APIs such as chat", checkText),
			doc: "names of APIs: those of `upstream-api`, or those from the table above"},
		{name: "upstream", shown: "`upstream`", value: textValue(&r.Upstream, "the name of one of the upstreams", nil),
			doc: "the name of one of the [upstreams](../howto/several-upstreams.md), to which the requests of the route go"},
	}
}

// replyKeys are the keys that say how to handle replies, at the top and in every
// route. The gateway checks their values.
func replyKeys(r *routing.Route) []key {
	return []key{
		{name: "dialect", shown: "by the model's name", value: textValue(&r.Dialect, "the name of a dialect", nil), arg: "NAME", short: "d",
			doc: "read every reply in this dialect instead of its model's; see [choose a dialect](../howto/choose-a-dialect.md)"},
		{name: "start", shown: "by evidence", value: startValue(&r.Start), arg: "START", short: "s",
			doc: "where every reply begins: `outside`, `inside`, `inside:NAME`, `auto`. Without it, the gateway learns this for each model; see [How a reply begins](../explanation/learned-starts.md)"},
		{name: "display", def: "field", value: wordValue(&r.Display, routing.Displays()), arg: "WHERE",
			doc: "where reasoning goes: `field` (the API's field for it), `hide`, `keep` (unchanged), `tags` (in the text); see [Where reasoning goes](../howto/choose-display.md)"},
		{name: "reasoning-field", def: "reasoning_content", value: nameList(&r.ReasoningFields), arg: "NAME,…",
			doc: "the field for it in chat completions, or a list of them"},
		{name: "narration", def: "text", value: wordValue(&r.Narration, routing.Narrations()), arg: "WHERE",
			doc: "where narration goes: `text`, `field`, `drop`"},
		{name: "history", def: "auto", value: wordValue(&r.History, routing.Policies()), arg: "POLICY",
			doc: "what happens to reasoning in the messages that clients send back: `auto` (what the model needs), `preserve`, `strip`, `strip-all` (also in the current turn), `restore`; see [What clients send back](../explanation/history.md)"},
		{name: "on-no-answer", def: "empty", value: wordValue(&r.OnNoAnswer, routing.NoAnswerActions()), arg: "HOW",
			doc: "what a client gets if a reply was all reasoning, without a tool call: `empty` (no text), `error`, `promote` (the reasoning as the text); see [No answer](../howto/limit-thinking.md#no-answer)"},
		{name: "thinking-limit", value: thinkingValue(&r.ThinkingLimit), arg: "SIZE",
			doc: "how much reasoning a reply may have: `64KiB`, or `16000 tokens` of four bytes each. Without it, there is no limit; see [How long a model may think](../howto/limit-thinking.md)"},
		{name: "on-thinking-limit", def: "stop", value: wordValue(&r.OnThinkingLimit, routing.ThinkingActions()), arg: "HOW",
			doc: "what happens beyond it: `stop` (the model, if the reply is streamed), `report`, `ignore`"},
		{name: "on-thinking-loop", def: "ignore", value: wordValue(&r.OnThinkingLoop, routing.ThinkingActions()), arg: "HOW",
			doc: "what happens if reasoning repeats one passage again and again: `ignore`, `report`, `stop`"},
		{name: "thinking-switch", def: "untouched", value: wordValue(&r.ThinkingSwitch, routing.ThinkingSwitches()), arg: "WORDS",
			doc: "the form in which the model server reads whether and how much to think: `native` (that of its API), `chat_template_kwargs`, `think`, `reasoning_effort` and others. A request in another form is translated, except with `untouched`; see [Who says whether a model thinks](thinking-switch.md)"},
		{name: "responses-reasoning", def: "content", value: wordValue(&r.ResponsesReasoning, routing.ResponsesReasonings()), arg: "FORM",
			doc: "the form of reasoning in OpenAI's responses API: `content`, `summary`. A request that asks for a summary gets one"},
		{name: "thinking-signature", def: "sotto", value: wordValue(&r.ThinkingSignature, routing.ThinkingSignatures()), arg: "FORM",
			doc: "the signature of thinking blocks in Anthropic's API that nobody has signed: `empty`, `sotto`"},
		{name: "calls", def: "text", value: wordValue(&r.Calls, routing.CallsValues()), arg: "WHERE",
			doc: "where tool calls go that a model writes into its text: `text` (they stay), `field` (the API's field for calls, if the request declares the tool); see [Tool calls in the text](../howto/tool-calls.md)"},
		{name: "conversations", def: "auto", value: wordValue(&r.Conversations, routing.ConversationsValues()), arg: "WHO",
			doc: "who keeps the conversations that requests of OpenAI's responses API only name: `auto` (the gateway, if the upstream speaks another API, and else the upstream), `gateway`, `upstream`; see [Conversations](conversations.md)"},
	}
}

// guardKeys are the keys of a guard, at the top and in every route. Without a guard,
// only what is set is printed, not the defaults of a guard.
func guardKeys(r *guard.Rule, g *guardServer) []key {
	keys := []key{
		{name: "guard", value: guardValue(g), arg: "URL",
			doc: "the URL of a server that judges reasoning and answer before clients get them: it lets them pass, cuts them, or ends the reply; `off` asks none; see [guard.md](../guard.md)"},
		{name: "guard-token-file", value: secretFile(&g.token), arg: "FILE",
			doc: "the file with the bearer token for that server"},
		{name: "guard-sees", def: "reasoning, answer", value: channelsValue(&g.sees), arg: "CHANNEL,…",
			doc: "what it judges: `reasoning`, `answer`, or both"},
		{name: "guard-every", def: "400", value: wholeOrSize(&r.Every), arg: "SIZE",
			doc: "how many bytes of a stream's channel it judges together, about; `whole` holds the whole reply"},
		{name: "guard-wait", def: "1s", value: durationValue(&r.Wait), arg: "TIME",
			doc: "how long text waits for more before it is judged"},
		{name: "guard-timeout", def: "5s", value: durationValue(&r.Timeout), arg: "TIME",
			doc: "how long each verdict may take"},
		{name: "guard-on-failure", def: "closed", value: wordValue(&r.OnFailure, guard.Failures()), arg: "HOW",
			doc: "what happens without a verdict: `closed` (the reply ends with an error), `open` (the piece is delivered)"},
	}
	for i := range keys[1:] {
		k := &keys[i+1]
		get := k.get
		k.get = func() any {
			if g.url == nil {
				return nil
			}
			return get()
		}
	}
	return keys
}
