package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/interop/ollamawire"
)

// EnvBinary names the variable that holds the path of the ollama binary.
const EnvBinary = "SOTTO_OLLAMA"

// ErrAbsent is returned by [Find] and [Start] if no binary is named.
var ErrAbsent = errors.New("no ollama binary: set $" + EnvBinary + " to the path that interop/build-ollama prints")

// Find returns the path of the ollama binary, from $SOTTO_OLLAMA. It returns
// [ErrAbsent] if that is empty, and another error if it is not an executable.
func Find() (string, error) {
	name := os.Getenv(EnvBinary)
	if name == "" {
		return "", ErrAbsent
	}
	path, err := resolve(name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", EnvBinary, err)
	}
	return path, nil
}

// resolve returns the path of a program, for a process in any directory.
func resolve(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// Config says how to start a server. The zero value is the default.
type Config struct {
	// Binary is the ollama binary. If empty, [Find] finds it.
	Binary string
	// Models are created before Start returns. If nil, they are [Models].
	Models []Model
	// Log, if set, gets the server's log. An error of Start always has the end of
	// it.
	Log io.Writer
}

func (c Config) binary() (string, error) {
	if c.Binary == "" {
		return Find()
	}
	return resolve(c.Binary)
}

// A Server is a running Ollama. It is safe for concurrent use.
type Server struct {
	// URL is the base, such as "http://127.0.0.1:40123".
	URL string
	// Version is that of the server.
	Version string

	dir  string
	stop context.CancelFunc
	done chan struct{} // closed when the process has ended
	log  *log
}

// startTime and stopTime are how long a server may take to listen and to end.
const (
	startTime = 30 * time.Second
	stopTime  = 10 * time.Second
)

// Run starts a server for a test and stops it at the test's end. Without models it
// uses [Models]. If no binary is named, the server is Ollama's own code around the
// scripts, in this process.
func Run(tb testing.TB, models ...Model) *Server {
	tb.Helper()
	s, err := Start(tb.Context(), Config{Models: models})
	if errors.Is(err, ErrAbsent) {
		return wired(tb, models)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// wired serves models by package ollamawire.
func wired(tb testing.TB, models []Model) *Server {
	if models == nil {
		models = Models()
	}
	scripted := make([]ollamawire.Model, len(models))
	for i, m := range models {
		scripted[i] = ollamawire.Model{Name: m.Name, Template: m.Template, Parameters: m.Parameters, Say: m.Script.After}
	}
	s := httptest.NewServer(ollamawire.Handler(scripted...))
	tb.Cleanup(s.Close)
	return &Server{URL: s.URL, Version: ollamawire.Version}
}

// Start runs Ollama on a free loopback port, with a home and a model store in a
// temporary directory, and creates the models. It returns when they can be used.
// The server runs until Close is called or ctx is done. You must call Close in
// either case. Start returns [ErrAbsent] if there is no binary. Any later error has
// the end of the server's log.
func Start(ctx context.Context, c Config) (*Server, error) {
	binary, err := c.binary()
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	dir, err := os.MkdirTemp("", "sotto-engine-")
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	s := &Server{dir: dir, done: make(chan struct{}), log: &log{to: c.Log, listening: make(chan string, 1)}}
	if err := s.start(ctx, binary); err != nil {
		return nil, errors.Join(fmt.Errorf("engine: start %s: %w", binary, err), os.RemoveAll(dir))
	}
	if c.Models == nil {
		c.Models = Models()
	}
	if err := s.ready(ctx, c.Models); err != nil {
		err = fmt.Errorf("engine: %w\n%s", err, s.log.end())
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// start runs the process.
func (s *Server) start(ctx context.Context, binary string) error {
	ctx, s.stop = context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, binary, "serve")
	cmd.Dir = s.dir
	cmd.Env = environ(s.dir)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	cmd.WaitDelay = stopTime
	ownGroup(cmd)
	cmd.Cancel = func() error { return interrupt(cmd.Process) }
	if err := cmd.Start(); err != nil {
		s.stop()
		return err
	}
	go func() {
		defer close(s.done)
		_ = cmd.Wait() // the status of a server that is told to end may say so
		killGroup(cmd.Process)
	}()
	return nil
}

// environ takes only the search path from the caller: no proxy, no GPU, no settings
// of another Ollama.
func environ(dir string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + dir,
		"TMPDIR=" + dir,
		"OLLAMA_HOST=127.0.0.1:0",
		"OLLAMA_MODELS=" + filepath.Join(dir, "models"),
		"OLLAMA_KEEP_ALIVE=-1",
		"OLLAMA_MAX_LOADED_MODELS=8",
		"OLLAMA_NUM_PARALLEL=2",
		"CUDA_VISIBLE_DEVICES=-1",
		"ROCR_VISIBLE_DEVICES=-1",
	}
}

// ready waits until the server listens and creates the models.
func (s *Server) ready(ctx context.Context, models []Model) error {
	select {
	case addr := <-s.log.listening:
		s.URL = "http://" + addr
	case <-s.done:
		return errors.New("the server ended at once")
	case <-time.After(startTime):
		return fmt.Errorf("the server does not listen after %v", startTime)
	case <-ctx.Done():
		return ctx.Err()
	}
	var err error
	if s.Version, err = s.version(ctx); err != nil {
		return err
	}
	for _, m := range models {
		if err := s.Create(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) version(ctx context.Context) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/api/version", nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var v struct{ Version string }
	err = json.NewDecoder(res.Body).Decode(&v)
	return v.Version, err
}

// Close ends the server and the engines that it started, and removes its directory.
// You may call it again.
func (s *Server) Close() error {
	s.stop()
	<-s.done
	return os.RemoveAll(s.dir)
}

// A log keeps the end of the server's output. It finds the address of the server's
// listener in it, because the system chose the port.
type log struct {
	to        io.Writer
	listening chan string // gets the address, once

	mu    sync.Mutex
	kept  []byte
	found bool
}

// keep is how many bytes of a log an error shows.
const keep = 8 << 10

var listens = regexp.MustCompile(`Listening on (127\.0\.0\.1:\d+) `)

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, p...)
	if !l.found {
		if m := listens.FindSubmatch(l.kept); m != nil {
			l.found = true
			l.listening <- string(m[1])
		}
	}
	l.kept = l.kept[max(0, len(l.kept)-keep):]
	if l.to != nil {
		return l.to.Write(p)
	}
	return len(p), nil
}

func (l *log) end() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.kept)
}
