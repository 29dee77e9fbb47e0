//go:build unix

package systemd

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// listener makes a listener of a descriptor, and closes it for programs that this
// process starts.
func listener(fd int, name string) (net.Listener, error) {
	syscall.CloseOnExec(fd)
	if listens, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_ACCEPTCONN); err != nil {
		return nil, os.NewSyscallError("getsockopt", err)
	} else if listens == 0 {
		return nil, errors.New("it does not listen for connections: want ListenStream= and Accept=no")
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close() // the listener has a descriptor of its own
	l, err := net.FileListener(f)
	if err != nil {
		return nil, err
	}
	if _, ok := l.(*net.TCPListener); !ok {
		l.Close()
		return nil, errors.New("it is not a TCP socket")
	}
	return l, nil
}
