package cli

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/testing/waiting"
)

// A taskPage is the console of a gateway whose agent asks before it calls, and three readers of it.
type taskPage struct {
	*running
	dir string
}

func serveTasks(t *testing.T) *taskPage {
	t.Helper()
	p := &taskPage{dir: t.TempDir()}
	for name, text := range map[string]string{
		"ann": "secret-of-ann-0123456789", "bob": "secret-of-bob-0123456789", "eve": "secret-of-eve-0123456789",
		"sotto.yaml": "console: true\nconsole-listen: 127.0.0.1:0\na2a: true\nagents: [agent.yaml]\ntokens:\n" +
			"  ann: {token-file: ann, scopes: [agent, consent, console, record, operator]}\n" +
			"  bob: {token-file: bob, scopes: [console, record]}\n" +
			"  eve: {token-file: eve, scopes: [consent, console, record, operator]}\n",
		"script.yaml": "- when: {system: You help}\n  text: Helped.\n- when: {step: 1}\n  text: <think>SECRET</think>\n  calls: [{name: helper, arguments: {task: <b>Look.</b>}}]\n- text: Done.\n",
		"agent.yaml":  "v: 1\nname: boss\nstart: outside\nmodel: {provider: scripted, script: script.yaml}\nlimits: {calls: 1}\nagents: [{name: helper, system: You help., confirm: true}]\n",
	} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.running = startServe(t, "--config="+filepath.Join(p.dir, "sotto.yaml"), "--record="+filepath.Join(p.dir, "audit"))
	return p
}

// ask sends a request as one of the readers.
func (p *taskPage) ask(who, method, address, body string, header ...string) (status int, text string) {
	p.t.Helper()
	q, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer secret-of-"+who+"-0123456789")
	if method == http.MethodPost {
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	resp, err := p.client.Do(q)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, string(all)
}

// asking begins a task of ann, and returns its id and its question.
func (p *taskPage) asking(message string) (id, question, digest string) {
	p.t.Helper()
	_, text := p.ask("ann", "POST", p.gateway+"/agents/boss/a2a", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"`+message+`","role":"ROLE_USER","parts":[{"text":"Go."}]}}}`, "Content-Type", "application/json")
	task := gjson.Get(text, "result.task")
	part := task.Get(`status.message.parts.#(data.type="sotto.consent.question").data`)
	if task.Get("status.state").Str != "TASK_STATE_INPUT_REQUIRED" || !part.Exists() {
		p.t.Fatalf("the agent does not ask: %s", text)
	}
	return task.Get("id").Str, part.Get("id").Str, part.Get("digest").Str
}

// TestServeTasks: on the page of its run, the caller of a task answers its question, and who operates
// the gateway extends and cancels it. Others see why they cannot. Each change is in the record.
func TestServeTasks(t *testing.T) {
	p := serveTasks(t)
	id, question, digest := p.asking("1")
	at := p.console + "/tasks/" + id
	form := func(pairs ...string) string {
		v := url.Values{"caller": {"ann"}}
		for i := 0; i < len(pairs); i += 2 {
			v.Set(pairs[i], pairs[i+1])
		}
		return v.Encode()
	}
	for who, want := range map[string][]string{
		"ann": {"Consent to a call", `value="allow"`, "&lt;b&gt;Look.", `name="calls"`, `/cancel"`, "nothing to add to"},
		"bob": {"Consent to a call", "Only the caller can answer", "lists the scope operator"},
		"eve": {"Only the caller can answer", `name="calls"`, `/cancel"`},
	} {
		status, page := p.ask(who, "GET", p.console+"/runs/"+id, "")
		for _, part := range want {
			if status != 200 || !strings.Contains(page, part) {
				t.Errorf("the page of %s has no %q: %d %s", who, part, status, page)
			}
		}
		if who == "bob" && strings.Contains(page, `method="post" action="../tasks`) || who != "ann" && strings.Contains(page, `value="allow"`) {
			t.Errorf("%s has forms of others: %s", who, page)
		}
	}
	for _, tt := range []struct {
		who, to, body string
		status        int
		says          string
		header        []string
	}{
		{"bob", "/cancel", form("word", "cancel"), 403, "scope operator", nil},
		{"bob", "/extend", form("calls", "1"), 403, "scope operator", nil},
		{"bob", "/answer", form("question", question, "digest", digest, "answer", "allow"), 403, "scope consent", nil},
		{"eve", "/answer", form("question", question, "digest", digest, "answer", "allow"), 400, "only &#34;ann&#34; can answer", nil},
		{"ann", "/answer", form("question", question, "digest", "x", "answer", "allow"), 400, "another question", nil},
		{"ann", "/answer", form("question", question, "digest", digest, "answer", "yes"), 400, "want allow, refuse or dismiss", nil},
		{"ann", "/answer", form("question", question, "digest", digest, "answer", "allow"), 403, "another site", []string{"Sec-Fetch-Site", "cross-site"}},
		{"ann", "/cancel", form("word", "yes"), 400, "type cancel", nil},
		{"ann", "/extend", form("tokens", "5"), 400, "tokens: the agent&#39;s file does not limit them", nil},
		{"ann", "/extend", form("time", "soon"), 400, "want a time such as", nil},
		{"ann", "/extend", form("calls", "-1"), 400, "not lowered", nil},
		{"eve", "/extend", form("calls", "2"), 200, "<td>&#43;2</td>", nil},
		{"ann", "/answer", form("question", question, "digest", digest, "answer", "allow"), 200, `data-state=`, nil},
	} {
		if status, page := p.ask(tt.who, "POST", at+tt.to, tt.body, tt.header...); status != tt.status || !strings.Contains(page, tt.says) {
			t.Errorf("%s, %s with %s: %d, and no %q: %s", tt.who, tt.to, tt.body, status, tt.says, page)
		}
	}
	state := func(id, want string) {
		t.Helper()
		waiting.For(t, "the task "+want, func() error {
			_, text := p.ask("eve", "GET", p.console+"/tasks/"+id+"?caller=ann&format=json", "")
			if gjson.Get(text, "task.state").Str != want {
				return errors.New(text)
			}
			return nil
		})
	}
	state(id, "completed")
	if status, page := p.ask("ann", "POST", at+"/extend", form("calls", "1")); status != 400 || !strings.Contains(page, "the task has ended") {
		t.Errorf("%d %s", status, page)
	}
	other, _, _ := p.asking("2")
	if status, page := p.ask("eve", "POST", p.console+"/tasks/"+other+"/cancel", form("word", "cancel")); status != 200 || !strings.Contains(page, "canceled") {
		t.Errorf("%d %s", status, page)
	}
	state(other, "canceled")
	if status, _ := p.ask("bob", "GET", p.console+"/tasks/"+other+"?caller=ann", ""); status != 403 {
		t.Errorf("the task of another has a page: %d", status)
	}
	if status, page := p.ask("eve", "POST", p.console+"/tasks/"+other+"/erase", form("what", "caller", "word", "yes")); status != 400 || !strings.Contains(page, "type erase") {
		t.Errorf("%d %s", status, page)
	}
	if status, page := p.ask("eve", "POST", p.console+"/tasks/"+other+"/erase", form("what", "caller", "word", "erase")); status != 200 {
		t.Errorf("%d %s", status, page)
	}
	for _, id := range []string{id, other} {
		if status, _ := p.ask("eve", "GET", p.console+"/tasks/"+id+"?caller=ann", ""); status != 404 {
			t.Errorf("an erased task has a page: %d", status)
		}
	}
	if status, _ := p.ask("eve", "GET", p.console+"/tasks/"+other+"?caller=bob", ""); status != 404 {
		t.Errorf("a task that is not there: %d", status)
	}
	p.interrupt(t)
	var shown, errs bytes.Buffer
	if status := Run([]string{"record", "show", filepath.Join(p.dir, "audit")}, strings.NewReader(""), &shown, &errs, func(string) string { return "" }); status != 0 {
		t.Fatal(errs.String())
	}
	for _, want := range []string{"extend", "allow", "cancel", "erase", "Helped.", "CONSENT"} {
		if !strings.Contains(shown.String(), want) {
			t.Errorf("the record has no %q:\n%s", want, shown.String())
		}
	}
}
