// Package answer finds the one answer in a model's reply that a validator can
// judge, and judges it.
//
//	package main
//
//	import (
//		"fmt"
//
//		"github.com/sotto-llm/sotto/answer"
//	)
//
//	func main() {
//		raw := "<think>8-5 is 3, 11-2 is 9.</think>\n<answer>\n(8-5)*(11-2) = 24\n</answer>"
//		p := answer.Problem{Input: "2 5 8 11"}
//		x := answer.Extract(answer.Game24, raw, p, answer.Options{})
//		v := answer.Game24.Validate(x.Candidate, p)
//		fmt.Println(x.Candidate, x.Method, v.Reason, v.Detail)
//		// (8-5)*(11-2) answer_block math_error 27
//	}
//
// # Vocabulary
//
// A candidate is the machine-checkable answer for one [Task], taken from the
// visible text of a reply. A tier is one way to find it. A find is one place that a
// tier found. A method names the tier that won. A verdict is a validator's
// judgement of a candidate.
//
// # The tiers
//
// Package sotto reads the reply. The visible text is cut before an end-of-turn token
// that the log kept, and before the line where a model starts to invent further
// problems ("Question 2:", "## Problem:", "Human:", "问题："), once it has stated an
// answer. Then the first of these tiers that finds anything decides:
//
//  1. answer_block: the last closed <answer> or <final_answer> block with a body,
//     else the last opened block that has one.
//  2. The task's own tier, if it has one: the code fence of task code.
//  3. The claims of the text, in boxes (the method is boxed), after markers
//     (marker:final_answer), in sentences ("so the answer is 8", "Die Antwort lautet
//     8", "答案是8": marker:answer_is) and about options ("(B) is correct.": remark).
//     A marker begins a line and takes a colon, Markdown around it ignored, or is a
//     heading or bold line alone. With nothing after it, the lines that follow are
//     taken. A sentence that doubts, denies, quotes, asks or supposes claims nothing.
//  4. correction: after a second look, what a sentence gives without calling it the
//     answer ("Wait, it's 9").
//  5. bare: all of a reply that is nothing but an answer ("C. Rome", "8 apples"), or
//     one JSON object with the key "answer".
//  6. fallback_bottom_scan: the lowest line that is an answer by its form, in the
//     last MiB. It never looks at the value wanted, and is refused for a reply that
//     was cut. Several lines that differ are no answer, except in games.
//  7. conclusion: the value of the last sentence that begins a conclusion ("So she has
//     8 apples left"), that has its only value in bold, or that a short reply consists of.
//  8. empty.
//
// The winning candidate goes to the validator even if it is wrong, because a
// lower tier could only find what the model itself did not choose. Within a tier
// the last find wins. If it is empty, the next tier is tried. Where a reply takes a
// second look ("Wait, I mixed up the countries"), what it states after that comes
// first. If it takes its answer back ("No, that is wrong") and states no other, it
// has none, and the status is withdrawn. A value that the end of a cut reply may have shortened does not count.
// An answer in fenced code, or quoted as a whole, is treated as an example: it
// counts only if its tier finds none outside. An answer tag that is itself quoted is
// prose. If several finds differ, the last is taken and the status is ambiguous.
//
// JSON and code are finds by their form, and their sentences say what they are: a
// sample while the reply asks for the data, what the user wrote, and what the reply
// advises against are not finds. If the last one is an alternative of the one before
// it, or a value holds in one of several cases, the status is several.
//
// # Guarantees
//
//  1. The validator sees the candidate, never the reply. The same reply, task,
//     problem and options give the same candidate.
//  2. Reasoning never gives an answer, and never changes one, unless
//     [Options.FromReasoning] lets its explicit answers count where the text has
//     none; the method then ends in "_in_reasoning".
//  3. Written is the reply's own bytes: raw[Span.Start:Span.End]. Where a removed
//     block splits them there is no Span, and Written is the visible text.
//     Candidate is Written, normalised. Whether a point stands before thousands or
//     decimals is as the rest of the reply says. If nothing there says it, the
//     candidate has both readings, and the status is ambiguous.
//  4. What a reply claims about its answer (= 24) has no effect on the verdict.
//  5. Values are compared as exact fractions, texts as texts; nothing is right
//     because it contains the answer. [Verdict.By] says what was compared.
//  6. Any reply costs time linear in its length, and any candidate a bounded time:
//     beyond the limits it is too_large.
//
// # Tasks
//
// [Tasks] lists the tasks, [TaskNamed] finds one by name, and [ReadTask] reads one
// from a JSON or YAML file. Any type with the methods of [Task] is a task. Tasks
// hold no state: they, and all functions here, are safe for concurrent use.
//
// # Security
//
// Replies are hostile input: the package never evaluates them, compiles them as
// patterns or runs them. A model that can write its answer can write any answer.
// The package says what a reply answers, not that the model meant it.
package answer
