//go:build unix

package agentmodel_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/agents/agentmodel"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/testing/erasing"
)

// fileEraser is an agent that asks before it erases. Each call leaves a byte in a file.
func fileEraser(t testing.TB, dir string) *agent.Agent {
	erase := &agent.Func{Name: "erase", Schema: `{"type":"object"}`, Do: func(context.Context, agent.Use) (string, error) {
		f, err := os.OpenFile(filepath.Join(dir, "erased"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return "", err
		}
		conversation.Point("before call")
		_, err = f.WriteString("x")
		conversation.Point("after call")
		return "erased", errors.Join(err, f.Close())
	}}
	return &agent.Agent{Name: "eraser", Turn: agent.Turn{Model: erasing.Model(t), Start: "outside", Tools: []agent.Tool{erase}, Confirm: []string{"erase"}}}
}

// served serves the agent on what an earlier process kept in a folder.
func served(t testing.TB, dir string) (base string, stop func()) {
	m := &agentmodel.Models{Agents: []*agent.Agent{fileEraser(t, dir)}, Kept: &conversation.Store{Folder: filepath.Join(dir, "kept")}}
	return serveUntil(t, m, func(c *gateway.Config) { c.Tokens = []gateway.Token{ann} })
}

// killableConsent asks and answers, in a process that kills itself at a point.
func killableConsent(t testing.TB, dir string, points *int) {
	base, _ := served(t, dir)
	status, root := post(t, base+"/v1/responses", `{"model":"agent/eraser","input":"Erase."}`, "Authorization", "Bearer "+ann.Secret)
	question := root.Get(`output.#(type=="mcp_approval_request").id`).Str
	if status != 200 || question == "" {
		fmt.Println("error", root.Raw)
		os.Exit(1)
	}
	if err := os.WriteFile(filepath.Join(dir, "question"), []byte(question), 0o600); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	if status, root := answered(t, base, question); status != 200 {
		fmt.Println("error", root.Raw)
		os.Exit(1)
	}
	fmt.Println(*points)
	os.Exit(0)
}

// answered allows the call of a question.
func answered(t testing.TB, base, question string) (int, gjson.Result) {
	body := fmt.Sprintf(`{"model":"agent/eraser","input":[{"type":"mcp_approval_response","approval_request_id":%q,"approve":true}]}`, question)
	return post(t, base+"/v1/responses", body, "Authorization", "Bearer "+ann.Secret)
}

// TestKillConsent kills the gateway with kill -9 at every point of asking and of answering. A call
// is made only by an answer, and never twice. A question that was not taken is still open.
func TestKillConsent(t *testing.T) {
	spawn := func(dir string, kill int) string {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), "AGENTMODEL_CHILD="+dir, "AGENTMODEL_CONSENT=1", fmt.Sprintf("AGENTMODEL_KILL=%d", kill))
		out, err := cmd.CombinedOutput()
		if state := cmd.ProcessState; err != nil && (state == nil || !state.Sys().(syscall.WaitStatus).Signaled()) {
			t.Fatalf("the child: %v: %s", err, out)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return lines[len(lines)-1]
	}
	calls := func(dir string) int {
		data, err := os.ReadFile(filepath.Join(dir, "erased"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return len(data)
	}
	points, err := strconv.Atoi(spawn(t.TempDir(), 0))
	if err != nil || points < 20 {
		t.Fatalf("%d points, %v", points, err)
	}
	ends := map[string]int{}
	for kill := 1; kill <= points; kill++ {
		dir := t.TempDir()
		at := spawn(dir, kill)
		made := calls(dir)
		question, err := os.ReadFile(filepath.Join(dir, "question"))
		if err != nil {
			if made != 0 {
				t.Errorf("%s, the %dth: %d calls before an answer", at, kill, made)
			}
			ends["not asked"]++
			continue
		}
		base, stop := served(t, dir)
		status, root := answered(t, base, string(question))
		switch now := calls(dir); {
		case status == 200 && made == 0 && now == 1:
			ends["open"]++
		case status == 409 && strings.Contains(root.Raw, "not known") && now == made:
			ends["lost"]++
		case status == 400 && strings.Contains(root.Raw, "no call waits") && now == made && made == 1:
			ends["gone"]++
		default:
			t.Errorf("%s, the %dth: %d calls, then %d: %d %s", at, kill, made, now, status, root.Raw)
		}
		stop()
	}
	if ends["not asked"] == 0 || ends["open"] == 0 || ends["lost"] == 0 {
		t.Errorf("%v", ends)
	}
	t.Log(ends)
}
