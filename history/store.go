package history

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"strings"
	"sync"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// Said is what a reply said, as its client received it, and what it thought.
type Said struct {
	Visible string
	// ToolCalls are the ids of its calls, in order, or the tools' names if the API
	// has no ids.
	ToolCalls []string
	Thought   string
	// Raw is the content as the upstream sent it, if the reasoning stood in it;
	// else empty.
	Raw string
}

// A Store remembers the reasoning of replies, in memory, so that what a client
// dropped can be put back. It is safe for concurrent use; remembering and
// recalling take constant time, besides reading the conversation once. A nil
// store remembers nothing.
//
// The key of a reply is an HMAC, under a random key of the store, of the caller's
// credential, of the messages before the reply (roles, texts, ids of calls, no
// reasoning) and of what the reply said.
type Store struct {
	secret  [32]byte
	entries int
	bytes   int64
	age     time.Duration

	mu     sync.Mutex
	byKey  map[key]*entry
	ring   entry // its next is the latest used, its prev the next to be dropped
	size   int64 // of all entries
	expiry *time.Timer
}

type key [sha256.Size]byte

type entry struct {
	key          key
	thought, raw string
	used         time.Time
	next, prev   *entry
}

// overhead is about how many bytes an entry takes besides its texts.
const overhead = 256

func (e *entry) size() int64 { return int64(len(e.thought)+len(e.raw)) + overhead }

// NewStore returns a store with at most the given numbers of entries and bytes. An
// entry that was not used for the given age is forgotten. If there are too many, the
// least recently used is dropped first. With a bound of zero or less the store
// remembers nothing.
func NewStore(entries int, bytes int64, age time.Duration) *Store {
	s := &Store{entries: entries, bytes: bytes, age: age, byKey: map[key]*entry{}}
	s.ring.next, s.ring.prev = &s.ring, &s.ring
	_, _ = rand.Read(s.secret[:]) // never fails
	return s
}

// Remember keeps the reasoning of the reply to a caller's request.
func (s *Store) Remember(caller string, q *wire.Request, reply Said) {
	if s == nil || s.entries <= 0 || s.age <= 0 || reply.Thought == "" && reply.Raw == "" {
		return
	}
	before := q.Messages
	if q.Prefill != "" && len(before) > 0 { // the client has both in one message
		before = before[:len(before)-1]
		reply.Visible = q.Prefill + reply.Visible
		if reply.Raw != "" {
			reply.Raw = q.Prefill + reply.Raw
		}
	}
	c := s.chain(caller, q.Model)
	for i := range before {
		c.add(&before[i], c.said(&before[i]))
	}
	e := &entry{
		key:     c.reply(c.bare(reply.Visible), reply.ToolCalls),
		thought: strings.Clone(reply.Thought), raw: strings.Clone(reply.Raw),
	}
	if e.size() > s.bytes {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.byKey[e.key]; old != nil {
		s.remove(old)
	}
	s.byKey[e.key] = e
	s.size += e.size()
	s.use(e)
	for len(s.byKey) > s.entries || s.size > s.bytes {
		s.remove(s.ring.prev)
	}
	s.sweep()
}

// Recall returns what is remembered of message m of a caller's request, which must
// be the assistant's. For several messages use [Store.For], which reads the request
// once.
func (s *Store) Recall(caller string, q *wire.Request, m int) (thought, raw string, ok bool) {
	return s.For(caller, q)(m)
}

// For returns the Recall of one request. It reads the conversation at its first
// use, and is not safe for concurrent use.
func (s *Store) For(caller string, q *wire.Request) func(m int) (thought, raw string, ok bool) {
	var keys []key // of the messages that are the assistant's
	return func(m int) (thought, raw string, ok bool) {
		if m < 0 || m >= len(q.Messages) || q.Messages[m].Role != "assistant" || s.Len() == 0 {
			return "", "", false
		}
		if keys == nil {
			keys = s.keys(caller, q)
		}
		return s.get(keys[m])
	}
}

// Len returns how many replies are remembered.
func (s *Store) Len() int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byKey)
}

func (s *Store) get(k key) (thought, raw string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	e := s.byKey[k]
	if e == nil {
		return "", "", false
	}
	s.unlink(e)
	s.use(e)
	return e.thought, e.raw, true
}

// use moves an entry to the front. The store is locked.
func (s *Store) use(e *entry) {
	e.used = time.Now()
	e.prev, e.next = &s.ring, s.ring.next
	e.prev.next, e.next.prev = e, e
}

func (s *Store) unlink(e *entry) { e.prev.next, e.next.prev = e.next, e.prev }

func (s *Store) remove(e *entry) {
	s.unlink(e)
	delete(s.byKey, e.key)
	s.size -= e.size()
}

// sweep forgets what is too old, and makes sure that the rest will be forgotten in
// time, even if nobody asks again. The store is locked.
func (s *Store) sweep() {
	for e := s.ring.prev; e != &s.ring && time.Since(e.used) >= s.age; e = s.ring.prev {
		s.remove(e)
	}
	if len(s.byKey) == 0 || s.expiry != nil {
		return
	}
	s.expiry = time.AfterFunc(s.age-time.Since(s.ring.prev.used), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.expiry = nil
		s.sweep()
	})
}

// keys returns the keys of a request's messages, as if each were a reply.
func (s *Store) keys(caller string, q *wire.Request) []key {
	keys := make([]key, len(q.Messages))
	c := s.chain(caller, q.Model)
	for i := range q.Messages {
		m := &q.Messages[i]
		said := c.said(m)
		if m.Role == "assistant" {
			keys[i] = c.reply(said, m.CallIDs)
		}
		c.add(m, said)
	}
	return keys
}

// A chain is the digest of a conversation, which grows with each message.
type chain struct {
	mac    hash.Hash
	sum    key
	reader *reader // of the model's texts
	plain  *reader // of tags that Sotto made
}

func (s *Store) chain(caller, model string) *chain {
	c := &chain{mac: hmac.New(sha256.New, s.secret[:])}
	grammar, _ := sotto.ForModel(model)
	c.reader, c.plain = readerOf(grammar), readerOf(sotto.Default())
	c.sum = c.next("caller", caller, nil)
	return c
}

// said is what a message says, without its reasoning.
func (c *chain) said(m *wire.Message) string {
	text := strings.Join(m.Texts, "")
	if m.Role == "assistant" {
		text = c.bare(text)
	}
	return text
}

// add takes a message into the conversation. A message that is only reasoning is
// skipped, since it is missing if a client drops reasoning.
func (c *chain) add(m *wire.Message, said string) {
	if m.Role != "assistant" || said != "" || len(m.CallIDs) > 0 {
		c.sum = c.next(m.Role, said, m.CallIDs)
	}
}

// reply returns the key of a reply to the conversation.
func (c *chain) reply(said string, calls []string) key { return c.next("", said, calls) }

func (c *chain) next(role, text string, ids []string) (sum key) {
	c.mac.Reset()
	c.mac.Write(c.sum[:])
	c.write(role)
	c.write(text)
	for _, id := range ids {
		c.write(id)
	}
	c.mac.Sum(sum[:0])
	return sum
}

// write hashes a string with its length, so that different lists never look alike.
func (c *chain) write(s string) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(s)))
	c.mac.Write(n[:])
	c.mac.Write(jsonedit.BytesOf(s))
}

// bare is a text without reasoning and without white space around it. It is the
// same before and after a client drops the reasoning and trims the text.
func (c *chain) bare(text string) string {
	text, _ = strip(c.reader, text, sotto.StartAuto)
	if strings.HasPrefix(text, tagOpen) {
		text, _ = strip(c.plain, text, sotto.StartOutside)
	}
	return strings.Trim(text, white)
}
