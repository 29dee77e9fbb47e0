package console

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/sotto-llm/sotto/internal/serving"
)

// endWait is how long a page may still take once the console is to end.
const endWait = 2 * time.Second

// Serve serves the console on a listener until ctx ends, and closes it.
func (c *Console) Serve(ctx context.Context, l net.Listener) error {
	server := serving.NewServer(serving.Bodies(c))
	server.ErrorLog = serving.ServerLog(c.config.Log)
	ended := make(chan error, 1)
	var bounded net.Listener = serving.Bound(l, serving.Bounds{})
	if c.config.TLS != nil {
		bounded = tls.NewListener(bounded, c.config.TLS)
	}
	go func() { ended <- server.Serve(bounded) }()
	defer c.Close()
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
