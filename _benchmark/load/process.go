package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// A process is a child in one of the roles. It ends when its input does.
type process struct {
	name string
	addr string
	cmd  *exec.Cmd
	in   io.WriteCloser
	end  func(c *exec.Cmd) // ends a process that does not end with its input
	dir  string            // its own, removed at the end
}

// start starts this binary in a role, and waits for the address of its server.
func start(role string, args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return run(role, self, append([]string{"-role", role}, args...)...)
}

func run(name, path string, args ...string) (*process, error) {
	p := &process{name: name, cmd: exec.Command(path, args...)}
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("%s did not start: %w", name, err)
	}
	p.addr = strings.TrimSpace(line)
	return p, nil
}

func (p *process) stop() {
	if p.end != nil {
		p.end(p.cmd)
	} else {
		p.in.Close()
	}
	_ = p.cmd.Wait()
	if p.dir != "" {
		_ = os.RemoveAll(p.dir)
	}
}

// cpu returns the processor time of the process, by the kernel's clock for it.
func (p *process) cpu() time.Duration {
	const scheduled = 2 // CPUCLOCK_SCHED
	var t syscall.Timespec
	clock := int32(^p.cmd.Process.Pid)<<3 | scheduled
	if _, _, e := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&t)), 0); e != 0 {
		panic(e)
	}
	return time.Duration(t.Nano())
}

// memory returns the current and the peak memory of the process, in bytes.
func (p *process) memory() (now, most int) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		kib, _ := strconv.Atoi(f[1])
		switch f[0] {
		case "VmRSS:":
			now = kib << 10
		case "VmHWM:":
			most = kib << 10
		}
	}
	return now, most
}

// manyFiles lets the process open as many files as the system allows.
func manyFiles() error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return err
	}
	l.Cur = l.Max
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l)
}
