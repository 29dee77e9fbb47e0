// Package consent decides whether a person has agreed to a call of a tool.
//
// A call that needs consent becomes a [Question]. It goes to a person, as it is, through
// every agent between the person and the call. The [Answer] comes back the same way, and
// [Ledger.Decide] says whether it counts: a text never does, whoever wrote it. What counts
// is an answer by a [Principal] that may consent, to this question, about these arguments,
// for this caller, in time and once.
package consent

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Call is what a person is asked about.
type Call struct {
	Tool string
	// Arguments are the whole arguments, as the tool will get them.
	Arguments json.RawMessage
	// For is the caller for whom the agent works.
	For string
}

// Digest identifies the call: a digest of the tool and its arguments, keyed by the caller.
// Other arguments, or those of another caller, have another one.
func (c Call) Digest() string {
	mac := hmac.New(sha256.New, []byte(c.For))
	fmt.Fprintf(mac, "%d:%s", len(c.Tool), c.Tool)
	mac.Write(c.Arguments)
	return "hmac-sha256:" + hex.EncodeToString(mac.Sum(nil))
}

// A Question asks a person about one call.
type Question struct {
	// ID is random. No other question has it.
	ID   string `json:"id"`
	Tool string `json:"tool"`
	// Arguments are JSON as the person may see them: without secrets and reasoning, whose bytes are counted, and cut
	// if they are long. Digest is that of the call, with the whole arguments.
	Arguments string `json:"arguments"`
	Digest    string `json:"digest"`
	// For is the caller for whom the agent that asks works.
	For string `json:"for,omitempty"`
	// Through are the tools by which the question came up from the agent that asks, the one
	// nearest to the person first, with " > " between them; "" if the agent asks itself.
	Through string `json:"through,omitempty"`
	// Until is when the question is no longer open.
	Until time.Time `json:"until"`
	// Schema is the JSON Schema of the values that the question asks for beside a yes or no, as
	// [Form.Schema] has it; nil if it asks for none.
	Schema json.RawMessage `json:"schema,omitempty"`
}

// About returns a question about a call. shown are its arguments as the person may see
// them.
func About(c Call, shown string, until time.Time) Question {
	return Question{ID: rand.Text(), Tool: c.Tool, Arguments: shown, Digest: c.Digest(), For: c.For, Until: until.UTC().Truncate(time.Second)}
}

// MaxShown bounds the arguments that a question shows, in bytes. The rest of longer ones is
// left out, which the text says.
const MaxShown = 24 << 10

// The bounds of a question from another program.
const (
	maxName    = 256
	maxThrough = 1 << 10
	maxShown   = MaxShown + 1<<10 // with the remark that there are more
)

// Passed returns the question as an agent passes it on that got it from one of its tools.
func (q Question) Passed(tool string) Question {
	if q.Through != "" {
		tool += " > " + q.Through
	}
	if len(tool) > maxThrough {
		tool = strings.ToValidUTF8(tool[:maxThrough-len("…")], "") + "…"
	}
	q.Through = tool
	return q
}

// Check reports what is wrong with a question that came from another program.
func (q Question) Check() error {
	for name, text := range map[string]string{"id": q.ID, "tool": q.Tool, "digest": q.Digest} {
		if text == "" || len(text) > maxName {
			return fmt.Errorf("the question's %s must have 1 to %d bytes", name, maxName)
		}
	}
	switch {
	case len(q.For) > maxName:
		return fmt.Errorf("the question's for has more than %d bytes", maxName)
	case len(q.Through) > maxThrough:
		return fmt.Errorf("the question's through has more than %d bytes", maxThrough)
	case len(q.Arguments) > maxShown:
		return fmt.Errorf("the question's arguments have more than %d bytes", maxShown)
	case q.Until.IsZero():
		return errors.New("the question does not say until when it is open")
	}
	_, err := q.Form()
	return err
}

// Text is the question in words.
func (q Question) Text() string {
	text := fmt.Sprintf("May this tool be called? Answer yes to call it; anything else refuses.\n%s %s", q.Tool, q.Arguments)
	if q.Through != "" {
		text += "\nasked through " + q.Through
	}
	return text
}

// Yes answers the question: the call may be made.
func (q Question) Yes(by Principal) Answer {
	return Answer{Question: q.ID, Digest: q.Digest, Agree: true, By: by}
}

// No answers the question: the call may not be made. said is what the person said.
func (q Question) No(by Principal, said string) Answer {
	return Answer{Question: q.ID, Digest: q.Digest, Said: said, By: by}
}

// Said reads a text as an answer: yes, y, ok and confirm agree, in any case, and everything
// else refuses. Use it only for what a principal wrote in reply to this question.
func (q Question) Said(by Principal, text string) Answer {
	word := strings.ToLower(strings.TrimRight(strings.TrimSpace(text), ".!"))
	if slices.Contains([]string{"yes", "y", "ok", "confirm"}, word) {
		return q.Yes(by)
	}
	return q.No(by, text)
}

// An Answer is what a person answered.
type Answer struct {
	// Question and Digest are those of the question that the person saw.
	Question string `json:"question"`
	Digest   string `json:"digest"`
	Agree    bool   `json:"agree"`
	// Values are those that the question asks for: a JSON object that fits its schema, without
	// the fields whose defaults are right.
	Values json.RawMessage `json:"values,omitempty"`
	// Dismissed says that the person decided nothing. It has the effect of a refusal, and a
	// server that asked learns of the difference.
	Dismissed bool `json:"dismissed,omitempty"`
	// Said is what the person said in addition.
	Said string `json:"said,omitempty"`
	// Person is who answered, if an agent passed the answer on, as that agent says.
	Person string `json:"person,omitempty"`
	// By is who answered here. It never comes from the answer itself: whoever receives the
	// answer sets it.
	By Principal `json:"-"`
}

// Check reports what is wrong with an answer that came from another program.
func (a Answer) Check() error {
	switch {
	case a.Question == "" || len(a.Question) > maxName || a.Digest == "" || len(a.Digest) > maxName:
		return fmt.Errorf("an answer needs the question's id and digest, each with 1 to %d bytes", maxName)
	case len(a.Person) > maxName:
		return fmt.Errorf("the answer's person has more than %d bytes", maxName)
	case len(a.Values) > MaxValues:
		return fmt.Errorf("the answer's values have more than %d bytes", MaxValues)
	case a.Agree && a.Dismissed:
		return errors.New("the answer agrees and dismisses the question")
	}
	return nil
}

// A Way is how an answer came.
type Way string

// The ways.
const (
	Terminal  Way = "terminal"
	Page      Way = "page" // of a console
	A2A       Way = "a2a"
	Responses Way = "responses"
)

// A Principal is who answers.
type Principal struct {
	Name string
	Way  Way
	// Scoped says that its token lists the scope consent, or that its page needs no token.
	Scoped bool
}

// May reports whether the principal may consent to calls: at a terminal, in a page that needs
// no token, or by a token that lists the scope consent.
func (p Principal) May() bool { return p.Scoped || p.Way == Terminal }
