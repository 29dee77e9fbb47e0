// Package redisserver runs a redis-server for a test.
package redisserver

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A Server is a redis-server of a test. It is killed when the test ends.
type Server struct {
	t       *testing.T
	Dir     string
	Port    int
	Before  []string // of the command, before its options
	Options []string
	process *exec.Cmd
}

// Run starts a server that keeps nothing on disk. Without the program, the test is skipped.
func Run(t *testing.T) *Server {
	t.Helper()
	s := New(t)
	s.Start()
	return s
}

// New returns a server that is not started.
func New(t *testing.T) *Server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed")
	}
	s := &Server{t: t, Dir: t.TempDir(), Port: freePort(t)}
	t.Cleanup(s.Kill)
	return s
}

// The ports of the servers lie below those that the kernel gives to listeners without a
// port and to clients, also with the 10,000 that a cluster adds for its own port. So no
// other socket of a test takes the port of a server before it starts, or while it is killed.
const firstPort, ports = 10_000, 12_000

func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := firstPort + rand.IntN(ports)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no port is free for redis-server")
	return 0
}

// Address is what clients connect to.
func (s *Server) Address() string { return fmt.Sprintf("redis://127.0.0.1:%d/0", s.Port) }

// Start starts the server, and waits until it listens.
func (s *Server) Start() {
	s.t.Helper()
	options := []string{"--port", strconv.Itoa(s.Port), "--bind", "127.0.0.1", "--dir", s.Dir, "--save", ""}
	s.process = exec.Command("redis-server", slices.Concat(s.Before, options, s.Options)...)
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	for range 500 {
		if c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.Port)); err == nil {
			c.Close()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.t.Fatal("redis-server does not listen")
}

// Kill ends the server at once. Start begins it again.
func (s *Server) Kill() {
	if s.process != nil {
		_ = s.process.Process.Kill()
		_ = s.process.Wait()
		s.process = nil
	}
}

// Command asks the server, and returns its answer as redis-cli prints it.
func (s *Server) Command(args ...string) string {
	s.t.Helper()
	out, err := exec.Command("redis-cli", append([]string{"-p", strconv.Itoa(s.Port)}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("redis-cli %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// RunPersistent starts a server that forgets nothing when it is killed.
func RunPersistent(t *testing.T) *Server {
	t.Helper()
	s := New(t)
	s.Options = append(s.Options, "--appendonly", "yes", "--appendfsync", "always")
	s.Start()
	return s
}
