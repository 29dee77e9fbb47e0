package databackup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/net/serving"
)

// A file of bbolt can only be read by the process that writes it. So a server gives
// copies of its task files to backups, on a socket in the data folder: in a folder that
// only its owner can enter, because a copy holds the tasks of all callers.

// errNoServer is the error of a file for which no server gives copies.
var errNoServer = fmt.Errorf("no server gives copies of the file: %w", fs.ErrNotExist)

const (
	// stall is how long a copy may make no progress: it keeps the file from shrinking.
	stall = time.Minute
	// maxAddress is the longest path of a socket that every system takes.
	maxAddress = 100
)

// Serve gives copies of files in a data folder, by their names, until stop is called. A
// file must be open for writing in this process, which then owns the socket too.
func Serve(dir string, copies map[string]func(io.Writer) error) (stop func(), err error) {
	folder := filepath.Join(dir, socketsFolder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, files.Cause(err)
	}
	if err := os.Chmod(folder, 0o700); err != nil { // it may have been there
		return nil, files.Cause(err)
	}
	var stops []func()
	stop = func() {
		for _, f := range stops {
			f()
		}
	}
	for name, copyTo := range copies {
		one, err := serveOne(dir, name, copyTo)
		if err != nil {
			stop()
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		stops = append(stops, one)
	}
	return stop, nil
}

func serveOne(dir, name string, copyTo func(io.Writer) error) (stop func(), err error) {
	address, done, err := addressOf(dir, name)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := os.Remove(address); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a process that was killed
		return nil, files.Cause(err)
	}
	l, err := net.Listen("unix", address)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // address may stand for another folder by then
	h := &copyHandler{copyTo: copyTo}
	server := serving.NewServer(h)
	server.ErrorLog = log.New(io.Discard, "", 0)
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(l) })
	return func() {
		os.Remove(filepath.Join(dir, socketsFolder, name))
		server.Close()
		running.Wait()
		h.running.Wait()
	}, nil
}

// addressOf returns the path of a socket, and a function to be called after its use. A
// long path is shortened where the system can do that.
func addressOf(dir, name string) (address string, done func(), err error) {
	folder := filepath.Join(dir, socketsFolder)
	if address = filepath.Join(folder, name); len(address) <= maxAddress {
		return address, func() {}, nil
	}
	if runtime.GOOS != "linux" {
		return "", nil, fmt.Errorf("the path of its socket is longer than %d bytes", maxAddress)
	}
	f, err := os.Open(folder)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", f.Fd(), name), func() { f.Close() }, nil
}

// A copyHandler answers each request with a copy, one at a time.
type copyHandler struct {
	copyTo  func(io.Writer) error
	mu      sync.Mutex
	running sync.WaitGroup
}

func (h *copyHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.running.Add(1)
	defer h.running.Done()
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.copyTo(&moving{w, http.NewResponseController(w)}); err != nil {
		panic(http.ErrAbortHandler) // the client sees that the copy is not whole
	}
}

// A moving writer fails if the client takes nothing for a while.
type moving struct {
	w http.ResponseWriter
	c *http.ResponseController
}

func (m *moving) Write(p []byte) (int, error) {
	if err := m.c.SetWriteDeadline(time.Now().Add(stall)); err != nil {
		return 0, err
	}
	return m.w.Write(p)
}

// fetch writes a copy that a server gives of a file in a data folder. The error is
// errNoServer if none does.
func fetch(ctx context.Context, dir, name string, to io.Writer) error {
	address, done, err := addressOf(dir, name)
	if err != nil {
		return errNoServer
	}
	defer done()
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", address)
	}}
	defer t.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://copies/", nil)
	if err != nil {
		return err
	}
	resp, err := t.RoundTrip(req)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return errNoServer
	}
	if err != nil {
		return fmt.Errorf("the server that has the file open: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the server that has the file open answered %s", resp.Status)
	}
	if _, err := io.Copy(to, resp.Body); err != nil {
		return fmt.Errorf("the copy of the server that has the file open is not whole: %w", err)
	}
	return nil
}
