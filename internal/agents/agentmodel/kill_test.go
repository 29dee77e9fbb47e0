//go:build unix

package agentmodel_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/agents/agentmodel"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
)

func init() { childProcess = killable }

// killable serves an agent and asks it for two turns of a conversation and for one
// that continues the first. It kills itself at a point, if it is told to.
func killable(dir string) {
	n := 0
	deadly, _ := strconv.Atoi(os.Getenv("AGENTMODEL_KILL"))
	conversation.AtPoint = func(name string) {
		if n++; n == deadly {
			fmt.Println("killed at " + name)
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	t := &testing.T{} // for its helpers, which end the process if they fail
	if os.Getenv("AGENTMODEL_CONSENT") != "" {
		killableConsent(t, dir, &n)
	}
	m := &agentmodel.Models{Base: gateway.UpstreamTransport(gateway.Limits{}), Agents: []*agent.Agent{counter(t)}, Kept: &conversation.Store{Folder: dir}}
	nowhere, _ := url.Parse("http://127.0.0.1:1")
	g, err := gateway.New(gateway.Config{Upstream: nowhere, Transport: m, Separated: m.Has})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	front := httptest.NewServer(g)
	first := ""
	for _, more := range []string{`"input":"One.","conversation":"n"`, `"input":"Two.","conversation":"n"`, `"input":"Two.","previous_response_id":"FIRST"`} {
		status, root := post(t, front.URL+"/v1/responses", `{"model":"agent/counter",`+strings.Replace(more, "FIRST", first, 1)+`}`)
		if first == "" {
			first = root.Get("id").Str
		}
		if status != http.StatusOK {
			fmt.Println("error", root.Raw)
			os.Exit(1)
		}
	}
	fmt.Println(n)
	os.Exit(0)
}

// TestKillConversation kills the gateway with kill -9 at every point of keeping a turn.
// After it the conversation is as it was before the turn or after it, the memory too,
// and it continues.
func TestKillConversation(t *testing.T) {
	spawn := func(dir string, kill int) string {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), "AGENTMODEL_CHILD="+dir, fmt.Sprintf("AGENTMODEL_KILL=%d", kill))
		out, err := cmd.CombinedOutput()
		if state := cmd.ProcessState; err != nil && (state == nil || !state.Sys().(syscall.WaitStatus).Signaled()) {
			t.Fatalf("the child: %v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	points, err := strconv.Atoi(spawn(t.TempDir(), 0))
	if err != nil || points < 15 {
		t.Fatalf("%d points, %v", points, err)
	}
	turns := [][]string{nil, {"One.", "First."}, {"One.", "First.", "Two.", "Second."}}
	memory := []map[string]string{{}, {"last": "One"}, {"last": "Two"}}
	seen := map[string]bool{}
	for kill := 1; kill <= points; kill++ {
		dir := t.TempDir()
		at := spawn(dir, kill)
		// The point after which the line is whole is "after write".
		done := (kill - 1) / (points / 3)
		for _, name := range []string{"after write", "after sync", "kept"} {
			if strings.HasSuffix(at, name) {
				done++
			}
		}
		seen[strings.TrimPrefix(at, "killed at ")] = true
		s := &conversation.Store{Folder: dir}
		turn, err := s.Begin(conversation.Wish{Agent: "counter", Name: "n"})
		if err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		var texts []string
		for _, m := range turn.Messages {
			texts = append(texts, m.Text)
		}
		turn.Close()
		want := min(done, 2) // the third turn is of another conversation
		if diff := cmp.Diff(turns[want], texts); diff != "" {
			t.Errorf("%s, the %dth: %s", at, kill, diff)
		}
		if diff := cmp.Diff(memory[want], turn.Memory); diff != "" {
			t.Errorf("%s, the %dth: the memory: %s", at, kill, diff)
		}
		base := serveModels(t, &agentmodel.Models{Agents: []*agent.Agent{counter(t)}, Kept: s}, nil)
		status, root := post(t, base+"/v1/chat/completions", `{"model":"agent/counter","messages":[{"role":"user","content":"More."}]}`, "Sotto-Conversation", "n")
		if answers := []string{"First.", "Second.", "Later."}; status != 200 || root.Get("choices.0.message.content").Str != answers[want] {
			t.Errorf("%s: then %d %s", at, status, root.Raw)
		}
	}
	if len(seen) != 6 {
		t.Errorf("killed at %v", seen)
	}
}
