package mcptools

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/base/tracecontext"
)

// stdio describes a server that is this program.
func stdio(t *testing.T, mode string, allow ...string) agent.MCPServer {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return agent.MCPServer{Name: "files", Command: []string{self}, Dir: t.TempDir(), Env: map[string]string{serverMode: mode}, Allow: allow}
}

// open opens a server until the end of the test.
func open(t *testing.T, c agent.MCPServer) []*agent.Func {
	t.Helper()
	tools, end, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	return tools
}

func call(t *testing.T, f *agent.Func, arguments string) (string, error) {
	t.Helper()
	return f.Call(t.Context(), agent.Use{Arguments: []byte(arguments)})
}

// http serves the official server, to those who have the token.
func overHTTP(t *testing.T) agent.MCPServer {
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return official() }, nil)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sesame" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return agent.MCPServer{Name: "web", URL: s.URL, Header: http.Header{"Authorization": {"Bearer sesame"}}}
}

// TestOfficial: the tools of the official server work, over both transports. A model
// gets texts, and placeholders for everything else.
func TestOfficial(t *testing.T) {
	for name, c := range map[string]agent.MCPServer{"stdio": stdio(t, "official"), "http": overHTTP(t)} {
		t.Run(name, func(t *testing.T) {
			c.Allow = []string{"look", "echo", "fail"}
			tools := open(t, c)
			if d := tools[1].Description; d != "Says it again." {
				t.Errorf("the description is %q", d)
			}
			if !strings.Contains(tools[1].Schema, `"text"`) {
				t.Errorf("the schema is %s", tools[1].Schema)
			}
			if got, err := call(t, tools[1], `{"text":"hello"}`); got != "hello" || err != nil {
				t.Errorf("echo: %q, %v", got, err)
			}
			want := "Here:\n[an image (image/png) of 5 bytes is left out]\n[a resource of 8 bytes is left out]"
			if got, err := call(t, tools[0], `{}`); got != want || err != nil {
				t.Errorf("look: %q, %v", got, err)
			}
			if got, err := call(t, tools[2], `{}`); err == nil || err.Error() != "it did not work" {
				t.Errorf("fail: %q, %v", got, err)
			}
		})
	}
}

// TestTrace: a server is told the span of the call: in _meta, and over HTTP in the header too.
// Outside a trace it is told nothing.
func TestTrace(t *testing.T) {
	const place = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for name, c := range map[string]agent.MCPServer{"stdio": stdio(t, "official"), "http": overHTTP(t)} {
		t.Run(name, func(t *testing.T) {
			c.Allow = []string{"where"}
			tools := open(t, c)
			want := place + " "
			if name == "http" {
				want += place
			}
			ctx := tracecontext.With(t.Context(), tracecontext.Read(place))
			if got, err := tools[0].Call(ctx, agent.Use{Arguments: []byte(`{}`)}); got != want || err != nil {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
			if got, err := call(t, tools[0], `{}`); got != "<nil> " || err != nil {
				t.Errorf("outside a trace: %q, %v", got, err)
			}
		})
	}
}

// TestNotAllowed: a name that the server does not have is an error that lists those
// that it has.
func TestNotAllowed(t *testing.T) {
	_, _, err := Open(stdio(t, "official", "echo", "ecko"))
	if err == nil || !strings.Contains(err.Error(), `no tool "ecko": it has child, echo, env`) {
		t.Error(err)
	}
}

// TestEnvironment: a process gets the variables of the file and a few that every
// program needs, and no others.
func TestEnvironment(t *testing.T) {
	t.Setenv("SOTTO_TEST_OTHER", "secret")
	c := stdio(t, "official", "env")
	c.Env["GIVEN"] = "value"
	got, err := call(t, open(t, c)[0], `{}`)
	if err != nil || !strings.Contains(got, "GIVEN=value") || strings.Contains(got, "secret") {
		t.Errorf("%s, %v", got, err)
	}
	for line := range strings.Lines(got) {
		name, _, _ := strings.Cut(line, "=")
		if !slices.Contains(inherited, name) && name != "GIVEN" && name != serverMode && !strings.HasPrefix(name, "GOCOVER") {
			t.Errorf("the process has %s", name)
		}
	}
}

// TestChildrenEnd: what a process started ends with it, also if it holds a stream of
// the process.
func TestChildrenEnd(t *testing.T) {
	tools, end, err := Open(stdio(t, "official", "child"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := call(t, tools[0], `{}`)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	for range 1000 { // until the orphan is reaped
		if state := stateOf(pid); state == "" || state == "Z" {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	t.Errorf("process %d continues", pid)
}

// stateOf returns the state of a process, "" if there is none.
func stateOf(pid int) string {
	if data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		if fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:])); len(fields) > 0 {
			return fields[0]
		}
	}
	if syscall.Kill(pid, 0) != nil {
		return ""
	}
	return "?"
}

// TestProgress: progress is narration, without reasoning, on lines of its own.
func TestProgress(t *testing.T) {
	for name, c := range map[string]agent.MCPServer{"stdio": stdio(t, "official"), "http": overHTTP(t)} {
		t.Run(name, func(t *testing.T) {
			c.Allow = []string{"steps"}
			steps := open(t, c)[0]
			steps.Name = "files_steps"
			var mu sync.Mutex
			said := ""
			a := agent.Agent{Name: "a", Turn: agent.Turn{Model: caller("files_steps", `{}`), Tools: []agent.Tool{steps}}}
			out, err := a.Answer(t.Context(), agent.Conversation{Messages: ask}, func(e agent.Event) error {
				mu.Lock()
				defer mu.Unlock()
				if n, ok := e.(agent.Narration); ok {
					said += n.Text
				}
				return nil
			})
			if err != nil || out.Answer != "Done." {
				t.Fatalf("%+v, %v", out, err)
			}
			// The last ones may come after the result, and are then left out.
			if !strings.HasPrefix("files_steps: begun \x1b[31m\nfiles_steps: 2 of 3\nfiles_steps: 3 of 3\n", said) || strings.Contains(said, "CANARY") {
				t.Errorf("narrated %q", said)
			}
		})
	}
}

// TestHostile: whatever a server does, a call ends, with a result or an error, and so
// does the server.
func TestHostile(t *testing.T) {
	for mode, want := range map[string]string{
		"die":       "error: the server files ended, or broke the protocol",
		"hang":      "error: the server files did not answer in time",
		"deaf":      "error: the server files did not answer in time",
		"flood":     "error: the server files sent more than 10000 messages",
		"questions": "error: the server files sent more than 100 requests",
		"endless":   "error: the server files sent more than 1048576 bytes in one answer: raise limit of this server",
		"deep":      "error: the server files sent a message that nests deeper than 64 levels",
		"batch":     "after the batch",
		"odd":       "",
		"change":    "changed",
		"noise":     "through the noise",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			tools := open(t, stdio(t, mode, "work"))
			if n := len(tools[0].Description); n > maxDescription+4 {
				t.Errorf("the description has %d bytes", n)
			}
			for range 2 { // the second call begins a new session if it must
				ctx, stop := context.WithCancel(t.Context())
				if strings.HasSuffix(want, "in time") {
					ctx, stop = context.WithTimeout(ctx, 200*time.Millisecond)
				}
				got, err := tools[0].Call(ctx, agent.Use{Arguments: []byte(`{}`)})
				stop()
				if err != nil {
					got = "error: " + err.Error()
				}
				if !strings.HasPrefix(got, want) {
					t.Errorf("%.200q, want %q", got, want)
				}
			}
		})
	}
}

// TestHostileLists: a list of any length, and tools of any size, are refused.
func TestHostileLists(t *testing.T) {
	for mode, want := range map[string]string{
		"pages":  "has no tool \"work\"",
		"list":   "does not list its tools",
		"schema": "the limit is 65536",
		"silent": "did not answer within",
		"none":   "", // a command that does not exist
		"exit":   "it says: no such option",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			c := stdio(t, mode, "work")
			switch mode {
			case "silent":
				c.Timeout = 100 * time.Millisecond
			case "none":
				c.Command, want = []string{"/does/not/exist"}, "cannot be started"
			case "exit":
				c.Command = []string{"sh", "-c", "echo no such option >&2; exit 1"}
			}
			_, _, err := Open(c)
			if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 4<<10 {
				t.Errorf("%.300v, want %q", err, want)
			}
		})
	}
}

// TestOrder: answers that come in another order reach their calls.
func TestOrder(t *testing.T) {
	tool := open(t, stdio(t, "order", "work"))[0]
	got := make(chan string, 2)
	for range 2 {
		go func() {
			text, err := tool.Call(t.Context(), agent.Use{Arguments: []byte(`{}`)})
			got <- fmt.Sprint(text, err)
		}()
	}
	list := []string{<-got, <-got}
	slices.Sort(list)
	if !slices.Equal(list, []string{"first<nil>", "second<nil>"}) {
		t.Error(list)
	}
}

// TestRedirect: a redirect is not followed, and the token goes to no other host.
func TestRedirect(t *testing.T) {
	var asked atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer other.Close()
	s := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer s.Close()
	_, _, err := Open(agent.MCPServer{Name: "web", URL: s.URL, Header: http.Header{"Authorization": {"Bearer sesame"}}, Allow: []string{"x"}, Timeout: 10 * time.Second})
	if err == nil || asked.Load() != 0 || strings.Contains(fmt.Sprint(err), "sesame") {
		t.Errorf("%v, %d requests", err, asked.Load())
	}
}

// TestClosed: after its end an agent starts no server again.
func TestClosed(t *testing.T) {
	tools, end, err := Open(stdio(t, "official", "echo"))
	if err != nil {
		t.Fatal(err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	if text, err := call(t, tools[0], `{"text":"x"}`); err == nil {
		t.Errorf("the tool answers %q", text)
	}
}
