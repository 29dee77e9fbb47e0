package a2aserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/sotto-llm/sotto/agent/consent"
)

// The types of the data parts of messages about consent: the member type says which it is.
// The other members of the first are those of a [consent.Question], and of the second those
// of a [consent.Answer].
const (
	QuestionType = "sotto.consent.question"
	AnswerType   = "sotto.consent.answer"
)

// maxConsent bounds a part about consent, in bytes.
const maxConsent = 64 << 10

type (
	questionPart struct {
		Type string `json:"type"`
		consent.Question
	}
	answerPart struct {
		Type string `json:"type"`
		consent.Answer
	}
)

// dataPart makes a part with data.
func dataPart(v any) *a2a.Part {
	var value any
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &value)
	}
	if err != nil { // it is a struct of strings
		panic(err)
	}
	return a2a.NewDataPart(value)
}

// typeOf returns the type of a part with data; "" if it has none.
func typeOf(p *a2a.Part) string {
	if p == nil {
		return ""
	}
	data, _ := p.Content.(a2a.Data)
	members, _ := data.Value.(map[string]any)
	name, _ := members["type"].(string)
	return name
}

// readPart reads the one part of a type. found is false if there is none.
func readPart(parts []*a2a.Part, name string, v any) (found bool, err error) {
	for _, p := range parts {
		if typeOf(p) != name {
			continue
		}
		if found {
			return true, fmt.Errorf("there are two parts of the type %s", name)
		}
		found = true
		data, err := json.Marshal(p.Content.(a2a.Data).Value)
		switch {
		case err != nil:
			return true, err
		case len(data) > maxConsent:
			return true, fmt.Errorf("the part of the type %s has more than %d bytes", name, maxConsent)
		}
		if err := json.Unmarshal(data, v); err != nil {
			return true, fmt.Errorf("the part of the type %s cannot be parsed: %w", name, err)
		}
	}
	return found, nil
}

// questionIn returns the question of a status about a person's consent; nil if there is none.
func questionIn(m *a2a.Message) (*consent.Question, error) {
	var p questionPart
	if m == nil {
		return nil, nil
	}
	found, err := readPart(m.Parts, QuestionType, &p)
	if !found || err != nil {
		return nil, err
	}
	return &p.Question, p.Check()
}

// consentIn returns the answer that a message brings; nil if it brings none.
func consentIn(m *a2a.Message) (*consent.Answer, error) {
	var p answerPart
	found, err := readPart(m.Parts, AnswerType, &p)
	if !found || err != nil {
		return nil, err
	}
	return &p.Answer, p.Check()
}

// fromAgent reports whether an agent says that it wrote a message: see [AgentKey].
func fromAgent(m *a2a.Message) bool { return m.Metadata[AgentKey] == true }

// checkConsent reports why a message cannot answer the question of its task about a call, or
// brings an answer where none is waited for.
func (s *Server) checkConsent(m *a2a.Message, v visit) error {
	var q *consent.Question
	if m == nil {
		return nil // the SDK reports it
	}
	if m.TaskID != "" {
		task, err := s.store.row(v.caller, m.TaskID)
		if err == nil {
			q, err = questionIn(lastAsked(task.Task))
		}
		if err != nil {
			return err
		}
	}
	switch err := checkAnswer(m, q, v.principal); {
	case err == nil:
		return nil
	case errors.Is(err, consent.ErrMayNot), errors.Is(err, errByAgent):
		return a2a.NewError(a2a.ErrUnauthorized, err.Error())
	default:
		return a2a.NewError(a2a.ErrInvalidParams, err.Error())
	}
}

// lastAsked returns the message with the question of a task. It is no longer in the status if
// a crash lost the work on the message that answered it.
func lastAsked(t *a2a.Task) *a2a.Message {
	if m := t.Status.Message; m != nil {
		return m
	}
	for _, m := range slices.Backward(t.History) {
		if m != nil && m.Role == a2a.MessageRoleAgent {
			return m
		}
	}
	return nil
}

// errByAgent is the error of a text that an agent wrote.
var errByAgent = errors.New("the task waits for the consent of a person, which a text of an agent cannot give")

// checkAnswer checks the answer of a message to a question. If the question is no longer
// open, there is no fault: the agent asks again.
func checkAnswer(m *a2a.Message, q *consent.Question, by consent.Principal) error {
	answer, err := consentIn(m)
	switch {
	case err != nil:
		return err
	case q == nil && answer != nil:
		return errors.New("the message answers a question about a call, and the task does not wait for that")
	case q == nil:
		return nil
	case answer == nil && fromAgent(m):
		return errByAgent
	case answer == nil:
		said := q.Said(by, VisibleText(m.Parts))
		answer = &said
	}
	answer.By = by
	err = q.Counts(*answer, consent.Occasion{Digest: q.Digest, For: by.Name, Now: time.Now()})
	if errors.Is(err, consent.ErrLate) {
		return nil
	}
	return err
}
