//go:build !unix

package engine

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

func interrupt(p *os.Process) error { return p.Kill() }

func killGroup(*os.Process) {}
