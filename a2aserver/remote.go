package a2aserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/a2aserver/internal/peer"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/internal/base/tracecontext"
	"github.com/sotto-llm/sotto/internal/reply/sourcetext"
	"github.com/sotto-llm/sotto/record"
)

// A Remote is an agent that is reached by A2A.
type Remote struct {
	Name, Description string // its name and description as a tool
	URL               string // of its card, without the path
	Token             string // if set, sent only to that host
	// Time is how long an answer may take. If zero, 5 min.
	Time time.Duration
	// Start says where what the agent says in statuses begins. If empty, it is
	// [sotto.BeginAuto]: statuses in which no part is marked as narration wait for a tag
	// or for the end of the task, because their first may be in the middle of a thought.
	// With [sotto.BeginOutside] they are narrated at once.
	Start sotto.Beginning
	// Transport reaches it. If nil, http.DefaultTransport.
	Transport http.RoundTripper
}

// pollWait is the time between two polls of a task that is not finished.
const pollWait = time.Second

// Tool makes it a tool of package agent. The result is the visible text of the artifact:
// parts that are marked as reasoning are left out, and so is reasoning that the agent
// left in its text. What the agent says in status updates is narration, and never an
// answer. The statuses of a task are read as one reply. If the call is canceled, so is
// the task.
//
// An agent may ask for a person's consent ([ConsentKey]). The model that calls cannot give
// it: the question goes to the person for whom the calling agent works, as it is, and the
// answer back. What the model calls with the task of such a question fails. The agent counts
// an answer only if the Token lists the scope "consent" there.
func (r Remote) Tool() (agent.Tool, error) {
	base, err := url.Parse(r.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("a2aserver: the URL of the agent %s is not a URL such as https://agent.example", r.Name)
	}
	or(&r.Time, 5*time.Minute)
	client := peer.Client(base, r.Token, r.Transport)
	return &agent.Func{
		Name: r.Name, Description: r.Description, Prose: []string{"message"}, Timeout: r.Time,
		Schema: `{"type":"object","properties":{` +
			`"message":{"type":"string","description":"What to ask. The agent does not know this conversation."},` +
			`"task":{"type":"string","description":"To answer a question of the agent: the task that it named."}},` +
			`"required":["message"],"additionalProperties":false}`,
		Do: func(ctx context.Context, u agent.Use) (string, error) {
			var a struct{ Message, Task string }
			if err := json.Unmarshal(u.Arguments, &a); err != nil {
				return "", err
			}
			ctx, cancel := context.WithTimeout(ctx, r.Time)
			defer cancel()
			if w, ok := agent.Resumed(ctx); ok {
				var s remoteState
				if err := json.Unmarshal(w.State, &s); err != nil {
					return "", err
				}
				return r.ask(ctx, base, client, answering(s.Task, w.Answer))
			}
			m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(a.Message))
			m.TaskID = a2a.TaskID(a.Task)
			return r.ask(ctx, base, client, m)
		},
	}, nil
}

// A remoteState is the task that waits for a person's consent.
type remoteState struct {
	Task a2a.TaskID `json:"task"`
}

// answering returns the message that brings a person's answer to a task.
func answering(task a2a.TaskID, a consent.Answer) *a2a.Message {
	m := a2a.NewMessage(a2a.MessageRoleUser, dataPart(answerPart{AnswerType, a}))
	m.TaskID = task
	return m
}

// ask sends a message and waits for the visible answer.
func (r Remote) ask(ctx context.Context, base *url.URL, hc *http.Client, m *a2a.Message) (string, error) {
	card, err := peer.Card(ctx, base, hc)
	if err != nil {
		return "", scrub(err)
	}
	c, err := peer.ConnectAny(ctx, card, hc)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Destroy() }()
	m.SetMeta(AgentKey, true)
	if place := tracecontext.From(ctx).String(); place != "" {
		m.SetMeta(tracecontext.Name, place)
	}
	limiting(m, agent.Left(ctx))
	q := question{client: c, task: m.TaskID}
	if q.plain, err = sourcetext.New(sotto.Default(), cmp.Or(r.Start, sotto.BeginAuto)); err != nil {
		return "", err
	}
	if q.marked, err = sourcetext.New(sotto.Default(), sotto.BeginOutside); err != nil {
		return "", err
	}
	if _, passed := agent.Resumed(ctx); m.TaskID != "" && !passed {
		if err := q.mayAnswer(ctx); err != nil {
			return "", err
		}
	}
	answer, err := q.ask(ctx, m)
	agent.NotePeer(ctx, record.Peer{Task: string(q.task), Context: q.context, Spent: q.spent})
	if ctx.Err() != nil {
		q.cancel(ctx)
	}
	return answer, err
}

// A question is a message to an agent, and the task that it became.
type question struct {
	client *a2aclient.Client
	task   a2a.TaskID // "" if it is not known
	// context is that of the task, as the agent names it.
	context string
	spent   *record.Spent // what it said last that the task took
	known   atomic.Bool
	told    string             // the last status that was read: the id of its message, or its text
	plain   *sourcetext.Filter // what its statuses say
	marked  *sourcetext.Filter // what they say in parts that are marked as progress
}

// mayAnswer returns an error if the task waits for the consent of a person.
func (q *question) mayAnswer(ctx context.Context) error {
	t, err := q.client.GetTask(ctx, &a2a.GetTaskRequest{ID: q.task})
	if err != nil {
		return scrub(err)
	}
	if t.Status.State == a2a.TaskStateInputRequired && asksConsent(t.Status.Message) {
		return errConsent(t.ID, onlyVisible(t.Status.Message.Parts))
	}
	return nil
}

// asksConsent reports whether a message asks a person for consent to a call.
func asksConsent(m *a2a.Message) bool { return m != nil && m.Metadata[ConsentKey] == true }

// consentOf returns the question of a task that waits for a person's consent, for the person.
// Where the question has no type, as with agents of earlier versions, nobody can answer it.
func consentOf(t *a2a.Task, said string) error {
	q, err := questionIn(t.Status.Message)
	if q == nil || err != nil {
		return errors.Join(errConsent(t.ID, said), err)
	}
	state, err := json.Marshal(remoteState{t.ID})
	if err != nil {
		return err
	}
	return &agent.Pause{Question: q.Text(), Consent: q, State: state}
}

func errConsent(id a2a.TaskID, what string) error {
	return fmt.Errorf("the agent's task %s waits for the consent of a person, which a call cannot give: %s", id, what)
}

// ask follows the task by its stream, and if that breaks off, by polling.
func (q *question) ask(ctx context.Context, m *a2a.Message) (string, error) {
	var broken error
	heard := false
	stream, stop := q.following(ctx)
	defer stop()
	for e, err := range q.client.SendStreamingMessage(stream, &a2a.SendMessageRequest{Message: m}) {
		if err != nil {
			broken = scrub(err)
			break
		}
		heard = true
		if answer, done, err := q.answered(ctx, e); done || err != nil {
			return answer, err
		}
		if ctx.Err() != nil {
			break
		}
		if u, ok := e.(*a2a.TaskStatusUpdateEvent); ok && !waits(u.Status.State) {
			break
		}
	}
	if q.task == "" || !heard && m.TaskID != "" && broken != nil { // it did not take the message
		return "", cmp.Or(ctx.Err(), broken, errors.New("the agent did not answer"))
	}
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		t, err := q.client.GetTask(ctx, &a2a.GetTaskRequest{ID: q.task})
		if err != nil {
			return "", scrub(err)
		}
		if answer, done, err := q.answered(ctx, t); done || err != nil {
			return answer, err
		}
		select {
		case <-time.After(pollWait):
		case <-ctx.Done():
		}
	}
}

// following returns the context of the stream. If the call ends before the task is
// known, the stream goes on for a moment: a task must be known to be canceled.
func (q *question) following(ctx context.Context) (context.Context, func()) {
	stream, stop := context.WithCancel(context.WithoutCancel(ctx))
	undo := context.AfterFunc(ctx, func() {
		if !q.known.Load() {
			select {
			case <-time.After(cancelTime):
			case <-stream.Done():
			}
		}
		stop()
	})
	return stream, func() {
		undo()
		stop()
	}
}

// waits reports whether the agent continues by itself.
func waits(s a2a.TaskState) bool {
	return s == a2a.TaskStateSubmitted || s == a2a.TaskStateWorking || s == a2a.TaskStateUnspecified
}

// answered takes an event of the task. What a status says while the agent works is
// narration.
func (q *question) answered(ctx context.Context, e a2a.Event) (answer string, done bool, err error) {
	if info := e.TaskInfo(); info.TaskID != "" && q.task == "" {
		q.task = info.TaskID
	}
	q.context = cmp.Or(q.context, e.TaskInfo().ContextID)
	q.known.Store(q.task != "")
	q.spent = cmp.Or(spentIn(e.Meta()), q.spent)
	switch e := e.(type) {
	case *a2a.Message:
		return answerIn(e, "")
	case *a2a.Task:
		said := q.status(ctx, e.Status)
		return answerIn(e, said)
	case *a2a.TaskStatusUpdateEvent:
		if waits(e.Status.State) {
			q.status(ctx, e.Status)
		}
	}
	return "", false, nil
}

// status reads what a status says, as the next part of what all said. While the agent
// works, it is narrated. Otherwise this is the last status, and what it shows is returned.
func (q *question) status(ctx context.Context, status a2a.TaskStatus) (said string) {
	text, key, from := "", "", q.plain
	if m := status.Message; m != nil {
		text = strings.Join(unmarkedTexts(m.Parts), "")
		key = cmp.Or(m.ID, text)
		if marksProgress(m) {
			from = q.marked
		}
	}
	var texts []string
	if ends := handsBack(status.State); ends {
		texts = append(q.plain.Add(text), q.plain.Close()...)
		if last := len(texts) - 1; text != "" && last >= 0 {
			said, texts = texts[last], texts[:last]
		}
	} else if key != q.told {
		q.told = key
		texts = from.Add(text)
	}
	for _, text := range texts {
		agent.Narrate(ctx, text)
	}
	return said
}

// handsBack reports whether an agent in a state waits for the one who asked, or is done.
func handsBack(s a2a.TaskState) bool {
	return s.Terminal() || s == a2a.TaskStateInputRequired || s == a2a.TaskStateAuthRequired
}

// marksProgress reports whether all that a message says is marked as progress. Agents of
// this package mark it, and have left their thoughts out.
func marksProgress(m *a2a.Message) bool {
	return m.Metadata[ProgressKey] == true
}

// cancelTime is how long the cancellation of a task may take.
const cancelTime = 2 * time.Second

// cancel ends the task, if it is known, because nobody waits for it any more.
func (q *question) cancel(ctx context.Context) {
	if q.task == "" {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer stop()
	_, _ = q.client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: q.task})
}

// answerIn returns what an agent said, if it is done. said is what the status of a task
// shows.
func answerIn(res a2a.SendMessageResult, said string) (answer string, done bool, err error) {
	switch r := res.(type) {
	case *a2a.Message:
		answer = onlyVisible(r.Parts)
	case *a2a.Task:
		said = strings.TrimSpace(said)
		switch r.Status.State {
		case a2a.TaskStateCompleted:
		case a2a.TaskStateInputRequired:
			if asksConsent(r.Status.Message) {
				return "", false, consentOf(r, said)
			}
			return fmt.Sprintf("The agent asks, for task %s: %s", r.ID, said), true, nil
		case a2a.TaskStateFailed, a2a.TaskStateRejected, a2a.TaskStateCanceled, a2a.TaskStateAuthRequired:
			state := strings.ToLower(strings.TrimPrefix(r.Status.State.String(), "TASK_STATE_"))
			return "", false, errors.New(strings.TrimSuffix("the agent's task is "+state+": "+said, ": "))
		default:
			return "", false, nil
		}
		var texts []string
		for _, a := range r.Artifacts {
			if a == nil {
				continue
			}
			if text := onlyVisible(a.Parts); text != "" {
				texts = append(texts, text)
			}
		}
		answer = strings.Join(texts, "\n\n")
	}
	if blank(answer) {
		return "", false, errors.New("the agent's answer has no visible text")
	}
	return answer, true, nil
}

// onlyVisible reads the text of parts as one reply of an unknown model. The parts may be
// pieces of it, cut anywhere: nothing is put between them.
func onlyVisible(parts []*a2a.Part) string {
	return sotto.Strip(strings.Join(unmarkedTexts(parts), ""))
}
