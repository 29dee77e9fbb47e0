package v03

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// readEvent reads what a stream or an answer holds.
func readEvent(data []byte) (a2a.Event, error) {
	var kind struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(data, &kind); err != nil {
		return nil, err
	}
	switch kind.Kind {
	case "message":
		return readAs(data, (*message).message)
	case "task":
		return readAs(data, (*task).task)
	case "status-update":
		return readAs(data, (*statusUpdate).event)
	case "artifact-update":
		return readAs(data, (*artifactUpdate).event)
	}
	return nil, fmt.Errorf("an event of kind %.32q", kind.Kind)
}

// readAs decodes a wire type and converts it.
func readAs[W any, E a2a.Event](data []byte, convert func(*W) (E, error)) (a2a.Event, error) {
	wire := new(W)
	if err := json.Unmarshal(data, wire); err != nil {
		return nil, err
	}
	e, err := convert(wire)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// tryEach is each where converting can fail.
func tryEach[A, B any](list []A, f func(A) (B, error)) ([]B, error) {
	var out []B
	for _, v := range list {
		b, err := f(v)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

func (t *task) task() (*a2a.Task, error) {
	status, err := t.Status.status()
	if err != nil {
		return nil, err
	}
	artifacts, err := tryEach(t.Artifacts, (*artifact).artifact)
	if err != nil {
		return nil, err
	}
	history, err := tryEach(t.History, (*message).message)
	if err != nil {
		return nil, err
	}
	return &a2a.Task{
		ID: a2a.TaskID(t.ID), ContextID: t.ContextID, Status: status,
		Artifacts: artifacts, History: history, Metadata: t.Metadata,
	}, nil
}

func (u *statusUpdate) event() (*a2a.TaskStatusUpdateEvent, error) {
	status, err := u.Status.status()
	if err != nil {
		return nil, err
	}
	return &a2a.TaskStatusUpdateEvent{
		TaskID: a2a.TaskID(u.TaskID), ContextID: u.ContextID, Status: status, Metadata: u.Metadata,
	}, nil
}

func (u *artifactUpdate) event() (*a2a.TaskArtifactUpdateEvent, error) {
	a, err := u.Artifact.artifact()
	if err != nil {
		return nil, err
	}
	return &a2a.TaskArtifactUpdateEvent{
		TaskID: a2a.TaskID(u.TaskID), ContextID: u.ContextID, Artifact: a,
		Append: u.Append, LastChunk: u.LastChunk, Metadata: u.Metadata,
	}, nil
}

func (s *status) status() (a2a.TaskStatus, error) {
	m, err := s.Message.message()
	return a2a.TaskStatus{State: readState(s.State), Message: m, Timestamp: s.Timestamp}, err
}

// states are those of the protocol, by their names in 0.3.
var states = func() map[string]a2a.TaskState {
	m := map[string]a2a.TaskState{}
	for _, s := range []a2a.TaskState{
		a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired,
		a2a.TaskStateCompleted, a2a.TaskStateCanceled, a2a.TaskStateFailed, a2a.TaskStateRejected,
	} {
		m[fromState(s)] = s
	}
	return m
}()

func readState(s string) a2a.TaskState {
	if state, ok := states[s]; ok {
		return state
	}
	return a2a.TaskStateUnspecified
}

func (m *message) message() (*a2a.Message, error) {
	if m == nil {
		return nil, nil
	}
	parts, err := tryEach(m.Parts, part.part)
	if err != nil {
		return nil, err
	}
	role := a2a.MessageRoleUnspecified
	switch m.Role {
	case "user", "agent":
		role = a2a.MessageRole(rolePrefix + strings.ToUpper(m.Role))
	}
	return &a2a.Message{
		ID: m.ID, ContextID: m.ContextID, TaskID: a2a.TaskID(m.TaskID), Role: role, Parts: parts,
		ReferenceTasks: each(m.ReferenceTasks, func(id string) a2a.TaskID { return a2a.TaskID(id) }),
		Extensions:     m.Extensions, Metadata: m.Metadata,
	}, nil
}

func (a *artifact) artifact() (*a2a.Artifact, error) {
	if a == nil {
		return nil, nil
	}
	parts, err := tryEach(a.Parts, part.part)
	if err != nil {
		return nil, err
	}
	return &a2a.Artifact{
		ID: a2a.ArtifactID(a.ID), Name: a.Name, Description: a.Description, Parts: parts,
		Extensions: a.Extensions, Metadata: a.Metadata,
	}, nil
}

func (p part) part() (*a2a.Part, error) {
	out := &a2a.Part{Metadata: p.Metadata}
	switch {
	case p.Kind == "text" && p.Text != nil:
		out.Content = a2a.Text(*p.Text)
	case p.Kind == "data" && p.Data != nil:
		var value any
		if err := json.Unmarshal(p.Data, &value); err != nil {
			return nil, err
		}
		out.Content = a2a.Data{Value: value}
	case p.Kind == "file" && p.File != nil:
		out.MediaType, out.Filename = p.File.MimeType, p.File.Name
		if p.File.URI != "" {
			out.Content = a2a.URL(p.File.URI)
		} else {
			out.Content = a2a.Raw(p.File.Bytes)
		}
	default:
		return nil, fmt.Errorf("a part of kind %.32q: want text, data or file, and a member of that name", p.Kind)
	}
	return out, nil
}

func (c *taskPushConfig) config() *a2a.PushConfig {
	out := &a2a.PushConfig{TaskID: a2a.TaskID(c.TaskID), ID: c.Config.ID, URL: c.Config.URL, Token: c.Config.Token}
	if a := c.Config.Auth; a != nil {
		out.Auth = &a2a.PushAuthInfo{Credentials: a.Credentials}
		if len(a.Schemes) > 0 {
			out.Auth.Scheme = a.Schemes[0]
		}
	}
	return out
}

func (p *sendParams) request() (*a2a.SendMessageRequest, error) {
	m, err := p.Message.message()
	if err != nil {
		return nil, err
	}
	out := &a2a.SendMessageRequest{Message: m, Metadata: p.Metadata}
	if c := p.Config; c != nil {
		out.Config = &a2a.SendMessageConfig{
			AcceptedOutputModes: c.AcceptedOutputModes, HistoryLength: c.HistoryLength,
			ReturnImmediately: c.Blocking != nil && !*c.Blocking,
		}
		if c.Push != nil {
			out.Config.PushConfig = (&taskPushConfig{Config: *c.Push}).config()
			if m != nil {
				out.Config.PushConfig.TaskID = m.TaskID
			}
		}
	}
	return out, nil
}
