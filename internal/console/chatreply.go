package console

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/console/trace"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/model"
)

// agentPrefix begins the names under which a gateway serves agents as models.
const agentPrefix = "agent/"

// IsAgent reports whether an agent said a message.
func (m talkMessage) IsAgent() bool {
	return m.Reply != nil && strings.HasPrefix(m.Reply.Model, agentPrefix)
}

// Silent says why a reply has no answer; "" if it has one, or if its error says why.
func (m talkMessage) Silent() string {
	if m.Role != model.Assistant {
		return ""
	}
	return silence(m.Text, m.Stopped, m.Reply)
}

func silence(text string, stopped bool, r *conversation.Reply) string {
	switch {
	case strings.TrimSpace(text) != "" || r != nil && (r.Error != "" || len(r.Calls) > 0 || r.Asks != nil):
		return ""
	case stopped:
		return Word("chat.silent.stopped")
	case r == nil:
		return Word("chat.silent")
	case r.Finish == "length" && r.Thought > 0:
		return Word("chat.silent.thinking")
	case r.Finish == "length":
		return Word("chat.silent.length")
	case r.Finish == "content_filter":
		return Word("chat.silent.filter")
	case r.Thought > 0:
		return Word("chat.silent.thought")
	}
	return Word("chat.silent")
}

// underWay are the replies that are being written, by the conversation and the message that
// they answer.
type underWay struct {
	mu  sync.Mutex
	all map[question]*writing
}

// A question is a message of the user.
type question struct {
	owner, id string
	number    int
}

type writing struct {
	replies int
	done    chan struct{} // closed when the last of them is kept
}

// begin notes a reply, until the returned function is called.
func (u *underWay) begin(q question) (end func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all == nil {
		u.all = map[question]*writing{}
	}
	w := u.all[q]
	if w == nil {
		w = &writing{done: make(chan struct{})}
		u.all[q] = w
	}
	w.replies++
	return sync.OnceFunc(func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if w.replies--; w.replies == 0 {
			delete(u.all, q)
			close(w.done)
		}
	})
}

// has reports whether a message is being answered.
func (u *underWay) has(q question) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.all[q] != nil
}

// wait waits until no reply to a message is being written. ok is false if that took too long.
func (u *underWay) wait(ctx context.Context, q question) (ok bool) {
	ctx, stop := context.WithTimeout(ctx, keepWait)
	defer stop()
	for {
		u.mu.Lock()
		w := u.all[q]
		u.mu.Unlock()
		if w == nil {
			return true
		}
		select {
		case <-w.done:
		case <-ctx.Done():
			return false
		}
	}
}

// newestReply returns the reply to a message that was added last; 0 if there is none.
func newestReply(all []conversation.Message, to int) int {
	for n := len(all); n > to; n-- {
		if all[n-1].Parent == to && all[n-1].Role == model.Assistant {
			return n
		}
	}
	return 0
}

// chatText returns what a message says, as it was said.
func chatText(c *Console, r *http.Request) (Answer, error) {
	f, err := c.config.Chat.Kept.Get(keeper(viewerOf(r)), r.PathValue("id"))
	if err != nil {
		return Answer{}, err
	}
	n, err := strconv.Atoi(r.URL.Query().Get("at"))
	if err != nil || n < 1 || n > len(f.Messages) {
		return Answer{}, conversation.ErrNotFound
	}
	return Answer{Raw: append([]byte{}, f.Messages[n-1].Text...), Header: map[string]string{"Content-Type": "text/plain; charset=utf-8"}}, nil
}

// chatThought returns the thought of a reply, if the record has it. Conversations keep
// none. No character in it hides or reorders others.
func chatThought(c *Console, r *http.Request) (Answer, error) {
	id := r.URL.Query().Get("response")
	if c.config.Record == nil || id == "" || len(id) > MaxAsked {
		return Answer{}, view.ErrNotFound
	}
	row, err := c.source.Find(r.Context(), id)
	if errors.Is(err, view.ErrElsewhere) { // the console of another gateway made the page
		if other := c.thoughtElsewhere(r); other != nil {
			return Answer{Raw: other, Header: map[string]string{"Content-Type": "application/json"}}, nil
		}
		return rawJSON(map[string]any{"v": 1, "thoughts": []string{}, "apart": Word("chat.thought.apart")})
	}
	if err != nil {
		return Answer{}, err
	}
	seq := row.Event
	x, err := c.source.Exchange(r.Context(), seq, view.Reread{})
	if err != nil {
		return Answer{}, err
	}
	var list []string
	for _, reply := range x.Replies[:min(1, len(x.Replies))] {
		for _, t := range reply.Thoughts {
			list = append(list, visible.Text(string(t.Text)))
		}
	}
	a, err := rawJSON(map[string]any{"v": 1, "event": seq, "thoughts": list})
	a.Seen = []uint64{seq}
	return a, err
}

// rawJSON is an answer that is JSON without being asked for it.
func rawJSON(v any) (Answer, error) {
	data, err := encodeJSON(v)
	return Answer{Raw: data, Header: map[string]string{"Content-Type": "application/json"}}, err
}

// stepsData is what an agent did for an answer.
type stepsData struct{ Story Trace }

// chatSteps shows the steps of an agent's answer, as the page of its run does: thoughts,
// calls with their results, and what failed.
func chatSteps(c *Console, r *http.Request) (Answer, error) {
	id := r.URL.Query().Get("response")
	if !c.hasSteps() || id == "" || len(id) > MaxAsked {
		return Answer{}, view.ErrNotFound
	}
	steps, err := c.config.Extension.Steps(r.Context(), id)
	if errors.Is(err, view.ErrElsewhere) { // the console of another gateway made the page
		if record, _ := c.elsewhere(r, id, err); record != "" {
			return Answer{Redirect: "../../" + AtGateway(record) + strings.TrimPrefix(r.URL.RequestURI(), "/")}, nil
		}
		steps, err = []trace.Step{{Kind: trace.Gap, Name: "run", ID: "elsewhere"}}, nil
	}
	if err != nil {
		return Answer{}, err
	}
	d := stepsData{Trace{Steps: steps, Root: c.recordRoot(r, "../"), Runs: c.has("runs")}}
	return Answer{Template: "steps", Title: Word("step.trace"), Data: d, JSON: map[string]any{"v": 1, "steps": steps}, Seen: ThoughtsIn(steps)}, nil
}

// hasSteps reports whether the record can say what agents did.
func (c *Console) hasSteps() bool {
	return c.config.Record != nil && c.config.Extension != nil && c.config.Extension.Steps != nil
}
