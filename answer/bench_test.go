package answer_test

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/answer"
)

// replyOf is a reply of 2 kB with tables, steps, formulas and doubts, that ends as given.
func replyOf(end string) string {
	thoughts := []string{
		"We first find how many remain: 16 - 3 = 13, and 13 < 20. ",
		"- Option B would need two more steps, so let us look at (A).\n",
		"**Step 2**: multiply both sides by $\\frac{3}{4}$, which gives $x = 12$.\n\n",
		"Let me check that again, since the answer is not clear yet. ",
		"| city | people |\n| --- | --- |\n| Oslo | 700,000 |\n\n",
	}
	var b strings.Builder
	for k := 0; b.Len() < 2000; k++ {
		b.WriteString(thoughts[k*k%len(thoughts)])
	}
	return b.String() + "\n\n" + end
}

// The slowest task should take at most twice as long as the fastest.
func BenchmarkTasks(b *testing.B) {
	ends := map[string]string{
		"game24": "Answer: (4 + 8) * (6 - 4) = 24", "math": `So $\boxed{\frac{3}{4}}$.`, "number": "The answer is 18.",
		"choice": "The answer is (B).", "yesno": "So the answer is no.", "qa": "The answer is Lima.", "json_answer": `{"answer": "Lima"}`,
		"code": "```python\nx = 1\n```", "regex": "Answer: Lima",
	}
	for _, task := range answer.Tasks() {
		end, ok := ends[task.Name()]
		if !ok {
			continue
		}
		b.Run(task.Name(), func(b *testing.B) {
			reply, p := replyOf(end), answer.Problem{Input: "4 4 6 8"}
			b.SetBytes(int64(len(reply)))
			for b.Loop() {
				answer.Extract(task, reply, p, answer.Options{})
			}
		})
	}
}
