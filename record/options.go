package record

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"filippo.io/age"
)

// A Policy says what an acknowledged append survives.
type Policy uint8

const (
	// Always acknowledges an event once it is on the disk, so it survives a loss of
	// power. Writers that wait share one fsync.
	Always Policy = iota
	// Batch acknowledges an event once the operating system has it, and syncs every
	// SyncEvery. The event survives kill -9. A loss of power may lose what was
	// acknowledged within SyncEvery.
	Batch
	// None acknowledges as Batch does. It syncs only at a segment's end and at
	// Close.
	None
)

var policyNames = [...]string{"always", "batch", "none"}

// String returns the policy's name: always, batch or none.
func (p Policy) String() string {
	if int(p) < len(policyNames) {
		return policyNames[p]
	}
	return fmt.Sprintf("policy(%d)", uint8(p))
}

// MarshalText returns the policy's name.
func (p Policy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a policy's name.
func (p *Policy) UnmarshalText(b []byte) error {
	for i, name := range policyNames {
		if name == string(b) {
			*p = Policy(i)
			return nil
		}
	}
	return fmt.Errorf("unknown policy %q: want always, batch or none", b)
}

// Options say how a record is written. The zero value records everything in full,
// syncs every append, and neither signs nor encrypts.
type Options struct {
	Policy    Policy
	SyncEvery time.Duration // of policy Batch. If zero, 1 s.

	// A segment ends when it has SegmentSize bytes or its first event is
	// SegmentAge old. If zero, 64 MiB and 24 h.
	SegmentSize int64
	SegmentAge  time.Duration

	// KeepFor and KeepSize prune while the record is open, as [Prune] does with
	// Before that long ago and Keep. If zero, everything is kept.
	KeepFor  time.Duration
	KeepSize int64
	// Needed returns the first event that KeepFor and KeepSize must keep, such as one
	// that was not copied elsewhere yet, and 0 if nothing is needed. If nil, nothing is.
	Needed func() uint64

	// Queue bounds the bytes of events that wait to be written; Append then
	// waits, and Enqueue drops. If zero, 64 MiB.
	Queue int
	// MaxEvent bounds one event's line, to 112 MiB at most. If zero, 64 MiB.
	MaxEvent int

	// SigningKey signs checkpoints: after CheckpointEvery events, at the latest
	// CheckpointAfter after an event, at the end of a segment and at Close. If
	// zero, 4096 events and 1 min. Without a key there are no checkpoints.
	SigningKey      ed25519.PrivateKey
	CheckpointEvery uint64
	CheckpointAfter time.Duration

	// Recipients can read the record. Nobody else can, not even this process.
	Recipients []age.Recipient

	// Reasoning is the level of what models think. Answer is the level of
	// everything else that models, tools and users say.
	Reasoning, Answer Level
	// IDs is the level of identifiers that clients sent, which may be personal: a
	// user, a session. At level Digests [DigestID] finds them again. Redacted is
	// refused.
	IDs Level
	// Patterns are cut out at level Redacted.
	Patterns []*regexp.Regexp
	// DigestKey keys the digests of level Digests. If empty, a random key is used
	// and forgotten at Close. Such digests can be compared only with others of the
	// same process, and prove nothing later.
	DigestKey []byte
	// Secrets are credentials of the configuration, scrubbed from every event.
	Secrets *Secrets

	// Log gets messages about repairs, and about failures that no caller waits for.
	// If nil, nothing is logged.
	Log *slog.Logger

	open    func(path string, flag int) (file, error) // these are replaced in tests of faults
	syncDir func(dir string) error
}

func (o Options) withDefaults() (Options, error) {
	setDefault(&o.SyncEvery, time.Second)
	setDefault(&o.SegmentSize, 64<<20)
	setDefault(&o.SegmentAge, 24*time.Hour)
	setDefault(&o.Queue, 64<<20)
	setDefault(&o.MaxEvent, 64<<20)
	setDefault(&o.CheckpointEvery, 4096)
	setDefault(&o.CheckpointAfter, time.Minute)
	if o.open == nil {
		o.open = openFile
	}
	if o.syncDir == nil {
		o.syncDir = syncDir
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if n := len(o.SigningKey); n != 0 && n != ed25519.PrivateKeySize {
		return o, errors.New("the signing key is not an Ed25519 key")
	}
	if o.MaxEvent > maxMaxEvent {
		return o, fmt.Errorf("events of %d bytes: the limit for a line is %d", o.MaxEvent, maxMaxEvent)
	}
	if o.Policy > None || o.Reasoning > Off || o.Answer > Off {
		return o, errors.New("unknown policy or level")
	}
	if o.IDs > Off || o.IDs == Redacted {
		return o, errors.New("identifiers are recorded at level full, digest or off")
	}
	if len(o.DigestKey) == 0 {
		o.DigestKey = make([]byte, 32)
		rand.Read(o.DigestKey)
	}
	return o, nil
}

func setDefault[T int | int64 | uint64 | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}
