package v03

import (
	"encoding/json"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// TaskJSON writes a task.
func TaskJSON(t *a2a.Task) ([]byte, error) { return json.Marshal(fromTask(t)) }

// each converts a list; nil stays nil.
func each[A, B any](list []A, f func(A) B) []B {
	if list == nil {
		return nil
	}
	out := make([]B, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}

func strs[A ~string](list []A) []string { return each(list, func(a A) string { return string(a) }) }

// fromEvent returns the wire form of an event.
func fromEvent(e a2a.Event) any {
	switch e := e.(type) {
	case *a2a.Message:
		return fromMessage(e)
	case *a2a.Task:
		return fromTask(e)
	case *a2a.TaskStatusUpdateEvent:
		return &statusUpdate{
			Kind: "status-update", TaskID: string(e.TaskID), ContextID: e.ContextID, Status: fromStatus(e.Status),
			Final: e.Status.State.Terminal() || e.Status.State == a2a.TaskStateInputRequired, Metadata: e.Metadata,
		}
	case *a2a.TaskArtifactUpdateEvent:
		return &artifactUpdate{
			Kind: "artifact-update", TaskID: string(e.TaskID), ContextID: e.ContextID, Artifact: fromArtifact(e.Artifact),
			Append: e.Append, LastChunk: e.LastChunk, Metadata: e.Metadata,
		}
	}
	return nil
}

func fromTask(t *a2a.Task) *task {
	return &task{
		Kind: "task", ID: string(t.ID), ContextID: t.ContextID, Status: fromStatus(t.Status),
		Artifacts: each(t.Artifacts, fromArtifact), History: each(t.History, fromMessage), Metadata: t.Metadata,
	}
}

func fromStatus(s a2a.TaskStatus) status {
	return status{State: fromState(s.State), Message: fromMessage(s.Message), Timestamp: s.Timestamp}
}

// fromState is "input-required" for TASK_STATE_INPUT_REQUIRED.
func fromState(s a2a.TaskState) string {
	if s == a2a.TaskStateUnspecified {
		return "unknown"
	}
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(string(s), statePrefix)), "_", "-")
}

const (
	statePrefix = "TASK_STATE_"
	rolePrefix  = "ROLE_"
)

func fromMessage(m *a2a.Message) *message {
	if m == nil {
		return nil
	}
	role := ""
	if m.Role != a2a.MessageRoleUnspecified {
		role = strings.ToLower(strings.TrimPrefix(string(m.Role), rolePrefix))
	}
	return &message{
		Kind: "message", ID: m.ID, ContextID: m.ContextID, TaskID: string(m.TaskID), Role: role, Parts: fromParts(m.Parts),
		ReferenceTasks: strs(m.ReferenceTasks), Extensions: m.Extensions, Metadata: m.Metadata,
	}
}

func fromArtifact(a *a2a.Artifact) *artifact {
	if a == nil {
		return nil
	}
	return &artifact{
		ID: string(a.ID), Name: a.Name, Description: a.Description, Parts: fromParts(a.Parts),
		Extensions: a.Extensions, Metadata: a.Metadata,
	}
}

func fromParts(parts a2a.ContentParts) []part {
	out := []part{}
	for _, p := range parts {
		if p != nil {
			out = append(out, fromPart(p))
		}
	}
	return out
}

// wrapped is the member of an object that holds data that is not one: in 0.3
// data is an object always.
const wrapped = "value"

func fromPart(p *a2a.Part) part {
	out := part{Metadata: p.Metadata}
	switch c := p.Content.(type) {
	case a2a.Raw:
		out.Kind, out.File = "file", &file{MimeType: p.MediaType, Name: p.Filename, Bytes: c}
	case a2a.URL:
		out.Kind, out.File = "file", &file{MimeType: p.MediaType, Name: p.Filename, URI: string(c)}
	case a2a.Data:
		value := c.Value
		if _, ok := value.(map[string]any); !ok {
			value = map[string]any{wrapped: value}
		}
		out.Kind = "data"
		out.Data, _ = json.Marshal(value) // it came from JSON
	default:
		text := p.Text()
		out.Kind, out.Text = "text", &text
	}
	return out
}

func fromPush(c *a2a.PushConfig) *taskPushConfig {
	out := &taskPushConfig{TaskID: string(c.TaskID), Config: pushConfig{ID: c.ID, URL: c.URL, Token: c.Token}}
	if c.Auth != nil {
		out.Config.Auth = &pushAuth{Schemes: []string{c.Auth.Scheme}, Credentials: c.Auth.Credentials}
	}
	return out
}

func fromSend(r *a2a.SendMessageRequest) *sendParams {
	out := &sendParams{Message: fromMessage(r.Message), Metadata: r.Metadata}
	if c := r.Config; c != nil {
		blocking := !c.ReturnImmediately
		out.Config = &sendConfig{AcceptedOutputModes: c.AcceptedOutputModes, Blocking: &blocking, HistoryLength: c.HistoryLength}
		if c.PushConfig != nil {
			out.Config.Push = &fromPush(c.PushConfig).Config
		}
	}
	return out
}
