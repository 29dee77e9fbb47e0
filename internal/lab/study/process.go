package study

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// EndVariable is the environment variable that makes sotto end when its standard
// input does. The input of a cell is a pipe from the study, which the system closes
// when the study ends, however that happens.
const EndVariable = "SOTTO_END_WITH_INPUT"

// EndWithInput makes this process end when its standard input does, if
// [EndVariable] asks for that. A run and a stream survive that at any point.
func EndWithInput() {
	if os.Getenv(EndVariable) == "" {
		return
	}
	os.Unsetenv(EndVariable) // it is not for the processes that this one starts
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
}

// An Exit is what the command of a cell left besides its files.
type Exit struct {
	// Err is that of [exec.Cmd.Wait].
	Err error
	// Out is what it wrote to standard output, and Reason the last error that it
	// wrote to standard error.
	Out    []byte
	Reason string
	Took   time.Duration
}

// An Outcome is how a cell ended.
type Outcome struct {
	Status Status // Done, Failed or Bounded
	// Suspended says that the cell can be resumed: its model could not be reached, or
	// something else was in the way for a moment. Wait is how long the first wait is;
	// if zero, that of the study's file.
	Suspended bool
	Wait      time.Duration
	Reason    string
	Measures  map[string]float64
}

const (
	killAfter = 15 * time.Second // after the signal to end
	maxOut    = 4 << 20          // of standard output
	maxLog    = 16 << 20         // of standard error, for each attempt
)

// RunName is the name that the run of a cell has in the record.
func RunName(cell string, s *State) string {
	if s.Generation == 0 {
		return cell
	}
	return cell + "-g" + strconv.Itoa(s.Generation)
}

// RunName is the name that the run of a cell has in the study's records.
func (s *Study) RunName(c *Cell) string { return RunName(c.ID, s.State(c)) }

// Commands gives the cells of the manifest their commands. The record that a cell
// writes to depends on its worker, and is not among the arguments.
func (p *Plans) Commands(dir string) {
	for i := range p.Manifest.Cells {
		c := &p.Manifest.Cells[i]
		c.Command = append([]string{"sotto"}, p.Of[c.ID].Args...)
		if p.Manifest.Kind == Runs {
			c.Command = append(c.Command, "--name="+c.ID)
			continue
		}
		c.Command = append(c.Command, "--output="+StreamFile(dir, c.ID), "--memory="+MemoryFile(dir, c.ID), "--resume")
	}
}

// A process runs the command of a cell.
type process struct {
	program string
	args    []string
	log     string
	seal    func(io.Writer) io.Writer // what writes the log
	folders []string
}

func (r *Runner) process(c *Cell, s *State) *process {
	args := append([]string{}, c.Command[1:]...)
	if r.File.Kind == Runs && s.Generation > 0 {
		args = append(args, "--name="+RunName(c.ID, s))
	}
	args = append(args, "--record="+RecordFolder(r.Dir, r.recordOf(c, s)))
	args = append(args, r.File.recordFlags()...)
	if r.File.Sealed() {
		for _, name := range r.Identity {
			args = append(args, "--identity="+name)
		}
	}
	if r.File.Kind == Runs {
		args = append(args, "--json") // the summary, which has the measures
	} else {
		args = append(args, "--quiet") // the output has them
	}
	return &process{program: r.Program, args: args, log: LogFile(r.Dir, c.ID), seal: r.logWriter, folders: []string{
		filepath.Dir(LogFile(r.Dir, c.ID)), filepath.Dir(StreamFile(r.Dir, c.ID)), filepath.Dir(MemoryFile(r.Dir, c.ID)), RecordsFolder(r.Dir),
	}}
}

func (p *process) run(ctx context.Context) Exit {
	for _, folder := range p.folders {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return Exit{Err: err, Reason: err.Error()}
		}
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return Exit{Err: err, Reason: err.Error()}
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, p.program, p.args...)
	cmd.Env = append(os.Environ(), EndVariable+"=1")
	cmd.Cancel = func() error {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return cmd.Process.Kill() // there is no such signal here
		}
		return nil
	}
	cmd.WaitDelay = killAfter
	out, tail := &bounded{most: maxOut}, &tailWriter{to: &bounded{w: p.seal(log), most: maxLog}}
	cmd.Stdout, cmd.Stderr = out, tail
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return Exit{Err: err, Reason: err.Error()}
	}
	defer stdin.Close()
	if err = cmd.Start(); err == nil {
		err = cmd.Wait()
	}
	e := Exit{Err: err, Out: out.buf.Bytes(), Reason: tail.reason()}
	if err != nil && e.Reason == "" {
		e.Reason = err.Error()
	}
	return e
}

// A bounded writer takes the first bytes, and drops the rest.
type bounded struct {
	w    io.Writer // if nil, buf
	buf  bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.most)
	b.most -= n
	w := b.w
	if w == nil {
		w = &b.buf
	}
	if n > 0 {
		if _, err := w.Write(p[:n]); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// A tailWriter keeps the last bytes of what it passes on.
type tailWriter struct {
	to   io.Writer
	last []byte
}

const tailSize = 8 << 10

func (t *tailWriter) Write(p []byte) (int, error) {
	t.last = append(t.last, p...)
	if over := len(t.last) - tailSize; over > 0 {
		t.last = append(t.last[:0], t.last[over:]...)
	}
	return t.to.Write(p)
}

// reason returns the last error message of a command.
func (t *tailWriter) reason() string {
	const mark = "sotto: error: "
	text := string(t.last)
	i := strings.LastIndex(text, mark)
	if i < 0 {
		return ""
	}
	line, _, _ := strings.Cut(text[i+len(mark):], "\n")
	return line
}
