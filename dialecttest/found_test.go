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
	} {
		t.Run(name, func(t *testing.T) { c.Run(t) })
	}
}
