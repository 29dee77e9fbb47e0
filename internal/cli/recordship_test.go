package cli

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/net/objects/objectstest"
)

// objectsBelow lists the objects of a bucket that have a text in their names.
func objectsBelow(t *testing.T, s *objectstest.Server, bucket, text string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(s.Path(bucket, ""), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(path, text) {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// shipping runs a command with the environment of this process.
func shipping(t *testing.T, stdin string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	status = Run(args, strings.NewReader(stdin), &out, &errs, os.Getenv)
	return out.String(), errs.String(), status
}

// Two records are shipped below one prefix and read from there as one. An object that
// was changed is named.
func TestRecordShip(t *testing.T) {
	s := objectstest.Start(t, "records")
	s.Setenv()
	t.Setenv("SOTTO_CACHE_DIR", t.TempDir())
	dir := t.TempDir()
	const at = "s3://records/prod"
	for _, name := range []string{"a", "b"} {
		audit := filepath.Join(dir, name)
		if _, stderr, status := shipping(t, "<think>why "+name+"</think>The answer is 4", "extract", "--task", "number", "--record", audit); status != 0 {
			t.Fatal(stderr)
		}
		if out, stderr, status := shipping(t, "", "record", "ship", audit, at); status != 0 || !strings.Contains(out, "head: 4:") {
			t.Fatal(out, stderr)
		}
	}
	for _, c := range []struct {
		args []string
		want int // lines with the text
		text string
	}{
		{[]string{"verify", at}, 2, "kept head: event 4 is unchanged"},
		{[]string{"ls", at}, 2, "LLM_INVOCATION"},
		{[]string{"show", at}, 2, "think│ why"},
		{[]string{"grep", at, "why"}, 2, "why"},
		{[]string{"stats", at, "--json"}, 2, `"replies": 2`},
		{[]string{"table", "replies", at}, 2, "The answer is 4"},
		{[]string{"ls", at, "--where", "type=LLM_INVOCATION", "--sort=output"}, 1, "total: 2 events, output 0"},
		{[]string{"export", at}, 2, `"name":"chat"`},
		{[]string{"index", at}, 1, "0 segments have sidecars, 0 made now"},
	} {
		out, stderr, status := shipping(t, "", append([]string{"record"}, c.args...)...)
		if n := strings.Count(out, c.text); status != 0 || n != c.want {
			t.Errorf("%q: status %d, %d times %q: %s%s", c.args, status, n, c.text, out, stderr)
		}
	}
	parts := objectsBelow(t, s, "records", "/parts/")
	if len(parts) != 2 {
		t.Fatalf("parts %q", parts)
	}
	data, err := os.ReadFile(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-1] ^= 1
	if err := os.WriteFile(parts[1], data, 0o600); err != nil {
		t.Fatal(err)
	}
	out, stderr, status := shipping(t, "", "record", "verify", at)
	if name := filepath.Base(parts[1]); status != 1 || !strings.Contains(out, name+": changed") || !strings.Contains(stderr, name) {
		t.Errorf("a changed object: status %d, %s%s", status, out, stderr)
	}
	if out, stderr, status := shipping(t, "", "record", "show", at); status != 1 || strings.Count(out, "think│ why") != 1 {
		t.Errorf("show with a changed object: status %d, %s%s", status, out, stderr)
	}
	if _, stderr, status := shipping(t, "", "record", "prune", filepath.Join(dir, "a"), "--shipped", "--older", "1d"); status != 0 {
		t.Error(stderr)
	}
	if _, stderr, status := shipping(t, "", "record", "verify", "s3://records/other"); status != 1 || !strings.Contains(stderr, "holds no record") {
		t.Errorf("status %d, %s", status, stderr)
	}
}

// A gateway ships its record while it runs, and the end of it when it stops.
func TestServeShips(t *testing.T) {
	s := objectstest.Start(t, "records")
	s.Setenv()
	t.Setenv("SOTTO_CACHE_DIR", t.TempDir())
	dir := filepath.Join(t.TempDir(), "audit")
	const at = "s3://records/gateways"
	r := startServeWith(t, s.Getenv, "--record="+dir, "--record-ship="+at, "--scripted-pause=0s")
	whole := r.chat("minimax-m2", false)
	_, _ = io.Copy(io.Discard, whole.Body)
	metrics, err := r.client.Get(r.gateway + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(metrics.Body)
	metrics.Body.Close()
	for _, name := range []string{"sotto_record_ship_lag_bytes ", "sotto_record_ship_lag_seconds ", "sotto_record_ship_oldest_event ", "sotto_record_ship_failures_total 0"} {
		if err != nil || !strings.Contains(string(text), "\n"+name) {
			t.Errorf("the metrics lack %q: %v", name, err)
		}
	}
	r.client.CloseIdleConnections()
	r.interrupt(t)
	out, stderr, status := shipping(t, "", "record", "verify", at)
	if status != 0 || !strings.Contains(out, "kept head: event 1 is unchanged") {
		t.Errorf("status %d, %s%s", status, out, stderr)
	}
	if got := exchangesIn(t, dir); len(got) != 1 {
		t.Errorf("%d exchanges", len(got))
	}
}

// The console and the MCP server show a record in object storage.
func TestShowShipped(t *testing.T) {
	s := objectstest.Start(t, "records")
	s.Setenv()
	t.Setenv("SOTTO_CACHE_DIR", t.TempDir())
	audit := filepath.Join(t.TempDir(), "audit")
	const at = "s3://records/prod"
	if _, stderr, status := shipping(t, "<think>why</think>The answer is 4", "extract", "--task", "number", "--record", audit); status != 0 {
		t.Fatal(stderr)
	}
	if _, stderr, status := shipping(t, "", "record", "ship", audit, at); status != 0 {
		t.Fatal(stderr)
	}
	calls := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"record_search","arguments":{"pattern":"answer is"}}}
`
	if out, stderr, status := shipping(t, calls, "mcp", "--record", at); status != 0 || !strings.Contains(out, "The answer is 4") {
		t.Errorf("mcp: status %d, %s%s", status, out, stderr)
	}
	cmd := exec.Command("sotto", "console", at, "--listen=127.0.0.1:0")
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	drained := make(chan struct{})
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-drained
		_ = cmd.Wait()
	})
	said, err := lines.ReadString('\n')
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, lines)
	}()
	_, address, ok := strings.Cut(strings.TrimSpace(said), " is at ")
	if err != nil || !ok {
		t.Fatalf("%q, %v", said, err)
	}
	resp, err := http.Get(strings.TrimSuffix(address, "/") + "/exchanges?format=json")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(page), `"event":`) || !strings.Contains(string(page), "LLM_INVOCATION") {
		t.Errorf("console: %s, %s, %v", resp.Status, page, err)
	}
}
