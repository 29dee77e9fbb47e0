package history

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// Said is what a reply said, as its client received it, and what it thought.
type Said struct {
	Visible string
	// ToolCalls are the ids of its calls, in order, or the tools' names if the API
	// has no ids.
	ToolCalls []string
	// Names says that there is a name among them. Names are the same in other
	// conversations.
	Names bool
	// Called are the names of the tools, one for each of ToolCalls.
	Called []string
	// Arguments are those of the calls, one for each of ToolCalls. They are nil if they are not known.
	Arguments []string `json:",omitempty"`
	Remembered
}

// Remembered is what a store keeps of a reply.
type Remembered struct {
	Thought string
	// Raw is the content as the upstream sent it, if the reasoning stood in it;
	// else empty.
	Raw string
	// Signatures are what the provider signed calls with, by their index in the
	// reply's ToolCalls.
	Signatures map[int]string
	// Sealed are the items with encrypted reasoning that came before everything else
	// that the reply said, as the provider sent them.
	Sealed []string
	// Blocks are those of the reply as they go back to the provider, as JSON, for an API whose
	// messages are lists of blocks ([wire.BlockCodec]). One that only the client has is empty.
	Blocks []string `json:",omitempty"`
	// Listed is the list in which the provider has signed or encrypted the reasoning, as JSON, for an API
	// with such a list ([wire.ListCodec]).
	Listed string `json:",omitempty"`
	// Calls are those of the reply, in order. They are nil if their arguments are not known.
	Calls []Call `json:",omitempty"`
	said  int    // how many bytes the reply said, without white space
}

func (r *Remembered) isEmpty() bool {
	return r.Thought == "" && r.Raw == "" && len(r.Signatures) == 0 && len(r.Sealed) == 0 && len(r.Blocks) == 0 && r.Listed == "" && len(r.Calls) == 0
}

func (r *Remembered) size() int64 {
	n := len(r.Thought) + len(r.Raw) + len(r.Listed)
	for _, s := range r.Signatures {
		n += len(s) + signatureOverhead
	}
	for _, list := range [][]string{r.Sealed, r.Blocks} {
		for _, s := range list {
			n += len(s) + signatureOverhead
		}
	}
	for i := range r.Calls {
		n += len(r.Calls[i].ID) + callOverhead
	}
	return int64(n)
}

func (r *Remembered) clone() Remembered {
	c := Remembered{Thought: strings.Clone(r.Thought), Raw: strings.Clone(r.Raw), Listed: strings.Clone(r.Listed)}
	for _, s := range r.Sealed {
		c.Sealed = append(c.Sealed, strings.Clone(s))
	}
	for _, s := range r.Blocks {
		c.Blocks = append(c.Blocks, strings.Clone(s))
	}
	for _, call := range r.Calls {
		c.Calls = append(c.Calls, Call{strings.Clone(call.ID), call.Said})
	}
	if len(r.Signatures) > 0 {
		c.Signatures = maps.Clone(r.Signatures)
		for i, s := range c.Signatures {
			c.Signatures[i] = strings.Clone(s)
		}
	}
	return c
}

// A Store remembers the reasoning of replies, and the ids of their calls, in memory, so that what a client
// dropped can be put back. It is safe for concurrent use; remembering and
// recalling take constant time, besides reading the conversation once. A nil
// store remembers nothing.
//
// A reply has up to five keys. Each is an HMAC, under a random key of the store. The
// first is made of the caller's credential, of the messages before the reply (roles,
// texts, ids of calls, no reasoning) and of what the reply said. The second is made of
// the caller's credential and of the ids of the reply's calls; for a reply that calls
// nothing, of what it said and of the ids of the calls whose results come directly
// before it. It finds the reply in a conversation that the client has changed: a clock in
// the system message, or messages at the beginning that it left out. There is no second
// key if an id does not look random, and none finds anything that two conversations had.
// The third is the first with the names of the called tools in place of ids. It is for
// APIs whose clients may make ids of their own, and finds nothing that two replies have.
// The last two are made of what the user and the tools said before the reply, of the names of
// the called tools, and of the reply's words without white space: those of its answer, or
// those of its thought and its answer, for clients that send a thought back as text.
type Store struct {
	secret  [32]byte
	entries int
	bytes   int64
	age     time.Duration

	mu      sync.Mutex
	byKey   map[key]*entry
	byOther map[key]*entry // entries of byKey, by their other keys
	ring    entry          // its next is the latest used, its prev the next to be dropped
	size    int64          // of all entries
	expiry  *time.Timer

	level *shared // nil if this store shares nothing

	models, tags readers // of the models' texts, and of tags that Sotto made
}

type key [sha256.Size]byte

// The other keys of an entry.
const (
	byIDs = iota
	byNames
	byAnswer
	byWords
	otherKeys // their number
)

type entry struct {
	key    key
	others [otherKeys]key  // zero if the entry is not in byOther
	shared [otherKeys]bool // another reply had the same
	Remembered
	used       time.Time
	next, prev *entry
}

// overhead is about how many bytes an entry takes besides its texts, signatureOverhead a
// signature besides its bytes, and callOverhead a call besides its id.
const (
	overhead          = 768
	signatureOverhead = 64
	callOverhead      = 64
)

func (e *entry) size() int64 { return e.Remembered.size() + overhead }

// NewStore returns a store with at most the given numbers of entries and bytes. An
// entry that was not used for the given age is forgotten. If there are too many, the
// least recently used is dropped first. With a bound of zero or less the store
// remembers nothing.
func NewStore(entries int, bytes int64, age time.Duration) *Store {
	s := &Store{entries: entries, bytes: bytes, age: age, byKey: map[key]*entry{}, byOther: map[key]*entry{}}
	s.ring.next, s.ring.prev = &s.ring, &s.ring
	_, _ = rand.Read(s.secret[:]) // never fails
	return s
}

// Remember keeps the reasoning of the reply to a caller's request, and the ids of its calls.
func (s *Store) Remember(caller string, q *wire.Request, reply Said) {
	reply.Calls = callsOf(&reply)
	if s == nil || s.entries <= 0 || s.age <= 0 || reply.isEmpty() {
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
	c := s.chain(caller, q)
	defer s.end(c)
	for i := range before {
		c.extend(&before[i], c.said(&before[i]))
	}
	said, calls := c.bare(reply.Visible), reply.ToolCalls
	if q.Items { // the client has the text, and each call, in a message of its own
		calls = nil
		if said == "" && len(reply.ToolCalls) > 0 {
			calls = reply.ToolCalls[:1]
		}
	}
	e := &entry{key: c.reply(said, calls), Remembered: reply.Remembered}
	e.others[byNames] = c.named(said, reply.Called)
	bare := squeezed(said)
	e.others[byAnswer] = c.worded(bare, len(reply.ToolCalls), reply.Called)
	if reply.Thought != "" {
		e.others[byWords] = c.worded(squeezed(reply.Thought)+bare, len(reply.ToolCalls), reply.Called)
	}
	if e.size() > s.bytes {
		return
	}
	e.Remembered = reply.clone()
	e.said = len(bare)
	if !reply.Names {
		e.others[byIDs] = s.callsKey(caller, said, reply.ToolCalls, before)
	}
	s.keep(e)
	s.share(caller, e)
}

// keep keeps an entry in memory.
func (s *Store) keep(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.byKey[e.key]; old != nil {
		s.remove(old)
	}
	s.byKey[e.key] = e
	s.index(e)
	s.size += e.size()
	s.use(e)
	for len(s.byKey) > s.entries || s.size > s.bytes {
		s.remove(s.ring.prev)
	}
	s.sweep()
}

// index enters an entry by its other keys. The store is locked.
func (s *Store) index(e *entry) {
	for i, k := range e.others {
		if k == (key{}) {
			continue
		}
		if old := s.byOther[k]; old != nil { // another reply: its first key is another
			e.shared[i], old.others[i] = true, key{}
		}
		s.byOther[k] = e
	}
}

// Recall returns what is remembered of message m of a caller's request, which must
// be the assistant's. For several messages use [Store.For], which reads the request
// once.
func (s *Store) Recall(caller string, q *wire.Request, m int) (Remembered, bool) {
	return s.For(caller, q)(m)
}

// For returns the Recall of one request. It reads the conversation at its first
// use, and is not safe for concurrent use. No two messages of a request get the same
// reply.
func (s *Store) For(caller string, q *wire.Request) func(m int) (Remembered, bool) {
	var r *recall
	return func(m int) (Remembered, bool) {
		if m < 0 || m >= len(q.Messages) || q.Messages[m].Role != "assistant" || s == nil || s.level == nil && s.Len() == 0 {
			return Remembered{}, false
		}
		if r == nil {
			r = s.find(caller, q)
		}
		if _, ok := r.found[m]; !ok && s.level != nil && !r.fetched {
			r.fetched = true
			r.fetch()
		}
		found, ok := r.found[m]
		return found, ok
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

// A recall is what is remembered of one request.
type recall struct {
	store   *Store
	caller  string
	q       *wire.Request
	texts   []string // what the assistant's messages say
	keys    []key
	others  [][otherKeys]key
	found   map[int]Remembered // by message
	taken   map[key]bool       // no two messages get the same reply
	changed []int              // messages whose reply was found by another key
	fetched bool               // the level was asked
}

// find returns what memory has of the messages of a request: first by the
// conversation, and then, for replies that this does not find, by the other keys.
func (s *Store) find(caller string, q *wire.Request) *recall {
	r := &recall{store: s, caller: caller, q: q, found: map[int]Remembered{}, taken: map[key]bool{}}
	r.texts, r.keys, r.others = s.keys(caller, q)
	r.inMemory()
	r.compare()
	return r
}

// inMemory takes what memory has.
func (r *recall) inMemory() {
	s, q := r.store, r.q
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	take := func(m int, e *entry, changed bool) {
		r.use(m, e, changed)
		s.unlink(e)
		s.use(e)
	}
	for m := range q.Messages {
		if e := s.byKey[r.keys[m]]; e != nil && !r.taken[e.key] && q.Messages[m].Role == "assistant" {
			take(m, e, false)
		}
	}
	for m := range q.Messages {
		for i, k := range r.others[m] {
			_, has := r.found[m]
			if e := s.byOther[k]; e != nil && !has && !r.taken[e.key] && !e.shared[i] {
				take(m, e, true)
			}
		}
	}
}

// use gives an entry to a message. If it was found by another key, the client may have
// changed what the reply said.
func (r *recall) use(m int, e *entry, changed bool) {
	r.taken[e.key] = true
	r.found[m] = e.Remembered
	if changed {
		r.changed = append(r.changed, m)
	}
}

// compare drops the content of the replies whose texts the client changed. One that has the thought as text
// before what the reply said is not changed.
func (r *recall) compare() {
	if len(r.changed) == 0 {
		return
	}
	c := r.store.chain(r.caller, r.q)
	defer r.store.end(c)
	for _, m := range r.changed {
		found := r.found[m]
		if found.Raw == "" {
			continue
		}
		if said := c.bare(found.Raw); said != r.texts[m] && squeezed(r.texts[m]) != squeezed(found.Thought)+squeezed(said) {
			found.Raw = ""
			r.found[m] = found
		}
	}
	r.changed = nil
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
	for _, k := range e.others {
		if k != (key{}) {
			delete(s.byOther, k)
		}
	}
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

// keys returns what a request's messages of the assistant say, and the keys of all
// messages, as if each were a reply.
func (s *Store) keys(caller string, q *wire.Request) (texts []string, keys []key, others [][otherKeys]key) {
	texts, keys, others = make([]string, len(q.Messages)), make([]key, len(q.Messages)), make([][otherKeys]key, len(q.Messages))
	c := s.chain(caller, q)
	defer s.end(c)
	for i := range q.Messages {
		m := &q.Messages[i]
		said := c.said(m)
		if m.Role == "assistant" {
			texts[i], keys[i] = said, c.reply(said, m.CallIDs)
			others[i][byNames] = c.named(said, m.Called)
			if !q.Items {
				others[i][byAnswer] = c.worded(squeezed(said), len(m.CallIDs), m.Called)
			} else if i == 0 || q.Messages[i-1].Role != "assistant" {
				at, words, called := c.item(q.Messages, i)
				others[at][byAnswer] = c.worded(words, len(called), called)
			}
		}
		c.extend(m, said)
	}
	s.callsKeys(caller, q, texts, others)
	return texts, keys, others
}

// callsKeys makes the second keys of a request's messages. texts are what they say. If
// the items of a reply are messages, its first text has the key, or else its first
// call.
func (s *Store) callsKeys(caller string, q *wire.Request, texts []string, keys [][otherKeys]key) {
	for i := 0; i < len(q.Messages); {
		m := &q.Messages[i]
		at, next, ids := i, i+1, m.CallIDs
		switch {
		case m.Role != "assistant":
			at = -1
		case q.Items:
			at, next, ids = replyItems(q.Messages, i)
		}
		if at >= 0 && !m.Names {
			keys[at][byIDs] = s.callsKey(caller, texts[at], ids, q.Messages[:i])
		}
		i = next
	}
}

// replyItems reads the items of the assistant from item i on. It returns the item that
// stands for the reply, or -1, the index after them, and the ids of their calls.
func replyItems(all []wire.Message, i int) (at, next int, ids []string) {
	at = -1
	for next = i; next < len(all) && all[next].Role == "assistant"; next++ {
		m := &all[next]
		if len(m.Texts) > 0 && (at < 0 || len(all[at].Texts) == 0) || m.Calls && at < 0 {
			at = next
		}
		if m.Calls {
			ids = append(ids, m.CallIDs...)
		}
	}
	return at, next, ids
}

// areRandom reports whether there are ids, and all look as if they were made at
// random. Others (call_0, functions.search:1, names of tools) are the same in other
// conversations.
func areRandom(ids []string) bool {
	return len(ids) > 0 && !slices.ContainsFunc(ids, func(id string) bool { return !isRandom(id) })
}

// isRandom reports whether an id has eight or more letters and digits in a row, with
// digits or capitals among them.
func isRandom(id string) bool {
	run, digits, small, capitals := 0, 0, 0, 0
	for i := range len(id) {
		switch c := id[i]; {
		case '0' <= c && c <= '9':
			run, digits = run+1, digits+1
		case 'a' <= c && c <= 'z':
			run, small = run+1, small+1
		case 'A' <= c && c <= 'Z':
			run, capitals = run+1, capitals+1
		default:
			run, digits, small, capitals = 0, 0, 0, 0
		}
		if run >= 8 && (digits > 0 || small > 0 && capitals > 0) {
			return true
		}
	}
	return false
}

// callsKey returns the second key of a reply that said a text and made calls of these
// ids, after the messages before it. It is zero if there is none.
func (s *Store) callsKey(caller, said string, ids []string, before []wire.Message) key {
	kind, text := "calls", ""
	if len(ids) == 0 && said != "" {
		kind, text, ids = "answers", said, results(before)
	}
	if !areRandom(ids) {
		return key{}
	}
	c := &chain{mac: s.mac()}
	c.sum = c.next("caller of calls", caller, nil)
	return c.next(kind, text, ids)
}

// results returns the ids of the calls whose results come last, the last one first.
func results(all []wire.Message) (ids []string) {
	for _, m := range slices.Backward(all) {
		if !m.Results {
			break
		}
		ids = append(ids, m.CallIDs...)
	}
	return ids
}

// A chain is the digest of a conversation, which grows with each message.
type chain struct {
	mac    hash.Hash
	sum    key
	names  key     // the same with the names of called tools in place of ids
	asked  key     // the digest of what others than the assistant said
	ownIDs bool    // names is needed
	reader *reader // of the model's texts
	plain  *reader // of tags that Sotto made
}

func (s *Store) mac() hash.Hash { return hmac.New(sha256.New, s.secret[:]) }

func (s *Store) chain(caller string, q *wire.Request) *chain {
	c := &chain{mac: s.mac(), ownIDs: q.OwnIDs}
	c.reader, c.plain = s.models.borrowFor(q.Model), s.tags.borrow(sotto.Default())
	c.sum = c.next("caller", caller, nil)
	c.names = c.next("caller, by names", caller, nil)
	c.asked = c.next("caller, by words", caller, nil)
	return c
}

// end gives the readers of a chain back.
func (s *Store) end(c *chain) {
	s.models.give(c.reader)
	s.tags.give(c.plain)
}

// said is what a message says, without its reasoning.
func (c *chain) said(m *wire.Message) string {
	text := strings.Join(m.Texts, "")
	if m.Role == "assistant" {
		text = c.bare(text)
	}
	return text
}

// extend takes a message into the conversation. A message that is only reasoning is
// skipped, since it is missing if a client drops reasoning.
func (c *chain) extend(m *wire.Message, said string) {
	if m.Role == "assistant" && said == "" && len(m.CallIDs) == 0 {
		return
	}
	c.sum = c.next(m.Role, said, m.CallIDs)
	if m.Role != "assistant" {
		c.asked = c.after(&c.asked, m.Role, said, nil)
	}
	if c.ownIDs {
		c.names = c.after(&c.names, m.Role, said, m.Called)
	}
}

// reply returns the key of a reply to the conversation.
func (c *chain) reply(said string, calls []string) key { return c.next("", said, calls) }

// named returns the third key of a reply to the conversation. It is zero if there is
// none.
func (c *chain) named(said string, called []string) key {
	if !c.ownIDs {
		return key{}
	}
	return c.after(&c.names, "", said, called)
}

func (c *chain) next(role, text string, ids []string) key { return c.after(&c.sum, role, text, ids) }

func (c *chain) after(before *key, role, text string, ids []string) (sum key) {
	c.mac.Reset()
	c.mac.Write(before[:])
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
	text, _ = strip(c.reader, text, sotto.BeginAuto)
	if strings.HasPrefix(text, tagOpen) {
		text, _ = strip(c.plain, text, sotto.BeginOutside)
	}
	return strings.Trim(text, white)
}
