package gateway_test

import (
	"bytes"
	"context"
	"sync"

	"github.com/sotto-llm/sotto/history"
)

// A board is what replicas in one process share. It passes on what one of them learns
// before Change returns.
type board struct {
	mu      sync.Mutex
	values  map[history.Key][]byte
	aliases map[history.Key]history.Key
	fields  map[history.Key][]byte
	seen    []func(history.Key, []byte)
}

func newBoard() *board {
	return &board{values: map[history.Key][]byte{}, aliases: map[history.Key]history.Key{}, fields: map[history.Key][]byte{}}
}

func (b *board) Put(e history.LevelEntry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.values[e.Key] = bytes.Clone(e.Value)
	for _, a := range e.Aliases {
		if was, ok := b.aliases[a]; ok && was != e.Key {
			b.aliases[a] = history.Key{}
		} else {
			b.aliases[a] = e.Key
		}
	}
}

func (b *board) Get(_ history.Key, keys []history.Key) (list [][]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range keys {
		list = append(list, b.values[k])
	}
	return list
}

func (b *board) Resolve(_ history.Key, aliases []history.Key) (list []history.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range aliases {
		list = append(list, b.aliases[a])
	}
	return list
}

func (b *board) Change(field history.Key, change func([]byte) []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fields[field] = change(b.fields[field])
	for _, seen := range b.seen {
		seen(field, b.fields[field])
	}
}

func (b *board) Follow(ctx context.Context, seen func(history.Key, []byte), ready func()) {
	b.mu.Lock()
	b.seen = append(b.seen, seen)
	for field, value := range b.fields {
		seen(field, value)
	}
	b.mu.Unlock()
	ready()
	<-ctx.Done()
}
