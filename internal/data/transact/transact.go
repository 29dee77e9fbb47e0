// Package transact changes values that several processes share: all of a change or nothing of it,
// and only if the values that led to it are still the same. The values stand in a [Level], which
// sees keyed names and sealed values, and no text.
//
// It also shares work. A [Job] is opened and closed by a transaction, with the values that it is
// about. Whoever works on it holds a lease, which lives by a heartbeat. A job without a lease is
// idle: its process has ended, and another one may claim it. A lease only says who should work.
// Which work counts is decided by the transactions.
package transact

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/sotto-llm/sotto/internal/base/sealing"
)

var (
	// ErrUnreachable is the error of a level that cannot be asked.
	ErrUnreachable = errors.New("the store that replicas share cannot be reached")
	// ErrChanged is the error of a commit whose values have changed since they were read.
	ErrChanged = errors.New("others have changed the same meanwhile")
	// ErrFull is the error of a commit for which there is no room.
	ErrFull = errors.New("there is no room for more values")
	// ErrForeign is the error of a value that nobody with the secret has written at its place.
	ErrForeign = errors.New("a value in the store was not written by a replica with the same secret, or is at the wrong place")
)

// A Key is a name in a level. It is an HMAC.
type Key = [sha256.Size]byte

// StampSize is how many bytes at the begin of a value tell it from every other one: its nonce.
const StampSize = 12

// A Place is where the values of an owner are in a level.
type Place struct {
	Group Key // of all owners
	Owner Key
}

// A Table says what a value is.
type Table byte

const (
	Values Table = 'v' // read by name
	Rows   Table = 'i' // read all together
	Jobs   Table = 'j' // of all owners
)

// A Level keeps values for several processes. Each method bounds its own time. One that cannot
// ask returns [ErrUnreachable].
type Level interface {
	// Read returns a value; nil if there is none.
	Read(at Place, t Table, name Key) ([]byte, error)
	// ReadRows returns all rows of an owner.
	ReadRows(at Place) (map[Key][]byte, error)
	// Size returns the number of an owner's rows, and the bytes of its rows and values.
	Size(at Place) (rows int, bytes int64, err error)
	// Commit makes a change. The error is ErrChanged if a check fails, and ErrFull if the
	// owner would have too much. To commit the same again has no effect.
	Commit(at Place, c Change) error
	// Beat renews the leases of a holder, and returns the state of each.
	Beat(group Key, l Lease, jobs []Key) ([]State, error)
	// Idle returns jobs on which nobody has a lease, at most so many, and after what time the next
	// lease ends unless it is renewed; less than zero if there is none.
	Idle(group Key, most int) (jobs map[Key][]byte, next time.Duration, err error)
	// Claim takes the lease of an idle job. It reports false if the job is not idle or is gone.
	Claim(group Key, l Lease, job Key) (bool, error)
	// Release gives leases back.
	Release(group Key, holder string, jobs []Key) error
}

// A Change is what a transaction commits.
type Change struct {
	Checks []Check
	Writes []Write
	Lease  Lease         // of the jobs that it opens
	Keep   time.Duration // how long an owner's values are kept after the last change
	Bytes  int64         // that an owner may have
}

// A Check says how the value with a name has to begin: as it did when it was read. Where it is
// empty, there must be no value.
type Check struct {
	Name  Key
	Stamp []byte
}

// A Write puts a value; nil deletes it.
type Write struct {
	Table Table
	Name  Key
	Value []byte
}

// A Lease says who holds it, and for how long after the last heartbeat.
type Lease struct {
	Holder string
	For    time.Duration
}

// A State is that of a job with a lease.
type State byte

const (
	Held   State = 'h'
	Lost   State = 'l' // somebody else works on it
	Closed State = 'c' // nobody has to work on it any more
)

// Limits bound what a space keeps. Zero means the default.
type Limits struct {
	Bytes int64         // of one owner: 1 GiB
	Keep  time.Duration // after the last change of an owner: 7 days
	Value int           // bytes of a value: 7 MiB
}

// Lease and heartbeat of jobs: as those of conversations.
const (
	heartbeat = 500 * time.Millisecond
	lease     = 5 * heartbeat
	// patience is for how long something is tried while the level cannot be reached.
	patience = 10 * time.Second
	// tries is how often a transaction begins again because others changed the same.
	tries = 100
)

// A Space has the values of one purpose. It is safe for concurrent use.
type Space struct {
	level  Level
	box    *sealing.Box
	group  Key
	lease  Lease
	limits Limits
}

// New returns a space in a level. The processes that share it have one secret, of 16 bytes or more.
func New(l Level, secret []byte, purpose string, limits Limits) (*Space, error) {
	box, err := sealing.New(secret, purpose)
	if err != nil {
		return nil, err
	}
	limits.Bytes, limits.Keep, limits.Value = cmp.Or(limits.Bytes, 1<<30), cmp.Or(limits.Keep, 7*24*time.Hour), cmp.Or(limits.Value, 7<<20)
	return &Space{level: l, box: box, group: box.Name([]byte("group")), lease: Lease{rand.Text(), lease}, limits: limits}, nil
}

// Holder names this process among those that hold leases.
func (s *Space) Holder() string { return s.lease.Holder }

// nameOf has the length of the owner, so that no two pairs are alike.
func (s *Space) nameOf(t Table, owner string, name []byte) Key {
	return s.box.Name(fmt.Appendf(nil, "%c%d:%s%s", t, len(owner), owner, name))
}

func (s *Space) place(owner string) Place {
	return Place{s.group, s.box.Name([]byte("owner\x00" + owner))}
}

// open opens a value of the level.
func (s *Space) open(name Key, sealed []byte) ([]byte, error) {
	value, ok := s.box.Open(name[:], sealed)
	switch {
	case !ok:
		return nil, ErrForeign
	case value == nil: // nil means that there is none
		return []byte{}, nil
	}
	return value, nil
}

// Size returns the number of an owner's rows, and the bytes of its rows and values.
func (s *Space) Size(owner string) (rows int, bytes int64, err error) {
	err = patiently(func() error {
		rows, bytes, err = s.level.Size(s.place(owner))
		return err
	})
	return rows, bytes, err
}

// Row returns a row of an owner; nil if there is none.
func (s *Space) Row(owner string, name []byte) (row []byte, err error) {
	key := s.nameOf(Rows, owner, name)
	sealed, err := s.read(owner, Rows, key)
	if err != nil || sealed == nil {
		return nil, err
	}
	return s.open(key, sealed)
}

// AllRows returns the rows of an owner, in no order.
func (s *Space) AllRows(owner string) (rows [][]byte, err error) {
	var all map[Key][]byte
	err = patiently(func() (err error) {
		all, err = s.level.ReadRows(s.place(owner))
		return err
	})
	for name, sealed := range all {
		row, fault := s.open(name, sealed)
		if err = errors.Join(err, fault); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, err
}

func (s *Space) read(owner string, t Table, name Key) (sealed []byte, err error) {
	err = patiently(func() (err error) {
		sealed, err = s.level.Read(s.place(owner), t, name)
		return err
	})
	return sealed, err
}

// patiently repeats what cannot be reached.
func patiently(do func() error) error {
	for wait, end := 20*time.Millisecond, time.Now().Add(patience); ; wait = min(2*wait, 200*time.Millisecond) {
		err := do()
		if !errors.Is(err, ErrUnreachable) || time.Now().Add(wait).After(end) {
			return err
		}
		time.Sleep(wait)
	}
}
