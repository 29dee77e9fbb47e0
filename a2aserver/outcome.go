package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/record"
)

// An Ending says how a task ended or why it waits. It is in the metadata of the
// last status update and of the task, under [OutcomeKey].
type Ending string

const (
	Answered        Ending = "answered"          // completed: the artifact is the answer
	CutOff          Ending = "cut"               // completed: the artifact ends where a limit cut it
	NoVisibleAnswer Ending = "no_visible_answer" // failed: the reply shows nothing; no artifact
	Aborted         Ending = "aborted"           // failed: the mind broke off; the artifact is what there was
	Silent          Ending = "silent"            // failed: the mind said nothing for too long
	Interrupted     Ending = "interrupted"       // failed: the server was shut down or restarted meanwhile
	Dropped         Ending = "dropped"           // failed: it waited, and too many newer tasks of its caller wait too
	Refused         Ending = "refused"           // rejected: the caller has too many tasks running
	Asked           Ending = "asked"             // input required: the status message is the question
	Canceled        Ending = "canceled"
)

// Reasons to end a turn from outside.
var (
	errSilent  = errors.New("the mind said nothing for too long")
	errClosing = errors.New("the server is shutting down")
	errTooLong = errors.New("the answer is longer than the limit")
)

// An ended is the final report on a turn.
type ended struct {
	ending  Ending
	state   a2a.TaskState
	text    string            // the artifact; if blank, none
	message string            // of the status; if empty, none
	consent *consent.Question // that the message asks; nil if it asks for no consent
	remarks []sotto.Diagnostic
	spent   *record.Spent // nil if it is not known
}

// end decides how a turn ended. shown is the visible text that came as it went.
func end(out Outcome, err error, shown string, silence time.Duration) ended {
	e := ended{state: a2a.TaskStateFailed, text: out.Text, remarks: out.Diagnostics, spent: out.Spent}
	if err != nil && blank(e.text) {
		e.text = shown
	}
	switch {
	case errors.Is(err, errTooLong):
		e.ending, e.state, e.text = CutOff, a2a.TaskStateCompleted, shown
	case errors.Is(err, errClosing), errors.Is(err, errLost):
		e.ending, e.message = Interrupted, interruptedMessage
	case errors.Is(err, errUnrecorded):
		e.ending, e.text, e.message = Aborted, "", "What the agent did could not be recorded, so its answer is not given."
	case errors.Is(err, errSilent):
		e.ending, e.message = Silent, fmt.Sprintf("The model sent nothing for %s, so the task was ended.", silence)
	case err != nil:
		e.ending, e.message = Aborted, "The agent failed before its answer was complete."
		if errors.Is(err, context.DeadlineExceeded) {
			e.message = "The agent ran out of time before its answer was complete."
		}
	case out.Question != "":
		e.ending, e.state, e.text, e.message = Asked, a2a.TaskStateInputRequired, "", out.Question
		e.consent = out.Consent
		e.remarks = nil // a task keeps its metadata, so they would stand beside the answer
	case blank(e.text) && out.End == sotto.EndCut:
		e.ending, e.message = NoVisibleAnswer, "The model's reply reached its length limit before it had any visible text."
	case blank(e.text):
		e.ending, e.message = NoVisibleAnswer, "The model's reply has no visible answer."
	case out.End == sotto.EndAborted:
		e.ending, e.message = Aborted, "The model's reply broke off before it was complete."
	case out.End == sotto.EndCut:
		e.ending, e.state = CutOff, a2a.TaskStateCompleted
	default:
		e.ending, e.state = Answered, a2a.TaskStateCompleted
	}
	return e
}

// limit cuts an answer that is too long, between two characters.
func (e *ended) limit(n int) {
	if len(e.text) <= n {
		return
	}
	e.text = e.text[:n]
	e.text = e.text[:n-cutRune(e.text)]
	if e.ending == Answered {
		e.ending = CutOff
	}
}

const interruptedMessage = "The server was stopped or restarted while it worked on this, and the work is lost. Send the message again."

const droppedMessage = "This task waited for an answer. It was ended because the same caller has more waiting tasks than the server keeps. Send the message again."

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// status is the last status update.
func (e ended) status(info a2a.TaskInfoProvider) *a2a.TaskStatusUpdateEvent {
	u := a2a.NewStatusUpdateEvent(info, e.state, nil)
	if e.message != "" {
		u.Status.Message = a2a.NewMessageForTask(a2a.MessageRoleAgent, info, a2a.NewTextPart(valid(e.message)))
		if e.consent != nil {
			u.Status.Message.Parts = append(u.Status.Message.Parts, dataPart(questionPart{QuestionType, *e.consent}))
			u.Status.Message.SetMeta(ConsentKey, true)
		}
	}
	u.SetMeta(OutcomeKey, string(e.ending))
	if e.spent != nil {
		u.SetMeta(UsageKey, spending(e.spent))
	}
	if len(e.remarks) > 0 {
		u.SetMeta(DiagnosticsKey, codes(e.remarks))
	}
	return u
}

// codes lists the remarks, each once.
func codes(remarks []sotto.Diagnostic) []any {
	var list []any
	seen := map[sotto.Code]bool{}
	for _, r := range remarks {
		if !seen[r.Code] {
			seen[r.Code] = true
			list = append(list, string(r.Code))
		}
	}
	return list
}
