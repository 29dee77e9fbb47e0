//go:build !unix

package mcptools

import "os/exec"

func ownGroup(*exec.Cmd) {}

// killGroup ends the process alone: there are no groups here.
func killGroup(cmd *exec.Cmd, _ bool) { _ = cmd.Process.Kill() }
