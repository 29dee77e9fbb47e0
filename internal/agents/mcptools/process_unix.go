//go:build unix

package mcptools

import (
	"os/exec"
	"syscall"
)

// ownGroup puts a process into a group of its own, with all that it starts.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup asks the processes of the group to end, or kills them.
func killGroup(cmd *exec.Cmd, kill bool) {
	signal := syscall.SIGTERM
	if kill {
		signal = syscall.SIGKILL
	}
	_ = syscall.Kill(-cmd.Process.Pid, signal)
}
