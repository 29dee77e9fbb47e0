package probe

import (
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/sotto-llm/sotto/internal/check/checks"
	"github.com/sotto-llm/sotto/internal/reply/leak"
)

// stream sends a message as a stream, or checks that streams are refused.
func (l *life) stream() {
	if !l.card.Capabilities.Streaming {
		l.note("stream", Skipped, "the card declares no streaming")
		return
	}
	ctx, cancel := l.limited()
	defer cancel()
	s := shape{artifacts: map[a2a.ArtifactID]*strings.Builder{}}
	for e, err := range l.c.SendStreamingMessage(ctx, l.message()) {
		if err != nil {
			l.note("stream", Finding, "the stream ended in an error: "+checks.Plain(err))
			return
		}
		s.check(e)
	}
	s.whole()
	l.expect("stream", s.events > 0, "the stream was empty")
	if s.events == 0 {
		return
	}
	if !s.over && s.fault == "" {
		s.fault = "the stream ended before the task did"
	}
	l.expect("stream shape", s.fault == "", "%s", s.fault)
	if s.id == "" {
		l.answer("stream leak", s.answered, s.leak, s.state)
		return
	}
	got, err := l.c.GetTask(ctx, &a2a.GetTaskRequest{ID: s.id})
	if err == nil {
		s.leaks(inMessages(got))
	}
	l.answer("stream leak", s.answered, s.leak, s.state)
	if err != nil {
		l.note("stream, then get", Finding, "the streamed task cannot be fetched: "+checks.Plain(err))
		return
	}
	l.expect("stream, then get", text(got) == s.text(), "the fetched task is %s, the stream said %s", leak.Quote(text(got)), leak.Quote(s.text()))
}

// A shape collects what the events of a stream show.
type shape struct {
	events    int
	id        a2a.TaskID
	context   string
	over      bool
	state     a2a.TaskState // the last
	answered  bool          // an artifact or a message in the place of a task came
	artifacts map[a2a.ArtifactID]*strings.Builder
	order     []a2a.ArtifactID
	fault     string // the first
	leak      string // the first
}

func (s *shape) text() string {
	var all strings.Builder
	for _, id := range s.order {
		all.WriteString(s.artifacts[id].String())
	}
	return all.String()
}

func (s *shape) wrong(format string, args ...any) {
	if s.fault == "" {
		s.fault = fmt.Sprintf(format, args...)
	}
}

func (s *shape) leaks(found string) {
	if s.leak == "" {
		s.leak = found
	}
}

func (s *shape) check(e a2a.Event) {
	s.events++
	if s.over {
		s.wrong("%T came after the end", e)
	}
	info := e.TaskInfo()
	switch e := e.(type) {
	case *a2a.Message:
		if s.events > 1 {
			s.wrong("the stream of a task held a message")
		}
		s.leaks(leakIn(e.Parts))
		s.over, s.answered = true, true
		return
	case *a2a.Task:
		s.id, s.context = info.TaskID, info.ContextID
		for _, a := range e.Artifacts {
			if a != nil {
				s.put(a, false)
			}
		}
		s.leaks(inMessages(e))
		s.status(e.Status)
	case *a2a.TaskStatusUpdateEvent:
		s.status(e.Status)
	case *a2a.TaskArtifactUpdateEvent:
		if e.Artifact == nil || len(e.Artifact.Parts) == 0 {
			s.wrong("an artifact update has no parts")
			break
		}
		s.put(e.Artifact, e.Append)
	}
	if s.events == 1 && s.id == "" {
		s.wrong("the first event is a %T, not a task or a message", e)
		s.id, s.context = info.TaskID, info.ContextID
	}
	if info.TaskID != s.id || info.ContextID != s.context {
		s.wrong("an event is of another task or context than the first")
	}
}

func (s *shape) status(t a2a.TaskStatus) {
	s.state, s.over = t.State, rests(t.State)
	if m := t.Message; m != nil {
		s.leaks(leakBeside(m.Parts))
	}
}

// put checks a piece of an artifact by itself. The artifact as a whole is checked
// when no more pieces come, or another replaces it.
func (s *shape) put(a *a2a.Artifact, more bool) {
	s.answered = s.answered || len(a.Parts) > 0
	all, there := s.artifacts[a.ID]
	if more && !there {
		s.wrong("a piece was appended to an artifact that never began")
	}
	if !there {
		s.order = append(s.order, a.ID)
	}
	if !more || !there {
		if there {
			s.leaks(leakInText(all.String()))
		}
		all = &strings.Builder{}
		s.artifacts[a.ID] = all
	}
	s.leaks(leakIn(a.Parts))
	for _, p := range a.Parts {
		all.WriteString(said(p))
	}
}

// whole checks the artifacts as they are at the end.
func (s *shape) whole() {
	for _, id := range s.order {
		s.leaks(leakInText(s.artifacts[id].String()))
	}
}
