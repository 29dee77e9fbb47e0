package conversation

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

var (
	// ErrNotFound is the error of a response that is not kept, or belongs to another
	// caller or another agent.
	ErrNotFound = errors.New("no such conversation is kept")
	// ErrFull is the error of a conversation that has reached its bound.
	ErrFull = errors.New("the conversation has reached the largest size that is kept")
	// ErrNoRoom is the error of a store that can remove nothing to make room.
	ErrNoRoom = errors.New("the conversations that are in use take all the room that there is")
)

// Limits bound what a store keeps. Zero stands for the default.
type Limits struct {
	Number int           // of conversations: 10,000
	Bytes  int64         // of all conversations: 1 GiB
	Each   int64         // bytes of a conversation at which it takes no further turn: 4 MiB
	Keep   time.Duration // since the last turn: 30 days
}

func (l Limits) filled() Limits {
	l.Number, l.Bytes = cmp.Or(l.Number, 10000), cmp.Or(l.Bytes, 1<<30)
	l.Each, l.Keep = min(cmp.Or(l.Each, 4<<20), maxFile/2), cmp.Or(l.Keep, 30*24*time.Hour)
	return l
}

// A Store keeps the conversations of many callers in a folder, in which each caller
// has its own, or after [Store.Share] in a level. A caller cannot name a conversation of
// another one. It is safe for concurrent use, and several processes can use one folder
// or one level.
type Store struct {
	Folder  string
	Limits  Limits
	Secrets *record.Secrets // must not be in any file

	level   *level // if set, the conversations are there, and in no folder
	mu      sync.Mutex
	scanned time.Time
	number  int   // of conversations, at most
	bytes   int64 // … and their bytes
}

// A Wish says which conversation a request continues: the one with a name, or the one
// that a response ended a turn of. If both are empty, it begins one.
type Wish struct {
	Caller, Agent string
	Name          string
	Response      string
	// Discard says that the turn is not kept.
	Discard bool
}

// A Turn is a turn that is being answered. Only one turn of a conversation is at a
// time.
type Turn struct {
	Number   int
	Run      string // the name of the conversation's run
	Name     string // of the conversation; "" if it has none
	First    bool   // of this run
	Response string // the id of the response; "" if the turn is not kept
	Messages []Message
	Memory   map[string]string
	Entries  []string

	store *Store
	file  *File    // nil if the turn is not kept
	head  *Head    // of a conversation that begins
	known []string // the records in which the run has begun
	begun string   // the one in which it begins with this turn
	whole bool     // Messages are not in the file
}

// Begin begins a turn. The error is [ErrBusy] if the named conversation has a turn that
// is being answered.
//
// A response that is not the last of its conversation, or whose conversation has a turn
// that is being answered, begins a new conversation with the turns up to it.
func (s *Store) Begin(w Wish) (*Turn, error) {
	t, err := s.begin(w)
	if err != nil {
		return nil, err
	}
	if w.Discard {
		t.Close()
		t.file, t.Response = nil, ""
	}
	return t, nil
}

func (s *Store) begin(w Wish) (*Turn, error) {
	switch {
	case w.Response != "":
		return s.after(w)
	case w.Name != "":
		t, err := s.open(w, keyOf(w.Agent, w.Name))
		if err == nil && t.file.Head != nil {
			t.resume()
			return t, s.grown(t)
		}
		return s.beginNew(t, err, w)
	}
	t, err := s.open(w, newKey())
	return s.beginNew(t, err, w)
}

func keyOf(agent, name string) string {
	sum := sha256.Sum256([]byte(agent + "\x00" + name))
	return hex.EncodeToString(sum[:16])
}

func newKey() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// path returns the file of a caller's conversation.
func (s *Store) path(caller, key string) string {
	sum := sha256.Sum256([]byte(caller))
	return filepath.Join(s.Folder, hex.EncodeToString(sum[:16]), key+".jsonl")
}

// open opens the file of a conversation. If the conversation is too old, the file is
// empty.
func (s *Store) open(w Wish, key string) (*Turn, error) {
	if s.level != nil {
		f, err := s.level.open(w.Caller, key, s.limits(), s.Secrets)
		if err != nil {
			return nil, err
		}
		return &Turn{store: s, file: f}, nil
	}
	path := s.path(w.Caller, key)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("the folder of conversations: %w", files.Cause(err))
	}
	f, err := Open(path, s.Secrets)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && f.Head != nil && s.old(info) {
		if err := os.Truncate(path, 0); err != nil {
			return nil, errors.Join(files.Cause(err), f.Close())
		}
		_ = f.parse(nil, 0) // nothing is left
	}
	return &Turn{store: s, file: f}, nil
}

func (s *Store) old(info fs.FileInfo) bool {
	return time.Since(info.ModTime()) > s.limits().Keep
}

// resume continues the conversation of the file.
func (t *Turn) resume() {
	f := t.file
	t.Number, t.Run, t.Name, t.Messages, t.Memory, t.Entries, t.known = f.Turn+1, f.Head.Run, f.Head.Name, f.Messages, f.Memory, f.Entries, f.records
	t.Response = responseID(f.key, t.Run, t.Number)
}

// grown refuses a conversation that has reached its bound.
func (s *Store) grown(t *Turn) error {
	if t.file.size < s.limits().Each {
		return nil
	}
	t.Close()
	return ErrFull
}

// beginNew begins a conversation in an empty file.
func (s *Store) beginNew(t *Turn, err error, w Wish) (*Turn, error) {
	if err != nil {
		return nil, err
	}
	if err := s.room(); err != nil {
		t.Close()
		return nil, err
	}
	t.head = &Head{Version: Version, Agent: w.Agent, Name: w.Name, Run: w.Agent + ":" + strings.ToLower(rand.Text()[:16]), Began: time.Now().UTC()}
	t.Number, t.Run, t.Name, t.First, t.Memory = 1, t.head.Run, w.Name, true, map[string]string{}
	t.Response = responseID(t.file.key, t.Run, 1)
	return t, nil
}

// responseID names the response that ends a turn, by the file, the end of the run's
// name, which differs if a conversation begins again under its old name, and the
// turn.
func responseID(key, run string, turn int) string {
	return fmt.Sprintf("resp_%s%s_%d", key, run[strings.LastIndexByte(run, ':')+1:], turn)
}

// after continues the conversation of a response.
func (s *Store) after(w Wish) (*Turn, error) {
	key, turn, ok := parseResponse(w.Response)
	if !ok {
		return nil, ErrNotFound
	}
	if _, err := s.stat(w.Caller, key); err != nil {
		return nil, err
	}
	t, err := s.open(w, key)
	if err == nil && t.isLast(w, turn) {
		t.resume()
		return t, s.grown(t)
	}
	if err != nil && !errors.Is(err, ErrBusy) {
		return nil, err
	}
	if t != nil {
		t.Close()
	}
	return s.fork(w, key, turn)
}

// isLast reports whether a response ended the last turn of the open conversation.
func (t *Turn) isLast(w Wish, turn int) bool {
	h := t.file.Head
	return h != nil && h.Agent == w.Agent && t.file.Turn == turn && responseID(t.file.key, h.Run, turn) == w.Response
}

// fork begins a conversation with the turns of another one up to a response. It reads
// the other one without its lock, since only its end can change.
func (s *Store) fork(w Wish, key string, turn int) (*Turn, error) {
	data, err := s.data(w.Caller, key)
	if err != nil {
		return nil, err
	}
	var of File
	if err := of.parse(data, turn); err != nil {
		return nil, err
	}
	if of.Head == nil || of.Head.Agent != w.Agent || of.Turn != turn || responseID(key, of.Head.Run, turn) != w.Response {
		return nil, ErrNotFound
	}
	if of.size >= s.limits().Each {
		return nil, ErrFull
	}
	t, err := s.open(w, newKey())
	if t, err = s.beginNew(t, err, w); err != nil {
		return nil, err
	}
	t.Number, t.Messages, t.Memory, t.Entries, t.whole = turn+1, of.Messages, of.Memory, of.Entries, true
	t.Response = responseID(t.file.key, t.Run, t.Number)
	return t, nil
}

// parseResponse reads an id that responseID wrote.
func parseResponse(id string) (key string, turn int, ok bool) {
	id, ok = strings.CutPrefix(id, "resp_")
	name, number, ok2 := strings.Cut(id, "_")
	if !ok || !ok2 || len(name) != 48 || strings.Trim(name[:32], "0123456789abcdef") != "" {
		return "", 0, false
	}
	turn, err := strconv.Atoi(number)
	return name[:32], turn, err == nil && turn > 0
}

// Commit keeps the turn: what the user and the agent said, and the memory as it is
// then.
func (t *Turn) Commit(said []Message, memory map[string]string) error {
	if t.file == nil {
		return nil
	}
	x := Change{Head: t.head, Turn: t.Number, Add: said, Memory: Changed(t.Memory, memory), Record: t.begun}
	if t.whole {
		x.Add, x.Memory = slices.Concat(t.Messages, said), Changed(nil, memory)
	}
	return t.commit(x)
}

// CommitEntries keeps the turn of a conversation that has entries in place of messages. The error
// is [ErrFull] if they would make it larger than any that is kept.
func (t *Turn) CommitEntries(news ...string) error {
	if t.file == nil {
		return nil
	}
	x := Change{Head: t.head, Turn: t.Number, Entries: news}
	if t.whole {
		x.Entries = slices.Concat(t.Entries, news)
	}
	size := t.file.size
	for _, e := range x.Entries {
		size += int64(len(e))
	}
	if size > t.store.limits().Each {
		return ErrFull
	}
	if err := t.commit(x); err != nil {
		return err
	}
	t.head, t.whole = nil, false // the file has them, for a further commit of the turn
	return nil
}

func (t *Turn) commit(x Change) error {
	was := t.file.size
	if err := t.file.Append(x); err != nil {
		return err
	}
	t.store.add(0, t.file.size-was)
	return nil
}

// Begins reports whether the conversation's run begins in a record with this turn. If
// so, the record has to get its start.
func (t *Turn) Begins(record string) bool {
	if slices.Contains(t.known, record) || !t.First && len(t.known) == 0 {
		return false // if no record is named, the conversation is from before that, or without one
	}
	t.begun = record
	return true
}

// Changed returns how a memory changed.
func Changed(was, is map[string]string) map[string]*string {
	out := map[string]*string{}
	for key, v := range is {
		if old, ok := was[key]; !ok || old != v {
			out[key] = &v
		}
	}
	for key := range was {
		if _, ok := is[key]; !ok {
			out[key] = nil
		}
	}
	return out
}

// Close ends the turn. If it was not committed, the conversation is as it was before.
func (t *Turn) Close() error {
	if t.file == nil {
		return nil
	}
	f := t.file
	t.file = nil
	return f.Close()
}

// Prompt is what the agent is asked: what was said, and then the new messages.
func (t *Turn) Prompt(news []Message) []model.Message {
	return Prompt(slices.Concat(t.Messages, news))
}
