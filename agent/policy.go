package agent

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// A Policy says what happens to thoughts in later prompts. Under every policy, the
// record has all of them.
type Policy string

const (
	// Strip lets no thought into a later prompt, except what the provider requires
	// back within a turn.
	Strip Policy = "strip"
	// Keep lets all thoughts in, beside the reflections that they led to.
	Keep Policy = "keep"
	// Selective keeps the thoughts of decision points: of replies whose visible
	// text has a line that begins with a mark, or that call one of the decision
	// tools.
	Selective Policy = "selective"
	// Summary asks the model for one sentence about each thought, and keeps that.
	Summary Policy = "summary"
	// Retrieve keeps thoughts separately. It brings back those that are relevant to
	// the last reflection and the goal, within a budget.
	Retrieve Policy = "retrieve"
)

// A strategy does what a policy says.
type strategy interface {
	// keeps reports whether the thoughts of a reply go back with it within its
	// turn.
	keeps(s said) bool
	// note returns the thoughts of a cycle that stand beside its reflection.
	note(ctx context.Context, t *turn) (string, error)
	// bring returns the earlier thoughts that stand separately in a prompt, the most related
	// first.
	bring(r *run) []string
}

func (p Policy) strategy(x *Experiment) (strategy, error) {
	switch p {
	case Strip, "":
		return strip{}, nil
	case Keep:
		return keep{}, nil
	case Selective:
		marks := x.DecisionMarks
		if len(marks) == 0 && len(x.DecisionTools) == 0 {
			marks = []string{"Decision:"}
		}
		return selective{marks, x.DecisionTools}, nil
	case Summary:
		return summary{}, nil
	case Retrieve:
		return retrieve{}, nil
	}
	return nil, fmt.Errorf("policy %q: want strip, keep, selective, summary or retrieve", p)
}

type strip struct{}

func (strip) keeps(said) bool                             { return false }
func (strip) note(context.Context, *turn) (string, error) { return "", nil }
func (strip) bring(*run) []string                         { return nil }

type keep struct{ strip }

func (keep) keeps(said) bool                                 { return true }
func (keep) note(_ context.Context, t *turn) (string, error) { return noteOf(t.thoughts), nil }

func noteOf(thoughts []string) string {
	if len(thoughts) == 0 {
		return ""
	}
	return "Thoughts: " + strings.Join(thoughts, "\n\n")
}

type selective struct{ marks, tools []string }

func (p selective) keeps(s said) bool {
	for _, c := range s.calls {
		if slices.Contains(p.tools, c.Name) {
			return true
		}
	}
	for line := range strings.Lines(s.visible) {
		line = strings.TrimLeft(line, " \t*#>-")
		for _, mark := range p.marks {
			if strings.HasPrefix(line, mark) {
				return true
			}
		}
	}
	return false
}

func (p selective) note(_ context.Context, t *turn) (string, error) { return noteOf(t.marked), nil }
func (selective) bring(*run) []string                               { return nil }

// maxSummaries and maxSummary bound how many thoughts of a cycle the model is asked
// to sum up, and how long its sentences may be.
const (
	maxSummaries = 8
	maxThought   = 16 << 10
	maxSummary   = 300
)

type summary struct{ strip }

func (summary) note(ctx context.Context, t *turn) (string, error) {
	var list []string
	for _, thought := range t.thoughts[:min(len(t.thoughts), maxSummaries)] {
		s, err := t.sumUp(ctx, shorttext.Cut(thought, maxThought))
		if err != nil {
			return "", err
		}
		if s != "" {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		return "", nil
	}
	return "Thought, in short: " + strings.Join(list, " "), nil
}

// firstSentence is the first sentence of a text, on one line.
func firstSentence(text string) string {
	text = shorttext.OneLine(text)
	for i, c := range text {
		end := i + len(string(c))
		if strings.ContainsRune("。！？", c) || strings.ContainsRune(".!?", c) && (end == len(text) || text[end] == ' ') {
			text = text[:end]
			break
		}
	}
	return shorttext.Cut(text, maxSummary)
}

// minRelevance is the similarity that a thought must have to what was last said.
const minRelevance = 0.1

type retrieve struct{ strip }

// bring ranks the thoughts of earlier cycles by their similarity to the last
// reflection and the goal.
func (retrieve) bring(r *run) []string {
	query := r.x.Goal
	if n := len(r.memories); n > 0 {
		query += " " + r.memories[n-1].reflection
	}
	var all []thought
	for _, c := range r.memories {
		for _, text := range c.thoughts {
			all = append(all, thought{cycle: c.cycle, text: text})
		}
	}
	left := r.x.ThoughtBudget
	var lines []string
	for _, f := range ranked(query, all) {
		line := fmt.Sprintf("**Cycle %d, thought**: %s", f.cycle, f.text)
		if len(line) > left {
			continue
		}
		left -= len(line) + 1
		lines = append(lines, line)
	}
	return lines
}

// ranked returns the thoughts that are related to a query, the most related first. Of
// those that are equally related, those of the latest cycle come first.
func ranked(query string, list []thought) []thought {
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = list[i].text
	}
	var order []int
	scores := lexicalAll(query, texts)
	for i, s := range scores {
		// The last digits depend on the order in which the groups of a text are summed,
		// which is random. Without them, a replay finds the same order.
		if scores[i] = math.Round(s*1e9) / 1e9; scores[i] >= minRelevance {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if x, y := list[a], list[b]; scores[a] == scores[b] && x.run == y.run && x.cycle == y.cycle {
			return 0
		}
		return cmp.Or(cmp.Compare(scores[b], scores[a]), b-a)
	})
	out := make([]thought, len(order))
	for i, at := range order {
		out[i] = list[at]
	}
	return out
}
