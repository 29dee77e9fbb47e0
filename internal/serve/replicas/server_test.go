package replicas

import (
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A server is a redis-server of this test.
type server struct {
	t       *testing.T
	dir     string
	port    int
	begin   []string // of the command
	options []string
	process *exec.Cmd
}

func startServer(t *testing.T) *server {
	t.Helper()
	s := newServer(t)
	s.start()
	return s
}

// newServer is a server that is not started.
func newServer(t *testing.T) *server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	if port > 55_000 { // a cluster's own port is 10,000 higher
		return newServer(t)
	}
	s := &server{t: t, dir: t.TempDir(), port: port}
	t.Cleanup(s.kill)
	return s
}

func (s *server) address() string { return fmt.Sprintf("redis://127.0.0.1:%d/0", s.port) }

func (s *server) start() {
	s.t.Helper()
	options := []string{"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir, "--save", ""}
	s.process = exec.Command("redis-server", slices.Concat(s.begin, options, s.options)...)
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	for range 500 {
		if c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port)); err == nil {
			c.Close()
			if c.LocalAddr().String() != c.RemoteAddr().String() { // else the kernel has connected it to itself
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.t.Fatal("redis-server does not listen")
}

func (s *server) kill() {
	if s.process != nil {
		_ = s.process.Process.Kill()
		_ = s.process.Wait()
		s.process = nil
	}
}

// command asks the server, and returns its answer as redis-cli prints it.
func (s *server) command(args ...string) string {
	s.t.Helper()
	out, err := exec.Command("redis-cli", append([]string{"-p", strconv.Itoa(s.port)}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("redis-cli %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}
