package mcptools

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/model"
)

// A changing server is reached by HTTP, goes down, and comes back as another one.
type changing struct {
	*httptest.Server
	now    atomic.Pointer[http.Handler] // nil while it is down
	server *mcp.Server
}

func newChanging(t *testing.T) *changing {
	c := &changing{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := c.now.Load(); h != nil {
			(*h).ServeHTTP(w, r)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(c.Server.Close)
	return c
}

func (c *changing) down() {
	c.now.Store(nil)
	for s := range c.server.Sessions() {
		_ = s.Close()
	}
}

// up serves tools by their names, with their schemas and the work that they do.
func (c *changing) up(schemas map[string]string, work func()) {
	s := mcp.NewServer(&mcp.Implementation{Name: "changing", Version: "1"}, nil)
	for name, schema := range schemas {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(schema)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			work()
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "worked"}}}, nil
		})
	}
	var h http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	c.server = s
	c.now.Store(&h)
}

const plain, other = `{"type":"object"}`, `{"type":"object","properties":{"path":{"type":"string"}}}`

// TestComesBack: a server that dies and comes back is used again. Each call says whether it
// was made. A tool that is gone, or takes other arguments than the model was told, is not
// called.
func TestComesBack(t *testing.T) {
	var calls atomic.Int32
	c := newChanging(t)
	both := func() { c.up(map[string]string{"work": plain, "more": plain}, func() { calls.Add(1) }) }
	both()
	tools := open(t, agent.MCPServer{Name: "web", URL: c.URL, Allow: []string{"work", "more"}})
	for i, tt := range []struct {
		change func()
		tool   int
		want   string
		calls  int32
	}{
		{func() {}, 0, "worked", 1},
		{c.down, 0, "error: the server web ended, or broke the protocol, during the call, which may have taken effect", 1},
		{func() {}, 0, "error: not called: the server web could not be reached in 3 attempts", 1},
		{both, 0, "worked", 2},
		{c.down, 0, "error: the server web ended", 2},
		{func() { c.up(map[string]string{"work": other}, func() { calls.Add(1) }) }, 0, "error: not called: the server web was started again, and has other arguments for this tool than it had when the agent began", 2},
		{func() {}, 1, "error: not called: the server web was started again, and no longer has this tool", 2},
		{c.down, 1, "error: not called", 2},
	} {
		tt.change()
		got, err := call(t, tools[tt.tool], `{}`)
		if err != nil {
			got = "error: " + err.Error()
		}
		if !strings.HasPrefix(got, tt.want) || calls.Load() != tt.calls || strings.Contains(got, c.URL) {
			t.Errorf("%d: %q after %d calls, want %q after %d", i, got, calls.Load(), tt.want, tt.calls)
		}
	}
}

// runURL, runDir and runRepeat tell this program to be a run.
const runURL, runDir, runRepeat = "SOTTO_TEST_RUN_URL", "SOTTO_TEST_RUN_DIR", "SOTTO_TEST_RUN_REPEAT"

// run runs an agent that calls the tool work of the server web.
func run(ctx context.Context, m model.Model, url, dir string, repeat bool) (agent.Result, error) {
	tools, end, err := Open(agent.MCPServer{Name: "web", URL: url, Allow: []string{"work"}})
	if err != nil {
		return agent.Result{}, err
	}
	defer func() { _ = end() }()
	tools[0].Name, tools[0].Foreign, tools[0].Repeat = "web_work", true, repeat
	x := agent.Experiment{Name: "r", Goal: "Work.", Cycles: 1, Model: m, Tools: []agent.Tool{tools[0]}}
	return agent.Run(ctx, x, agent.Options{Record: filepath.Join(dir, "record"), Memory: filepath.Join(dir, "memory")})
}

func runHere() {
	if _, err := run(context.Background(), caller("web_work", `{}`), os.Getenv(runURL), os.Getenv(runDir), os.Getenv(runRepeat) != ""); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestKilledInOutage: a run is killed in a call, and its server goes down. While it is down,
// the run is not resumed, and the error names the server. After it came back the run ends:
// the call is made again only if the file says that it may be.
func TestKilledInOutage(t *testing.T) {
	for _, repeat := range []bool{false, true} {
		t.Run(fmt.Sprint("repeat ", repeat), func(t *testing.T) {
			var calls atomic.Int32
			dir, begun, over := t.TempDir(), make(chan struct{}, 1), make(chan struct{})
			m := &listener{Model: caller("web_work", `{}`)}
			c := newChanging(t)
			c.up(map[string]string{"work": plain}, func() {
				calls.Add(1)
				begun <- struct{}{}
				<-over
			})
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), runURL+"="+c.URL, runDir+"="+dir)
			if repeat {
				child.Env = append(child.Env, runRepeat+"=1")
			}
			child.Stderr = os.Stderr
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			<-begun
			_ = child.Process.Kill()
			_ = child.Wait()
			close(over)
			c.down()
			if _, err := run(t.Context(), m, c.URL, dir, repeat); err == nil || !strings.Contains(err.Error(), "the MCP server web cannot be used") {
				t.Fatalf("while the server is down: %v", err)
			}
			c.up(map[string]string{"work": plain}, func() { calls.Add(1) })
			result, err := run(t.Context(), m, c.URL, dir, repeat)
			if err != nil || result.Last != "Done." {
				t.Fatalf("%+v, %v", result, err)
			}
			want, told := int32(1), "error: the call was interrupted. It may have taken effect. It was not repeated."
			if repeat {
				want, told = 2, "worked"
			}
			if calls.Load() != want || m.heard != told {
				t.Errorf("%d calls, and the model was told %q; want %d, %q", calls.Load(), m.heard, want, told)
			}
		})
	}
}

// A listener keeps the last result that a model was given.
type listener struct {
	model.Model
	heard string
}

func (l *listener) Invoke(ctx context.Context, q model.Request, on func(model.Delta) error) (model.Reply, error) {
	if m := q.Messages[len(q.Messages)-1]; m.Role == model.ToolRole {
		l.heard = m.Text
	}
	return l.Model.Invoke(ctx, q, on)
}
