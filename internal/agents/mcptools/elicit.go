package mcptools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/agent/consent"
)

// A server that may ask a person (elicitation) asks during a call. A person may answer after
// hours, and in another process, so the call does not wait: the question is dismissed, the
// tool ends with it, and the server is called again with the answer, which it gets when it
// puts the same question. What is sent is what the person gave: the question goes to the person
// as a form, with the schema of the server, and no model can fill it in.
//
// No message says which call a question belongs to. So one call of such a server is made at
// a time, and after one that was given up the server is started again.

// maxAsks bounds the text of a question, in bytes.
const maxAsks = 4 << 10

// A form is a question of a server. Answer is what it gets if the person agrees and changes
// nothing; nil if there is something to fill in.
type form struct {
	Server string          `json:"server"`
	Asks   string          `json:"asks"`
	Answer json.RawMessage `json:"answer,omitempty"`
}

// A put question is one that can be put to a person.
type put struct {
	about []byte // as the person sees it
	form  *consent.Form
}

// digest identifies the question.
func (p *put) digest() string {
	sum := sha256.Sum256(slices.Concat(p.about, []byte{0}, p.form.Schema()))
	return hex.EncodeToString(sum[:])
}

// elicitation is what a question of a server is called where a tool's name stands.
const elicitation = "elicitation"

// An asking is a call of a server that may ask a person.
type asking struct {
	server   string
	answered map[string]said // what a person said, by the digest of the question
	asked    *put            // the first question without an answer
	declined string          // why a question could not be put, or was not answered
}

// A said is what a person said to a question. Content is what the server gets of an accepted one.
type said struct {
	Action  string          `json:"action"` // accept, decline or cancel
	Content json.RawMessage `json:"content,omitempty"`
}

// An elicited is the state of a call that waits for a person.
type elicited struct {
	Answered map[string]said `json:"answered,omitempty"`
	Waiting  string          `json:"waiting"` // the digest of the question
	// Schema is the form of the question that waits.
	Schema json.RawMessage `json:"schema,omitempty"`
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
	q, err := a.question(p)
	if err != nil {
		a.declined = err.Error()
		return &mcp.ElicitResult{Action: "decline"}
	}
	x, known := a.answered[q.digest()]
	if !known {
		if a.asked == nil {
			a.asked = q
		}
		return &mcp.ElicitResult{Action: "cancel"}
	}
	r := &mcp.ElicitResult{Action: x.Action}
	if x.Action == "accept" {
		_ = json.Unmarshal(x.Content, &r.Content) // it is what Fill made
	}
	return r
}

// question returns a question as a person is asked it. The error says why it cannot be put.
func (a *asking) question(p *mcp.ElicitParams) (*put, error) {
	if p.Mode != "" && p.Mode != "form" {
		return nil, errors.New("it asks the person to open a page")
	}
	if len(p.Message) > maxAsks {
		return nil, fmt.Errorf("its question has %d bytes: the limit is %d", len(p.Message), maxAsks)
	}
	schema, err := encode(p.RequestedSchema)
	if err != nil {
		return nil, err
	}
	q := &put{}
	if q.form, err = consent.ReadForm(schema); err != nil {
		return nil, err
	}
	f := form{Server: a.server, Asks: readable(p.Message)}
	if whole, err := q.form.Fill(nil); err == nil {
		f.Answer = whole
	}
	q.about, err = encode(f)
	return q, err
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
		state, err := json.Marshal(elicited{a.answered, a.asked.digest(), a.asked.form.Schema()})
		if err != nil {
			return "", err
		}
		return "", agent.AskForm(ctx, elicitation, a.asked.about, a.asked.form, state)
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
	a := &asking{server: s.Name, answered: map[string]said{}}
	r, ok := agent.Resumed(ctx)
	if !ok {
		return a, nil
	}
	var e elicited
	if json.Unmarshal(r.State, &e) != nil || len(e.Schema) == 0 {
		return a, nil // an earlier version kept it, with another digest: the person is asked again
	}
	maps.Copy(a.answered, e.Answered)
	switch {
	case r.Answer.Agree:
		form, err := consent.ReadForm(e.Schema)
		if err != nil {
			return nil, err
		}
		content, err := form.Fill(r.Answer.Values)
		if err != nil {
			return nil, err
		}
		a.answered[e.Waiting] = said{"accept", content}
	case r.Answer.Dismissed:
		a.answered[e.Waiting], a.declined = said{Action: "cancel"}, "the person dismissed the question"
	default:
		a.answered[e.Waiting], a.declined = said{Action: "decline"}, r.Answer.Said
	}
	return a, nil
}
