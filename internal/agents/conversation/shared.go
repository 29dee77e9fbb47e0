package conversation

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/internal/base/sealing"
	"github.com/sotto-llm/sotto/record"
)

var (
	// ErrUnreachable is the error of a level that cannot be asked.
	ErrUnreachable = errors.New("the store that has the conversations cannot be reached")
	// ErrLost is the error of a turn whose conversation somebody else has changed, or
	// whose conversation the level has lost.
	ErrLost = errors.New("the conversation has changed since the turn began")
)

// A Key names something in a [Level]. It is an HMAC.
type Key = [sha256.Size]byte

// A Place is where a conversation is in a [Level].
type Place struct {
	Group Key // of all conversations of one caller
	Key   Key
}

// A Level keeps conversations for several processes. It sees keys and sealed values,
// and no text. A method that cannot ask returns [ErrUnreachable]. Each bounds its own
// time.
type Level interface {
	// Lock takes the lock of a conversation for the time of a lease, or renews it for
	// the same holder. The error is ErrBusy if somebody else has it.
	Lock(at Place, holder string, lease time.Duration) error
	// Unlock gives the lock back.
	Unlock(at Place, holder string)
	// Load returns the values of a conversation from one on, as many as one answer may
	// have. There are none after the last one.
	Load(at Place, first int) ([][]byte, error)
	// Append adds values, all or none. The error is ErrLost if there are others than
	// the holder has seen, or if somebody else has the lock. To append the same again
	// has no effect.
	Append(at Place, holder string, a Addition) error
	// Remove removes a conversation. The error is ErrBusy if somebody has the lock, and
	// ErrNotFound if there is none.
	Remove(at Place) error
	// List returns the conversations of a group.
	List(group Key) ([]Listed, error)
}

// An Addition is what is added to a conversation.
type Addition struct {
	After  int    // the number of values that the holder has seen
	Last   []byte // the last of them
	Values [][]byte
	Name   []byte // of the conversation, sealed
	Limits Limits // Number and Bytes are of one caller
}

// Listed is a conversation in a list.
type Listed struct {
	Key   Key
	Name  []byte // sealed
	Last  time.Time
	Bytes int64
}

const (
	// heartbeat is how often a turn renews its lock, and lease is how long it holds its
	// conversation after the last heartbeat. After that the process that answers it is taken for
	// dead. The lease outlasts four heartbeats that are late. A process that was not dead after
	// all loses its turn only if the conversation had another one meanwhile.
	heartbeat = 500 * time.Millisecond
	lease     = 5 * heartbeat
	// patience is for how long a turn that is answered is tried to be kept.
	patience = 10 * time.Second

	// maxValue bounds a value before it is sealed, and maxLine a line.
	maxValue = 1 << 20
	maxLine  = 6 << 20
	// maxSharedEach bounds a conversation in a level.
	maxSharedEach = 4 << 20
)

// Share keeps the conversations in a level that other processes share, and in no
// folder. They all have the same secret, of 16 bytes or more, from which the keys of
// the names and of the values come. Call it before the store is used.
func (s *Store) Share(l Level, secret []byte) error {
	box, err := sealing.New(secret, "kept conversations")
	if err != nil {
		return err
	}
	s.level = &level{l, box}
	return nil
}

// Largest returns how many bytes a conversation has at most that is read, about.
func (s *Store) Largest() int64 { return s.limits().Each }

// limits are the bounds of a store.
func (s *Store) limits() Limits {
	l := s.Limits.filled()
	if s.level != nil {
		l.Each = min(l.Each, maxSharedEach)
	}
	return l
}

// A level is a [Level] with the keys of this store.
type level struct {
	to  Level
	box *sealing.Box
}

// shared is a conversation in a level.
type shared struct {
	level *level
	place Place
	key   string

	holder string
	count  int      // of the values that were seen
	last   []byte   // the last of them
	link   [32]byte // its digest
	limits Limits
	stop   func()
}

func (l *level) group(caller string) Key { return l.box.Name([]byte("caller\x00" + caller)) }

func (l *level) of(caller, key string) *shared {
	// All keys have the same length, so that no two texts are alike.
	return &shared{level: l, place: Place{l.group(caller), l.box.Name([]byte("conversation\x00" + caller + "\x00" + key))}, key: key}
}

// open locks a conversation and reads it.
func (l *level) open(caller, key string, limits Limits, secrets *record.Secrets) (*File, error) {
	c := l.of(caller, key)
	c.holder, c.limits = rand.Text(), limits
	if err := l.to.Lock(c.place, c.holder, lease); err != nil {
		return nil, err
	}
	c.stop = c.renew()
	f := &File{key: key, lines: c, secrets: secrets}
	data, err := c.load(limits)
	if err == nil {
		err = f.parse(data, 0)
	}
	if err != nil {
		return nil, errors.Join(err, c.close(false))
	}
	return f, nil
}

// renew renews the lock until the returned function is called.
func (c *shared) renew() (stop func()) {
	ended := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		t := time.NewTicker(heartbeat)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				_ = c.level.to.Lock(c.place, c.holder, lease) // if it is lost, so is the turn, unless nobody changes the conversation
			case <-ended:
				return
			}
		}
	})
	return func() { close(ended); done.Wait() }
}

// load reads the lines.
func (c *shared) load(limits Limits) ([]byte, error) {
	var data []byte
	for {
		values, err := c.level.to.Load(c.place, c.count)
		if err != nil || len(values) == 0 {
			return data, err
		}
		for _, v := range values {
			plain, ok := c.level.box.Open(c.name(), v)
			if !ok {
				return nil, fmt.Errorf("value %d of the conversation was not written by a replica with the same secret, or is at the wrong place", c.count+1)
			}
			if data = append(data, plain...); int64(len(data)) > limits.Each+maxLine {
				return nil, errors.New("the conversation in the store is larger than any that is kept")
			}
			c.see(v)
		}
	}
}

// name is the name under which the next value is sealed: the conversation's, and the
// digest of the value before. So the values stand in the order in which they were
// added, with none left out, or they do not open.
func (c *shared) name() []byte {
	return append(c.place.Key[:len(c.place.Key):len(c.place.Key)], c.link[:]...)
}

func (c *shared) see(value []byte) {
	c.count++
	c.last, c.link = value, sha256.Sum256(value)
}

// add seals a line and keeps it. What cannot be kept at once is tried again for a
// while, since the answer is ready.
func (c *shared) add(line []byte, _ int64) error {
	if len(line) > maxLine {
		return fmt.Errorf("%w: a turn has %d bytes: the limit is %d", ErrFull, len(line), maxLine)
	}
	after := *c
	a := Addition{After: c.count, Last: c.last, Name: c.level.box.Seal(c.place.Key[:], []byte(c.key)), Limits: c.limits}
	for len(line) > 0 {
		n := min(len(line), maxValue)
		v := c.level.box.Seal(after.name(), line[:n])
		a.Values = append(a.Values, v)
		after.see(v)
		line = line[n:]
	}
	Point("in write")
	for wait, end := 50*time.Millisecond, time.Now().Add(patience); ; wait = min(2*wait, time.Second) {
		err := c.level.to.Append(c.place, c.holder, a)
		if err == nil {
			c.count, c.last, c.link = after.count, after.last, after.link
			Point("after write")
			return nil
		}
		if !errors.Is(err, ErrUnreachable) || time.Now().Add(wait).After(end) {
			return err
		}
		time.Sleep(wait)
	}
}

func (c *shared) close(bool) error {
	c.stop()
	c.level.to.Unlock(c.place, c.holder) // if this fails, the lease ends
	return nil
}

// list lists the conversations of a caller, the one that changed last first.
func (l *level) list(caller string) ([]Summary, error) {
	group := l.group(caller)
	all, err := l.to.List(group)
	if err != nil {
		return nil, err
	}
	var list []Summary
	for _, one := range all {
		plain, ok := l.box.Open(one.Key[:], one.Name)
		if key := string(plain); ok && isKey(key) && l.of(caller, key).place.Key == one.Key {
			list = append(list, Summary{Key: key, Last: one.Last, Bytes: one.Bytes})
		}
	}
	sortSummaries(list)
	return list, nil
}
