// Package record keeps the audit record: what models were asked, what they
// thought and said, byte for byte, and what was extracted from it. Its files are
// only appended to.
//
//	w, err := record.Open("audit", record.Options{SigningKey: key})
//	receipt, err := w.Append(ctx, record.Event{Run: "run-7", Cycle: 2, Payload: record.Invocation{
//		Model:   "qwen3:8b",
//		Replies: []record.Reply{record.ReplyOf(sotto.Parse(raw, sotto.EndStopped))},
//	}})
//	err = w.Close()
//
// # Format
//
// A record is a folder of segments, files of JSON Lines with an event a line:
//
//	{"v":2,"seq":7,"time":"…","run":"run-7","cycle":2,"type":"LLM_INVOCATION","payload":{…},"prev":"…"}
//
// In every version v and seq are first and prev is last. A newer version may add
// members anywhere between. A reader keeps what it does not know: types and
// payloads as [Unknown], members in [Event.Line]. prev is the SHA-256 of the line
// before, its newline included, and zeros in the first line. docs/reference/record.md has
// the whole format.
//
// # What is recorded where
//
// Every text is of a kind, which says what level applies to it. A reply is read
// first: its reasoning, and text set aside, is of kind reasoning. The rest is of
// kind answer. The last column says which part of it the next prompt gets.
//
//	field                                         kind       next prompt
//	EXCHANGE.replies.raw                          reply      its visible text; reasoning only where the provider requires it
//	EXCHANGE.replies.reasoning.text               reasoning  nothing, unless the provider requires it
//	EXCHANGE.replies.reasoning.raw                reasoning  as the thought
//	EXCHANGE.replies.tool_calls.arguments         answer     the call, as it is
//	EXCHANGE.replies.tool_calls.extra             reasoning  as the call
//	EXCHANGE.replies.refusal                      reply      as the text
//	EXCHANGE.parameters                           answer     this is a prompt
//	EXCHANGE.switch.client                        answer     nothing: the prompt has its translation
//	EXCHANGE.tools.definition                     answer     this is a prompt
//	EXCHANGE.revisions.removed                    reasoning  nothing: it was taken out of a prompt
//	EXCHANGE.guard.judgements.reason              reasoning  nothing: a guard said it, and may quote what it judged
//	EXCHANGE.messages.text                        reply      this is a prompt
//	EXCHANGE.messages.reasoning.text              reasoning  this is a prompt
//	EXCHANGE.messages.reasoning.raw               reasoning  this is a prompt
//	EXCHANGE.messages.tool_calls.arguments        answer     this is a prompt
//	EXCHANGE.messages.tool_calls.extra            reasoning  this is a prompt
//	EXCHANGE.asked.text                           reply      nothing: messages is the prompt
//	EXCHANGE.asked.reasoning.text                 reasoning  nothing: messages is the prompt
//	EXCHANGE.asked.reasoning.raw                  reasoning  nothing: messages is the prompt
//	EXCHANGE.asked.tool_calls.arguments           answer     nothing: messages is the prompt
//	EXCHANGE.asked.tool_calls.extra               reasoning  nothing: messages is the prompt
//	EXCHANGE.asked_parameters                     answer     nothing: parameters has what the model got
//	LLM_INVOCATION.replies.raw                    reply      its visible text; reasoning only where the provider requires it
//	LLM_INVOCATION.replies.reasoning.text         reasoning  nothing, unless the provider requires it
//	LLM_INVOCATION.replies.reasoning.raw          reasoning  as the thought
//	LLM_INVOCATION.replies.tool_calls.arguments   answer     the call, as it is
//	LLM_INVOCATION.replies.tool_calls.extra       reasoning  as the call
//	LLM_INVOCATION.replies.refusal                reply      as the text
//	LLM_INVOCATION.parameters                     answer     this is a prompt
//	LLM_INVOCATION.tools.definition               answer     this is a prompt
//	LLM_INVOCATION.messages.text                  reply      this is a prompt
//	LLM_INVOCATION.messages.reasoning.text        reasoning  this is a prompt
//	LLM_INVOCATION.messages.reasoning.raw         reasoning  this is a prompt
//	LLM_INVOCATION.messages.tool_calls.arguments  answer     this is a prompt
//	LLM_INVOCATION.messages.tool_calls.extra      reasoning  this is a prompt
//	TOOL_CALL.arguments                           answer     as the call
//	TOOL_CALL.result                              answer     as the tool's message
//	TOOL_CALL.reasoning.text                      reasoning  as the tool's message
//	TOOL_CALL.reasoning.raw                       reasoning  nothing
//	CONSENT.values                                answer     as the result of the tool that asked
//	EXTRACTION.candidate                          answer     nothing: it goes to the validator
//	EXTRACTION.written                            answer     nothing
//	EXTRACTION.verdict.detail                     answer     as the reason of a retry
//	MEMORY.query                                  answer     nothing
//	MEMORY.used.key                               answer     the node, as an example
//	MEMORY.trace.key                              answer     as an example for similar problems
//	MEMORY.template.key                           answer     as an example for similar problems
//	ADVISORY.text                                 answer     as advice, if it is about repetition
//	RUN_START.goal                                answer     as the task
//	CYCLE_START.goal                              answer     as the task
//	CYCLE_END.summary                             answer     as memory
//	CYCLE_END.reasoning.text                      reasoning  nothing
//	CYCLE_END.reasoning.raw                       reasoning  nothing
//	RUN_END.result                                answer     nothing
//
// An EXTRACTION that was found in reasoning is of kind reasoning. The raw reply
// is stored once; other events refer to it by a [Ref] and spans.
//
// # Guarantees
//
//  1. An append that returned without error is in the record, in its order, and
//     survives kill -9. With policy Always it also survives a loss of power. A
//     [Writer] that fails removes what it did not acknowledge, and can still be
//     used.
//  2. Only one writer at a time can have a record open. Readers need no lock.
//  3. What was appended comes back byte for byte, unless a level, a pattern or a
//     secret cut it; then the cut says its place and length.
//  4. At levels Digests and Off, no field of any event whose payload is of this
//     package holds reasoning. At no level is a credential of [Secrets] recorded,
//     except those that the event counts in Unsearched.
//  5. [Verify] finds every edit, deletion and reordering before the last line. Up
//     to the last checkpoint this holds against anyone who does not have the key.
//     Compared with a kept head, it finds any cut and any rewriting. It says at
//     which event.
//  6. Indexes are a shortcut: they are rebuilt if they do not fit, and nothing
//     is verified by them. [Verify] compares them with the lines.
//
// # What it cannot prove
//
// The record cannot prove that an event is true: the writer can record anything. It
// cannot prove that nothing was left out before it was recorded. It cannot show what
// a process that holds the signing key did to the record before its head was kept
// elsewhere. It cannot prove that events after the last checkpoint and the kept head
// are as written: their tail can be cut. It cannot prove when something happened: the
// times come from the writer's clock.
//
// # Security
//
// Files have mode 0600, and folders that are made 0700. An encrypted record is
// sealed to age recipients as it is written. Then the host cannot read back what it
// wrote, and only numbers, times and sizes of batches are not encrypted. Digests of
// withheld text are keyed, since short texts can be guessed. A plain digest is only
// used for text that is recorded beside it, and, if answers are recorded in full, for
// definitions of tools that are too long to be recorded. Models and users wrote the texts of the
// record: escape them where they are shown.
package record
