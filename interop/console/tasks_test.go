package console

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/sotto-llm/sotto/a2aserver"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/a2atasks"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/lab/screens"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/testing/erasing"
)

// bookingTask serves a console beside an agent whose task waits for a person, and returns the task.
func bookingTask(t *testing.T, got chan<- string, tokens ...access.Token) (base, id string) {
	t.Helper()
	ann := access.Token{Name: "ann", Secret: "secret-of-ann-0123456789", Scopes: []access.Scope{access.Agent, access.Consent, access.Console, access.Record, access.Operator}}
	w, dir := consoletest.Open(t)
	turn := erasing.Booker(t, time.Hour, got).Turn
	turn.Limits.Tokens = 100_000
	s, err := a2aserver.New(a2aserver.Config{Mind: &a2aserver.AgentMind{Turn: turn}, Tokens: []access.Token{ann}, Record: w})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	c := newConsole(console.Config{Record: consoletest.Store(t, dir), Name: "audit", Tokens: tokens, Tasks: a2atasks.Of(s)}, screens.Config{})
	page := httptest.NewServer(http.StripPrefix("/ops", c))
	t.Cleanup(func() {
		c.Close()
		page.CloseClientConnections()
		page.Close()
		_ = s.Close()
		web.Close()
		_ = w.Close()
	})
	q, err := http.NewRequest("POST", web.URL+"/a2a", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"Book."}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Authorization", "Bearer "+ann.Secret)
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var out struct {
		Result struct{ Task struct{ ID string } }
	}
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil || out.Result.Task.ID == "" {
		t.Fatalf("%+v, %v", out, err)
	}
	return page.URL + "/ops/", out.Result.Task.ID
}

// taskScreens are the screens of a task.
func taskScreens(t *testing.T) (base string, pages map[string]string) {
	t.Helper()
	base, id := bookingTask(t, make(chan string, 1))
	return base, map[string]string{"task chosen": "tasks/" + id + "?caller=ann", "task failed": "tasks/none?caller=ann", "run of a task": "runs/" + id}
}

// TestTaskForm: on the page of its run, without a script, the caller of a task fills in the form of its
// question, and adds to its limits.
func TestTaskForm(t *testing.T) {
	got := make(chan string, 1)
	base, id := bookingTask(t, got, access.Token{Name: "ann", Secret: "secret-of-ann-0123456789", Scopes: []access.Scope{access.Console, access.Record, access.Operator, access.Consent}})
	b := open(t, base)
	b.look(390, "light")
	b.visit("runs/" + id)
	b.do(chromedp.SendKeys("input[name=token]", "secret-of-ann-0123456789\r"))
	b.until(`document.querySelector('.task-card [name="v.name"]') !== null`)
	_ = js[bool](b, `document.querySelector('.extend [name="tokens"]').value = "500", document.querySelector(".extend button").click(), true`)
	b.until(`location.pathname.includes("/tasks/") && document.querySelector(".limits").innerText.includes("+500")`)
	_ = js[bool](b, `document.querySelector('[name="v.name"]').value = "Ada", document.querySelector(".ask .allow").click(), true`)
	if text, want := <-got, `{"name":"Ada","nights":2,"room":"d","smoke":false}`; text != want {
		t.Errorf("%s, want %s", text, want)
	}
	if found := js[[]string](b, "violations"); len(found) > 0 {
		t.Errorf("%v", found)
	}
}
