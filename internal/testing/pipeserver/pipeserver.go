// Package pipeserver is an HTTP server in this process, for tests of what a client
// does when its server fails. Server and client speak HTTP over pipes, so both share
// the clock of a synctest bubble.
package pipeserver

import (
	"context"
	"net"
	"net/http"
	"sync"
	"syscall"

	"github.com/sotto-llm/sotto/internal/net/serving"
)

// A Server is an HTTP server that can be killed and started again.
type Server struct {
	handler http.Handler
	mu      sync.Mutex
	server  *http.Server // nil while it is down
	accept  *listener
	client  *http.Transport
}

// New returns a running server. In a bubble, Close it in the end.
func New(h http.Handler) *Server {
	s := &Server{handler: h}
	s.client = &http.Transport{DialContext: s.dial}
	s.Start()
	return s
}

// Transport reaches the server, whatever the URL is.
func (s *Server) Transport() *http.Transport { return s.client }

// Start starts the server again after Kill.
func (s *Server) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil {
		s.server, s.accept = serving.NewServer(s.handler), &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
		go s.server.Serve(s.accept)
	}
}

// Kill breaks all connections. Until Start, further ones are refused.
func (s *Server) Kill() {
	s.mu.Lock()
	server := s.server
	s.server = nil
	s.mu.Unlock()
	if server != nil {
		server.Close()
	}
}

// Close kills the server and frees the client's connections.
func (s *Server) Close() {
	s.Kill()
	s.client.CloseIdleConnections()
}

func (s *Server) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	s.mu.Lock()
	up, l := s.server != nil, s.accept
	s.mu.Unlock()
	refused := &net.OpError{Op: "dial", Net: "pipe", Err: syscall.ECONNREFUSED}
	if !up {
		return nil, refused
	}
	server, client := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A listener passes on the server's ends of pipes.
type listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (*listener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }
