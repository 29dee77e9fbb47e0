//go:build unix

package handover

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// stepTime bounds each step of the conversation but the end of the process.
const stepTime = 10 * time.Second

// maxPath bounds the path of a Unix socket, which has about 100 bytes in the kernel.
const maxPath = 100

// Asked is the process that was asked for its sockets.
type Asked struct {
	PID     int
	Sockets []Socket

	conn    *net.UnixConn
	control *net.UnixListener // where the next process asks
}

// Ask asks the process of a folder for its sockets. It returns nil if there is no such
// process. The process goes on until [Asked.End].
func Ask(ctx context.Context, folder string) (*Asked, error) {
	path, err := pathIn(folder)
	if err != nil {
		return nil, err
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, nil // none, or one that was killed
	}
	if err != nil {
		return nil, fmt.Errorf("the process that runs: %w", err)
	}
	a := &Asked{conn: conn}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	err = a.receive()
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		a.Close()
		return nil, fmt.Errorf("the process that runs did not pass its sockets: %w", err)
	}
	return a, nil
}

// receive receives the sockets.
func (a *Asked) receive() error {
	// The process that is asked may itself still wait for the one before it.
	data, oob := make([]byte, maxMessage), make([]byte, syscall.CmsgSpace(4*maxSockets))
	n, oobn, _, _, err := a.conn.ReadMsgUnix(data, oob)
	if err != nil {
		return err
	}
	fds, err := rights(oob[:oobn])
	defer func() {
		for _, fd := range fds {
			syscall.Close(fd) // each listener has a descriptor of its own
		}
	}()
	if err != nil {
		return err
	}
	var m message
	if err := json.Unmarshal(data[:n], &m); err != nil {
		return err
	}
	if m.V != version || len(m.Sockets) != len(fds) || len(fds) == 0 {
		return fmt.Errorf("version %d with %d names and %d sockets: it is another version of the program", m.V, len(m.Sockets), len(fds))
	}
	a.PID = m.PID
	for i, s := range m.Sockets {
		f := os.NewFile(uintptr(fds[i]), s.Name)
		fds[i] = -1
		l, err := net.FileListener(f)
		f.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		if u, ok := l.(*net.UnixListener); ok {
			a.control = u
			continue
		}
		a.Sockets = append(a.Sockets, Socket{s.Name, s.Address, l})
	}
	if a.control == nil {
		return errors.New("there is none for the next process")
	}
	return nil
}

// rights returns the descriptors that came with a message.
func rights(oob []byte) (fds []int, err error) {
	list, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, os.NewSyscallError("recvmsg", err)
	}
	for _, m := range list {
		more, err := syscall.ParseUnixRights(&m)
		if err != nil {
			return fds, os.NewSyscallError("recvmsg", err)
		}
		fds = append(fds, more...)
	}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
	}
	return fds, nil
}

// End makes the process end, and waits until it has: until it has closed its files, or
// is gone.
func (a *Asked) End(ctx context.Context) error {
	if _, err := io.WriteString(a.conn, "end\n"); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { a.conn.Close() })()
	_, err := a.conn.Read(make([]byte, 1))
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err == nil {
		return errors.New("the process that runs answered out of turn")
	}
	return nil // io.EOF, or the reset of a process that was killed
}

// Close gives up what was received. After End it does no harm.
func (a *Asked) Close() {
	a.conn.Close()
	for _, s := range a.Sockets {
		s.Close()
	}
}

// A Successor is where the next process asks.
type Successor struct {
	control *net.UnixListener
	sockets []Socket

	mu   sync.Mutex
	conn *net.UnixConn // of the process that asks, or took over
}

// Listen begins to wait for the next process. asked is the one before it, or nil; its
// place is taken.
func Listen(folder string, asked *Asked, sockets []Socket) (*Successor, error) {
	s := &Successor{sockets: sockets}
	if asked != nil {
		s.control = asked.control
		s.control.SetUnlinkOnClose(true)
		return s, nil
	}
	path, err := pathIn(folder)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a process that was killed
		return nil, err
	}
	if s.control, err = net.ListenUnix("unix", &net.UnixAddr{Name: path}); err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		s.control.Close()
		return nil, err
	}
	return s, nil
}

// Wait waits until a process has the sockets and asks this one to end. It returns the
// process' number, or an error once the successor is closed. A process that asks and
// gives up again is passed to failed.
func (s *Successor) Wait(failed func(error)) (pid int, err error) {
	for {
		conn, err := s.control.AcceptUnix()
		if err != nil {
			return 0, err
		}
		s.mu.Lock()
		s.conn = conn // Close ends the conversation too
		s.mu.Unlock()
		pid, err := s.pass(conn)
		if err == nil {
			s.control.SetUnlinkOnClose(false)
			return pid, nil
		}
		conn.Close()
		failed(err)
	}
}

// pass passes the sockets, and waits until they are taken.
func (s *Successor) pass(conn *net.UnixConn) (pid int, err error) {
	if pid, err = peer(conn); err != nil {
		return 0, err
	}
	m := message{V: version, PID: os.Getpid()}
	var fds []int
	defer func() {
		for _, fd := range fds {
			syscall.Close(fd)
		}
	}()
	add := func(name, address string, l any) error {
		fd, err := duplicate(l)
		if err == nil {
			fds, m.Sockets = append(fds, fd), append(m.Sockets, listed{name, address})
		}
		return err
	}
	if err := add("takeover", "", s.control); err != nil {
		return 0, err
	}
	for _, one := range s.sockets {
		if err := add(one.Name, one.Address, one.Listener); err != nil {
			return 0, fmt.Errorf("%s: %w", one.Name, err)
		}
	}
	data, err := json.Marshal(m)
	if err != nil {
		return 0, err
	}
	_ = conn.SetDeadline(time.Now().Add(stepTime))
	if _, _, err := conn.WriteMsgUnix(append(data, '\n'), syscall.UnixRights(fds...), nil); err != nil {
		return 0, err
	}
	_ = conn.SetDeadline(time.Time{}) // the next process reads its agents and asks its servers
	line, err := bufio.NewReader(io.LimitReader(conn, maxMessage)).ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("the process %d did not take over: %w", pid, err)
	}
	if line != "end\n" {
		return 0, fmt.Errorf("the process %d said %.20q", pid, line)
	}
	return pid, nil
}

// duplicate duplicates the descriptor of a listener. [net.TCPListener.File] would make
// the socket a blocking one, for both processes.
func duplicate(l any) (fd int, err error) {
	c, ok := l.(syscall.Conn)
	if !ok {
		return 0, errors.New("it has no descriptor")
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	failed := raw.Control(func(own uintptr) {
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		if fd, err = syscall.Dup(int(own)); err == nil {
			syscall.CloseOnExec(fd)
		}
	})
	return fd, errors.Join(failed, err)
}

// Close tells the next process, if there is one, that this one has ended, and removes
// the Unix socket if there is none.
func (s *Successor) Close() error {
	err := s.control.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		s.conn.Close()
	}
	return err
}

// pathIn returns the path of the Unix socket in a folder.
func pathIn(folder string) (string, error) {
	whole, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	path := filepath.Join(whole, fileName)
	if len(path) > maxPath {
		return "", fmt.Errorf("%s: %w", whole, ErrPath)
	}
	return path, nil
}
