//go:build unix

package engine

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup lets the server lead a process group, which its engines join.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// interrupt asks the server to end; it ends its engines first.
func interrupt(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// killGroup kills what a server left running that did not end in time.
func killGroup(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL) // usually there is no such group
}
