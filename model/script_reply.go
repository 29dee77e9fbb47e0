package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sotto-llm/sotto"
)

// A scriptReply is one reply of a script, as its file has it.
type scriptReply struct {
	line int

	Note    string          `json:"note"`
	When    conditions      `json:"when"`
	Text    *string         `json:"text"`
	Deltas  []string        `json:"deltas"`
	Thought string          `json:"thought"`
	Field   string          `json:"field"`
	Cut     json.RawMessage `json:"cut"`
	Calls   []scriptCall    `json:"calls"`
	Finish  string          `json:"finish"`
	Usage   struct {
		Input     int64 `json:"input"`
		Output    int64 `json:"output"`
		Reasoning int64 `json:"reasoning"`
	} `json:"usage"`
	Wait  span         `json:"wait"`
	Pause span         `json:"pause"`
	Error *scriptFault `json:"error"`

	thoughts []string // as deltas
}

type scriptCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`

	arguments string
}

type scriptFault struct {
	Status     int    `json:"status"`
	Kind       string `json:"kind"`
	Type       string `json:"type"`
	Code       string `json:"code"`
	Message    string `json:"message"`
	RetryAfter span   `json:"retry_after"`
}

// kinds are the errors that have no status.
var kinds = map[string]error{"broken_off": ErrBrokenOff, "silent": ErrSilent}

func wrong(key, format string, args ...any) error {
	return &memberError{key, fmt.Errorf(format, args...)}
}

// prepare checks a reply and readies it for playing.
func (r *scriptReply) prepare() error {
	if r.Text == nil && r.Deltas == nil && r.Thought == "" && r.Calls == nil && r.Error == nil {
		return errors.New("the reply is empty: want text, deltas, thought, calls or error")
	}
	if r.Text != nil && r.Deltas != nil {
		return wrong("deltas", "cannot be combined with text: want one of them")
	}
	cut, err := cutting(r.Cut)
	if err != nil {
		return err
	}
	if r.Text != nil {
		r.Deltas = cut(*r.Text)
	}
	r.thoughts = cut(r.Thought)
	if r.Field == "" {
		r.Field = "thinking"
	}
	for i := range r.Calls {
		if err := r.Calls[i].prepare(); err != nil {
			return err
		}
	}
	if r.Finish == "" {
		r.Finish = "stop"
		if len(r.Calls) > 0 {
			r.Finish = "tool_calls"
		}
	}
	if u := r.Usage; min(u.Input, u.Output, u.Reasoning) < 0 {
		return wrong("usage", "is negative")
	}
	if err := r.Error.prepare(); err != nil {
		return err
	}
	return r.When.prepare()
}

func (c *scriptCall) prepare() error {
	if c.Name == "" {
		return wrong("calls", "a call has no name")
	}
	c.arguments = "{}"
	if len(c.Arguments) > 0 && json.Unmarshal(c.Arguments, &c.arguments) != nil {
		var b bytes.Buffer
		if err := json.Compact(&b, c.Arguments); err != nil {
			return err
		}
		c.arguments = b.String()
	}
	return nil
}

func (f *scriptFault) prepare() error {
	switch {
	case f == nil:
	case f.Status == 0 && f.Kind == "":
		return wrong("error", "want a status, or a kind: broken_off or silent")
	case f.Status != 0 && f.Kind != "":
		return wrong("error", "has a status and a kind: want one of them")
	case f.Status != 0 && (f.Status < 400 || f.Status > 599):
		return wrong("status", "%d is not an error status: want 400 to 599", f.Status)
	case f.Kind != "" && kinds[f.Kind] == nil:
		return wrong("kind", "%q: want broken_off or silent", f.Kind)
	}
	return nil
}

// cutting returns what cuts a text into deltas.
func cutting(raw json.RawMessage) (func(string) []string, error) {
	cut, err := cutter(strings.Trim(string(raw), `"`))
	return func(s string) []string {
		if s == "" {
			return nil
		}
		return cut(s)
	}, err
}

func cutter(how string) (func(string) []string, error) {
	switch seed, random := strings.CutPrefix(how, "random:"); {
	case random:
		n, err := strconv.ParseUint(seed, 10, 64)
		if err != nil {
			return nil, wrong("cut", "%q: the seed is not a number", how)
		}
		return func(s string) []string { return randomly(s, n) }, nil
	case how == "", how == "word":
		return func(s string) []string { return strings.SplitAfter(s, " ") }, nil
	case how == "whole":
		return func(s string) []string { return []string{s} }, nil
	case how == "rune":
		return func(s string) []string {
			return every(s, func(s string) int { _, n := utf8.DecodeRuneInString(s); return n })
		}, nil
	case how == "byte":
		how = "1"
	}
	n, err := strconv.Atoi(how)
	if err != nil || n < 1 {
		return nil, wrong("cut", "%q: want word, whole, byte, rune, a number of bytes, or random:SEED", how)
	}
	return func(s string) []string {
		return every(s, func(s string) int { return min(n, len(s)) })
	}, nil
}

func every(s string, size func(string) int) []string {
	var deltas []string
	for s != "" {
		n := size(s)
		deltas, s = append(deltas, s[:n]), s[n:]
	}
	return deltas
}

func randomly(s string, seed uint64) []string {
	r := rand.New(rand.NewPCG(seed, 0))
	return every(s, func(s string) int { return min(1+r.IntN(12), len(s)) })
}

// conditions say when a reply is given.
type conditions struct {
	Call     numbers `json:"call"`
	Cycle    numbers `json:"cycle"`
	Step     numbers `json:"step"`
	Last     Role    `json:"last"`
	Tool     string  `json:"tool"`
	Contains string  `json:"contains"`
	Matches  pattern `json:"matches"`
	User     pattern `json:"user"`
	System   pattern `json:"system"`
	Offers   string  `json:"offers"`
	Model    string  `json:"model"`
}

func (c *conditions) prepare() error {
	switch c.Last {
	case "", System, User, Assistant, ToolRole:
		return nil
	}
	return wrong("last", "%q: want system, user, assistant or tool", c.Last)
}

// hold reports whether the reply is for a request.
func (c *conditions) hold(model string, q *Request) bool {
	p := placeOf(q)
	last := q.Messages[len(q.Messages)-1]
	return c.Call.has(p.call) && c.Cycle.has(p.cycle) && c.Step.has(p.step) &&
		(c.Last == "" || c.Last == last.Role) &&
		(c.Tool == "" || last.Role == ToolRole && c.Tool == toolOf(q, last)) &&
		strings.Contains(last.Text, c.Contains) && c.Matches.in(last.Text) &&
		(c.User.Regexp == nil || c.User.in(p.user)) &&
		(c.System.Regexp == nil || slices.ContainsFunc(q.Messages, func(m Message) bool { return m.Role == System && c.System.in(m.Text) })) &&
		(c.Offers == "" || !q.NoCalls && slices.ContainsFunc(q.Tools, func(t Tool) bool { return t.Name == c.Offers })) &&
		(c.Model == "" || c.Model == model)
}

// A place says where in its conversation a request is.
type place struct {
	call, cycle, step int
	user              string // the user's last message
}

func placeOf(q *Request) place {
	p := place{call: 1, step: 1}
	for _, m := range q.Messages {
		switch m.Role {
		case User:
			p.cycle++
			p.step, p.user = 1, m.Text
		case Assistant:
			p.call++
			p.step++
		}
	}
	return p
}

// toolOf returns the tool whose result a message is, by its name or by its call.
func toolOf(q *Request, result Message) string {
	if result.Name != "" || result.CallID == "" {
		return result.Name
	}
	for _, m := range slices.Backward(q.Messages) {
		for _, c := range m.Calls {
			if c.ID == result.CallID {
				return c.Name
			}
		}
	}
	return ""
}

// numbers are a number, or a range; the zero value always holds.
type numbers struct{ from, to int }

func (n *numbers) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), `"`)
	from, to, isRange := strings.Cut(text, "-")
	var err, err2 error
	n.from, err = strconv.Atoi(from)
	switch n.to = n.from; {
	case isRange && to == "":
		n.to = int(^uint(0) >> 1)
	case isRange:
		n.to, err2 = strconv.Atoi(to)
	}
	if err != nil || err2 != nil || n.from < 1 || n.to < n.from {
		return wrong("when", `%s: want a number from 1, or a range "2-4" or "5-"`, text)
	}
	return nil
}

func (n numbers) has(i int) bool { return n == numbers{} || n.from <= i && i <= n.to }

// A pattern is a regular expression, or none.
type pattern struct{ *regexp.Regexp }

func (p *pattern) UnmarshalText(text []byte) error {
	re, err := regexp.Compile(string(text))
	if err != nil {
		return wrong("when", "%w", err)
	}
	p.Regexp = re
	return nil
}

func (p pattern) in(text string) bool { return p.Regexp == nil || p.MatchString(text) }

// endOf returns the end of a reply with a finish reason, as chat completions word
// it.
func endOf(finish string) sotto.Ending {
	switch finish {
	case "length", "max_tokens":
		return sotto.EndCut
	case "content_filter", "error", "abort":
		return sotto.EndAborted
	case "":
		return sotto.EndUnknown
	}
	return sotto.EndStopped
}
