// Package objectstest runs a server of the S3 protocol for tests.
package objectstest

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/testing/freeport"
)

// The credentials of a server's owner.
const (
	Access = "sotto-test"
	Secret = "a secret of the test"
	Region = "us-east-1"
)

// A Server is a versitygw that keeps its objects in a folder.
type Server struct {
	URL string // such as http://127.0.0.1:4711
	Dir string // each folder in it is a bucket, each file an object

	t       testing.TB
	address string
	log     bytes.Buffer
	process *exec.Cmd
}

// Program returns the path of versitygw, or "" if it is not installed.
func Program() string {
	if path, err := exec.LookPath("versitygw"); err == nil {
		return path
	}
	out, err := exec.Command("go", "env", "GOBIN", "GOPATH").Output()
	if err != nil {
		return ""
	}
	bin, root, _ := bytes.Cut(out, []byte("\n"))
	for _, path := range []string{filepath.Join(string(bin), "versitygw"), filepath.Join(string(bytes.TrimSpace(root)), "bin", "versitygw")} {
		if _, err := os.Stat(path); err == nil && filepath.IsAbs(path) {
			return path
		}
	}
	return ""
}

// Start starts a server with a bucket. Where there is no versitygw, a test is skipped,
// and fails if the tests are to be run in full.
func Start(t testing.TB, bucket string) *Server {
	t.Helper()
	if Program() == "" {
		why := "versitygw is not installed: go install github.com/versity/versitygw/cmd/versitygw@v1.8.0"
		if !effort.Brief() {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	s := &Server{t: t, Dir: filepath.Join(t.TempDir(), "objects"), address: freeport.Find(t)}
	s.URL = "http://" + s.address
	if err := os.MkdirAll(filepath.Join(s.Dir, bucket), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	s.Start()
	return s
}

// Start starts the server again, at the same address and with the same objects.
func (s *Server) Start() {
	s.t.Helper()
	s.process = exec.Command(Program(), "--port", s.address, "--access", Access, "--secret", Secret, "--region", Region, "--quiet",
		"posix", "--sidecar", s.sidecar(), s.Dir)
	s.log.Reset()
	s.process.Stdout, s.process.Stderr = &s.log, &s.log
	if err := os.MkdirAll(s.sidecar(), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	for range 1000 {
		if c, err := net.Dial("tcp", s.address); err == nil {
			c.Close()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.Kill()
	s.t.Fatalf("versitygw does not listen: %s", s.log.String())
}

// sidecar is the folder of the metadata: a folder for tests may have no extended
// attributes.
func (s *Server) sidecar() string { return filepath.Join(filepath.Dir(s.Dir), "metadata") }

// Kill ends the server at once.
func (s *Server) Kill() {
	if s.process != nil {
		_ = s.process.Process.Kill()
		_ = s.process.Wait()
		s.process = nil
	}
}

// Environ is the environment of a program that uses the server.
func (s *Server) Environ() []string {
	return []string{
		"AWS_ENDPOINT_URL_S3=" + s.URL, "AWS_REGION=" + Region, "AWS_ACCESS_KEY_ID=" + Access, "AWS_SECRET_ACCESS_KEY=" + Secret,
		"AWS_SESSION_TOKEN=", "AWS_PROFILE=", "AWS_EC2_METADATA_DISABLED=true",
	}
}

// Getenv looks up [Server.Environ].
func (s *Server) Getenv(name string) string {
	for _, v := range s.Environ() {
		if k, value, _ := bytes.Cut([]byte(v), []byte("=")); string(k) == name {
			return string(value)
		}
	}
	return ""
}

// Setenv gives this process the environment.
func (s *Server) Setenv() {
	for _, v := range s.Environ() {
		k, value, _ := bytes.Cut([]byte(v), []byte("="))
		s.t.Setenv(string(k), string(value))
	}
}

// Path is the file of an object.
func (s *Server) Path(bucket, name string) string {
	return filepath.Join(s.Dir, bucket, filepath.FromSlash(name))
}
