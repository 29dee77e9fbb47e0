package a2aserver

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/record"
)

const agentScript = `
{"when":{"tool":"send_message_to_operator"},"text":"<think>SECRET three</think>Painted it red."}
{"when":{"tool":"mix"},"text":"<think>SECRET two</think>","calls":[{"name":"send_message_to_operator","arguments":{"message":"<think>SECRET</think>Which colour?"}}]}
{"when":{"user":"Paint"},"text":"<think>SECRET one</think><narrate>I mix.</narrate>Let me see.","calls":[{"name":"mix","arguments":{}}]}
{"text":"What?"}
`

// TestAgent: an agent with tools works, asks, and goes on after a restart with
// the answer, and nothing that it thought leaves it.
func TestAgent(t *testing.T) {
	mixed := 0
	config := func(name string) Config {
		return Config{File: name, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Mind: &AgentMind{Turn: agent.Turn{
			Model: scripted(t, agentScript).Model,
			Tools: []agent.Tool{AskCaller(), &agent.Func{Name: "mix", Description: "Mixes.", Do: func(context.Context, agent.Use) (string, error) {
				mixed++
				return "mixed", nil
			}}},
		}}}
	}
	name := file(t)
	h := serveUntil(t, config(name))
	task := send(t, client(t, h.url(), 0), message("Paint it."))
	all, _ := json.Marshal(task)
	if task.Status.State != a2a.TaskStateInputRequired || task.Status.Message.Parts[0].Text() != "Which colour?" {
		t.Fatalf("%s", all)
	}
	if !strings.Contains(string(all), "mix: done") || !strings.Contains(string(all), "I mix.") || strings.Contains(string(all), "SECRET") {
		t.Errorf("%s", all)
	}
	h.close(t)
	h = serve(t, config(name))
	task = send(t, client(t, h.url(), 0), follow("red", task))
	all, _ = json.Marshal(task)
	if text, ending := answerOf(t, task); text != "Painted it red." || ending != Answered || strings.Contains(string(all), "SECRET") || mixed != 1 {
		t.Errorf("%q %s, mixed %d times\n%s", text, ending, mixed, all)
	}
	if memo, err := h.store.memo("", task.ID, 1); memo != nil || err != nil {
		t.Errorf("what the agent wanted back is still there: %s, %v", memo, err)
	}
}

// person is the token of somebody who may consent to calls, and program that of somebody
// who may not.
var (
	person  = Token{Name: "person", Secret: "secret-of-person", Scopes: []access.Scope{access.Agent, access.Consent}}
	program = Token{Name: "program", Secret: "secret-of-program"}
)

// as is the client of a token.
func (h *house) as(t *testing.T, who Token) *a2aclient.Client {
	return client(t, h.url(), 0, "Authorization", "Bearer "+who.Secret)
}

// TestConfirm: a call that needs consent pauses the task, with the call in the question.
// The next message decides, also after a restart. No thought and no secret is shown.
func TestConfirm(t *testing.T) {
	for answer, want := range map[string]string{"yes": "It is gone.", "No, wait.": "I left it."} {
		erased := 0
		config := func(name string) Config {
			return Config{File: name, Tokens: []Token{person}, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Mind: &AgentMind{Turn: agent.Turn{
				Model: scripted(t, `
{"when":{"contains":"not called: it was refused by the person who was asked, who said: No, wait."},"text":"I left it."}
{"when":{"tool":"erase"},"text":"<think>SECRET two</think>It is gone."}
{"text":"<think>SECRET one</think>","calls":[{"name":"erase","arguments":{"what":"<think>SECRET</think>all of sk-of-the-file"}}]}
`).Model,
				Confirm: []string{"erase"}, Secrets: record.NewSecrets("sk-of-the-file"),
				Tools: []agent.Tool{&agent.Func{Name: "erase", Schema: `{"type":"object"}`, Do: func(context.Context, agent.Use) (string, error) {
					erased++
					return "erased", nil
				}}},
			}}}
		}
		name := file(t)
		h := serveUntil(t, config(name))
		task := send(t, h.as(t, person), message("Erase it."))
		all, _ := json.Marshal(task)
		if task.Status.State != a2a.TaskStateInputRequired || !strings.Contains(task.Status.Message.Parts[0].Text(), `erase {"what":"all of [secret] [21 bytes of reasoning are not shown]"}`) || erased != 0 {
			t.Fatalf("%d calls: %s", erased, all)
		}
		h.close(t)
		h = serve(t, config(name))
		task = send(t, h.as(t, person), follow(answer, task))
		after, _ := json.Marshal(task)
		if text, _ := answerOf(t, task); text != want || (erased == 1) != (answer == "yes") {
			t.Errorf("%s: %q, %d calls", answer, text, erased)
		}
		for _, secret := range []string{"SECRET", "sk-of-the-file"} {
			if strings.Contains(string(all)+string(after), secret) {
				t.Errorf("%s is shown: %s\n%s", secret, all, after)
			}
		}
	}
}

// TestRemote: of a remote agent visible text comes back, whatever it puts where,
// and its question can be answered.
func TestRemote(t *testing.T) {
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	call := func(h *house, args string) (string, error) {
		tool, err := Remote{Name: "remote", Description: "r", URL: h.url(), Token: "a", Transport: tr}.Tool()
		if err != nil {
			t.Fatal(err)
		}
		return tool.Call(t.Context(), agent.Use{Name: "remote", Arguments: json.RawMessage(args)})
	}
	leaky := serve(t, Config{Mind: says("<think>SECRET</think>Forty-two."), Tokens: []Token{{Name: "x", Secret: "a"}}})
	if got, err := call(leaky, `{"message":"Hi"}`); got != "Forty-two." || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	empty := serve(t, Config{Mind: says("<think>SECRET</think>")})
	if got, err := call(empty, `{"message":"Hi"}`); err == nil {
		t.Errorf("%q", got)
	}
	asks := serve(t, Config{Mind: mind(Outcome{Question: "Which?"}, nil)})
	got, err := call(asks, `{"message":"Hi"}`)
	if !strings.HasSuffix(got, ": Which?") || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	failing := serve(t, Config{Mind: mind(Outcome{}, errSilent)})
	if got, err := call(failing, `{"message":"Hi"}`); err == nil || !strings.Contains(err.Error(), "failed") {
		t.Errorf("%q, %v", got, err)
	}
	away := serve(t, Config{Mind: says("Hi."), Card: Card{URL: "http://127.0.0.1:1"}})
	if got, err := call(away, `{"message":"Hi"}`); err == nil || !strings.Contains(err.Error(), "another host") {
		t.Errorf("%q, %v", got, err)
	}
	tagged := a2a.NewTextPart("SECRET")
	tagged.SetMeta(ThoughtKey, "true")
	if got := onlyVisible([]*a2a.Part{tagged, a2a.NewTextPart("Yes.")}); got != "Yes." {
		t.Errorf("%q", got)
	}
}

// TestPreviews: what tools get and give is in status updates if the settings say so, and
// otherwise nowhere. It has no thoughts of the agent or of those below it, and no
// secrets.
func TestPreviews(t *testing.T) {
	for _, previews := range []bool{true, false} {
		h := serve(t, Config{Previews: previews, Mind: &AgentMind{Turn: agent.Turn{
			Model: scripted(t, `
{"when":{"system":"^You mix"},"text":"<think>SECRET below</think>Mixed for sk-of-the-file."}
{"when":{"step":1},"text":"<think>SECRET one</think>","calls":[{"name":"echo","arguments":{"text":"<think>SECRET</think>red, sk-of-the-file"}},{"name":"mixer","arguments":{"task":"<think>SECRET</think>Mix."}}]}
{"text":"<think>SECRET two</think>Done."}
`).Model,
			Secrets: record.NewSecrets("sk-of-the-file"), Agents: []agent.Subagent{{Name: "mixer", System: "You mix."}},
			Tools: []agent.Tool{&agent.Func{Name: "echo", Schema: `{"type":"object"}`, Do: func(_ context.Context, u agent.Use) (string, error) {
				return "got " + string(u.Arguments), nil
			}}},
		}}})
		var all strings.Builder
		e := json.NewEncoder(&all)
		e.SetEscapeHTML(false)
		for _, event := range stream(t, client(t, h.url(), 0), message("Paint.")) {
			if err := e.Encode(event); err != nil {
				t.Fatal(err)
			}
		}
		if text := all.String(); !strings.Contains(text, "Done.") || strings.Contains(text, "SECRET") || strings.Contains(text, "sk-of-the-file") {
			t.Errorf("%s", text)
		}
		for _, want := range []string{`echo: started {\"text\":\"red, [secret]\"}`, `echo: done got {\"text\":\"red, [secret]\"}`, "mixer: done Mixed for [secret]."} {
			if strings.Contains(all.String(), want) != previews {
				t.Errorf("previews %v: %q in %s", previews, want, &all)
			}
		}
	}
}
