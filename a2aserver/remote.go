package a2aserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/a2aserver/internal/peer"
	"github.com/sotto-llm/sotto/agent"
)

// A Remote is an agent that is reached by A2A.
type Remote struct {
	Name, Description string // its name and description as a tool
	URL               string // of its card, without the path
	Token             string // if set, sent only to that host
	// Time is how long an answer may take. If zero, 5 min.
	Time time.Duration
	// Transport reaches it. If nil, http.DefaultTransport.
	Transport http.RoundTripper
}

// pollWait is the time between two polls of a task that is not finished.
const pollWait = time.Second

// Tool makes it a tool of package agent. The result is visible text: parts that are
// marked as reasoning are left out, and so is reasoning that the agent left in its
// text.
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
			return ask(ctx, base, client, a.Message, a2a.TaskID(a.Task))
		},
	}, nil
}

// ask sends a message and waits for the visible answer.
func ask(ctx context.Context, base *url.URL, hc *http.Client, text string, task a2a.TaskID) (string, error) {
	card, err := peer.Card(ctx, base, hc)
	if err != nil {
		return "", scrub(err)
	}
	c, err := peer.ConnectAny(ctx, card, hc)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Destroy() }()
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
	m.TaskID = task
	res, err := c.SendMessage(ctx, &a2a.SendMessageRequest{Message: m})
	if err != nil {
		return "", scrub(err)
	}
	for {
		answer, done, err := answerIn(res)
		if done || err != nil {
			return answer, err
		}
		select {
		case <-time.After(pollWait):
		case <-ctx.Done():
			return "", ctx.Err()
		}
		if res, err = c.GetTask(ctx, &a2a.GetTaskRequest{ID: res.TaskInfo().TaskID}); err != nil {
			return "", scrub(err)
		}
	}
}

// answerIn returns what an agent said, if it is done.
func answerIn(res a2a.SendMessageResult) (answer string, done bool, err error) {
	switch r := res.(type) {
	case *a2a.Message:
		answer = onlyVisible(r.Parts)
	case *a2a.Task:
		said := ""
		if m := r.Status.Message; m != nil {
			said = onlyVisible(m.Parts)
		}
		switch r.Status.State {
		case a2a.TaskStateCompleted:
		case a2a.TaskStateInputRequired:
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
		if answer == "" {
			answer = said
		}
	}
	if blank(answer) {
		return "", false, errors.New("the agent's answer has no visible text")
	}
	return answer, true, nil
}

// onlyVisible reads the text of parts as a reply of an unknown model.
func onlyVisible(parts []*a2a.Part) string { return sotto.Strip(VisibleText(parts)) }
