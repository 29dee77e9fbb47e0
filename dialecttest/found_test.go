package dialecttest_test

import (
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialecttest"
)

// Cases that generated dialects found, shrunk, each with what went wrong.
func TestFound(t *testing.T) {
	for name, c := range map[string]dialecttest.Case{
		// The newline was held, as it may begin a close. When it did not, the lines of
		// the open fence went on without it.
		"a held newline before a fence's end": {
			Law: "split_invariance", Raw: "```\nl\n```[ANSWER]", Start: "outside", End: sotto.EndCut, MaxHold: -1, Cuts: []int{5, 6, 11},
			Dialect: `{"name":"generated","markers":[{"role":"output","name":"reply","open":["◁reply▷"],"close":["\n◁/reply▷\n\n"]},{"role":"wrapper","name":"answer","open":["[ANSWER]"],"close":["[/ANSWER]"]}],"code":true,"stray":true}`,
		},
		// What follows the output of a rescued pad in a cut reply began with the newline
		// that belongs to the output's close.
		"a newline of a rescued output's close": {
			Law: "slow_reader", Raw: "◁reply▷◁/reply▷\n", Start: "inside:pad", End: sotto.EndCut, MaxHold: -1,
			Dialect: `{"name":"generated","markers":[{"role":"reasoning","name":"pad","open":["[PAD]"],"close":["[/PAD]"],"rescue":true},{"role":"output","name":"reply","open":["◁reply▷"],"close":["\n◁/reply▷\n\n"]}]}`,
		},
		// A block that goes on after a tool call was taken for a scratch pad.
		"an output opener in a resumed block": {
			Law: "slow_reader", Raw: "[INVOKE][/INVOKE][REPLY]", Start: "outside", End: sotto.EndUnknown, MaxHold: -1,
			Dialect: `{"name":"generated","markers":[{"role":"reasoning","name":"note","open":["[NOTE]"],"close":["[/NOTE]"],"rescue":true},{"role":"output","name":"reply","open":["[REPLY]"],"close":["[/REPLY]"]},{"role":"tool","name":"invoke","open":["[INVOKE]"],"close":["[/INVOKE]"]}],"after_tool":"reasoning","max_marker":16,"max_hold":16}`,
		},
		// A header's token that parts a tag was not seen as what splices it.
		"a tag parted by a header's token": {
			Law: "slow_reader", Raw: "<<|end|>answer>", Start: "outside", End: sotto.EndUnknown, MaxHold: -1,
			Dialect: `{"name":"generated","markers":[{"role":"wrapper","tag":"answer"}],"header":{"begin":["<|start|>"],"body":["<|message|>"],"end":["<|end|>"],"name":["<|channel|>"],"channels":{"analysis":"reasoning","commentary":"narration","final":"text"},"max_header":48},"max_marker":16,"max_hold":48}`,
		},
		// With Close: family a quoted close ends the block, so nothing waits for the quote.
		"a quoted close of a family": {
			Law: "earliest_emission", Raw: "\"</thought>", Start: "inside:think", End: sotto.EndUnknown, MaxHold: -1,
			Tokens:  []string{"<think>", "</think>", "<thought>", "</thought>", "<think", "\"", "`", "\n", " ", "x"},
			Dialect: `{"name":"family_close","markers":[{"role":"reasoning","tag":"think"},{"role":"reasoning","tag":"thought","family":"think"}],"close":"family","max_marker":128,"max_hold":262144}`,
		},
		// A tag is not spliced in text that an output block set aside.
		"a tag parted in aside": {
			Law: "slow_reader", Raw: "<think<output/>><output>`", Start: "outside", End: sotto.EndUnknown, MaxHold: -1,
			Dialect: `{"name":"deliver_output","markers":[{"role":"reasoning","tag":"think"},{"role":"output","tag":"output"}],"output":"anywhere","max_marker":128,"max_hold":262144}`,
		},
		// After a narration that a blank line ended, one close is markup, not each.
		"a second close after a blank line": {
			Law: "slow_reader", Raw: "<narrate>\n\n</narrate>\"</narrate>>", Start: "outside", End: sotto.EndUnknown, MaxHold: -1,
			Dialect: `{"name":"inline_tools","markers":[{"role":"narration","tag":"narrate"}],"max_marker":128,"max_hold":262144}`,
		},
		"an opener that does not count, with a close in its value": {
			Law: "slow_reader", Raw: "h<thinking a=\"</thinking>=\">", Start: "auto", End: sotto.EndUnknown, MaxHold: -1,
			Dialect: `{"name":"leading_tags","markers":[{"role":"reasoning","tag":"thinking"}],"placement":"leading","max_marker":128,"max_hold":262144}`,
		},
		// No close of this dialect settles an undecided start, but all text waited for one.
		"an undecided start that nothing settles": {
			Law: "never_late", Raw: "Here is my answer:", Start: "auto", End: sotto.EndUnknown, MaxHold: -1, Tokens: []string{"x", "\n"},
			Dialect: `{"name":"generated","markers":[{"role":"reasoning","open":["Here is my thought:"],"close":["Here is my answer:"],"phrase":true}],"placement":"leading","header":{"begin":["<|ch>"],"body":["\n"],"name":["<|ch>"],"channels":{"":"text","thought":"reasoning"},"between":"text","max_header":48}}`,
		},
		// A close is text here, and its last bytes may begin another marker: they wait.
		"a marker that begins within another": {
			Law: "never_late", Raw: "◁/output\xe2", Start: "outside", End: sotto.EndUnknown, MaxHold: -1, Tokens: []string{"◁output▷", "◁/output▷", "x"},
			Dialect: `{"name":"generated","markers":[{"role":"output","name":"output","open":["◁output▷"],"close":["◁/output▷"]}]}`,
		},
		// A body of a channel grammar was text after the output, and shown nowhere.
		"a text body after an output block": {
			Law: "slow_reader", Raw: "<o>b</o><|s|>t<|m|>d", Start: "outside", End: sotto.EndStopped, MaxHold: -1,
			Dialect: `{"name":"h","markers":[{"role":"output","tag":"o"}],"header":{"begin":["<|s|>"],"body":["<|m|>"],"end":["<|e|>"],"name":["<|s|>"],"channels":{"t":"text"}}}`,
		},
		// A header in an output body began a new line of the text outside, not of the body.
		"a stray after a header in an output body": {
			Law: "slow_reader", Raw: "[OUTPUT]O<|ch>\n◁/call▷", Start: "outside", End: sotto.EndUnknown, MaxHold: -1,
			Dialect: `{"name":"generated","markers":[{"role":"output","name":"output","open":["[OUTPUT]"],"close":["[/OUTPUT]"]},{"role":"tool","name":"call","open":["◁call▷"],"close":["◁/call▷"]}],"header":{"begin":["<|ch>"],"body":["\n"],"name":["<|ch>"],"channels":{"":"text","thought":"reasoning"},"between":"text"},"stray":true}`,
		},
		// One token that ends a header is the beginning of another.
		"a token that is part of another": {
			Law: "never_late", Raw: "<|start|><|message|>", Start: "outside", End: sotto.EndUnknown, MaxHold: -1, Tokens: []string{"<|start|>", "<|message|> ", "x"},
			Dialect: `{"name":"generated","header":{"begin":["<|start|>"],"body":["<|message|> ","<|message|>"],"name":["<|channel|>"],"channels":{"final":"text"},"max_header":48}}`,
		},
		// The slow reader showed white space that had waited for too long twice.
		"long white space, text and a late output": {
			Law: "slow_reader", Raw: "\n                                [/q][p][/p][o]x", Start: "outside", End: sotto.EndStopped, MaxHold: 16,
			Dialect: `{"name":"scope","markers":[{"role":"reasoning","family":"p","open":["[p]"],"close":["[/p]"],"rescue":true},{"role":"reasoning","family":"p","name":"q","open":["[q]"],"close":["[/q]"],"rescue":true},{"role":"output","open":["[o]"],"close":["[/o]\n"]}],"max_marker":16,"max_hold":16}`,
		},
		// After the first visible byte only what settles the start is looked for, also where
		// it is the beginning or the end of a marker that no longer counts.
		"an end token in another marker": {
			Law: "slow_reader", Raw: "R<|eom|><|end|>", Start: "auto", End: sotto.EndUnknown, MaxHold: -1,
			Dialect: `{"name":"generated","markers":[{"role":"tool","name":"tool","open":["<|call|>"],"close":["<|eom|><|end|>"]}],"header":{"begin":["<|start|>"],"body":["<|message|>"],"end":["<|end|>"],"name":["<|channel|>"],"channels":{"final":"text"}},"placement":"leading"}`,
		},
		"an end token that begins another marker": {
			Law: "slow_reader", Raw: "R<|end|><|eom|>", Start: "auto", End: sotto.EndUnknown, MaxHold: -1,
			Dialect: `{"name":"generated","markers":[{"role":"tool","name":"tool","open":["<|call|>"],"close":["<|end|><|eom|>"]}],"header":{"begin":["<|start|>"],"body":["<|message|>"],"end":["<|end|>"],"name":["<|channel|>"],"channels":{"final":"text"}},"placement":"leading"}`,
		},
		// The wrapper counts where both have the same close, so no close is an orphan.
		"an undecided start whose closes are a wrapper's": {
			Law: "never_late", Raw: ">", Start: "auto", End: sotto.EndUnknown, MaxHold: -1, Tokens: []string{"<|t|>", "<|c|>", "<|e|>", "x"},
			Dialect: `{"name":"generated","markers":[{"role":"wrapper","open":["<|c|>"],"close":["<|e|>"]},{"role":"reasoning","open":["<|t|>"],"close":["<|e|>"]}]}`,
		},
		// The last output close in the pad is part of a header when it is read again: it is
		// no close then, and the newline after it is not its own.
		"a rescue that ends within a header": {
			Law: "slow_reader", Raw: "◁output▷<|ch>◁/output▷\n", Start: "inside:pad", End: sotto.EndAborted, MaxHold: -1,
			Dialect: `{"name":"generated","markers":[{"role":"reasoning","name":"pad","open":["[PAD]"],"close":["[/PAD]"],"rescue":true},{"role":"output","name":"output","open":["◁output▷"],"close":["\n◁/output▷\n\n"]}],"header":{"begin":["<|ch>"],"body":["\n"],"name":["<|ch>"],"channels":{"":"text","thought":"reasoning"},"between":"text"}}`,
		},
		"a rescue that ends at a close that is text": {
			Law: "slow_reader", Raw: "<reply>]◁/output▷\n", Start: "inside:note", End: sotto.EndAborted, MaxHold: -1,
			Dialect: `{"name":"generated","markers":[{"role":"reasoning","name":"note","open":["[NOTE]"],"close":["[/NOTE]"],"rescue":true},{"role":"output","name":"output","open":["◁output▷"],"close":["\n◁/output▷\n\n"]},{"role":"output","tag":"reply","family":"output"}],"placement":"leading"}`,
		},
		// An empty narration is not a close of the one that a blank line ended.
		"an empty narration after a blank line": {
			Law: "slow_reader", Raw: "<diary>\n\n<diary/>\"</diary>>", Start: "outside", End: sotto.EndUnknown, MaxHold: -1,
			Dialect: `{"name":"generated","markers":[{"role":"narration","tag":"diary"}]}`,
		},
		"text that no output block can set aside": {
			Law: "never_late", Raw: "x", Start: "outside", End: sotto.EndUnknown, MaxHold: -1, Tokens: []string{"x", "\n"},
			Dialect: `{"name":"generated","markers":[{"role":"reasoning","tag":"think"}],"output":"anywhere"}`,
		},
		"the close of a phrase in aside text": {
			Law: "slow_reader", Raw: "<|r|>So:", Start: "auto", End: sotto.EndUnknown, MaxHold: -1,
			Dialect: `{"name":"generated","markers":[{"role":"reasoning","open":["Hm:"],"close":["So:"],"phrase":true}],"header":{"begin":["<|s|>"],"body":["<|m|>"],"end":["<|r|>"],"name":["<|s|>"],"channels":{"a":"reasoning","f":"text"}},"placement":"leading"}`,
		},
		"looks at openers in an open fence": {
			Law: "linear_time", Raw: "\n```<scratchpad a='<scratchpad/>", Start: "inside:scratch_pad", End: sotto.EndUnknown, MaxHold: -1,
			Dialect: `{"name":"default","markers":[{"role":"reasoning","tag":"scratch_pad"},{"role":"reasoning","tag":"scratchpad","family":"scratch_pad"}],"max_marker":128,"max_hold":262144}`,
		},
	} {
		t.Run(name, func(t *testing.T) { c.Run(t) })
	}
}
