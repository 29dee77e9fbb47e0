//go:build unix

package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/testing/race"
)

// TestDocs runs every command of README.md and docs in a shell, and compares what it
// prints with what the document shows: see docCommand. A document is one session in
// a folder of its own, with the files of testdata/docs. Servers run in the background
// on free ports, which stand for those of the document, and every address of a model
// server is a scripted one. -update writes the outputs, and the list of what does not
// run.
func TestDocs(t *testing.T) {
	if race.Enabled {
		t.Skip("the commands run in other processes")
	}
	for _, tool := range []string{"sh", "curl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%v", err)
		}
	}
	var skipped strings.Builder
	ran := 0
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(file, "../../")
		for _, c := range docCommands(string(text)) {
			if c.skip != "" {
				fmt.Fprintf(&skipped, "%s: %s: %s\n", name, c.skip, strings.TrimPrefix(c.String(), "$ "))
			} else if c.file == "" {
				ran++
			}
		}
		t.Run(name, func(t *testing.T) {
			if effort.Brief() && !*update && slices.Contains(longDocs, name) {
				t.Skip("SOTTO_EFFORT=1 runs it")
			}
			faults, updated := newDocSession(t).run(string(text))
			if *update && updated != string(text) {
				if err := os.WriteFile(file, []byte(updated), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			for _, f := range faults {
				t.Errorf("%s:%s", name, f)
			}
		})
	}
	if ran < 30 {
		t.Errorf("found %d commands in the documents", ran)
	}
	const list = "testdata/docs.notrun.txt"
	if *update {
		if err := os.WriteFile(list, []byte(skipped.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(list); err != nil || string(want) != skipped.String() {
		t.Errorf("%s is not the list of the commands that do not run (go test ./internal/cli -run TestDocs -update writes it): %v\n%s", list, err, skipped.String())
	}
}

// A docSession runs the commands of one document.
type docSession struct {
	t       *testing.T
	dir     string
	env     []string
	ports   map[string]string // of the document: the one that stands for it
	servers map[string]*docServer
}

// modelServers are the addresses of model servers in the documents.
var modelServers = []string{"11434", "8000", "8080"}

func newDocSession(t *testing.T) *docSession {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/docs")); err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewServer(scripted.New(scripted.Options{}))
	t.Cleanup(upstream.Close)
	_, port, _ := net.SplitHostPort(upstream.Listener.Addr().String())
	s := &docSession{t: t, dir: dir, ports: map[string]string{}, servers: map[string]*docServer{}}
	for _, p := range modelServers {
		s.ports[p] = port
	}
	s.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + t.TempDir(), "LANG=C.UTF-8", "TZ=UTC", "COLUMNS=100"}
	t.Cleanup(s.stop)
	s.files()
	return s
}

// files writes the files that are not texts.
func (s *docSession) files() {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		s.t.Fatal(err)
	}
	s.put(".curlrc", []byte("fail-with-body\n")) // an error of a server is one of the command
	s.put("identity.txt", []byte(identity.String()+"\n"))
	var log bytes.Buffer
	w := gzip.NewWriter(&log)
	fmt.Fprintln(w, `{"model":"qwen3:8b","content":"<think>Short.</think>Yes."}`)
	if err := w.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.put("logs/monday.jsonl.gz", log.Bytes())
	table, err := os.ReadFile(parquetFile(s.t, "traces.parquet"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.put("traces.parquet", table)
}

func (s *docSession) put(name string, data []byte) {
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// stop ends the servers.
func (s *docSession) stop() {
	for role, server := range s.servers {
		server.stop()
		delete(s.servers, role)
	}
}

// run runs the commands of a document. It returns what is wrong, and the document
// with the outputs as they are.
func (s *docSession) run(text string) (faults []string, updated string) {
	commands := docCommands(text)
	for _, c := range commands {
		if c.file != "" {
			s.put(c.file, []byte(s.actual(c.want)))
		}
	}
	outputs := make([]string, len(commands))
	for i, c := range commands {
		outputs[i] = c.want
		if c.file != "" || c.skip != "" {
			continue
		}
		got, err := s.command(c)
		if c.shown && !matchesShown(c.want, got) {
			outputs[i] = got
			faults = append(faults, fmt.Sprintf("%d: %v\nprints\n%swant\n%s", c.line, c, got, c.want))
		} else if failed := strings.Contains(c.want, "sotto: error:"); (err != nil) != failed {
			faults = append(faults, fmt.Sprintf("%d: %v: %v, and the document says otherwise\n%s", c.line, c, err, got))
		}
	}
	return faults, rewritten(text, shownOnly(commands), shownOutputs(commands, outputs))
}

func shownOnly(commands []docCommand) (list []docCommand) {
	for _, c := range commands {
		if c.shown {
			list = append(list, c)
		}
	}
	return list
}

func shownOutputs(commands []docCommand, outputs []string) (list []string) {
	for i, c := range commands {
		if c.shown {
			list = append(list, outputs[i])
		}
	}
	return list
}

var (
	// aServer is a command that runs until it is stopped, and what kind it is.
	aServer = lazyregexp.New(`^(?:[A-Z_]+=\S* )*sotto (serve|console|mcp --listen)\b`)
	brief   = lazyregexp.New(` --(?:check|learned|forget|schedules|help)\b`)
	// alone are commands for which the gateway is stopped first: they write what it
	// writes, or read what it may still hold.
	alone = lazyregexp.New(` --(?:record|learned|forget)\b|sotto record `)
	// listens is the port of a flag.
	listens = lazyregexp.New(`(--(?:[a-z]+-)?listen[ =]\S*?:)\d+`)
	port    = lazyregexp.New(`:\d{4,5}\b`)
)

// command runs a command, and returns what it prints.
func (s *docSession) command(c docCommand) (string, error) {
	text := strings.NewReplacer("go run ./cmd/sotto-demo", "sotto demo", "go run ./cmd/sotto", "sotto").Replace(c.text)
	if m := aServer.FindStringSubmatch(text); m != nil && !brief.MatchString(text) {
		return s.serve(c, text, m[1])
	}
	if server := s.servers["serve"]; server != nil && alone.MatchString(text) {
		server.stop()
		delete(s.servers, "serve")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := s.shell(ctx, s.actual(text))
	out, err := cmd.CombinedOutput()
	return s.documented(string(out)), err
}

func (s *docSession) shell(ctx context.Context, text string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", text)
	cmd.Dir, cmd.Env, cmd.WaitDelay = s.dir, s.env, 10*time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what the shell starts ends with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// actual replaces the ports of the document by those that stand for them.
func (s *docSession) actual(text string) string {
	return port.ReplaceAllStringFunc(text, func(p string) string {
		if actual := s.ports[p[1:]]; actual != "" {
			return ":" + actual
		}
		return p
	})
}

// documented replaces ports and folders by those of the document.
func (s *docSession) documented(out string) string {
	back := map[string]string{}
	for in, actual := range s.ports {
		if old, ok := back[actual]; !ok || in == modelServers[0] || old > in && old != modelServers[0] {
			back[actual] = in
		}
	}
	out = port.ReplaceAllStringFunc(out, func(p string) string {
		if in := back[p[1:]]; in != "" {
			return ":" + in
		}
		return p
	})
	return strings.ReplaceAll(out, s.dir, "~")
}

// A docServer is a server that runs in the background.
type docServer struct {
	cmd  *exec.Cmd
	done chan struct{}
	mu   sync.Mutex
	out  bytes.Buffer
}

func (d *docServer) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.out.Write(p)
}

func (d *docServer) printed() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.out.String()
}

func (d *docServer) stop() {
	_ = syscall.Kill(-d.cmd.Process.Pid, syscall.SIGTERM)
	select {
	case <-d.done:
	case <-time.After(time.Minute):
		_ = syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL)
		<-d.done
	}
}

// addresses are the places in the output of a server where it says an address, with
// the port that the document uses for it.
var addresses = []struct {
	port string
	said *lazyregexp.Regexp
}{
	{"8383", lazyregexp.New(`(?:The gateway: +|the gateway is up" at=)http://\S*:(\d+)`)},
	{"8384", lazyregexp.New(`The scripted upstream: http://\S*:(\d+)`)},
	{"8385", lazyregexp.New(`(?:the console is up" at=|the console is at )http://\S*:(\d+)`)},
	{"8386", lazyregexp.New(`the MCP server is at http://\S*:(\d+)`)},
}

var ready = lazyregexp.New(`the gateway is up" at=|To stop: ctrl-C|the console is at |the MCP server is at `)

// isReady reports whether a server has said all its addresses.
func isReady(printed, text string) bool {
	return ready.MatchString(printed) && (!strings.Contains(text, "--console") || strings.Contains(printed, "the console is up"))
}

// serve starts a server, and waits until it is up. It replaces an earlier one of its
// kind.
func (s *docSession) serve(c docCommand, text, kind string) (string, error) {
	if old := s.servers[kind]; old != nil {
		old.stop()
	}
	for _, p := range port.FindAllString(listens.ReplaceAllString(text, ""), -1) {
		if actual := s.ports[p[1:]]; actual != "" {
			text = strings.ReplaceAll(text, p, ":"+actual)
		}
	}
	if kind == "console" && !strings.Contains(text, "--listen") {
		text = strings.Replace(text, "sotto console", "sotto console --listen 127.0.0.1:0", 1) // no variable says it
	}
	d := &docServer{cmd: s.shell(context.Background(), listens.ReplaceAllString(text, "${1}0")), done: make(chan struct{})}
	d.cmd.Env = append(d.cmd.Env, "SOTTO_LISTEN=127.0.0.1:0", "SOTTO_SCRIPTED_LISTEN=127.0.0.1:0", "SOTTO_CONSOLE_LISTEN=127.0.0.1:0")
	d.cmd.Stdout, d.cmd.Stderr = d, d
	if err := d.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() { _ = d.cmd.Wait(); close(d.done) }()
	s.servers[kind] = d
	for end := time.Now().Add(time.Minute); !isReady(d.printed(), text); {
		select {
		case <-d.done:
			return d.printed(), fmt.Errorf("the server ended")
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(end) {
			return d.printed(), fmt.Errorf("the server was not up within a minute")
		}
	}
	for _, a := range addresses {
		if m := a.said.FindStringSubmatch(d.printed()); m != nil {
			s.ports[a.port] = m[1]
		}
	}
	if !c.shown || strings.TrimSpace(c.want) == "" {
		return "", nil // a terminal shows what it logs; the document leaves it out
	}
	return s.documented(d.printed()), nil
}

// longDocs take most of the time, and other documents have most of their commands too.
var longDocs = []string{"docs/commands.md", "docs/memory.md"}

// TestDocsNotice: each way in which a document can be wrong is a fault.
func TestDocsNotice(t *testing.T) {
	effort.OneGoroutine(t)
	for name, c := range map[string]struct {
		text   string
		faults int
	}{
		"right":               {"    $ printf a\n    a\n", 0},
		"omitted":             {"    $ printf 'a\\nb\\nc\\n'\n    …\n    c\n", 0},
		"within a line":       {"    $ printf 'a b c'\n    a … c\n", 0},
		"a file":              {"<!-- file: f -->\n```yaml\na: b\n```\n\n    $ cat f\n    a: b\n", 0},
		"fails, and says so":  {"    $ sotto strip nosuch\n    sotto: error: open nosuch: no such file or directory\n", 0},
		"before":              {"<!-- before: printf a > f -->\n\n    $ cat f\n    a\n", 0},
		"not run":             {"<!-- not run: it is wrong -->\n\n    $ printf a\n    b\n", 0},
		"another output":      {"```console\n$ printf a\nb\n```\n", 1},
		"an output not shown": {"    $ printf a\n", 1},
		"more output":         {"    $ printf 'a\\nb\\n'\n    a\n", 1},
		"fails":               {"    $ sotto strip nosuch\n    …\n", 1},
		"a list that fails":   {"    sotto strip nosuch\n    sotto version\n    sotto split nosuch\n", 2},
		"does not fail":       {"    $ printf 'sotto: error: no'\n    sotto: error: no\n", 1},
		"not so before":       {"<!-- before: false -->\n\n    $ printf a\n    a\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			faults, updated := newDocSession(t).run(c.text)
			if len(faults) != c.faults {
				t.Errorf("%d faults: %q", len(faults), faults)
			}
			if again, _ := newDocSession(t).run(updated); name == "another output" && len(again) > 0 {
				t.Errorf("after an update: %q", again)
			}
		})
	}
}
