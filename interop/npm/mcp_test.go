package npm_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// buildSotto builds the command into a folder.
func buildSotto(t *testing.T, folder string) string {
	t.Helper()
	sotto := filepath.Join(folder, "sotto")
	build := exec.Command("go", "build", "-o", sotto, "./cmd/sotto")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return sotto
}

// The MCP client of npm uses every kind of tool of the real program, over both
// transports, and gets no thought of the record.
func TestMCP(t *testing.T) {
	dir := os.Getenv("SOTTO_NPM")
	if dir == "" {
		t.Skip("SOTTO_NPM is not set: interop/npm/install prints it")
	}
	work := t.TempDir()
	sotto := buildSotto(t, work)
	score := exec.Command(sotto, "score", "--jsonl", "--task", "number", "--record", "audit", "-o", "scored.jsonl", "-")
	score.Dir, score.Stdin = work, strings.NewReader(`{"id":"a","raw":"<think>CANARY</think>The answer is 5.","gold":"5"}`)
	if out, err := score.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	audit := filepath.Join(work, "audit")

	t.Run("stdio", func(t *testing.T) { judgeMCP(t, dir, sotto, "mcp", "--record", audit) })
	t.Run("http", func(t *testing.T) {
		judgeMCP(t, dir, startMCP(t, sotto, "--record", audit))
	})
}

// startMCP serves MCP over HTTP until the end of the test, and returns the address.
func startMCP(t *testing.T, sotto string, args ...string) string {
	t.Helper()
	server := exec.Command(sotto, append([]string{"mcp", "--listen", "127.0.0.1:0"}, args...)...)
	said, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Signal(os.Interrupt)
		if err := server.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	line, err := bufio.NewReader(said).ReadString('\n')
	at := regexp.MustCompile(`http://\S+/mcp`).FindString(line)
	if err != nil || at == "" {
		t.Fatalf("the server said %q, %v", line, err)
	}
	return at
}

func judgeMCP(t *testing.T, dir string, target ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "node", "run"), append([]string{filepath.Join(dir, "mcp.js")}, target...)...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := []string{
		`"tools":["extract","record_list","record_search","record_show","score","split"]`,
		`\"visible\":\"Forty-two.\",\"reasoning\":[\"6 × 7\"]`,
		`\"candidate\":\"C\"`,
		`\"ok\":true`,
		`"failed":true,"text":"field text is missing"`,
		`\"matches\":[{`,
	}
	if len(lines) != len(want) {
		t.Fatalf("%d answers\n%s", len(lines), out.String())
	}
	for i, line := range lines {
		if !strings.Contains(line, want[i]) {
			t.Errorf("answer %d: %s, want %s", i, line, want[i])
		}
		var got struct {
			Failed     bool
			Text       string
			Structured json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		if i > 0 && !got.Failed && !sameJSON(t, got.Text, got.Structured) {
			t.Errorf("answer %d: the structured content differs from the text: %s", i, line)
		}
	}
	if strings.Contains(out.String(), "CANARY") {
		t.Errorf("a thought of the record came out:\n%s", out.String())
	}
}

// sameJSON reports whether a text and a JSON value mean the same.
func sameJSON(t *testing.T, text string, value []byte) bool {
	t.Helper()
	var a, b any
	if json.Unmarshal([]byte(text), &a) != nil || json.Unmarshal(value, &b) != nil {
		return false
	}
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}
