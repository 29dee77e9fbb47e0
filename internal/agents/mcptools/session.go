package mcptools

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// connected returns a session that works, and starts one if there is none.
func (s *server) connected(ctx context.Context) (*session, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.closed {
		return nil, errors.New("the agent has ended")
	}
	if s.session != nil {
		if !s.session.over() {
			return s.session, nil
		}
		s.closing.Go(s.session.close) // which no call waits for
		s.session = nil
	}
	ctx, stop := context.WithTimeout(ctx, s.Timeout)
	defer stop()
	session, err := s.connect(ctx)
	for _, wait := range s.waits() {
		if err == nil || !pause(ctx, wait) {
			break
		}
		session, err = s.connect(ctx)
	}
	if err != nil {
		return nil, err
	}
	s.session = session
	return session, nil
}

// waits are the times between attempts to start a server again. The first start, with the
// agent, has one attempt: what is wrong then is most likely in the agent's file.
func (s *server) waits() []time.Duration {
	if s.schemas == nil {
		return nil
	}
	return []time.Duration{200 * time.Millisecond, time.Second}
}

// pause waits, and reports whether there is time left.
func pause(ctx context.Context, wait time.Duration) bool {
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}

// close ends the connection for good.
func (s *server) close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.closed = true
	if s.session != nil {
		s.session.close()
		s.session = nil
	}
	s.closing.Wait()
	return nil
}

// A session is one connection.
type session struct {
	*mcp.ClientSession
	traffic *traffic
	process *process // nil for a server that is reached by HTTP
	ended   chan struct{}
	broken  atomic.Bool // a call found it so

	changed map[string]string // why allowed tools are no longer called

	mu       sync.Mutex
	calls    int // so far
	progress map[string]func(string)
	asking   *asking // the call under way, if the server may ask a person
}

// connect starts a session.
func (s *server) connect(ctx context.Context) (*session, error) {
	n := &session{traffic: newTraffic(), ended: make(chan struct{}), progress: map[string]func(string){}}
	var transport mcp.Transport
	if len(s.Command) > 0 {
		var err error
		if n.process, err = start(s.Command, s.Dir, s.Env, &s.stderr); err != nil {
			return nil, fmt.Errorf("the MCP server %s cannot be started: %w", s.Name, err)
		}
		transport = &mcp.IOTransport{Reader: newLines(n.process, n.traffic, s.Limit), Writer: n.process, MaxLineLength: -1}
	} else {
		transport = &mcp.StreamableClientTransport{
			Endpoint: s.URL, HTTPClient: s.client(n.traffic), MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: int(s.Limit),
		}
	}
	options := &mcp.ClientOptions{
		Logger:                      slog.New(slog.DiscardHandler),
		Capabilities:                &mcp.ClientCapabilities{},
		MultiRoundTrip:              &mcp.MultiRoundTripOptions{Disabled: !s.Elicitation},
		ProgressNotificationHandler: n.hear,
	}
	if s.Elicitation {
		options.Capabilities.Elicitation = &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}
		options.ElicitationHandler = n.elicit
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "sotto", Version: "1"}, options)
	var err error
	if n.ClientSession, err = client.Connect(ctx, transport, nil); err != nil {
		n.process.end()
		return nil, fmt.Errorf("the MCP server %s cannot be used: %w%s", s.Name, err, s.complaint())
	}
	go func() {
		defer close(n.ended)
		_ = n.Wait()
	}()
	if err := s.compare(ctx, n); err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

// compare reads the list of tools of a server that was started again.
func (s *server) compare(ctx context.Context, n *session) error {
	if len(s.schemas) == 0 {
		return nil
	}
	found, err := n.list(ctx, s.Allow)
	if err != nil {
		return err
	}
	n.changed = map[string]string{}
	for name, was := range s.schemas {
		if tool := found[name]; tool == nil {
			n.changed[name] = "no longer has this tool"
		} else if is, err := encode(tool.InputSchema); err != nil || string(is) != was {
			n.changed[name] = "has other arguments for this tool than it had when the agent began"
		}
	}
	return nil
}

// over reports whether the session has ended.
func (n *session) over() bool {
	select {
	case <-n.ended:
		return true
	default:
		return n.broken.Load() || n.process.over()
	}
}

// closeTime is how long the end of a session may take.
const closeTime = 10 * time.Second

func (n *session) close() {
	n.process.end() // also ends reads and writes of the session
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = n.Close()
	}()
	select {
	case <-done:
	case <-time.After(closeTime):
	}
}
