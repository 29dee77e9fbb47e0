// Package foreignjson is the only entry for JSON from outside: from a peer, a model
// or a file. Before anything parses the bytes, it checks that they are JSON that
// the rest of the tree can handle.
//
// A document is bounded in depth, because parsers recurse, and a stack overflow
// ends the process. It is bounded in members, because readers keep a few dozen
// bytes for each member that they look at. The check itself neither recurses nor
// allocates, and takes time linear in the document.
//
// Within the bounds, JSON is what [encoding/json.Valid] accepts. A test of this
// package keeps the rest of the tree from parsing JSON in other ways.
package foreignjson

import (
	"errors"
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// The bounds that [Check] and [Parse] apply to a document. No request and no frame
// of a stream comes near them.
const (
	MaxDepth   = 1000
	MaxMembers = 1_000_000
)

// ReplyMembers bounds a whole reply. A long reply with the log probabilities of 20
// alternatives for each token, or with the vectors of 128 texts, has millions of
// numbers.
const ReplyMembers = 4 * MaxMembers

// Why a document is refused. An [Error] wraps one of these.
var (
	// ErrSyntax is for bytes that are not JSON.
	ErrSyntax = errors.New("not valid JSON")
	// ErrDepth is for arrays and objects nested deeper than Limits.Depth.
	ErrDepth = errors.New("nested too deeply")
	// ErrMembers is for more members and elements than Limits.Members.
	ErrMembers = errors.New("too many members")
)

// An Error says why a document is refused, and where the fault was found.
type Error struct {
	Err    error // ErrSyntax, ErrDepth or ErrMembers
	Limit  int   // the bound that was exceeded; 0 for ErrSyntax
	Offset int   // in bytes, from 0
}

// Error returns the message as the end of a sentence about the document: "nests
// deeper than 1000 levels at byte 1000".
func (e *Error) Error() string {
	switch e.Err {
	case ErrDepth:
		return fmt.Sprintf("nests deeper than %d levels at byte %d", e.Limit, e.Offset)
	case ErrMembers:
		return fmt.Sprintf("has more than %d members and elements at byte %d", e.Limit, e.Offset)
	}
	return fmt.Sprintf("is not valid JSON at byte %d", e.Offset)
}

func (e *Error) Unwrap() error { return e.Err }

// OverLimit reports whether an error says that a document exceeds a bound. Such a
// document may still be JSON.
func OverLimit(err error) bool { return errors.Is(err, ErrDepth) || errors.Is(err, ErrMembers) }

// Limits bound a document. The zero value has the default bounds.
type Limits struct {
	// Depth is how many arrays and objects may be open at the same time. If zero,
	// MaxDepth.
	Depth int
	// Members is how many members of objects and elements of arrays a document may
	// have in total. If zero, MaxMembers.
	Members int
}

// Check returns nil for a JSON document within the default bounds, and otherwise an
// *[Error].
func Check(data []byte) error { return Limits{}.Check(data) }

// Valid reports whether Check finds no fault.
func Valid(data []byte) bool { return Limits{}.Check(data) == nil }

// Parse checks and parses a document. The result does not share memory with data.
func Parse(data []byte) (gjson.Result, error) { return Limits{}.Parse(data) }

// Check returns nil for a JSON document within the bounds, and otherwise an
// *[Error].
func (l Limits) Check(data []byte) error {
	if l.Depth == 0 {
		l.Depth = MaxDepth
	}
	if l.Members == 0 {
		l.Members = MaxMembers
	}
	at, fault := jsontext.Limits{Depth: l.Depth, Members: l.Members}.Whole(data)
	switch fault {
	case "":
		return nil
	case jsontext.TooDeep:
		return &Error{Err: ErrDepth, Limit: l.Depth, Offset: at}
	case jsontext.TooMany:
		return &Error{Err: ErrMembers, Limit: l.Members, Offset: at}
	}
	return &Error{Err: ErrSyntax, Offset: at}
}

// Parse checks and parses a document. The result does not share memory with data.
func (l Limits) Parse(data []byte) (gjson.Result, error) {
	if err := l.Check(data); err != nil {
		return gjson.Result{}, err
	}
	return gjson.ParseBytes(data), nil
}
