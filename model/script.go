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

	"github.com/sotto-llm/sotto/internal/base/spelling"
	"github.com/sotto-llm/sotto/internal/data/yamlfile"
)

// A Script is a list of scripted replies, and says when each is given. The first
// reply whose conditions all hold is used, so that the same request gets the same
// reply, in any process.
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
// These are the members of a reply. Each may be left out, but one of text, deltas,
// thought, calls and error must be present:
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
// These are the conditions. They look only at the request:
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

// maxScript is the maximum size of a script in bytes.
const maxScript = 32 << 20

// scriptYAML bounds a script that is YAML.
var scriptYAML = yamlfile.Limits{Size: 4 << 20, Nodes: 400_000}

// A ScriptError says what is wrong with a script, and where.
type ScriptError struct {
	File         string
	Line, Column int    // from 1, Column in bytes in JSON Lines; 0 for the file as a whole
	Key          string // the member, such as "when.cycle", or ""
	Err          error
}

// Error returns "FILE:LINE:COLUMN: KEY: what is wrong".
func (e *ScriptError) Error() string {
	return yamlfile.Fault{Place: yamlfile.Place{File: e.File, Line: e.Line, Column: e.Column}, Key: e.Key, Err: e.Err}.Error()
}

func (e *ScriptError) Unwrap() error { return e.Err }

// ReadScript reads a script. The name is the file's. If it does not end in .jsonl,
// .ndjson, .json, .yaml or .yml, the first byte decides the form. The error joins a
// [*ScriptError] for each of the first hundred faults.
func ReadScript(r io.Reader, name string) (*Script, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxScript+1))
	if err != nil {
		return nil, fmt.Errorf("read script %s: %w", name, err)
	}
	s := scriptReader{doc: yamlfile.Document{Name: name, Limits: scriptYAML}, script: &Script{name: name}}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	switch {
	case len(data) > maxScript:
		s.doc.FaultAt("", "larger than %d MiB", maxScript>>20)
	case isLines(name, data):
		s.readLines(data)
	default:
		s.readYAML(data)
	}
	if len(s.doc.Faults) == 0 {
		s.check()
	}
	if len(s.doc.Faults) > 0 {
		return nil, s.err()
	}
	return s.script, nil
}

// A scriptReader reads a script from its file.
type scriptReader struct {
	doc    yamlfile.Document
	script *Script
}

func (s *scriptReader) err() error {
	var list []error
	for _, f := range s.doc.Faults {
		list = append(list, &ScriptError{f.File, f.Line, f.Column, f.Key, f.Err})
	}
	return errors.Join(list...)
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

func (s *scriptReader) readLines(data []byte) {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		object := bytes.TrimSpace(line)
		if len(object) == 0 {
			continue
		}
		if s.doc.Full() {
			return
		}
		at := yamlfile.Node{Line: n, Column: 1 + bytes.Index(line, object)}
		if err := s.add(n, object); err != nil {
			at.Column += int(max(0, offsetOf(err)))
			key, err := faultOf(err)
			s.doc.Fault(&at, key, "%w", err)
		}
	}
}

// offsetOf returns the offset in a JSON text that an error is about, or 0.
func offsetOf(err error) int64 {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return e.Offset - 1
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return e.Offset - 1
	}
	return 0
}

func (s *scriptReader) readYAML(data []byte) {
	n := s.doc.Read(data)
	switch {
	case n == nil:
		return
	case n.Kind != yamlfile.List:
		s.doc.Fault(n, "", `want a list of replies, each beginning with "- "`)
		return
	}
	for _, item := range n.Items {
		if s.doc.Full() {
			return
		}
		s.addNode(item)
	}
}

// addNode adds a reply from YAML. It converts it to JSON, so that there is only one
// reader of replies.
func (s *scriptReader) addNode(n *yamlfile.Node) {
	v, err := n.Value()
	if at, ok := errors.AsType[*yamlfile.Error](err); ok {
		s.doc.Fault(&yamlfile.Node{Line: at.Line, Column: at.Column}, "", "%w", at.Err)
		return
	}
	object, err := marshal(v)
	if err == nil {
		err = s.add(n.Line, object)
	}
	if err != nil {
		key, err := faultOf(err)
		at := findKey(n, key[strings.LastIndexByte(key, '.')+1:])
		if at == nil {
			at = n
		}
		s.doc.Fault(at, key, "%w", err)
	}
}

// findKey returns the first key of a name below a node, or nil.
func findKey(n *yamlfile.Node, key string) *yamlfile.Node {
	if key == "" {
		return nil
	}
	for _, item := range n.Items {
		if at := findKey(item, key); at != nil {
			return at
		}
	}
	for _, m := range n.Members {
		if m.Key.Text == key {
			return m.Key
		}
		if at := findKey(m.Value, key); at != nil {
			return at
		}
	}
	return nil
}

// add reads one reply, which begins in a line of the file.
func (s *scriptReader) add(line int, object []byte) error {
	r := &scriptReply{line: line}
	d := json.NewDecoder(bytes.NewReader(object))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return err
	}
	if d.More() {
		return errors.New("more text follows the object")
	}
	if err := r.prepare(); err != nil {
		return err
	}
	s.script.replies = append(s.script.replies, r)
	return nil
}

// A memberError says what is wrong with a member.
type memberError struct {
	key string
	err error
}

func (e *memberError) Error() string { return e.key + ": " + e.err.Error() }

// faultOf describes an error about a reply, and names the member.
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
		name = strings.Trim(name, `"`)
		if near := spelling.Nearest(name, scriptMembers); near != "" {
			return name, fmt.Errorf("unknown member: did you mean %q?", near)
		}
		return name, errors.New("unknown member; go doc model.Script lists them")
	}
	return "", errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// scriptMembers are the names of all members of a reply.
var scriptMembers = strings.Fields(`note when text deltas thought field cut calls finish usage wait pause error
	id name arguments input output reasoning status kind type code message retry_after
	call cycle step last tool contains matches user system offers model`)

// kindName is the file format's name for a kind of Go's.
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

// check validates the replies together.
func (s *scriptReader) check() {
	replies := s.script.replies
	if len(replies) == 0 {
		s.doc.FaultAt("", "the script has no reply")
		return
	}
	for i, r := range replies[:len(replies)-1] {
		if r.When == (conditions{}) {
			s.doc.Fault(&yamlfile.Node{Line: replies[i+1].line, Column: 1}, "",
				"this reply is never used: the reply in line %d has no conditions and always comes first", r.line)
			return
		}
	}
}

// A span is a time in a script: "200ms".
type span time.Duration

func (s *span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return fmt.Errorf("%q is not a time: want a time such as 200ms or 1.5s", text)
	}
	*s = span(d)
	return nil
}
