package handover

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// peer returns the number of the process at the other end, which must run for the same
// user as this one, or for root.
func peer(c *net.UnixConn) (pid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *syscall.Ucred
	if failed := raw.Control(func(fd uintptr) {
		cred, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); failed != nil {
		return 0, failed
	}
	if err != nil {
		return 0, os.NewSyscallError("getsockopt", err)
	}
	if uid := int(cred.Uid); uid != os.Getuid() && uid != 0 {
		return 0, fmt.Errorf("a process of the user %d asked for the sockets", uid)
	}
	return int(cred.Pid), nil
}
