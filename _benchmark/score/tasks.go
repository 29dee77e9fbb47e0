package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/_benchmark/internal/results"
)

// A posed is what lines of a task hold.
type posed struct {
	task, answer string
	line         map[string]any
}

// tasks has an ending of a right reply for each task.
var tasks = []posed{
	{"game24", "Answer: (4 + 8) * (6 - 4) = 24", map[string]any{"input": "4 4 6 8"}},
	{"countdown", "<answer>(75 - 25) * 2 + 3</answer>", map[string]any{"input": "75 25 2 3", "gold": "103"}},
	{"math", `So $\boxed{\frac{3}{4}}$.`, map[string]any{"gold": "0.75"}},
	{"gsm8k", "#### 18", map[string]any{"gold": "18"}},
	{"number", "The answer is 18.", map[string]any{"gold": "18"}},
	{"choice", "The answer is (B).", map[string]any{"gold": "B", "options": []string{"Rome", "Lima", "Oslo", "Bern"}}},
	{"yesno", "So the answer is no.", map[string]any{"gold": "no"}},
	{"qa", "The answer is Lima.", map[string]any{"gold": "Lima"}},
	{"json", `{"city": "Lima"}`, map[string]any{"gold": `{"city": "Lima"}`}},
	{"json_strict", `{"city": "Lima"}`, map[string]any{"gold": `{"city": "Lima"}`}},
	{"json_answer", `{"answer": "Lima"}`, map[string]any{"gold": "Lima"}},
	{"code", "```python\nx = 1\n```", map[string]any{"gold": "x = 1"}},
	{"crossword5x5", "Output:\nA B C D E\nA B C D E\nA B C D E\nA B C D E\nA B C D E", map[string]any{"gold": `["A","B","C","D","E","A","B","C","D","E","A","B","C","D","E","A","B","C","D","E","A","B","C","D","E"]`}},
	{"exact", "Answer: Lima", map[string]any{"gold": "Lima"}},
	{"regex", "Answer: Lima", map[string]any{"gold": "L.*"}},
}

// thoughts are blocks of a reply before its answer.
var thoughts = []string{
	"We first find how many remain: 16 - 3 = 13, and 13 < 20. ",
	"- Option B would need two more steps, so let us look at (A).\n",
	"**Step 2**: multiply both sides by $\\frac{3}{4}$, which gives $x = 12$.\n\n",
	"Let me check that again, since the answer is not clear yet. ",
	"| city | people |\n| --- | --- |\n| Oslo | 700,000 |\n\n",
}

// runTasks prints the processor time of a command of every task on lines of the same length, in
// seconds for 100 MB, and as a multiple of that of gsm8k: the least of all rounds.
func runTasks(dir, command string, lines, rounds int) ([]results.Row, error) {
	sotto := filepath.Join(dir, "sotto")
	if err := compile(sotto); err != nil {
		return nil, err
	}
	least := make([]float64, len(tasks))
	for range rounds {
		for i, p := range tasks {
			file := filepath.Join(dir, p.task+".jsonl")
			size, err := writeTask(file, p, lines)
			if err != nil {
				return nil, err
			}
			args := []string{command, "--task", p.task, "--jsonl", file}
			if command == "score" {
				args = append(args, "--json")
			}
			cmd := exec.Command(sotto, args...)
			cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
			said, err := cmd.Output()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.task, err)
			}
			var sum struct{ Solved struct{ Count int } }
			if command == "extract" {
				sum.Solved.Count = bytes.Count(said, []byte(`"status":"ok"`))
			} else if err := json.Unmarshal(said, &sum); err != nil {
				return nil, err
			}
			if sum.Solved.Count != lines {
				return nil, fmt.Errorf("%s: %d of %d lines are right", p.task, sum.Solved.Count, lines)
			}
			cpu := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds() / float64(size) * 100e6
			if least[i] == 0 || cpu < least[i] {
				least[i] = cpu
			}
		}
	}
	base := least[slices.IndexFunc(tasks, func(p posed) bool { return p.task == "gsm8k" })]
	fmt.Printf("%-14s %16s %8s\n", "task", "CPU for 100 MB", "gsm8k")
	var rows []results.Row
	for i, p := range tasks {
		rows = append(rows, results.Row{ID: "tasks/" + p.task, What: "`" + p.task + "`", Against: "`gsm8k`", Unit: "times", Value: results.Round(least[i] / base), Absolute: true})
		fmt.Printf("%-14s %16v %8.2f\n", p.task, time.Duration(least[i]*float64(time.Second)).Round(10*time.Millisecond), least[i]/base)
	}
	fmt.Printf("the slowest takes %.2f times as long as the fastest\n", slices.Max(least)/slices.Min(least))
	return rows, nil
}

// writeTask writes lines of replies with about 2 kB before their answers.
func writeTask(name string, p posed, lines int) (size int, err error) {
	file, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriter(file)
	for i := range lines {
		var raw strings.Builder
		for k := 0; raw.Len() < 2000; k++ {
			raw.WriteString(thoughts[(i+k*k)%len(thoughts)])
		}
		p.line["id"], p.line["raw"] = i, "<think>"+raw.String()[:1000]+"</think>\n"+strings.ToValidUTF8(raw.String()[1000:], "")+"\n\n"+p.answer
		line, err := json.Marshal(p.line)
		if err != nil {
			return 0, err
		}
		n, _ := out.Write(append(line, '\n'))
		size += n
	}
	return size, errors.Join(out.Flush(), file.Close())
}
