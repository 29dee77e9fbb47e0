package console

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/internal/net/serving"
)

// endWait is how long a page may still take once the console is to end.
const endWait = 2 * time.Second

// Serve serves the console on a listener until ctx ends, and closes it.
func (c *Console) Serve(ctx context.Context, l net.Listener) error {
	server := serving.NewServer(c.config.Certificate.Handler(serving.Bodies(c)))
	server.ErrorLog = serving.ServerLog(c.config.Log)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(c.config.Certificate.Listener(serving.Bound(l, serving.Bounds{}))) }()
	defer c.Close()
	if c.config.Peers != nil {
		looking, stop := context.WithCancel(ctx)
		var looks sync.WaitGroup
		looks.Go(func() { c.config.Peers.Run(looking) })
		defer func() { stop(); looks.Wait() }()
	}
	select {
	case err := <-ended:
		return fmt.Errorf("the console: %w", err)
	case <-ctx.Done():
	}
	c.Close() // ends the streams of live pages
	last, cancel := context.WithTimeout(context.Background(), endWait)
	defer cancel()
	if err := server.Shutdown(last); err != nil && !errors.Is(err, net.ErrClosed) {
		return server.Close()
	}
	return nil
}
