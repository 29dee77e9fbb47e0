package hostile

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/cli"
)

// asCommand makes a process of these tests the sotto command: to build the program would
// take seconds.
const asCommand = "SOTTO_HOSTILE_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Unsetenv(asCommand)
		os.Exit(cli.Main())
	}
	os.Exit(m.Run())
}

// patience is how long anything here may take before the test calls it a hang.
const patience = 90 * time.Second

// A process is a running sotto serve.
type process struct {
	url  string // of the gateway, without a slash at the end
	a2a  string // of the A2A server, if there is one
	cmd  *exec.Cmd
	log  tail
	done chan error
}

// serve starts the gateway with more arguments and environment variables
// (NAME=VALUE, before the first argument that begins with a hyphen).
func serve(t *testing.T, args ...string) *process {
	t.Helper()
	var env []string
	for len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		env, args = append(env, args[0]), args[1:]
	}
	args = append([]string{"serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--data", t.TempDir()}, args...)
	// The shell bounds the descriptors where $NOFILE is set.
	run := append([]string{"-c", `[ -z "$NOFILE" ] || ulimit -n "$NOFILE"; exec "$0" "$@"`, os.Args[0]}, args...)
	p := &process{cmd: exec.Command("sh", run...), done: make(chan error, 1)}
	p.cmd.Env = append(append(os.Environ(), "SOTTO_TOKEN=", "SOTTO_CONFIG=", asCommand+"=1"), env...)
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	up := make(chan struct{})
	go p.listen(stderr, up)
	t.Cleanup(func() { p.cmd.Process.Kill(); <-p.done })
	select {
	case <-up:
	case <-time.After(patience):
		t.Fatalf("sotto serve did not start:\n%s", p.log.String())
	}
	if p.url == "" {
		t.Fatalf("sotto serve ended:\n%s", p.log.String())
	}
	return p
}

// listen reads the log until the process ends. It closes up when the gateway is
// up, or has ended before.
func (p *process) listen(r io.Reader, up chan struct{}) {
	lines := bufio.NewReader(r)
	started := false
	for {
		line, err := lines.ReadString('\n')
		p.log.add(line)
		var event struct{ Msg, At string }
		if json.Unmarshal([]byte(line), &event) == nil && !started {
			switch event.Msg {
			case "the gateway is up":
				p.url, started = event.At, true
				close(up)
			case "the A2A server is up":
				p.a2a = event.At
			}
		}
		if err != nil {
			break
		}
	}
	err := p.cmd.Wait()
	if !started {
		close(up)
	}
	p.done <- err
	close(p.done)
}

// stop ends the process as an operator would, and returns how it ended.
func (p *process) stop(t *testing.T) error {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-p.done:
		return err
	case <-time.After(patience):
		t.Fatal("sotto serve does not end")
		return nil
	}
}

// alive fails the test if the process does not answer.
func (p *process) alive(t *testing.T) {
	t.Helper()
	resp, err := quick.Get(p.url + "/healthz")
	if err != nil {
		t.Fatalf("the process does not answer: %v\n%s", err, p.log.String())
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("/healthz: %s", resp.Status)
	}
}

var quick = &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}

// measure forgets the peak of the resident memory so far.
func (p *process) measure(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(p.file("clear_refs"), []byte("5"), 0o600); err != nil {
		t.Skipf("this kernel does not reset the peak of a process's memory: %v", err)
	}
}

// peak is the peak of the resident memory since measure, in MiB.
func (p *process) peak(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile(p.file("status"))
	if err != nil {
		t.Fatalf("the process is gone: %v\n%s", err, p.log.String())
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib >> 10
}

// descriptors is how many files and connections the process has open.
func (p *process) descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir(p.file("fd"))
	if err != nil {
		t.Fatalf("the process is gone: %v\n%s", err, p.log.String())
	}
	return len(list)
}

func (p *process) file(name string) string {
	return fmt.Sprintf("/proc/%d/%s", p.cmd.Process.Pid, name)
}

// A tail keeps the end of a log.
type tail struct {
	mu   sync.Mutex
	text string
}

func (l *tail) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text += line
	l.text = l.text[max(0, len(l.text)-8<<10):]
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text
}
