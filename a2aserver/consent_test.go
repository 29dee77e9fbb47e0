package a2aserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"go.etcd.io/bbolt"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/record"
)

// other is the token of another person, and boss that of an agent that passes on answers.
var (
	other = Token{Name: "other", Secret: "secret-of-other", Scopes: person.Scopes}
	boss  = Token{Name: "boss", Secret: "secret-of-boss", Scopes: []access.Scope{access.Agent, access.Consent}}
)

// A chain is some servers of which each calls the next one. The last one has a tool that
// erases, which it calls twice. Each call needs a person's consent.
type chain struct {
	t      *testing.T
	houses []*house
	files  []string
	turns  []agent.Turn
	dirs   []string // of the records
	which  int      // of the bindings
	erased atomic.Int64
}

const (
	clerkScript = `
{"when":{"contains":"not called"},"text":"<think>SECRET</think>I left it."}
{"when":{"tool":"erase"},"text":"<think>SECRET</think>It is gone."}
{"text":"<think>SECRET</think>","calls":[{"name":"erase","arguments":{"what":"<think>SECRET</think>a"}},{"name":"erase","arguments":{"what":"b"}}]}
`
	bossScript = `
{"when":{"tool":"remote"},"text":"<think>SECRET</think>The clerk has answered."}
{"text":"<think>SECRET</think>","calls":[{"name":"remote","arguments":{"message":"Erase."}}]}
`
)

func chainOf(t *testing.T, depth, which int, change func(*agent.Turn)) *chain {
	c := &chain{t: t, which: which, houses: make([]*house, depth), turns: make([]agent.Turn, depth)}
	erase := &agent.Func{Name: "erase", Schema: `{"type":"object"}`, Do: func(context.Context, agent.Use) (string, error) {
		c.erased.Add(1)
		return "erased", nil
	}}
	for i := range depth {
		c.files, c.dirs = append(c.files, file(t)), append(c.dirs, t.TempDir())
		c.turns[i] = agent.Turn{Model: scripted(t, bossScript).Model}
		if i == depth-1 {
			c.turns[i] = agent.Turn{Model: scripted(t, clerkScript).Model, Tools: []agent.Tool{erase}, Confirm: []string{"erase"}}
		}
		if change != nil {
			change(&c.turns[i])
		}
	}
	for i := depth - 1; i >= 0; i-- {
		c.start(i)
	}
	t.Cleanup(func() {
		for i := range c.houses {
			c.stop(i)
		}
	})
	return c
}

// start starts a server of the chain.
func (c *chain) start(i int) {
	w, err := record.Open(c.dirs[i], record.Options{Policy: record.Batch})
	if err != nil {
		c.t.Fatal(err)
	}
	turn := c.turns[i]
	if i < len(c.houses)-1 {
		tr := &http.Transport{}
		c.t.Cleanup(tr.CloseIdleConnections)
		tool, err := Remote{Name: "remote", Description: "r", URL: c.houses[i+1].url(), Token: boss.Secret, Transport: tr}.Tool()
		if err != nil {
			c.t.Fatal(err)
		}
		turn.Tools = []agent.Tool{tool}
	}
	c.houses[i] = serveUntil(c.t, Config{Mind: &AgentMind{Turn: turn}, File: c.files[i], Record: w, Tokens: []Token{person, other, program, boss}})
}

func (c *chain) stop(i int) {
	c.houses[i].close(c.t)
	if w := c.houses[i].store.runs.w; w != nil {
		if err := w.Close(); err != nil {
			c.t.Error(err)
		}
	}
}

// restart ends all servers and starts them on what they kept.
func (c *chain) restart() {
	for i := len(c.houses) - 1; i >= 0; i-- {
		url := c.houses[i].url()
		c.stop(i)
		c.start(i)
		c.houses[i].moved(c.t, url)
	}
}

// moved serves the house at an earlier address.
func (h *house) moved(t *testing.T, url string) {
	t.Helper()
	h.web.Close()
	l, err := net.Listen("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	h.web = httptest.NewUnstartedServer(h.Server)
	if err := h.web.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	h.web.Listener = l
	h.web.Start()
}

// as is the client of a token at the first server.
func (c *chain) as(who Token) *a2aclient.Client {
	return client(c.t, c.houses[0].url(), c.which, "Authorization", "Bearer "+who.Secret)
}

// ask lets a caller ask for the work.
func (c *chain) ask(who Token) *a2a.Task {
	c.t.Helper()
	return send(c.t, c.as(who), message("Erase."))
}

// asked returns the question of a task.
func (c *chain) asked(task *a2a.Task) consent.Question {
	c.t.Helper()
	q, err := questionIn(task.Status.Message)
	if err != nil || q == nil || task.Status.State != a2a.TaskStateInputRequired || task.Status.Message.Metadata[ConsentKey] != true {
		c.t.Fatalf("%+v asks nothing: %v", task.Status, err)
	}
	return *q
}

// answers sends an answer, as a typed part or as a text.
func (c *chain) answers(who Token, task *a2a.Task, a consent.Answer, typed bool) (*a2a.Task, error) {
	c.t.Helper()
	req := follow("yes", task)
	if typed {
		req.Message.Parts = a2a.ContentParts{dataPart(answerPart{AnswerType, a})}
	} else if !a.Agree {
		req.Message.Parts = a2a.ContentParts{a2a.NewTextPart("no")}
	}
	res, err := c.as(who).SendMessage(c.t.Context(), req)
	if err != nil {
		return nil, err
	}
	return res.(*a2a.Task), nil
}

// receipts returns the receipts of each record.
func (c *chain) receipts() [][]record.Consent {
	c.t.Helper()
	all := make([][]record.Consent, len(c.dirs))
	for i, dir := range c.dirs {
		r, err := record.OpenReader(dir, record.ReadOptions{NoIndex: true})
		if err != nil {
			c.t.Fatal(err)
		}
		for e, err := range r.Events(record.Query{Types: []record.Type{record.TypeConsent}}) {
			if err != nil {
				c.t.Fatal(err)
			}
			all[i] = append(all[i], e.Payload.(record.Consent))
		}
	}
	return all
}

// attributed checks that each call was agreed to by the person, in every record of the chain.
func (c *chain) attributed(agreed ...bool) {
	c.t.Helper()
	want := int64(0)
	for _, yes := range agreed {
		if yes {
			want++
		}
	}
	if n := c.erased.Load(); n != want {
		c.t.Errorf("%d calls, want %d", n, want)
	}
	for i, list := range c.receipts() {
		by, who := "boss", "person"
		if i == 0 {
			by, who = "person", ""
		}
		if len(list) != len(agreed) {
			c.t.Errorf("record %d has the receipts %+v", i, list)
			continue
		}
		for k, x := range list {
			if x.Agreed != agreed[k] || x.By != by || x.Person != who || x.Way != "a2a" || x.Tool != "erase" || x.Digest == "" {
				c.t.Errorf("record %d: %+v", i, x)
			}
		}
	}
}

// TestConsent: a call that needs consent is made if a person consents, and only then, at
// any depth of agents that pass the question on, by every binding, as a typed part or as a
// text. What else comes changes nothing: the question waits for the person.
func TestConsent(t *testing.T) {
	for depth := 1; depth <= 3; depth++ {
		for name, attempt := range map[string]func(c *chain, task *a2a.Task, q consent.Question) []error{
			"nothing": func(*chain, *a2a.Task, consent.Question) []error { return []error{errors.New("nothing was tried")} },
			"another caller": func(c *chain, task *a2a.Task, q consent.Question) (errs []error) {
				for _, who := range []Token{other, program, boss} {
					for _, typed := range []bool{true, false} {
						_, err := c.answers(who, task, q.Yes(consent.Principal{}), typed)
						errs = append(errs, err)
					}
				}
				return errs
			},
			"other arguments": func(c *chain, task *a2a.Task, q consent.Question) []error {
				a := q.Yes(consent.Principal{})
				a.Digest = consent.Call{Tool: q.Tool, Arguments: json.RawMessage(`{"what":"all"}`), For: q.For}.Digest()
				_, err := c.answers(person, task, a, true)
				return []error{err}
			},
			"another question": func(c *chain, task *a2a.Task, q consent.Question) []error {
				a := q.Yes(consent.Principal{})
				a.Question = "guessed"
				_, err := c.answers(person, task, a, true)
				return []error{err}
			},
			"a text of an agent": func(c *chain, task *a2a.Task, _ consent.Question) []error {
				req := follow("yes", task)
				req.Message.SetMeta(AgentKey, true)
				_, err := c.as(person).SendMessage(c.t.Context(), req)
				return []error{err}
			},
			"an answer to no question": func(c *chain, _ *a2a.Task, q consent.Question) []error {
				req := message("x")
				req.Message.Parts = append(req.Message.Parts, dataPart(answerPart{AnswerType, q.Yes(consent.Principal{})}))
				_, err := c.as(person).SendMessage(c.t.Context(), req)
				return []error{err}
			},
			"a scope that is gone": func(c *chain, task *a2a.Task, q consent.Question) (errs []error) {
				less := person
				less.Scopes = []access.Scope{access.Agent}
				if err := c.houses[0].SetTokens([]Token{less, boss}); err != nil {
					c.t.Fatal(err)
				}
				for _, typed := range []bool{true, false} {
					_, err := c.answers(person, task, q.Yes(consent.Principal{}), typed)
					errs = append(errs, err)
				}
				if err := c.houses[0].SetTokens([]Token{person, boss}); err != nil {
					c.t.Fatal(err)
				}
				return errs
			},
			"a restart": func(c *chain, _ *a2a.Task, _ consent.Question) []error {
				c.restart()
				return []error{errors.New("nothing was tried")}
			},
		} {
			for which := range bindings {
				if which > 0 && (depth > 1 || name != "nothing") {
					continue
				}
				t.Run(fmt.Sprintf("%d/%s/%s", depth, name, bindings[which].name), func(t *testing.T) {
					c := chainOf(t, depth, which, nil)
					task := c.ask(person)
					first := c.asked(task)
					for i, err := range attempt(c, task, first) {
						if err == nil {
							t.Errorf("attempt %d was taken", i)
						}
					}
					if n := c.erased.Load(); n != 0 {
						t.Fatalf("%d calls before anybody consented", n)
					}
					task, err := c.answers(person, task, first.Yes(consent.Principal{}), depth != 2)
					if err != nil {
						t.Fatal(err)
					}
					second := c.asked(task)
					if first.Arguments != `{"what":"a [21 bytes of reasoning are not shown]"}` || second.Arguments != `{"what":"b"}` || first.ID == second.ID || first.Digest == second.Digest {
						t.Errorf("the questions are %+v and %+v", first, second)
					}
					if _, err := c.answers(person, task, first.Yes(consent.Principal{}), true); err == nil || c.erased.Load() != 1 {
						t.Errorf("the first answer, sent again: %v, %d calls", err, c.erased.Load())
					}
					if task, err = c.answers(person, task, second.No(consent.Principal{}, "no"), which != 0); err != nil {
						t.Fatal(err)
					}
					text, ending := answerOf(t, task)
					if all, _ := json.Marshal(task); ending != Answered || depth == 1 && text != "I left it." || bytes.Contains(all, []byte("SECRET")) {
						t.Errorf("%s: %s", ending, all)
					}
					c.attributed(true, false)
				})
			}
		}
	}
}

// TestConsentOfNobody: where the caller cannot consent, nobody is asked, at any depth: the
// call is refused, and no text of any model or caller makes it.
func TestConsentOfNobody(t *testing.T) {
	for depth := 1; depth <= 3; depth++ {
		c := chainOf(t, depth, 0, nil)
		task := c.ask(program)
		if text, ending := answerOf(t, task); ending != Answered || depth == 1 && text != "I left it." {
			t.Errorf("depth %d: %q, %s", depth, text, ending)
		}
		if c.erased.Load() != 0 {
			t.Errorf("depth %d: %d calls", depth, c.erased.Load())
		}
		for i, list := range c.receipts() {
			for _, x := range list {
				if x.Agreed {
					t.Errorf("record %d: %+v", i, x)
				}
			}
		}
	}
	open := serve(t, Config{Mind: &AgentMind{Turn: agent.Turn{
		Model: scripted(t, clerkScript).Model, Confirm: []string{"erase"},
		Tools: []agent.Tool{&agent.Func{Name: "erase", Schema: `{"type":"object"}`, Do: func(context.Context, agent.Use) (string, error) {
			t.Error("a server without tokens made the call")
			return "", nil
		}}},
	}}})
	if text, ending := answerOf(t, send(t, client(t, open.url(), 0), message("Erase."))); ending != Answered || text != "I left it." {
		t.Errorf("%q, %s", text, ending)
	}
}

// TestConsentTooLate: an answer that comes when the question is no longer open makes no
// call, at any depth.
func TestConsentTooLate(t *testing.T) {
	for depth := 1; depth <= 3; depth++ {
		for _, typed := range []bool{true, false} {
			c := chainOf(t, depth, 0, func(turn *agent.Turn) { turn.ConsentTime = time.Nanosecond })
			task := c.ask(person)
			q := c.asked(task)
			task, err := c.answers(person, task, q.Yes(consent.Principal{}), typed)
			if err != nil || c.erased.Load() != 0 {
				t.Fatalf("depth %d: %v, %d calls", depth, err, c.erased.Load())
			}
			switch {
			case depth == 1 && c.asked(task).ID == q.ID:
				t.Error("the question is not a new one")
			case depth > 1 && task.Status.State == a2a.TaskStateInputRequired && c.asked(task).ID == q.ID:
				t.Errorf("depth %d: the old question waits again", depth)
			}
			for i, list := range c.receipts() {
				for _, x := range list {
					if x.Agreed {
						t.Errorf("record %d: %+v", i, x)
					}
				}
			}
		}
	}
}

// TestConsentChanged: if the call is not the one that the person was asked about when the
// answer comes, the person is asked again.
func TestConsentChanged(t *testing.T) {
	for depth := 1; depth <= 3; depth++ {
		c := chainOf(t, depth, 0, nil)
		task := c.ask(person)
		q := c.asked(task)
		c.stop(depth - 1)
		url := c.houses[depth-1].url()
		rewriteMemos(t, c.files[depth-1], func(memo []byte) []byte {
			var w agent.Waiting
			if err := json.Unmarshal(memo, &w); err != nil {
				t.Fatal(err)
			}
			w.Calls[0].Arguments = `{"what":"c"}`
			memo, _ = json.Marshal(w)
			return memo
		})
		c.start(depth - 1)
		c.houses[depth-1].moved(t, url)
		task, err := c.answers(person, task, q.Yes(consent.Principal{}), true)
		if err != nil {
			t.Fatal(err)
		}
		again := c.asked(task)
		if c.erased.Load() != 0 || again.Arguments != `{"what":"c"}` || again.Digest == q.Digest {
			t.Errorf("depth %d: %d calls, %+v", depth, c.erased.Load(), again)
		}
	}
}

// rewriteMemos changes what minds keep in a file of tasks.
func rewriteMemos(t *testing.T, name string, change func([]byte) []byte) {
	t.Helper()
	db, err := bbolt.Open(name, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	err = db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(memosBucket)
		return b.ForEach(func(k, v []byte) error {
			now := change(bytes.Clone(v))
			if !bytes.Equal(now, v) {
				changed++
			}
			return b.Put(bytes.Clone(k), now)
		})
	})
	if err := errors.Join(err, db.Close()); err != nil || changed == 0 {
		t.Fatalf("%d memos changed: %v", changed, err)
	}
}

// TestConsentOfEarlierVersion: a task that waits in a file of an earlier version, whose
// question had no type, asks again, with a question that can be answered.
func TestConsentOfEarlierVersion(t *testing.T) {
	c := chainOf(t, 1, 0, nil)
	task := c.ask(person)
	c.stop(0)
	rewriteMemos(t, c.files[0], func(memo []byte) []byte {
		var w map[string]any
		if err := json.Unmarshal(memo, &w); err != nil {
			t.Fatal(err)
		}
		delete(w, "asked")
		memo, _ = json.Marshal(w)
		return memo
	})
	c.start(0)
	task, err := c.answers(person, task, consent.Answer{Agree: true}, false)
	if err != nil {
		t.Fatal(err)
	}
	q := c.asked(task)
	if c.erased.Load() != 0 {
		t.Fatalf("%d calls", c.erased.Load())
	}
	if _, err := c.answers(person, task, q.Yes(consent.Principal{}), true); err != nil || c.erased.Load() != 1 {
		t.Errorf("%v, %d calls", err, c.erased.Load())
	}
}

// A question whose answer a crash lost is no longer in the status of its task. It is
// answered all the same, and by an answer to it alone.
func TestConsentAfterLostAnswer(t *testing.T) {
	for depth := 1; depth <= 2; depth++ {
		c := chainOf(t, depth, 0, nil)
		task := c.ask(person)
		q := c.asked(task)
		store := c.houses[0].store
		_, err := store.change(person.Name, task.ID, nil, func(_ tx, r *row) error {
			r.Task.History = append(r.Task.History, follow("yes", task).Message)
			putQuestionFirst(r.Task, r.Task.History[len(r.Task.History)-1])
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		wrong := q.Yes(consent.Principal{})
		wrong.Question = "guessed"
		if _, err := c.answers(person, task, wrong, true); err == nil || c.erased.Load() != 0 {
			t.Fatalf("%v, %d calls", err, c.erased.Load())
		}
		if _, err := c.answers(person, task, q.Yes(consent.Principal{}), true); err != nil || c.erased.Load() != 1 {
			t.Errorf("depth %d: %v, %d calls", depth, err, c.erased.Load())
		}
	}
}

// The mind takes no text of an agent as an answer either, and no answer twice, whatever the
// server lets in.
func TestMindTakesNoTextOfAgents(t *testing.T) {
	calls := 0
	m := &AgentMind{Turn: agent.Turn{
		Model: scripted(t, clerkScript).Model, Confirm: []string{"erase"},
		Tools: []agent.Tool{&agent.Func{Name: "erase", Schema: `{"type":"object"}`, Do: func(context.Context, agent.Use) (string, error) {
			calls++
			return "erased", nil
		}}},
	}}
	who := consent.Principal{Name: "person", Way: consent.A2A, Scoped: true}
	turn := Turn{Caller: "person", Principal: who, Text: "Erase.", Run: "r", Cycle: 1}
	ignore := func(Event) error { return nil }
	asked, err := m.Answer(t.Context(), turn, ignore)
	if err != nil || asked.Consent == nil {
		t.Fatalf("%+v, %v", asked, err)
	}
	turn.Memo, turn.Text, turn.ByAgent = asked.Memo, "yes", true
	again, err := m.Answer(t.Context(), turn, ignore)
	if err != nil || again.Consent == nil || again.Consent.ID == asked.Consent.ID || calls != 0 {
		t.Errorf("%+v, %v, %d calls", again, err, calls)
	}
	turn.Memo, turn.ByAgent = again.Memo, false
	if out, err := m.Answer(t.Context(), turn, ignore); err != nil || out.Consent == nil || calls != 1 {
		t.Errorf("%+v, %v, %d calls", out, err, calls)
	}
	if out, err := m.Answer(t.Context(), turn, ignore); err != nil || out.Consent == nil || calls != 1 { // the same memo and answer again
		t.Errorf("the answer counts twice: %+v, %v, %d calls", out, err, calls)
	}
}

// Parts about consent are bounded, and only whole ones are read.
func TestConsentParts(t *testing.T) {
	q := consent.About(consent.Call{Tool: "erase", For: "x"}, "{}", time.Now().Add(time.Hour))
	part := func(change func(map[string]any)) *a2a.Part {
		p := dataPart(questionPart{QuestionType, q})
		change(p.Content.(a2a.Data).Value.(map[string]any))
		return p
	}
	set := func(name string, v any) func(map[string]any) { return func(m map[string]any) { m[name] = v } }
	for name, tt := range map[string]struct {
		parts []*a2a.Part
		want  string
	}{
		"whole":     {[]*a2a.Part{nil, a2a.NewTextPart("x"), part(set("more", 1))}, ""},
		"two":       {[]*a2a.Part{part(set("more", 1)), part(set("more", 1))}, "there are two parts"},
		"no id":     {[]*a2a.Part{part(set("id", ""))}, "the question's id must have"},
		"a long id": {[]*a2a.Part{part(set("id", strings.Repeat("x", 257)))}, "the question's id must have"},
		"no digest": {[]*a2a.Part{part(set("digest", ""))}, "the question's digest must have"},
		"large":     {[]*a2a.Part{part(set("arguments", strings.Repeat("x", 26<<10)))}, "the question's arguments have more than"},
		"huge":      {[]*a2a.Part{part(set("arguments", strings.Repeat("x", 65<<10)))}, "has more than 65536 bytes"},
		"no time":   {[]*a2a.Part{part(set("until", "0001-01-01T00:00:00Z"))}, "does not say until when"},
		"not text":  {[]*a2a.Part{part(set("tool", []any{}))}, "cannot be parsed"},
	} {
		got, err := questionIn(&a2a.Message{Parts: tt.parts})
		if tt.want == "" && (err != nil || !reflect.DeepEqual(*got, q)) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %+v, %v, want %q", name, got, err, tt.want)
		}
	}
	for name, a := range map[string]consent.Answer{"no question": {Digest: "d"}, "no digest": {Question: "q"}, "a long person": {Question: "q", Digest: "d", Person: strings.Repeat("x", 257)}} {
		if got, err := consentIn(&a2a.Message{Parts: a2a.ContentParts{dataPart(answerPart{AnswerType, a})}}); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
