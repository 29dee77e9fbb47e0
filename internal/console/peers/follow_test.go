package peers_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/console/peers"
)

// TestFollow: while somebody follows the lists of all, a console knows within two seconds that
// the record of another one has grown; otherwise it looks each five seconds.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		directory := &consoletest.Directory{}
		var heads [2]atomic.Uint64
		var all [2]*peers.Peers
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		for i := range all {
			var err error
			all[i], err = peers.New(peers.Options{
				Directory: directory, Secret: []byte("a secret that gateways have in common"), Record: []string{"a", "b"}[i], Now: time.Now,
				Address: func() string { return "127.0.0.1:1" }, Certificate: func() []byte { return nil }, Head: heads[i].Load,
			})
			if err != nil {
				t.Fatal(err)
			}
			go all[i].Run(ctx)
		}
		known := func() (n time.Duration) {
			mark := all[0].Mark()
			heads[1].Add(1)
			for n = 0; all[0].Mark() == mark; n += 100 * time.Millisecond {
				time.Sleep(100 * time.Millisecond)
			}
			return n
		}
		time.Sleep(11 * time.Second)
		slow := known()
		done := all[0].Follow()
		time.Sleep(time.Second)
		if fast := known(); fast > 2*time.Second+200*time.Millisecond || slow > 7*time.Second {
			t.Errorf("known after %v, and after %v while nobody follows", fast, slow)
		}
		done()
		time.Sleep(20 * time.Second)
		if mark := all[0].Mark(); func() bool { time.Sleep(time.Minute); return all[0].Mark() != mark }() {
			t.Error("the mark changes although no record has grown")
		}
	})
}
