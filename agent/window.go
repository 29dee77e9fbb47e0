package agent

import (
	"context"
	"fmt"

	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// A window is the context window of a run's model, in tokens, and what is known of
// how its prompts fill it. Servers cut a prompt that is too long, or answer with an
// error; some of them say nothing. So the run says beforehand that a prompt comes
// near the window. All of it follows from the record, so that a replay says the
// same.
type window struct {
	size int
	cuts bool // prompts are cut to fit; runs that earlier versions began are only warned
	// The size and the tokens of the last prompt that the server counted.
	bytes, tokens int64
}

// Bounds of how many bytes of a prompt are a token. A server that cuts a prompt, or
// does not count what it remembers, reports too few tokens.
const (
	minTokenBytes = 1
	maxTokenBytes = 8
)

// estimate returns about how many tokens a prompt of some bytes has, rounded up.
func (w *window) estimate(bytes int64) int64 {
	n := about(int(bytes))
	if w.bytes > 0 {
		n = (bytes*w.tokens + w.bytes - 1) / w.bytes
	}
	return min(max(n, bytes/maxTokenBytes), bytes/minTokenBytes)
}

// count learns from a prompt that the server counted. Its answer is the largest
// prompt so far.
func (w *window) count(bytes int64, u *record.Usage, largest int64) int64 {
	if w == nil || w.size == 0 || u == nil {
		return largest
	}
	if !u.Estimated && u.Input > 0 && bytes > 0 {
		w.bytes, w.tokens = bytes, u.Input
	}
	return max(largest, u.Input)
}

// promptBytes is the size of a request's prompt, with its tools.
func promptBytes(q *model.Request) (n int64) {
	for _, m := range q.Messages {
		n += int64(weight(m))
	}
	for _, t := range q.Tools {
		n += int64(len(t.Name) + len(t.Description) + len(t.Schema))
	}
	return n
}

// room records an advisory if a prompt comes near the context window: if what is
// left is less than a tenth, or less than the reply may have. It is said once in a
// turn, and once more if the prompt is over the window.
func (t *turn) room(ctx context.Context, q *model.Request) error {
	w := t.window
	if w == nil || w.size == 0 {
		return nil
	}
	n, size := w.estimate(promptBytes(q)), int64(w.size)
	level, says := 0, ""
	switch {
	case n >= size:
		level, says = 2, "The server may cut the prompt, or refuse it."
	case n+max(int64(q.MaxTokens), size/10) > size:
		level, says = 1, "The reply may be cut."
	}
	if level <= t.full {
		return nil
	}
	t.full = level
	keys := "reflection-budget, limits.result"
	if t.carried != nil {
		keys += ", carry-budget"
	}
	text := fmt.Sprintf("The prompt has about %d tokens, and the model's context window %d. %s Make the window larger, or the prompt smaller (%s).", n, size, says, keys)
	return t.advise(ctx, "context_window", text, n)
}

// A WindowReport tells an observer that a prompt comes near the context window.
type WindowReport struct {
	Run            string
	Cycle          int
	Prompt, Window int64 // tokens; Prompt is estimated
	Text           string
}
