package npm_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const mcpScript = `
- when: {step: 1}
  text: "<think>CANARY</think>"
  calls:
    - {name: fs_read_text_file, arguments: {path: a.txt}}
    - {name: fs_read_text_file, arguments: {path: /etc/passwd}}
    - {name: fs_write_file, arguments: {path: b.txt, content: "new"}}
    - {name: all_get-tiny-image, arguments: {}}
    - {name: all_get-sum, arguments: {a: 2, b: 3}}
    - {name: all_get-env, arguments: {}}
    - {name: all_trigger-long-running-operation, arguments: {duration: 1, steps: 2}}
    - {name: all_list_resources, arguments: {}}
    - {name: all_read_resource, arguments: {uri: "demo://resource/dynamic/text/1"}}
    - {name: all_list_prompts, arguments: {}}
    - {name: all_get_prompt, arguments: {name: args-prompt, arguments: {city: Oslo}}}
    - {name: all_trigger-elicitation-request, arguments: {}}
- text: "Done."
`

// Published MCP servers of npm are tools of an agent of the real program: results and
// errors reach the model, an image is a placeholder, the environment is what the file
// says, and a tool that needs consent is not called. They end with the program.
func TestMCPServers(t *testing.T) {
	dir := os.Getenv("SOTTO_NPM")
	if dir == "" {
		t.Skip("SOTTO_NPM is not set: interop/npm/install prints it")
	}
	work := t.TempDir()
	sotto := buildSotto(t, work)
	node, servers := filepath.Join(dir, "node", "run"), filepath.Join(dir, "mcpservers", "node_modules", "@modelcontextprotocol")
	for name, text := range map[string]string{
		"notes/a.txt": "The key is under the mat.",
		"script.yaml": mcpScript,
		"agent.yaml": fmt.Sprintf(`
v: 1
name: r
cycles: 1
model: {provider: scripted, script: script.yaml}
tools:
  - mcp: fs
    command: [%[1]s, %[2]s/server-filesystem/dist/index.js, notes]
    allow: [read_text_file, write_file]
    confirm-tools: [write_file]
  - mcp: all
    command: [%[1]s, %[2]s/server-everything/dist/index.js]
    env: {GIVEN: SOTTO_TEST_GIVEN}
    allow: [get-tiny-image, get-sum, get-env, trigger-long-running-operation, trigger-elicitation-request]
    resources: true
    prompts: true
    elicitation: true
`, node, servers),
	} {
		file := filepath.Join(work, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), sotto, args...)
		cmd.Dir = work
		cmd.Env = append(os.Environ(), "SOTTO_TEST_GIVEN=given-value", "SOTTO_TEST_OTHER=other-value")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run("run", "--config", "agent.yaml", "--record", "audit")
	shown := run("record", "show", "audit")
	for _, want := range []string{
		"The key is under the mat.", "error: Access denied", "not called: this tool needs the consent of a person",
		"[an image (image/png) of", "The sum of 2 and 3 is 5.", `"GIVEN": "[secret]"`, "Long running operation completed",
		`"template":"demo://resource/dynamic/text/{resourceId}"`, "Resource 1: This is a plaintext resource", `"name":"args-prompt"`, "user: What's weather in Oslo",
		"[the server asked a person, and was declined: nobody can be asked here]",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("the record does not show %q:\n%s", want, shown)
		}
	}
	for _, no := range []string{"given-value", "other-value"} {
		if strings.Contains(shown, no) {
			t.Errorf("the record shows %q:\n%s", no, shown)
		}
	}
	if _, err := os.Stat(filepath.Join(work, "notes", "b.txt")); err == nil {
		t.Error("the file was written")
	}
}

// MCP's own conformance tests: the program as a server, in what every server must do, and as
// a client of theirs.
func TestMCPConformance(t *testing.T) {
	dir := os.Getenv("SOTTO_NPM")
	if dir == "" {
		t.Skip("SOTTO_NPM is not set: interop/npm/install prints it")
	}
	work := t.TempDir()
	sotto := buildSotto(t, work)
	judge := []string{filepath.Join(dir, "node", "run"), filepath.Join(dir, "mcpservers", "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")}
	says := func(t *testing.T, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), judge[0], append(judge[1:], args...)...)
		cmd.Dir = work
		out, err := cmd.CombinedOutput()
		if text := string(out); err != nil || !strings.Contains(text, "0 failed") || strings.Contains(text, "FAILURE") {
			t.Errorf("%v: %v\n%.8000s", args, err, out)
		}
	}
	at := startMCP(t, sotto)
	for _, scenario := range []string{"server-initialize", "ping", "tools-list", "dns-rebinding-protection"} {
		t.Run(scenario, func(t *testing.T) { says(t, "server", "--url", at, "--scenario", scenario) })
	}

	// A client gets the server's address as its last argument.
	agent := "v: 1\nname: r\ncycles: 1\nmodel: {provider: scripted, script: script.yaml}\ntools:\n  - {mcp: judge, url: \"$1\", allow: [add_numbers]}\n"
	for name, text := range map[string]string{
		"script.yaml": "- when: {step: 1}\n  calls: [{name: judge_add_numbers, arguments: {a: 5, b: 3}}]\n- text: Done.\n",
		"client":      fmt.Sprintf("#!/bin/sh\ncat >agent.yaml <<END\n%sEND\nexec %s run --config agent.yaml --record audit\n", agent, sotto),
	} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("tools_call", func(t *testing.T) {
		says(t, "client", "--command", filepath.Join(work, "client"), "--scenario", "tools_call")
	})
}
