package recordtable

import (
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/record"
)

// A modelCall is what an EXCHANGE and an LLM_INVOCATION have in common.
type modelCall struct {
	model, provider, upstream, upstreamAPI, purpose, outcome, failure string

	attempt, status        int
	ms, firstText, thought int64
	usage                  *record.Usage
	parameters             record.Content
	replies                []record.Reply
}

// callOf returns the call of a model that an event holds.
func callOf(p record.Payload) (modelCall, bool) {
	switch x := p.(type) {
	case record.Exchange:
		return modelCall{
			model: x.Model, provider: x.API, upstreamAPI: x.UpstreamAPI, upstream: x.Upstream, outcome: x.Outcome, failure: x.Error, status: x.Status, ms: x.Millis,
			firstText: x.FirstAnswer, thought: x.FirstThought, usage: x.Usage, parameters: x.Parameters, replies: x.Replies,
		}, true
	case record.Invocation:
		return modelCall{
			model: x.Model, provider: x.Provider, purpose: x.Purpose, failure: x.Error, attempt: x.Attempt, ms: x.Millis,
			firstText: x.FirstAnswer, thought: x.FirstThought, usage: x.Usage, parameters: x.Parameters, replies: x.Replies,
		}, true
	}
	return modelCall{}, false
}

var modelTypes = []record.Type{record.TypeExchange, record.TypeInvocation}

// A replyRow is a row of the table of replies.
type replyRow struct {
	e        *recordset.Event
	call     *modelCall
	first    bool // of the replies to one call
	reply    *record.Reply
	exchange *record.Exchange      // nil if there is none
	number   int                   // of the reply
	on       map[sotto.Channel]int // bytes by channel
	native   int
	answer   string
	answered bool // all of the answer was recorded
}

var replies = define(Table{
	Name:  "replies",
	Doc:   "One row for each reply of a model: each choice of an EXCHANGE or an LLM_INVOCATION. A call that failed without a reply has no row.",
	Types: modelTypes,
}, slices.Concat(
	where(func(r *replyRow) *recordset.Event { return r.e }),
	[]column[replyRow]{
		intColumn("choice", "", "Which of the replies to the call it is, from 0.", func(r *replyRow, c *cells) { c.int(r.reply.Choice) }),
		textColumn("type", "EXCHANGE (through the gateway) or LLM_INVOCATION (by an agent or sotto solve).", func(r *replyRow, c *cells) { c.text(string(r.e.Type)) }),
		textColumn("model", "The model, as the request named it.", func(r *replyRow, c *cells) { c.word(r.call.model) }),
		textColumn("provider", "The provider, or for an EXCHANGE the API.", func(r *replyRow, c *cells) { c.word(r.call.provider) }),
		textColumn("upstream", "For an EXCHANGE: the server that answered.", func(r *replyRow, c *cells) { c.word(r.call.upstream) }),
		textColumn("upstream_api", "For an EXCHANGE: the API in which the server was asked, if the client speaks another; else null.", func(r *replyRow, c *cells) { c.word(r.call.upstreamAPI) }),
		textColumn("purpose", "What an agent asked the model for, such as act.", func(r *replyRow, c *cells) { c.word(r.call.purpose) }),
		intColumn("attempt", "", "Which attempt it was, if the agent counted them.", func(r *replyRow, c *cells) { c.count(int64(r.call.attempt)) }),
		textColumn("outcome", "For an EXCHANGE: answered, refused, failed or canceled.", func(r *replyRow, c *cells) { c.word(r.call.outcome) }),
		textColumn("error", "What failed, if the reply did not come whole.", func(r *replyRow, c *cells) { c.word(r.call.failure) }),
		textColumn("dialect", "The dialect by which the reply was read.", func(r *replyRow, c *cells) { c.word(r.reply.Dialect) }),
		textColumn("start", "How the reply was taken to begin: outside, inside or auto.", func(r *replyRow, c *cells) { c.word(string(r.reply.Start)) }),
		textColumn("end", "How the reply ended: stopped, cut or aborted.", func(r *replyRow, c *cells) { c.text(r.reply.End.String()) }),
		textColumn("finish", "The finish reason in the provider's word.", func(r *replyRow, c *cells) { c.word(r.reply.Finish) }),
		intColumn("bytes", "bytes", "The length of the reply's text as it came, markers included.", func(r *replyRow, c *cells) { c.int(r.reply.Raw.Len()) }),
		intColumn("reasoning_bytes", "bytes", "Reasoning: in the text, and in fields of its own.", func(r *replyRow, c *cells) { c.int(r.on[sotto.ChannelReasoning] + r.native) }),
		intColumn("native_reasoning_bytes", "bytes", "Reasoning that came in fields of its own.", func(r *replyRow, c *cells) { c.int(r.native) }),
		intColumn("narration_bytes", "bytes", "Narration.", func(r *replyRow, c *cells) { c.int(r.on[sotto.ChannelNarration]) }),
		intColumn("answer_bytes", "bytes", "The length of answer.", func(r *replyRow, c *cells) {
			if !r.answered {
				c.Null()
				return
			}
			c.int(len(r.answer))
		}),
		intColumn("tool_calls", "", "How many tool calls the reply has in the API's own form.", func(r *replyRow, c *cells) { c.int(len(r.reply.ToolCalls)) }),
		tokens("tokens_in", "Tokens of the prompt.", func(u *record.Usage) int64 { return u.Input }),
		tokens("tokens_out", "Tokens of all replies to the call, reasoning included.", func(u *record.Usage) int64 { return u.Output }),
		tokens("tokens_reasoning", "Tokens of reasoning, if the provider counts them; 0 if it does not say.", func(u *record.Usage) int64 { return u.Reasoning }),
		tokens("tokens_cached", "Tokens of the prompt that the provider read from its cache.", func(u *record.Usage) int64 { return u.CacheRead }),
		tokens("tokens_cache_written", "Tokens of the prompt that the provider wrote to its cache.", func(u *record.Usage) int64 { return u.CacheWrite }),
		truthColumn("tokens_estimated", "Whether Sotto estimated tokens that the provider did not count.", func(r *replyRow, c *cells) {
			if !r.first || r.call.usage == nil {
				c.Null()
				return
			}
			c.Truth(r.call.usage.Estimated)
		}),
		intColumn("ms", "ms", "How long the call took.", func(r *replyRow, c *cells) { c.Integer(r.call.ms) }),
		intColumn("first_thought_ms", "ms", "From the request to the first thought, of a streamed reply.", func(r *replyRow, c *cells) { c.count(r.call.thought) }),
		intColumn("first_answer_ms", "ms", "From the request to the first visible text, of a streamed reply.", func(r *replyRow, c *cells) { c.count(r.call.firstText) }),
		textColumn("diagnostics", "The codes of the remarks on the reading, with spaces between them; null if there are none.", func(r *replyRow, c *cells) { c.word(codesOf(r.reply)) }),
		textColumn("parameters", "The request's settings of the model, in a JSON object.", func(r *replyRow, c *cells) { c.object(r.call.parameters) }),
		textColumn("answer", "The visible text.", func(r *replyRow, c *cells) {
			if !r.answered {
				c.Null()
				return
			}
			c.text(r.answer)
		}),
		textColumn("refusal", "The text by which the model refused, if the API has a place for it.", func(r *replyRow, c *cells) { c.object(r.reply.Refusal) }),
		textColumn("digest", "The SHA-256 of the reply's text as it was recorded, in hexadecimal; extractions refer to it.", func(r *replyRow, c *cells) { c.digest(r.reply.Digest) }),
		textColumn("thought", "For an EXCHANGE: what became of the thoughts on the way to the client: hidden, field, text or promoted; null if there were none, or if it is not known.", func(r *replyRow, c *cells) {
			if r.exchange == nil {
				c.Null()
				return
			}
			c.word(r.exchange.Thought(r.number))
		}),
		textColumn("client_text", "For an EXCHANGE: the text that the client got as the answer; null if it is not known, or not all recorded.", func(r *replyRow, c *cells) {
			if r.exchange != nil {
				if text, ok := r.exchange.ClientText(r.number); ok {
					c.text(text)
					return
				}
			}
			c.Null()
		}),
		truthColumn("cut", "Whether some of the answer was not recorded; answer is null then.", func(r *replyRow, c *cells) { c.Truth(!r.answered) }),
	}), stateless(func(e *recordset.Event, row func(*replyRow) error) error {
	call, ok := callOf(e.Payload)
	if !ok {
		return nil
	}
	var exchange *record.Exchange
	if x, ok := e.Payload.(record.Exchange); ok {
		exchange = &x
	}
	for i := range call.replies {
		r := replyRow{e: e, call: &call, first: i == 0, reply: &call.replies[i], exchange: exchange, number: i, on: map[sotto.Channel]int{}}
		segments := segmentsOf(r.reply)
		for _, s := range segments {
			r.on[s.Channel] += s.End - s.Start
		}
		for _, t := range r.reply.Reasoning {
			r.native += t.Text.Len()
		}
		r.answer, r.answered = answerOf(r.reply, segments)
		if err := row(&r); err != nil {
			return err
		}
	}
	return nil
}))

// tokens makes a column of a count of the call. Only the first of the replies to a
// call has it, so that sums are right.
func tokens(name, doc string, of func(*record.Usage) int64) column[replyRow] {
	return intColumn(name, "tokens", doc+" Of the whole call, in the row of its first reply.", func(r *replyRow, c *cells) {
		if !r.first || r.call.usage == nil {
			c.Null()
			return
		}
		c.Integer(of(r.call.usage))
	})
}

// codesOf returns the codes of a reply's diagnostics.
func codesOf(r *record.Reply) string {
	var codes []string
	for _, d := range r.Diagnostics {
		if !slices.Contains(codes, string(d.Code)) {
			codes = append(codes, string(d.Code))
		}
	}
	return strings.Join(codes, " ")
}

// object writes a text that is not empty, and of which nothing is missing.
func (c *cells) object(x record.Content) {
	if x.Text == "" {
		c.Null()
		return
	}
	c.content(x)
}
