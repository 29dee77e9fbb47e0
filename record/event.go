package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Version is the version of the format that this package writes.
const Version = 2

// A Type names what an event is.
type Type string

const (
	TypeRunStart   Type = "RUN_START"
	TypeCycleStart Type = "CYCLE_START"
	TypeInvocation Type = "LLM_INVOCATION"
	TypeToolCall   Type = "TOOL_CALL"
	TypeConsent    Type = "CONSENT"
	TypeExtraction Type = "EXTRACTION"
	TypeMemory     Type = "MEMORY"
	TypeAdvisory   Type = "ADVISORY"
	TypeError      Type = "ERROR"
	TypeCycleEnd   Type = "CYCLE_END"
	TypeRunEnd     Type = "RUN_END"
	TypeExchange   Type = "EXCHANGE"
	TypeAudit      Type = "AUDIT"

	// TypeCheckpoint is a signature of everything before it. Only the writer makes
	// them.
	TypeCheckpoint Type = "CHECKPOINT"
	// TypeSealed is an encrypted batch of events. Only the writer makes them.
	TypeSealed Type = "SEALED"
)

// An Event is an event of a record. To append one, set Payload, and Run and Cycle
// if it belongs to a run. The writer sets the rest.
type Event struct {
	V       int // the version of the format
	Seq     uint64
	Time    time.Time
	Run     string
	Cycle   int
	Type    Type
	Payload Payload
	// Happened is when it happened according to a log that it was imported from. It is
	// zero for an event that is recorded when it happens; Time says when it was
	// recorded.
	Happened time.Time
	// Prev is the digest of the line before. It is zero in an encrypted record,
	// whose batches are chained instead.
	Prev Digest

	// Secrets are credentials that this event may quote. They are scrubbed from it,
	// and never recorded.
	Secrets *Secrets
	// Unsearched is how many of the writer's and the event's secrets it may still
	// hold, because there were too many to search for. See [Secrets.Unsearched].
	Unsearched int

	line []byte
}

// Line returns the line that the event was read from, without its newline. It has
// all members, including those that this package does not know. The caller must not
// change it.
func (e *Event) Line() []byte { return e.line }

// ErrRunName is in the error of an event whose run has an invalid name: see
// [CheckRun].
var ErrRunName = errors.New("not a run's name")

// CheckRun returns an error if a run's name is longer than 128 bytes, holds
// anything except letters, digits and ._-:@+ of ASCII, or begins with a dot or a
// hyphen. A name that passes is safe as part of a path. The empty name means no
// run.
func CheckRun(name string) error {
	if len(name) > 128 {
		return fmt.Errorf("%w: %d bytes, 128 at most", ErrRunName, len(name))
	}
	for i := range len(name) {
		c := name[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_'
		if !letter && (i == 0 && c != ':' && c != '@' && c != '+' || strings.IndexByte(".-:@+", c) < 0) {
			return fmt.Errorf("%w: %q at byte %d", ErrRunName, c, i)
		}
	}
	return nil
}

// When returns when the event happened: the time that its log says if it was imported,
// else the time at which it was recorded.
func (e *Event) When() time.Time {
	if e.Happened.IsZero() {
		return e.Time
	}
	return e.Happened
}

// checkType refuses types that are reserved for the writer or that would break the
// form of the line.
func checkType(t Type) error {
	if t == "" || len(t) > 64 || t == TypeCheckpoint || t == TypeSealed {
		return fmt.Errorf("not a type to append: %q", t)
	}
	for i := range len(t) {
		if c := t[i]; (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' {
			return fmt.Errorf("not a type to append: %q", t)
		}
	}
	return nil
}

// envelope is an event's line.
type envelope struct {
	V          int             `json:"v"`
	Seq        uint64          `json:"seq"`
	Last       uint64          `json:"last"`
	Time       time.Time       `json:"time"`
	Run        string          `json:"run"`
	Cycle      int             `json:"cycle"`
	Happened   time.Time       `json:"happened"`
	Unsearched int             `json:"unsearched"`
	Type       Type            `json:"type"`
	Payload    json.RawMessage `json:"payload"`
	Prev       Digest          `json:"prev"`
}

// parseEvent reads a line; the event keeps a copy of it.
func parseEvent(line []byte) (Event, error) { return parseOwn(bytes.Clone(line), false) }

// parseOwn reads a line, which the event keeps. noPrompts is [ReadOptions.NoPrompts].
func parseOwn(line []byte, noPrompts bool) (Event, error) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	var n envelope
	if err := decodeJSON(line, &n, false); err != nil {
		return Event{}, err
	}
	if n.V < 1 || n.Seq == 0 || n.Type == "" {
		return Event{}, errors.New("not an event: v, seq or type is missing")
	}
	e := Event{V: n.V, Seq: n.Seq, Time: n.Time, Run: n.Run, Cycle: n.Cycle, Type: n.Type, Happened: n.Happened, Prev: n.Prev, Unsearched: n.Unsearched, line: line}
	e.Payload = parsePayload(n, noPrompts)
	return e, nil
}

// maxValues bounds the values in a payload that is read. A value of three bytes may
// take hundreds in memory. A writer's events stay below it.
const maxValues = 1 << 20

// tooManyValues reports whether JSON has more values than may be read.
func tooManyValues(data []byte) bool {
	if len(data) <= maxValues {
		return false
	}
	n := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case ',', '[', '{':
			if n++; n > maxValues {
				return true
			}
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		}
	}
	return false
}

// parsePayload reads a payload. A payload is kept unparsed if it is of a newer
// version, does not fit its type, or has too many values.
func parsePayload(n envelope, noPrompts bool) Payload {
	if n.V > Version || tooManyValues(n.Payload) {
		return Unknown{n.Type, n.Payload}
	}
	if read := payloadReaders[n.Type]; read != nil {
		if p, err := read(n.Payload, noPrompts); err == nil {
			if s, ok := p.(SealedBatch); ok {
				s.Last = max(n.Last, n.Seq)
				return s
			}
			return p
		}
	}
	return Unknown{n.Type, n.Payload}
}

// ReadPayload reads a payload of a type from its JSON. It is [Unknown] if it does not fit the
// type.
func ReadPayload(t Type, data []byte) Payload {
	return parsePayload(envelope{V: Version, Type: t, Payload: data}, false)
}

var payloadReaders = map[Type]func(data []byte, noPrompts bool) (Payload, error){
	TypeRunStart:   readPayload[RunStart],
	TypeCycleStart: readPayload[CycleStart],
	TypeInvocation: readPayload[Invocation],
	TypeToolCall:   readPayload[ToolCall],
	TypeConsent:    readPayload[Consent],
	TypeExtraction: readPayload[Extraction],
	TypeMemory:     readPayload[Memory],
	TypeAdvisory:   readPayload[Advisory],
	TypeError:      readPayload[Failure],
	TypeCycleEnd:   readPayload[CycleEnd],
	TypeRunEnd:     readPayload[RunEnd],
	TypeExchange:   readPayload[Exchange],
	TypeAudit:      readPayload[Audit],
	TypeCheckpoint: readPayload[Checkpoint],
	TypeSealed:     readPayload[SealedBatch],
}

func readPayload[P Payload](data []byte, noPrompts bool) (Payload, error) {
	var p P
	if err := decodeJSON(data, &p, noPrompts); err != nil {
		return p, err
	}
	if noPrompts {
		return withoutPrompts(p), nil
	}
	return p, nil
}

// withoutPrompts leaves out what decoding left out already, unless encoding/json did
// it.
func withoutPrompts(p Payload) Payload {
	switch x := p.(type) {
	case Exchange:
		x.Messages, x.Tools, x.Revisions, x.Asked = nil, nil, nil, nil
		return x
	case Invocation:
		x.Messages, x.Tools = nil, nil
		return x
	}
	return p
}
