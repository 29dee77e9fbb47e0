package mcptools

import (
	"os"
	"os/exec"
	"sync"
	"time"
)

// The environment of a process: variables that programs need to start. Everything else
// is given by name.
var inherited = []string{"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"}

const (
	writeTime = 10 * time.Second // of a message that the process must take
	leaveTime = 2 * time.Second  // to end after its streams were closed
	killTime  = 1 * time.Second  // to end after it was asked to
)

// A process is a server that was started here. It reads and writes messages.
type process struct {
	cmd     *exec.Cmd
	in, out *os.File // its input, which is written here, and its output
	once    sync.Once
	ended   chan struct{}
}

// start starts a process, in a group of its own.
func start(command []string, dir string, env map[string]string, stderr *tail) (*process, error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	defer theirOut.Close()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, environment(env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirIn, theirOut, stderr
	cmd.WaitDelay = killTime // a process below it may hold standard error
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	p := &process{cmd: cmd, in: in, out: out, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		killGroup(cmd, true) // what it started ends with it
		close(p.ended)
		p.in.Close()
		p.out.Close()
	}()
	return p, nil
}

func environment(own map[string]string) []string {
	var list []string
	for _, name := range inherited {
		if v, ok := os.LookupEnv(name); ok {
			list = append(list, name+"="+v)
		}
	}
	for name, v := range own {
		list = append(list, name+"="+v)
	}
	return list
}

// Read reads from the process.
func (p *process) Read(b []byte) (int, error) { return p.out.Read(b) }

// Write writes a message. A process that does not take it in time gets no more.
func (p *process) Write(b []byte) (int, error) {
	if err := p.in.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return 0, err
	}
	return p.in.Write(b)
}

// Close ends the process.
func (p *process) Close() error {
	p.end()
	return nil
}

// over reports whether the process has ended; nil never has.
func (p *process) over() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// end ends the process and those that it started: it closes its streams, then asks,
// then kills.
func (p *process) end() {
	if p == nil {
		return
	}
	p.once.Do(func() {
		p.in.Close()
		p.out.Close()
		if p.gone(leaveTime) {
			return
		}
		killGroup(p.cmd, false)
		if p.gone(killTime) {
			return
		}
		killGroup(p.cmd, true)
		p.gone(killTime)
	})
}

func (p *process) gone(within time.Duration) bool {
	select {
	case <-p.ended:
		return true
	case <-time.After(within):
		return false
	}
}

// A tail keeps the end of what a process writes.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const maxTail = 1 << 10

// Write keeps the end of the text.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[max(0, len(p)-maxTail):]...)
	t.text = t.text[max(0, len(t.text)-maxTail):]
	return len(p), nil
}

// String returns what was kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
