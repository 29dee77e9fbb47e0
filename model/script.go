package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/yamlfile"
)

// A Script is written replies, and when each is given. The first reply whose
// conditions all hold is the one, so that the same request gets the same reply,
// in any process.
//
// A file has one reply a line, as a JSON object (JSON Lines), or is a list of
// them in YAML:
//
//   - when: {cycle: 1, step: 1}
//     text: "<think>Look it up.</think>I look it up."
//     cut: byte
//     calls:
//   - {name: search, arguments: {query: leap years}}
//   - when: {tool: search}
//     thought: Found.
//     text: 1900 was no leap year.
//     usage: {input: 120, output: 9, reasoning: 2}
//   - when: {cycle: 2}
//     error: {status: 503, message: overloaded, retry_after: 2s}
//   - text: "<think>This is where it bre"
//     error: {kind: broken_off}
//
// Members of a reply; all but when may be left out, but one of text, deltas,
// thought, calls and error must be there:
//
//	when      the conditions; without any, always
//	text      the content
//	deltas    the content, a list of the pieces that it comes in
//	thought   native reasoning, given before the content
//	field     the member that the thought is said to have come in; "thinking"
//	cut       how text and thought come: word (default), whole, byte, rune, a
//	          number of bytes, or random:SEED, which cuts anywhere
//	calls     list of id, name, arguments: an object, or a string that is taken
//	          as it is. Without an id one is made of the request.
//	finish    the finish reason: stop, or tool_calls where there are calls;
//	          length ends the reply as cut
//	usage     input, output, reasoning: tokens
//	wait      time before the reply, such as 200ms
//	pause     time before each delta
//	error     comes after all of the above, instead of the end: status, or kind
//	          (broken_off, silent); type, code, message, retry_after
//	note      is for who reads the file
//
// Conditions; what counts is what the request holds, for that is all there is:
//
//	call      the n-th call of the conversation: its assistant messages, and one
//	cycle     the n-th cycle: its user messages
//	step      the n-th call of the cycle: the assistant messages since the user's
//	          last, and one
//	last      the role of the last message
//	tool      the last message is a result of this tool
//	contains  the last message has this text in it
//	matches   the last message has a match of this pattern (of package regexp)
//	user      the user's last message has a match of this pattern
//	system    a system message has a match of this pattern
//	offers    a tool of this name is offered
//	model     the model's name
//
// A number is 3, or a range "2-4" or "5-".
//
// A script in JSON Lines has at most 32 MiB. One in YAML has at most 4 MiB, nests at
// most 100 levels deep, and has no anchors, aliases or tags.
type Script struct {
	name    string
	replies []*scriptReply
}

// maxScript is the most bytes of a script.
const maxScript = 32 << 20

// scriptYAML bounds a script that is YAML.
var scriptYAML = yamlfile.Limits{Size: 4 << 20, Nodes: 400_000}

// A ScriptError says what is wrong with a script, and where.
type ScriptError struct {
	File string
	Line int    // from 1; 0 where the fault has no place
	Key  string // the member; "" where it is none
	Err  error
}

func (e *ScriptError) Error() string {
	var b strings.Builder
	b.WriteString(e.File + ":")
	if e.Line > 0 {
		fmt.Fprintf(&b, "%d:", e.Line)
	}
	b.WriteByte(' ')
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	return b.String() + e.Err.Error()
}

func (e *ScriptError) Unwrap() error { return e.Err }

// ReadScript reads a script. The name is the file's: where it does not end in
// .jsonl, .ndjson, .json, .yaml or .yml, the first byte tells the form. An error
// about what stands in it is a [*ScriptError].
func ReadScript(r io.Reader, name string) (*Script, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxScript+1))
	if err != nil {
		return nil, fmt.Errorf("read script %s: %w", name, err)
	}
	if len(data) > maxScript {
		return nil, &ScriptError{File: name, Err: fmt.Errorf("larger than %d MiB", maxScript>>20)}
	}
	s := &Script{name: name}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if isLines(name, data) {
		err = s.readLines(data)
	} else {
		err = s.readYAML(data)
	}
	if err != nil {
		return nil, err
	}
	return s, s.check()
}

func isLines(name string, data []byte) bool {
	switch path.Ext(name) {
	case ".jsonl", ".ndjson", ".json":
		return true
	case ".yaml", ".yml":
		return false
	}
	data = bytes.TrimSpace(data)
	return len(data) > 0 && data[0] == '{'
}

func (s *Script) readLines(data []byte) error {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if err := s.add(n, line, nil); err != nil {
			return err
		}
	}
	return nil
}

func (s *Script) readYAML(data []byte) error {
	n, err := scriptYAML.Read(data)
	switch {
	case err != nil:
		return s.fault(err)
	case n == nil:
		return nil
	case n.Kind != yamlfile.List:
		return &ScriptError{File: s.name, Line: n.Line, Err: errors.New(`want a list of replies, each beginning with "- "`)}
	}
	for _, item := range n.Items {
		if err := s.addNode(item); err != nil {
			return err
		}
	}
	return nil
}

// fault says where in the script an error of YAML is.
func (s *Script) fault(err error) error {
	if at, ok := errors.AsType[*yamlfile.Error](err); ok {
		return &ScriptError{File: s.name, Line: at.Line, Err: at.Err}
	}
	return &ScriptError{File: s.name, Err: err}
}

// addNode adds a reply of YAML, by way of JSON: there is one reader of replies.
func (s *Script) addNode(n *yamlfile.Node) error {
	v, err := n.Value()
	if err != nil {
		return s.fault(err)
	}
	object, err := marshal(v)
	if err != nil {
		return &ScriptError{File: s.name, Line: n.Line, Err: err}
	}
	return s.add(n.Line, object, n)
}

// keyLine returns the line of the first key of a name below a node, or else
// that of the node.
func keyLine(n *yamlfile.Node, key string) int {
	if line := findKey(n, key); line > 0 {
		return line
	}
	return n.Line
}

func findKey(n *yamlfile.Node, key string) int {
	for _, item := range n.Items {
		if line := findKey(item, key); line > 0 {
			return line
		}
	}
	for _, m := range n.Members {
		if m.Key.Text == key {
			return m.Key.Line
		}
		if line := findKey(m.Value, key); line > 0 {
			return line
		}
	}
	return 0
}

// add reads one reply. The node is where it stands in YAML, or nil.
func (s *Script) add(line int, object []byte, n *yamlfile.Node) error {
	r := &scriptReply{line: line}
	d := json.NewDecoder(bytes.NewReader(object))
	d.DisallowUnknownFields()
	err := d.Decode(r)
	if err == nil && d.More() {
		err = errors.New("something stands behind the object")
	}
	if err == nil {
		err = r.prepare()
	}
	if err == nil {
		s.replies = append(s.replies, r)
		return nil
	}
	fault := &ScriptError{File: s.name, Line: line}
	fault.Key, fault.Err = faultOf(err)
	if n != nil && fault.Key != "" {
		fault.Line = keyLine(n, fault.Key[strings.LastIndexByte(fault.Key, '.')+1:])
	}
	return fault
}

// A memberError is what is wrong with a member.
type memberError struct {
	key string
	err error
}

func (e *memberError) Error() string { return e.key + ": " + e.err.Error() }

// faultOf words an error about a reply, and tells the member.
func faultOf(err error) (key string, _ error) {
	if e, ok := errors.AsType[*memberError](err); ok {
		return e.key, e.err
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if e.Field == "" {
			return "", fmt.Errorf("want an object, got %s", e.Value)
		}
		return e.Field, fmt.Errorf("want %s, got %s", kindName(e.Type.Kind().String()), e.Value)
	}
	const unknown = "json: unknown field "
	if name, ok := strings.CutPrefix(err.Error(), unknown); ok {
		return strings.Trim(name, `"`), errors.New("there is no such member; go doc model.Script lists them")
	}
	return "", errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// kindName is what the file calls a kind of Go's.
func kindName(kind string) string {
	switch kind {
	case "struct", "map", "ptr":
		return "an object"
	case "slice":
		return "a list"
	case "string":
		return "a string"
	}
	return "a number"
}

// check looks at the replies together.
func (s *Script) check() error {
	if len(s.replies) == 0 {
		return &ScriptError{File: s.name, Err: errors.New("it has no reply")}
	}
	for i, r := range s.replies[:len(s.replies)-1] {
		if r.When == (conditions{}) {
			return &ScriptError{File: s.name, Line: s.replies[i+1].line, Err: fmt.Errorf(
				"this reply is never given: the one of line %d has no conditions, so it always is", r.line)}
		}
	}
	return nil
}

// A span is a time in a script: "200ms".
type span time.Duration

func (s *span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return fmt.Errorf("%q is no time: want such as 200ms or 1.5s", text)
	}
	*s = span(d)
	return nil
}
