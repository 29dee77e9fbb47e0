package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/history"
)

// Shared is what the replicas of a gateway share: reasoning to be restored, and what
// they learned of how replies begin. It sees keys and sealed values, and no text. Its
// methods bound their own time. If it cannot be reached, it keeps nothing and finds
// nothing, and the gateway continues alone.
type Shared interface {
	history.Level
	// Change replaces the value of a field by what change makes of it, which is nil if
	// there is none. Nobody else's change is lost. It may call change several times.
	Change(field history.Key, change func(old []byte) []byte)
	// Follow calls seen with the fields that there are, then calls ready once, and then
	// calls seen with each that somebody changes, until the context ends.
	Follow(ctx context.Context, seen func(field history.Key, value []byte), ready func())
}

// startWait is how long a gateway waits at its start for what its replicas have
// learned.
const startWait = 2 * time.Second

// share connects the engine with its replicas. It returns when it knows what they have
// learned, or cannot find out.
func (e *engine) share() error {
	c := &e.config
	if c.Shared == nil {
		return nil
	}
	if err := e.store.Share(c.Shared, c.SharedSecret); err != nil {
		return err
	}
	if err := e.makers.Share(c.Shared, c.SharedSecret); err != nil {
		return err
	}
	if err := e.owners.Share(c.Shared, c.SharedSecret); err != nil {
		return err
	}
	hear, err := e.learned.Share(c.Shared, c.SharedSecret)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	ready := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		c.Shared.Follow(ctx, hear, func() { close(ready) })
	})
	e.unshare = func() { stop(); done.Wait() }
	select {
	case <-ready:
	case <-time.After(startWait):
	}
	return nil
}
