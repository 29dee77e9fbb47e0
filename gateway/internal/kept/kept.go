// Package kept keeps the replies and the conversations of an API whose servers keep them, in front of an
// upstream that keeps none. What is kept is what the client sent and what it got. So a turn that
// continues a reply is the turn of a client that sends the whole conversation.
//
// The conversations lie in a [conversation.Store], as those with agents do: each belongs to one caller,
// and is bounded in size, number and age.
package kept

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/wire"
)

// owner is in the place of the agent's name in the conversations of a gateway.
const owner = "responses"

// maxID bounds the id of a conversation, in bytes.
const maxID = 128

// ErrNotFound is the error of what is not kept, or belongs to another caller.
var ErrNotFound = conversation.ErrNotFound

// A Store keeps replies and conversations. It is safe for concurrent use.
type Store struct{ of *conversation.Store }

// New returns a store that keeps its conversations in another.
func New(of *conversation.Store) *Store { return &Store{of} }

// Reading is about the memory that it takes to read a conversation: its lines, and what they mean.
func (s *Store) Reading() int64 { return 2 * s.of.Largest() }

// A Turn is a request that is under way, whose reply may be kept.
type Turn struct {
	ID      string // of the reply; empty if it is not kept
	Earlier []byte // the items of the conversation before the turn, with commas between them

	asked *wire.Turn
	codec wire.KeptCodec
	turn  *conversation.Turn // nil if nothing is kept
	begun *wire.KeptObject   // the reply, if it is under way in the background
}

// Begin begins a turn of a caller. If there is no room for another conversation, or the store cannot be
// reached, why says so, and the turn is not kept: the client is told that its reply is not stored. The error
// is a *wire.TurnError if the turn continues what is not kept, and [conversation.ErrBusy] if another
// turn of the named conversation is under way.
func (s *Store) Begin(caller string, c wire.KeptCodec, t *wire.Turn) (turn *Turn, why, err error) {
	turn = &Turn{asked: t, codec: c}
	if t.Discards && t.Previous == "" && t.Conversation == "" {
		return turn, nil, nil
	}
	if t.Previous != "" {
		switch _, e, err := s.exchange(caller, t.Previous); {
		case err != nil:
			return nil, nil, s.forgotten(t, err)
		case e.Begun:
			return nil, nil, &wire.TurnError{Lane: t.Lane, Detail: "previous_response_id: this reply is still under way: ask for it until it has ended"}
		}
	}
	w := conversation.Wish{Caller: caller, Agent: owner, Response: t.Previous, Name: t.Conversation, Discard: t.Discards}
	if turn.turn, err = s.of.Begin(w); err != nil {
		if t.Previous == "" && t.Conversation == "" {
			return turn, err, nil
		}
		return nil, nil, s.forgotten(t, err)
	}
	if t.Conversation != "" && turn.turn.First {
		turn.Drop()
		return nil, nil, &wire.TurnError{Fault: wire.TurnNoConversation, Detail: shorttext.Escape(t.Conversation, modelname.Most)}
	}
	turn.ID = turn.turn.Response
	entries, err := entriesOf(turn.turn.Entries)
	if err != nil {
		turn.Drop()
		return nil, nil, fmt.Errorf("a kept conversation: %w", err)
	}
	turn.Earlier = joined(c, entries)
	return turn, nil, nil
}

// forgotten returns the error of a turn that continues what is not kept, or not any more. One that is too
// large to be continued is refused like one that is forgotten: its client can send all of it.
func (s *Store) forgotten(t *wire.Turn, err error) error {
	switch {
	case t.Previous != "" && (errors.Is(err, ErrNotFound) || errors.Is(err, conversation.ErrFull)):
		return &wire.TurnError{Fault: wire.TurnForgotten, Lane: t.Lane, Detail: shorttext.Escape(t.Previous, modelname.Most)}
	case errors.Is(err, conversation.ErrBusy):
		return &wire.TurnError{Fault: wire.TurnLocked, Lane: t.Lane}
	}
	return err
}

// Names are the names of the turn's reply. stored says whether it is kept, or will be.
func (t *Turn) Names(stored bool) wire.KeptNames {
	return wire.KeptNames{ID: t.ID, Previous: t.asked.Previous, Conversation: t.asked.Conversation, Stored: stored && t.ID != "", Background: t.asked.Background}
}

// Keep keeps the turn with its reply, and ends it: the client may continue the reply at once.
func (t *Turn) Keep(reply []byte) error {
	if t.turn == nil || t.ID == "" {
		return nil
	}
	e := entry{ID: t.ID, Input: string(t.asked.Items), Reply: string(reply)}
	if t.begun != nil {
		e.Input, t.begun = "", nil // it was kept when the turn began
	}
	err := t.turn.CommitEntries(e.text())
	return errors.Join(err, t.turn.Close())
}

// Begin keeps that the reply is under way, although nobody waits for it, and returns it as it is now.
func (t *Turn) Begin(model string) ([]byte, error) {
	t.begun = &wire.KeptObject{Kind: wire.KeptReplyState, ID: t.ID, Created: time.Now().Unix(), Model: model, State: wire.KeptUnderWay}
	reply := t.codec.Named(nil, t.codec.AppendKept(nil, *t.begun), t.Names(true))
	return reply, t.turn.CommitEntries(entry{ID: t.ID, Input: string(t.asked.Items), Reply: string(reply), Begun: true}.text())
}

// Background reports whether nobody waits for the reply, and whether its events are asked for.
func (t *Turn) Background() (background, streams bool) {
	if t == nil || t.ID == "" {
		return false, false
	}
	return t.asked.Background, t.asked.Streams
}

// Close ends the turn. If it was not kept, the conversation is as it was before. A reply that was under way in the
// background has failed with a text then, or was cancelled.
func (t *Turn) Close(cancelled bool, fault string) {
	if t == nil || t.turn == nil {
		return
	}
	if o := t.begun; o != nil {
		o.State, o.Fault = wire.KeptFailed, fault
		if cancelled {
			o.State = wire.KeptCancelled
		}
		_ = t.Keep(t.codec.Named(nil, t.codec.AppendKept(nil, *o), t.Names(true))) // if it cannot be kept, the store does not work
	}
	_ = t.turn.Close()
}

// Drop ends a turn of which nothing is kept.
func (t *Turn) Drop() { t.Close(false, "") }

// exchange returns the entries of a conversation up to that of a reply, and when the conversation began.
func (s *Store) exchange(caller, id string) (before []entry, of entry, err error) {
	key, ok := conversation.KeyOfResponse(id)
	if !ok {
		return nil, of, ErrNotFound
	}
	f, err := s.of.Get(caller, key)
	if err != nil {
		return nil, of, err
	}
	all, err := entriesOf(f.Entries)
	if err != nil {
		return nil, of, err
	}
	at := -1
	for i, e := range all {
		switch {
		case e.Deleted == id:
			return nil, of, ErrNotFound
		case e.ID == id && at < 0:
			at = i
		case e.ID == id:
			all[at].Reply, all[at].Begun = e.Reply, e.Begun
		}
	}
	if f.Head.Agent != owner || at < 0 {
		return nil, of, ErrNotFound
	}
	return all[:at], all[at], nil
}

// Reply returns a kept reply. One that is under way in a process that has ended has failed.
func (s *Store) Reply(caller string, c wire.KeptCodec, id string) ([]byte, error) {
	_, e, err := s.exchange(caller, id)
	if err != nil || !e.Begun {
		return []byte(e.Reply), err
	}
	key, _ := conversation.KeyOfResponse(id)
	err = s.of.Change(caller, key, func(*conversation.File) (conversation.Change, error) {
		if _, now, err := s.exchange(caller, id); err != nil || !now.Begun {
			e = now
			return conversation.Change{}, errors.Join(err, errEnded)
		}
		e.Reply = string(c.Failed(nil, []byte(e.Reply), "the gateway stopped while this reply was under way: ask again"))
		return conversation.Change{Entries: []string{entry{ID: id, Reply: e.Reply}.text()}}, nil
	})
	if errors.Is(err, conversation.ErrBusy) || errors.Is(err, errEnded) {
		err = nil // it is under way, or has ended meanwhile
	}
	return []byte(e.Reply), err
}

var errEnded = errors.New("the reply has ended")

// Input returns the items with which a reply was asked: those of the conversation before it, and those of
// its turn.
func (s *Store) Input(caller string, c wire.KeptCodec, id string) ([]wire.KeptItem, error) {
	before, e, err := s.exchange(caller, id)
	if err != nil {
		return nil, err
	}
	e.Reply = ""
	return items(c, append(before[:len(before):len(before)], e), "msg_"+id+"_"), nil
}

// Delete deletes a reply. Its texts stay as long as later replies of its conversation need them.
func (s *Store) Delete(caller, id string) error {
	key, ok := conversation.KeyOfResponse(id)
	if !ok {
		return ErrNotFound
	}
	if _, _, err := s.exchange(caller, id); err != nil {
		return err
	}
	empty := false
	err := s.of.Change(caller, key, func(f *conversation.File) (conversation.Change, error) {
		all, err := entriesOf(f.Entries)
		if err != nil {
			return conversation.Change{}, err
		}
		gone := map[string]bool{id: true}
		for _, e := range all {
			gone[e.Deleted] = true
		}
		empty = f.Head.Name == ""
		for _, e := range all {
			of, _ := conversation.KeyOfResponse(e.ID)
			empty = empty && (of != key || gone[e.ID])
		}
		return conversation.Change{Entries: []string{entry{Deleted: id}.text()}}, nil
	})
	if err == nil && empty {
		err = s.of.Remove(caller, key)
	}
	return err
}

// newID returns the id of a conversation.
func newID() string { return "conv_" + strings.ToLower(rand.Text()) }

// A Conversation is one that a client has made.
type Conversation struct {
	ID       string
	Began    time.Time
	Metadata []byte

	entries []entry
}

// Create makes a conversation with items, which have commas between them.
func (s *Store) Create(caller string, metadata, items []byte) (*Conversation, error) {
	id := newID()
	if err := s.add(caller, id, true, entry{Metadata: string(metadata), Input: string(items)}); err != nil {
		return nil, err
	}
	return s.Conversation(caller, id)
}

// add adds an entry to a conversation that is there, or else is not.
func (s *Store) add(caller, id string, begins bool, e entry) error {
	t, err := s.of.Begin(conversation.Wish{Caller: caller, Agent: owner, Name: id})
	if err != nil {
		return err
	}
	defer t.Close()
	if t.First != begins {
		return ErrNotFound
	}
	return t.CommitEntries(e.text())
}

// Conversation returns a conversation.
func (s *Store) Conversation(caller, id string) (*Conversation, error) {
	if id == "" || len(id) > maxID {
		return nil, ErrNotFound
	}
	f, err := s.of.Get(caller, conversation.KeyOfName(owner, id))
	if err != nil {
		return nil, err
	}
	all, err := entriesOf(f.Entries)
	if err != nil || f.Head.Agent != owner {
		return nil, errors.Join(err, ErrNotFound)
	}
	c := &Conversation{ID: id, Began: f.Head.Began, entries: all}
	for _, e := range all {
		if e.Metadata != "" {
			c.Metadata = []byte(e.Metadata)
		}
	}
	return c, nil
}

// Items returns the items of a conversation.
func (c *Conversation) Items(as wire.KeptCodec) []wire.KeptItem {
	return items(as, c.entries, itemPrefix(c.ID))
}

func itemPrefix(id string) string { return "msg_" + strings.TrimPrefix(id, "conv_") + "_" }

// SetMetadata replaces what a client has noted of a conversation.
func (s *Store) SetMetadata(caller, id string, metadata []byte) error {
	return s.add(caller, id, false, entry{Metadata: string(metadata)})
}

// Add adds items to a conversation, and returns them.
func (s *Store) Add(caller string, as wire.KeptCodec, id string, news []byte) ([]wire.KeptItem, error) {
	if err := s.add(caller, id, false, entry{Input: string(news)}); err != nil {
		return nil, err
	}
	c, err := s.Conversation(caller, id)
	if err != nil {
		return nil, err
	}
	all := c.Items(as)
	return all[max(0, len(all)-len(as.KeptItems(news, ""))):], nil
}

// RemoveItem removes an item from a conversation.
func (s *Store) RemoveItem(caller, id, item string) error {
	return s.add(caller, id, false, entry{Removed: item, Prefix: itemPrefix(id)})
}

// RemoveConversation removes a conversation, with the replies in it.
func (s *Store) RemoveConversation(caller, id string) error {
	if _, err := s.Conversation(caller, id); err != nil {
		return err
	}
	return s.of.Remove(caller, conversation.KeyOfName(owner, id))
}

// UnderWay reports whether a reply is under way in the background.
func (s *Store) UnderWay(caller, id string) bool {
	_, e, err := s.exchange(caller, id)
	return err == nil && e.Begun
}
