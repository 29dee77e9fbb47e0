//go:build unix

package a2aserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/model"
)

// talker is a mind that thinks in the text of its model, and asks if it is told to. It
// gives each turn to heard.
func talker(heard func(Turn)) Mind {
	script, err := model.ReadScript(strings.NewReader(`{"text":"<think>CANARY</think>Noted."}`), "talker.jsonl")
	if err != nil {
		panic(err)
	}
	chat := &ChatMind{Model: model.NewScripted("talker", script)}
	return mindFunc(func(ctx context.Context, t Turn, on func(Event) error) (Outcome, error) {
		heard(t)
		if t.Text == "Ask me." && t.Memo == nil {
			return Outcome{Question: "Which?", Memo: []byte(`"memo"`)}, nil
		}
		return chat.Answer(ctx, t, on)
	})
}

// said sends a message of the context "trip", and waits for the answer. If a task
// waits for an answer, the message is that.
func said(ctx context.Context, s *Server, text string) error {
	web := httptest.NewServer(s)
	defer web.Close()
	card, err := agentcard.NewResolver(web.Client()).Resolve(ctx, web.URL)
	if err != nil {
		return err
	}
	c, err := a2aclient.NewFromCard(ctx, card, a2aclient.WithCallInterceptors(adding{params: a2aclient.ServiceParams{"Authorization": {"Bearer " + person.Secret}}}))
	if err != nil {
		return err
	}
	req := message(text)
	req.Message.ContextID = "trip"
	for _, l := range s.store.alone() {
		if l.state == a2a.TaskStateInputRequired {
			req.Message.TaskID = l.id
		}
	}
	_, err = c.SendMessage(ctx, req)
	return err
}

// talks is the process of a turn, which is killed at a point of it, or when the client
// has the answer.
func talks(dir, text string) error {
	c := Config{Mind: talker(func(Turn) {}), File: filepath.Join(dir, "a2a.db")}
	if os.Getenv("A2A_MIND") == "eraser" {
		c.Mind, c.Tokens = eraser(dir), []Token{person}
	}
	s, err := New(c)
	if err != nil {
		return err
	}
	if err := said(context.Background(), s, text); err != nil {
		return err
	}
	point("answered")
	return nil
}

// TestContextKill: a conversation survives kill -9 between its turns, and at every
// point of a turn. After the restart the mind gets exactly the messages and the visible
// answers of the turns that were finished: a turn whose answer the client had is among
// them, a turn that was killed is among them whole or not at all, a question that
// waits is answered where it was asked, and no thought is in any of it.
func TestContextKill(t *testing.T) {
	step := 1
	if effort.Brief() {
		step = 5
	}
	turns := []string{"I go to Oslo.", "Ask me.", "By train."}
	file := filepath.Join(t.TempDir(), "a2a.db")
	for i, text := range turns {
		for _, at := range []string{"before create", "after create", "before change", "after change", "before memo"} {
			n := 1
			for killedTurn(t, file, text, fmt.Sprintf("%s#%d", at, n), i) {
				n += step
			}
			if n == 1 && at != "before memo" && (i < 2 || !strings.HasSuffix(at, "create")) {
				t.Errorf("turn %d: no process was killed at %q", i, at)
			}
		}
		if !killedTurn(t, file, text, "answered#1", i) {
			t.Fatalf("turn %d was not answered", i)
		}
		file = after(t, file, text, "answered#1")
	}
}

// after lets a process make a turn on a copy of a file, to be killed at a point. It
// returns the copy, or "" if the process did not come to the point.
func after(t *testing.T, file, text, at string, env ...string) string {
	t.Helper()
	dir := t.TempDir()
	data, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "a2a.db"), data, 0o600)
	}
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), "A2A_CHILD="+dir, "A2A_SAY="+text, "A2A_KILL="+at), env...)
	out, _ := cmd.CombinedOutput()
	switch {
	case bytes.HasPrefix(out, []byte("killed")):
		return filepath.Join(dir, "a2a.db")
	case bytes.HasPrefix(out, []byte("error")):
		t.Fatalf("%s: %s", at, out)
	}
	return ""
}

// killedTurn kills a turn at a point, lets the next server have a turn, and checks what
// its mind gets. It reports whether the first process came to the point. before is how
// many turns the file has.
func killedTurn(t *testing.T, file, text, at string, before int) bool {
	t.Helper()
	copied := after(t, file, text, at)
	if copied == "" {
		return false
	}
	var got []Turn
	s, err := New(Config{Mind: talker(func(turn Turn) { got = append(got, turn) }), File: copied})
	if err != nil {
		t.Fatalf("killed at %s: %v", at, err)
	}
	want, waits := finished(t, s)
	if strings.HasPrefix(at, "answered") {
		before++
	}
	if least := [][]Said{nil, {{false, "I go to Oslo."}, {true, "Noted."}}, nil, {{false, "I go to Oslo."}, {true, "Noted."}, {false, "Ask me."}, {true, "Which?"}, {false, "By train."}, {true, "Noted."}}}[before]; least != nil && !reflect.DeepEqual(want[:min(len(least), len(want))], least) {
		t.Errorf("%q, killed at %s: the file has %v, want %v", text, at, want, least)
	}
	if err := said(t.Context(), s, "Where do I go?"); err != nil {
		t.Errorf("killed at %s: %v", at, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if len(got) != 1 {
		t.Fatalf("killed at %s: %d turns", at, len(got))
	}
	if waits && (got[0].Question != "Which?" || string(got[0].Memo) != `"memo"`) {
		t.Errorf("killed at %s: the question is lost: %+v", at, got[0])
	}
	if waits { // what the waiting task itself has comes after the finished ones
		want = append(want, Said{false, "Ask me."}, Said{true, "Which?"})
	}
	if !reflect.DeepEqual(got[0].Earlier, want) && len(got[0].Earlier)+len(want) > 0 {
		t.Errorf("%q, killed at %s: the mind gets %v, want %v", text, at, got[0].Earlier, want)
	}
	if all, err := json.Marshal(got); err != nil || bytes.Contains(all, []byte("CANARY")) {
		t.Errorf("killed at %s: a thought comes back: %s, %v", at, all, err)
	}
	return true
}

// finished returns what was said in the finished tasks of a file, as they are on disk,
// and whether a task waits.
func finished(t *testing.T, s *Server) (all []Said, waits bool) {
	t.Helper()
	var tasks []*a2a.Task
	for _, l := range s.store.alone() {
		r, err := s.store.row(l.owner, l.id)
		if err != nil {
			t.Fatal(err)
		}
		switch r.Task.Status.State {
		case a2a.TaskStateCompleted:
			tasks = append(tasks, r.Task)
		case a2a.TaskStateInputRequired:
			waits = true
		case a2a.TaskStateFailed:
		default:
			t.Errorf("a task is left in %s", r.Task.Status.State)
		}
	}
	for _, first := range []string{"I go to Oslo.", "Ask me."} { // the order in which they began
		for _, task := range tasks {
			if task.History[0].Parts[0].Text() != first {
				continue
			}
			for _, m := range task.History {
				if m.Metadata[ProgressKey] != true {
					all = append(all, Said{m.Role == a2a.MessageRoleAgent, m.Parts[0].Text()})
				}
			}
			all = append(all, Said{true, task.Artifacts[0].Parts[0].Text()})
		}
	}
	return all, waits
}
