// Package streamview is what the console shows of two streams of problems side by side: which
// problems came out otherwise, and the paired differences of what both solved. A stream comes
// from the output of sotto solve, or from a record; what is kept of it is bounded.
package streamview

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"strconv"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
	"github.com/sotto-llm/sotto/internal/lab/streamfile"
)

const (
	// MaxProblems bounds the problems of a stream that are compared: the first ones.
	MaxProblems = 100_000
	// maxName bounds a name, and maxSaid an answer.
	maxName = 200
	maxSaid = 240
)

// A Problem is what came of a problem in a stream.
type Problem struct {
	// N is its place in the stream, which is its cycle in the record.
	N int `json:"n"`
	// ID is its name, or in a record its question.
	ID     string `json:"id"`
	Solved bool   `json:"solved"`
	Calls  int    `json:"calls"`
	Tokens int64  `json:"tokens"`
	// Hit is what the memory gave: template, paths, or nothing.
	Hit string `json:"hit,omitempty"`
	// Answer is the last answer, and Reason why it is wrong.
	Answer string `json:"answer,omitempty"`
	Reason string `json:"reason,omitempty"`

	key [16]byte // of the whole ID, which may be cut
}

// A Stream is a sequence of problems that were solved one after the other.
type Stream struct {
	Run, Mode, Model string
	// Problems are in the order of the stream. Partial says that it has more.
	Problems []Problem
	Partial  bool
}

// Add adds a problem, unless there is no more room.
func (s *Stream) Add(p Problem) {
	if len(s.Problems) == MaxProblems {
		s.Partial = true
		return
	}
	digest := sha256.Sum256([]byte(p.ID))
	copy(p.key[:], digest[:])
	p.ID, p.Hit = shorttext.Cut(p.ID, maxName), shorttext.Cut(p.Hit, maxName)
	p.Answer, p.Reason = shorttext.Cut(p.Answer, maxSaid), shorttext.Cut(p.Reason, maxName)
	s.Problems = append(s.Problems, p)
}

// The members of a line that are read, in the order of members.
const (
	memberType = iota
	memberRun
	memberMode
	memberModel
	memberN
	memberID
	memberSolved
	memberHit
	memberCandidate
	memberReason
	memberInput
	memberOutput
	memberCalls
)

var members = streamfile.Paths("type", "run", "mode", "model", "n", "id", "solved", "hit", "candidate", "reason", "input", "output", "attempts.#.reason")

// errFull ends the reading of a file.
var errFull = errors.New("enough problems")

// Read reads the output of a stream, and decrypts it if it is sealed.
func Read(ctx context.Context, name string, ids ...age.Identity) (*Stream, error) {
	s := &Stream{}
	err := streamfile.Lines(ctx, name, ids, members, func(f *jsonpath.Finder) error {
		text := func(member int) string { return jsonpath.TextOr(f.Last(member), "") }
		switch text(memberType) {
		case "run":
			s.Run, s.Mode, s.Model = shorttext.Cut(text(memberRun), maxName), shorttext.Cut(text(memberMode), maxName), shorttext.Cut(text(memberModel), maxName)
		case "problem":
			s.Add(Problem{
				N: int(number(f, memberN)), ID: text(memberID), Solved: streamfile.Is(f, memberSolved), Calls: len(f.Found[memberCalls]),
				Tokens: number(f, memberInput) + number(f, memberOutput), Hit: text(memberHit), Answer: text(memberCandidate), Reason: text(memberReason),
			})
		}
		if s.Partial {
			return errFull
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFull) {
		return nil, fmt.Errorf("the stream cannot be read: %w", err)
	}
	return s, nil
}

// number is a whole number that is not negative; 0 if a member is something else.
func number(f *jsonpath.Finder, member int) int64 {
	n, err := strconv.ParseInt(string(f.Last(member)), 10, 64)
	if err != nil {
		return 0
	}
	return min(max(0, n), math.MaxInt32)
}
