package traffic

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
type Process struct {
	Name string
	Addr string // of its server
	Cmd  *exec.Cmd
	End  func(c *exec.Cmd) // ends a process that does not end with its input
	Dir  string            // its own, removed at the end
	in   io.WriteCloser
	out  *bufio.Reader
}

// Start starts this binary in a role, and waits for the address of its server.
func Start(role string, args ...string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return Run(role, self, append([]string{"-role", role}, args...)...)
}

// Run starts a program, and waits for the address of its server: the first line that it prints.
func Run(name, path string, args ...string) (*Process, error) {
	p := &Process{Name: name, Cmd: exec.Command(path, args...)}
	p.Cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.Cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.Cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.Cmd.Start(); err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.Stop()
		return nil, fmt.Errorf("%s did not start: %w", name, err)
	}
	p.Addr = strings.TrimSpace(line)
	return p, nil
}

// Settle has the process give back its garbage, so that what it holds before a turn is not an
// accident of what came before. Only a program that answers each line of its input can do so.
func (p *Process) Settle() error {
	if _, err := io.WriteString(p.in, "\n"); err != nil {
		return fmt.Errorf("settling %s: %w", p.Name, err)
	}
	if _, err := p.out.ReadString('\n'); err != nil {
		return fmt.Errorf("settling %s: %w", p.Name, err)
	}
	return nil
}

// Line returns the next line that the process prints.
func (p *Process) Line() (string, error) {
	line, err := p.out.ReadString('\n')
	return strings.TrimSpace(line), err
}

// Stop ends the process and waits for that.
func (p *Process) Stop() {
	if p.End != nil {
		p.End(p.Cmd)
	} else {
		p.in.Close()
	}
	_ = p.Cmd.Wait()
	if p.Dir != "" {
		_ = os.RemoveAll(p.Dir)
	}
}

// CPU returns the processor time of the process, by the kernel's clock for it.
func (p *Process) CPU() time.Duration {
	const scheduled = 2 // CPUCLOCK_SCHED
	var t syscall.Timespec
	clock := int32(^p.Cmd.Process.Pid)<<3 | scheduled
	if _, _, e := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&t)), 0); e != 0 {
		panic(e)
	}
	return time.Duration(t.Nano())
}

// Memory returns the current and the peak memory of the process, in bytes.
func (p *Process) Memory() (now, most int) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid))
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

// ManyFiles lets the process open as many files as the system allows.
func ManyFiles() error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return err
	}
	l.Cur = l.Max
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l)
}
