package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/model"
)

// lesson is what the system prompt teaches: the tools, if calls are text, and last
// the dialect.
func (t *turn) lesson() string {
	var parts []string
	if t.Calls == TextCalls && len(t.box.list) > 0 {
		var b strings.Builder
		b.WriteString("You have tools. To use one, write a call on lines of its own, such as\n\n{\"name\": \"TOOL\", \"arguments\": {…}}\n\nand nothing after it; its result comes with the next message. The tools, with the JSON Schema of their arguments:\n")
		for _, tool := range t.box.list {
			spec := tool.Spec()
			fmt.Fprintf(&b, "\n- %s: %s %s", spec.Name, spec.Description, spec.Schema)
		}
		parts = append(parts, b.String())
	}
	if prompt := t.Grammar.Dialect().Prompt; prompt != "" {
		parts = append(parts, strings.TrimSpace(prompt))
	}
	return strings.Join(parts, "\n\n")
}

// sumUp asks the model for one sentence about a thought. If the model fails at it,
// the thought is left out.
func (t *turn) sumUp(ctx context.Context, thought string) (string, error) {
	if t.left.hit(t) != "" {
		return "", nil
	}
	q := t.Request
	q.Messages = []model.Message{
		{Role: model.System, Text: strings.TrimSpace("Summarize the following working notes in one short sentence: what was decided, and why. Write only the sentence.\n\n" + t.Grammar.Dialect().Prompt)},
		{Role: model.User, Text: thought},
	}
	if w := t.window; w != nil && w.size > 0 && w.cuts {
		q.Messages[1].Text = shorttext.Cut(thought, len(thought)-int(w.over(&q)))
	}
	was := *t
	t.Observer, t.template = Observer{}, false
	err := t.invocation(ctx, q, "summarize")
	text := ""
	if err == nil {
		text = firstSentence(deliverable(t.Grammar, t.reading))
	}
	t.reply, t.reading, t.ref, t.Observer, t.template = was.reply, was.reading, was.ref, was.Observer, was.template
	if errors.Is(err, errFailed) {
		return "", nil
	}
	return text, err
}
