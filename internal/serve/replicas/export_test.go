package replicas

import "testing"

// For the tests of whole processes.
var (
	StartServer = startServer
)

func (s *server) Address() string               { return s.address() }
func (s *server) Command(args ...string) string { return s.command(args...) }
func (s *server) Kill()                         { s.kill() }
func (s *server) Start()                        { s.start() }
func (s *server) Dir() string                   { return s.dir }
func StartPersistent(t *testing.T) *server {
	t.Helper()
	s := newServer(t)
	s.options = append(s.options, "--appendonly", "yes", "--appendfsync", "always")
	s.start()
	return s
}
