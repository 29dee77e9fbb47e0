package mcptools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sotto-llm/sotto/agent"
)

// A server that may ask a person (elicitation) asks during a call. A person may answer after
// hours, and in another process, so the call does not wait: the question is dismissed, the
// tool ends with it, and the server is called again with the answer, which it gets when it
// puts the same question. What is sent is made before the person is asked, from the fields
// of the question: the person agrees to it or refuses, and no model can.
//
// No message says which call a question belongs to. So one call of such a server is made at
// a time, and after one that was given up the server is started again.

// The bounds of a question.
const (
	maxAsks   = 4 << 10 // bytes of its text
	maxFields = 20
)

// A form is a question of a server, and what it gets if the person agrees.
type form struct {
	Server string         `json:"server"`
	Asks   string         `json:"asks"`
	Answer map[string]any `json:"answer"`
}

// elicitation is what a question of a server is called where a tool's name stands.
const elicitation = "elicitation"

// An asking is a call of a server that may ask a person.
type asking struct {
	server   string
	answered map[string]bool // what a person said, by the digest of the question
	asked    []byte          // the first question without an answer, as JSON
	declined string          // why a question could not be put
}

// An elicited is the state of a call that waits for a person.
type elicited struct {
	Answered map[string]bool `json:"answered,omitempty"`
	Waiting  string          `json:"waiting"` // the digest of the question
}

func digest(question []byte) string {
	sum := sha256.Sum256(question)
	return hex.EncodeToString(sum[:])
}

// asks sets the call under way.
func (n *session) asks(a *asking) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asking = a
}

// elicit answers a question of the server.
func (n *session) elicit(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.asking == nil || r == nil || r.Params == nil {
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	return n.asking.answer(r.Params), nil
}

func (a *asking) answer(p *mcp.ElicitParams) *mcp.ElicitResult {
	question, content, err := a.form(p)
	if err != nil {
		a.declined = err.Error()
		return &mcp.ElicitResult{Action: "decline"}
	}
	agreed, known := a.answered[digest(question)]
	switch {
	case agreed:
		return &mcp.ElicitResult{Action: "accept", Content: content}
	case known:
		return &mcp.ElicitResult{Action: "decline"}
	}
	if a.asked == nil {
		a.asked = question
	}
	return &mcp.ElicitResult{Action: "cancel"}
}

// form returns a question as a person is asked it, and the content of the answer. The error
// says why it cannot be put.
func (a *asking) form(p *mcp.ElicitParams) (question []byte, content map[string]any, err error) {
	if p.Mode != "" && p.Mode != "form" {
		return nil, nil, errors.New("it asks the person to open a page")
	}
	if len(p.Message) > maxAsks {
		return nil, nil, fmt.Errorf("its question has %d bytes: the limit is %d", len(p.Message), maxAsks)
	}
	schema, err := encode(p.RequestedSchema)
	if err != nil {
		return nil, nil, err
	}
	if content, err = contentFor(schema); err != nil {
		return nil, nil, err
	}
	question, err = encode(form{a.server, readable(p.Message), content})
	return question, content, err
}

// contentFor returns what a question gets if the person agrees: the default of each field;
// true for a yes or no that must be given; the only choice of a field that has one. Any other
// field that must be given needs a form, which nobody has here.
func contentFor(schema []byte) (map[string]any, error) {
	var s struct {
		Properties map[string]struct {
			Type    any
			Default any
			Enum    []any
			Const   any
		}
		Required []string
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, errors.New("its question has no schema that can be read")
	}
	if len(s.Properties) > maxFields {
		return nil, fmt.Errorf("its question has %d fields: the limit is %d", len(s.Properties), maxFields)
	}
	content := map[string]any{}
	for name, field := range s.Properties {
		required := slices.Contains(s.Required, name)
		switch {
		case field.Default != nil:
			content[name] = field.Default
		case !required:
		case field.Type == "boolean":
			content[name] = true
		case field.Const != nil:
			content[name] = field.Const
		case len(field.Enum) == 1:
			content[name] = field.Enum[0]
		default:
			return nil, fmt.Errorf("it asks for %.64q, and a person can only agree or refuse here", name)
		}
	}
	return content, nil
}

// callAsking calls a tool of a server that may ask a person.
func (s *server) callAsking(ctx context.Context, name string, u agent.Use) (string, error) {
	select {
	case s.alone <- struct{}{}:
		defer func() { <-s.alone }()
	case <-ctx.Done():
		return "", fmt.Errorf("not called: the server %s answers one call at a time: %w", s.Name, ctx.Err())
	}
	a, err := s.asking(ctx)
	if err != nil {
		return "", err
	}
	text, err := s.callTool(ctx, name, u, a)
	switch {
	case ctx.Err() != nil:
		return text, err
	case a.asked != nil:
		state, err := json.Marshal(elicited{a.answered, digest(a.asked)})
		if err != nil {
			return "", err
		}
		return "", agent.AskPerson(ctx, elicitation, a.asked, state)
	case a.declined == "":
		return text, err
	}
	remark := fmt.Sprintf("[the server asked a person, and was declined: %s]", a.declined)
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, remark)
	}
	return text + "\n" + remark, nil
}

// asking returns a call with the answers that it brings.
func (s *server) asking(ctx context.Context) (*asking, error) {
	a := &asking{server: s.Name, answered: map[string]bool{}}
	r, ok := agent.Resumed(ctx)
	if !ok {
		return a, nil
	}
	var e elicited
	if err := json.Unmarshal(r.State, &e); err != nil {
		return nil, err
	}
	for question, agreed := range e.Answered {
		a.answered[question] = agreed
	}
	a.answered[e.Waiting] = r.Answer.Agree
	if !r.Answer.Agree && r.Answer.Said != "" {
		a.declined = r.Answer.Said
	}
	return a, nil
}
