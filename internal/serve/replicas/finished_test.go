//go:build unix

package replicas_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/sotto-llm/sotto/internal/testing/redisserver"
	"github.com/sotto-llm/sotto/record"
)

// TestFinishedAnswer: an answer that was finished reaches its client over every API, whole or as a
// stream, also if the store has forgotten the conversation meanwhile, another turn has changed
// it, or nobody answers. The client and the record are told that the turn is not kept.
func TestFinishedAnswer(t *testing.T) {
	r := redisserver.RunPersistent(t)
	model := &speaker{waiting: map[string]chan struct{}{}, asked: make(chan string, 16)}
	up := httptest.NewServer(model)
	t.Cleanup(up.Close)
	t.Cleanup(up.CloseClientConnections)
	g, other := serve(t, up.URL, r.Address()), serve(t, up.URL, r.Address())
	type late struct {
		*slow
		name, what, text string
	}
	// begin begins a turn over each API. The conversations had one turn before.
	begin := func(why string) (turns []late) {
		for i, api := range []struct{ path, body string }{
			{"/v1/chat/completions", `"messages":[{"role":"user","content":%q}]`}, {"/api/chat", `"messages":[{"role":"user","content":%q}]`}, {"/v1/responses", `"input":%q`},
		} {
			for _, stream := range []bool{false, true} {
				text, name := fmt.Sprint("Slow ", why, i, stream), fmt.Sprint(why, i, stream)
				if status, said := g.said(t, 0, name, "First"); status != http.StatusOK {
					t.Fatal(status, said)
				}
				body := fmt.Sprintf(`{"model":"agent/parrot","stream":%v,`+api.body+`}`, stream, text)
				turns = append(turns, late{model.beginAt(t, g, api.path, body, name, text), name, name + " over " + api.path, text})
			}
		}
		return turns
	}
	end := func(turns []late, want string) {
		t.Helper()
		for _, turn := range turns {
			model.release(turn.text)
		}
		for _, turn := range turns {
			<-turn.done
			if turn.status != http.StatusOK || !strings.Contains(turn.slow.text, "First|"+turn.text) || strings.Contains(turn.slow.text, `"store":true`) && !strings.Contains(turn.slow.text, `"store":false`) {
				t.Errorf("%s: %d %s", turn.what, turn.status, turn.slow.text)
			}
			if !strings.Contains(turn.slow.text, `"sotto_unkept":"this answer is not part of the conversation: `+want) {
				t.Errorf("%s: the client is not told: %s", turn.what, turn.slow.text)
			}
		}
	}
	turns := begin("forgotten")
	r.Command("FLUSHALL")
	end(turns, "another request has changed the conversation meanwhile, or it was lost")

	turns = begin("conflict")
	if err := g.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for _, turn := range turns {
		expire(t, other, turn.name)
	}
	if err := g.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	end(turns, "another request has changed the conversation meanwhile, or it was lost")

	turns = begin("outage")
	r.Kill()
	end(turns, "the conversations of this gateway cannot be reached now")

	_ = g.cmd.Process.Signal(syscall.SIGTERM)
	_ = g.cmd.Wait()
	in, err := record.OpenReader(g.record, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for e, err := range in.Events(record.Query{NoCheckpoints: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if a, ok := e.Payload.(record.Advisory); ok && a.Code == "turn_unkept" && e.Cycle == 2 {
			told++
		}
	}
	if told != 18 {
		t.Errorf("the record tells of %d turns that are not kept, and there were 18", told)
	}
}
