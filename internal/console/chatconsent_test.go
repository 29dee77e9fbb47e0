package console_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/agents/agentmodel"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/agents/pending"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/testing/erasing"
	"github.com/sotto-llm/sotto/record"
)

// The tokens of people who may consent, and of one who may not.
var (
	annToken  = access.Token{Name: "ann", Secret: "ann-secret-0123456789", Scopes: []access.Scope{access.Console, access.Record, access.Models, access.Consent}}
	benToken  = access.Token{Name: "ben", Secret: "ben-secret-0123456789", Scopes: annToken.Scopes}
	lessToken = access.Token{Name: "ann", Secret: "ann-secret-0123456789", Scopes: []access.Scope{access.Console, access.Record, access.Models}}
)

// A waits is a console whose chat talks with an agent that asks before it erases.
type waits struct {
	t      *testing.T
	kept   *conversation.Store
	dir    string
	config console.Config
	base   string
	as     access.Token // who sends; no token if it has no name
	erased atomic.Int64
	booked chan string // by another agent, whose question has a form
}

func waitsAt(t *testing.T, depth int, open time.Duration, tokens ...access.Token) *waits {
	t.Helper()
	w := &waits{t: t, dir: t.TempDir(), booked: make(chan string, 10)}
	up := httptest.NewServer(scripted.New(scripted.Options{}))
	t.Cleanup(up.Close)
	base, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	to, err := record.Open(w.dir, record.Options{Policy: record.Batch})
	if err != nil {
		t.Fatal(err)
	}
	m := &agentmodel.Models{Base: gateway.UpstreamTransport(gateway.Limits{}), Record: to, Agents: []*agent.Agent{erasing.Agent(t, depth, open, &w.erased), erasing.Booker(t, open, w.booked)}}
	g, err := gateway.New(gateway.Config{Upstream: base, Transport: m, Separated: m.Has, Templates: true, Recorder: to, Tokens: tokens})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close(); m.Close(); _ = to.Close() })
	w.kept = &conversation.Store{Folder: filepath.Join(t.TempDir(), "conversations")}
	w.config = console.Config{Chat: &console.Chat{Gateway: g, Kept: w.kept}, Tokens: tokens}
	if len(tokens) > 0 {
		w.as = tokens[0]
	}
	w.start()
	return w
}

// start starts a console, as a new process does.
func (w *waits) start() {
	c := console.New(w.config)
	s := httptest.NewServer(c)
	w.t.Cleanup(func() { c.Close(); s.Close() })
	w.base = s.URL + "/"
}

func (w *waits) post(path string, q map[string]any, header ...string) (*http.Response, string) {
	w.t.Helper()
	body, _ := json.Marshal(q)
	if w.as.Name != "" {
		header = append(header, "Authorization", "Bearer "+w.as.Secret)
	}
	return postJSON(w.t, w.base+path, string(body), header...)
}

// A card is a message with a question, as JSON.
type card struct {
	ID       string
	N        int
	Text     string
	State    string
	May      bool
	Question consent.Question
	Turn     string
}

// send sends a message, and returns the conversation with the last message of the branch.
func (w *waits) send(q map[string]any) (id string) {
	w.t.Helper()
	if q["model"] == nil {
		q["model"] = "agent/eraser"
	}
	resp, text := w.post("chat/send", q)
	return w.streamed(resp, text)
}

// streamed returns the conversation of a stream that ended well.
func (w *waits) streamed(resp *http.Response, text string) (id string) {
	w.t.Helper()
	if resp.StatusCode != 200 || strings.Contains(text, `"unkept"`) || strings.Contains(text, `"error":"`) {
		w.t.Fatalf("%s %s", resp.Status, text)
	}
	for line := range strings.Lines(text) {
		var e struct{ K, ID string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			w.t.Fatal(err)
		}
		if e.K == "begin" {
			id = e.ID
		}
	}
	return id
}

// card returns a message of a conversation; the last one if n is 0.
func (w *waits) card(id string, n int) (c card) {
	w.t.Helper()
	header := []string{}
	if w.as.Name != "" {
		header = []string{"Authorization", "Bearer " + w.as.Secret}
	}
	resp, text := get(w.t, fmt.Sprintf("%schat/%s?format=json&at=%d", w.base, id, n), header...)
	var out struct {
		Messages []struct {
			N     int
			Text  string
			Reply struct{ Asks conversation.Asks }
			Ask   struct {
				State string
				May   bool
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil || resp.StatusCode != 200 || len(out.Messages) == 0 {
		w.t.Fatalf("%s %v %s", resp.Status, err, text)
	}
	for _, m := range out.Messages {
		if m.N == n || n == 0 {
			c = card{id, m.N, m.Text, m.Ask.State, m.Ask.May, consent.Question(m.Reply.Asks.Question), m.Reply.Asks.Turn}
		}
	}
	return c
}

// ask lets the agent ask, and returns the card.
func (w *waits) ask() card {
	w.t.Helper()
	c := w.card(w.send(map[string]any{"id": "new", "text": "Erase."}), 0)
	if c.State != "open" || c.Question.Tool != "erase" {
		w.t.Fatalf("%+v", c)
	}
	return c
}

// answer presses a button.
func (w *waits) answer(c card, agree bool, header ...string) (*http.Response, string) {
	w.t.Helper()
	return w.post("chat/consent", map[string]any{"id": c.ID, "at": c.N, "question": c.Question.ID, "digest": c.Question.Digest, "agree": agree}, header...)
}

// given are the receipts in the record.
func (w *waits) given() (list []record.Consent) {
	w.t.Helper()
	r, err := record.OpenReader(w.dir, record.ReadOptions{NoIndex: true})
	if err != nil {
		w.t.Fatal(err)
	}
	for e, err := range r.Events(record.Query{Types: []record.Type{record.TypeConsent}}) {
		if err != nil {
			w.t.Fatal(err)
		}
		list = append(list, e.Payload.(record.Consent))
	}
	return list
}

// receipts checks the calls, and that each receipt in the record is the person's.
func (w *waits) receipts(by string, runs int, agreed ...bool) {
	w.t.Helper()
	r, err := record.OpenReader(w.dir, record.ReadOptions{NoIndex: true})
	if err != nil {
		w.t.Fatal(err)
	}
	found := map[string][]bool{}
	for e, err := range r.Events(record.Query{Types: []record.Type{record.TypeConsent}}) {
		if err != nil {
			w.t.Fatal(err)
		}
		x := e.Payload.(record.Consent)
		if x.By != by || x.For != by || x.Way != "page" || x.Tool != "erase" || x.Digest == "" {
			w.t.Errorf("%+v", x)
		}
		found[e.Run] = append(found[e.Run], x.Agreed)
	}
	calls := int64(0)
	for _, yes := range agreed {
		if yes {
			calls++
		}
	}
	if n := w.erased.Load(); n != calls || len(found) != runs {
		w.t.Errorf("%d calls, want %d, and receipts of %v", n, calls, found)
	}
	for run, list := range found {
		if fmt.Sprint(list) != fmt.Sprint(agreed) {
			w.t.Errorf("%s has the receipts %v, want %v", run, list, agreed)
		}
	}
}

// TestChatConsent: a call that needs consent is a card, and is made if a person who may consent
// allows it there, and only then, at any depth of agents. What else comes makes no call, and
// does not use the question up.
func TestChatConsent(t *testing.T) {
	refused := func(w *waits, status int, want string) func(*http.Response, string) {
		return func(resp *http.Response, text string) {
			w.t.Helper()
			if resp.StatusCode != status || !strings.Contains(text, want) {
				w.t.Errorf("%s %s, want %d and %q", resp.Status, text, status, want)
			}
		}
	}
	for depth := 1; depth <= 3; depth++ {
		for name, attempt := range map[string]func(w *waits, c card){
			"nothing": func(*waits, card) {},
			"a text": func(w *waits, c card) {
				w.send(map[string]any{"id": c.ID, "after": c.N, "text": "yes"})
			},
			"another site": func(w *waits, c card) {
				refused(w, 403, "")(w.answer(c, true, "Sec-Fetch-Site", "cross-site"))
				refused(w, 403, "")(w.answer(c, true, "Origin", "https://elsewhere.invalid"))
			},
			"no token": func(w *waits, c card) {
				w.as = access.Token{}
				refused(w, 401, "")(w.answer(c, true))
				w.as = annToken
			},
			"another caller": func(w *waits, c card) {
				w.as = benToken
				refused(w, 404, "")(w.answer(c, true))
				w.as = annToken
			},
			"without the scope": func(w *waits, c card) {
				w.config.Tokens = []access.Token{lessToken, benToken}
				w.start()
				for _, agree := range []bool{true, false} {
					refused(w, 403, "scope consent")(w.answer(c, agree))
				}
				if now := w.card(c.ID, c.N); now.May || now.State != "open" {
					w.t.Errorf("%+v", now)
				}
				w.config.Tokens = []access.Token{annToken, benToken}
				w.start()
			},
			"a forged digest": func(w *waits, c card) {
				c.Question.Digest = consent.Call{Tool: "erase", Arguments: json.RawMessage(`{"what":"all"}`), For: c.Question.For}.Digest()
				refused(w, 400, "another question")(w.answer(c, true))
			},
			"a forged question": func(w *waits, c card) {
				c.Question.ID = "guessed"
				refused(w, 400, "another question")(w.answer(c, true))
			},
			"another message": func(w *waits, c card) {
				for _, n := range []int{-1, 0, 1, 99} {
					c.N = n
					refused(w, 400, "no message of this conversation")(w.answer(c, true))
				}
			},
			"not JSON": func(w *waits, c card) {
				resp, text := postJSON(w.t, w.base+"chat/consent", "{", "Authorization", "Bearer "+w.as.Secret)
				refused(w, 400, "the request")(resp, text)
			},
			"a restart": func(w *waits, _ card) { w.start() },
		} {
			t.Run(fmt.Sprintf("%d/%s", depth, name), func(t *testing.T) {
				w := waitsAt(t, depth, 0, annToken, benToken)
				first := w.ask()
				through := strings.TrimPrefix(strings.Repeat(" > next", depth-1), " > ")
				if first.Question.Through != through || first.Question.For != "console.ann" || first.Question.Arguments != `{"what":"a [21 bytes of reasoning are not shown]"}` || !first.May {
					t.Errorf("%+v", first)
				}
				attempt(w, first)
				if n := w.erased.Load(); n != 0 {
					t.Fatalf("%d calls before anybody consented", n)
				}
				resp, text := w.answer(first, true)
				w.streamed(resp, text)
				if now := w.card(first.ID, first.N); now.State != "answered" || w.erased.Load() != 1 {
					t.Errorf("%+v, %d calls", now, w.erased.Load())
				}
				second := w.card(first.ID, 0)
				if second.State != "open" || second.Question.ID == first.Question.ID || second.Question.Arguments != `{"what":"b"}` {
					t.Fatalf("%+v", second)
				}
				refused(w, 409, "answered before")(w.answer(first, true)) // a replay
				resp, text = w.answer(second, false)
				w.streamed(resp, text)
				if last := w.card(first.ID, 0); last.State != "" || depth == 1 && last.Text != "I left it." || strings.Contains(last.Text, "CANARY") {
					t.Errorf("%+v", last)
				}
				w.receipts("console.ann", depth, true, false)
			})
		}
	}
}

// Where there are no tokens, the page may consent.
func TestChatConsentWithoutTokens(t *testing.T) {
	w := waitsAt(t, 1, 0)
	c := w.ask()
	resp, text := w.answer(c, true)
	w.streamed(resp, text)
	w.receipts("console", 1, true)
}

// TestChatConsentTooLate: a question that has closed says so, and an answer to it makes no call.
func TestChatConsentTooLate(t *testing.T) {
	for depth := 1; depth <= 3; depth++ {
		w := waitsAt(t, depth, time.Nanosecond)
		c := w.card(w.send(map[string]any{"id": "new", "text": "Erase."}), 0)
		if c.State != "late" {
			t.Errorf("%+v", c)
		}
		for _, agree := range []bool{true, false} {
			if resp, text := w.answer(c, agree); resp.StatusCode != 409 || !strings.Contains(text, "too late") {
				t.Errorf("%s %s", resp.Status, text)
			}
		}
		w.receipts("console", 0)
	}
}

// TestChatConsentTwoTabs: of two answers at the same time one wins, and the other is told.
func TestChatConsentTwoTabs(t *testing.T) {
	w := waitsAt(t, 1, 0)
	c := w.ask()
	type got struct {
		status int
		text   string
	}
	all := make(chan got)
	for range 2 {
		go func() {
			resp, text := w.answer(c, true)
			all <- got{resp.StatusCode, text}
		}()
	}
	a, b := <-all, <-all
	if a.status > b.status {
		a, b = b, a
	}
	if a.status != 200 || b.status != 409 || !strings.Contains(b.text, "answered before") {
		t.Errorf("%+v and %+v", a, b)
	}
	w.receipts("console", 1, true)
}

// TestChatConsentKilled: a turn that a process had taken when it ended is not taken again, and
// the card says that the call may have been made.
func TestChatConsentKilled(t *testing.T) {
	for depth := 1; depth <= 3; depth++ {
		w := waitsAt(t, depth, 0)
		c := w.ask()
		if err := pending.Mark(w.kept, "console/", c.Turn); err != nil {
			t.Fatal(err)
		}
		w.start()
		if now := w.card(c.ID, c.N); now.State != "lost" {
			t.Errorf("%+v", now)
		}
		if resp, text := w.answer(c, true); resp.StatusCode != 409 || !strings.Contains(text, "not known") {
			t.Errorf("%s %s", resp.Status, text)
		}
		w.receipts("console", 0)
	}
}

// TestChatConsentChanged: if the call is not the one on the card any more, at whatever depth it
// changed, no call is made, and the person is asked again.
func TestChatConsentChanged(t *testing.T) {
	for depth := 1; depth <= 3; depth++ {
		w := waitsAt(t, depth, 0)
		c := w.ask()
		turn, release, err := pending.Take(w.kept, "console/", "eraser", c.Turn, func(q consent.Question) consent.Answer {
			return q.Yes(consent.Principal{Name: "console", Way: consent.Page, Scoped: true})
		}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		release()
		data, _ := json.Marshal(turn)
		changed := strings.ReplaceAll(string(data), `\u003cthink\u003eCANARY\u003c/think\u003ea`, `all`)
		if changed == string(data) {
			t.Fatalf("nothing to change in %s", data)
		}
		if err := json.Unmarshal([]byte(changed), turn); err != nil {
			t.Fatal(err)
		}
		id, err := pending.Keep(w.kept, "console/", *turn)
		if err != nil {
			t.Fatal(err)
		}
		err = w.kept.Change("console/", c.ID, func(f *conversation.File) (conversation.Change, error) {
			m := f.Messages[c.N-1]
			r := *m.Reply
			r.Asks = &conversation.Asks{Question: conversation.Question(c.Question), Turn: id}
			m.Reply = &r
			return conversation.Change{Add: []conversation.Message{m}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		c = w.card(c.ID, 0)
		resp, text := w.answer(c, true)
		w.streamed(resp, text)
		if again := w.card(c.ID, 0); again.State != "open" || again.Question.Digest == c.Question.Digest || again.Question.Arguments != `{"what":"all"}` {
			t.Errorf("depth %d: %+v", depth, again)
		}
		if n := w.erased.Load(); n != 0 {
			t.Errorf("depth %d: %d calls", depth, n)
		}
	}
}

// A conversation that is deleted takes the turn with it that waits.
func TestChatConsentDeleted(t *testing.T) {
	w := waitsAt(t, 1, 0)
	c := w.ask()
	resp, text := postForm(t, w.base+"chat/"+c.ID+"/delete", url.Values{"word": {"delete"}})
	if resp.StatusCode != 303 {
		t.Fatalf("%s %s", resp.Status, text)
	}
	if err := pending.State(w.kept, "console/", c.Turn); err == nil {
		t.Error("the turn is still kept")
	}
}

// TestConsentForm: the card of a question with a form has its fields, and what a person gives reaches
// the tool, checked. What does not fit is refused with the field, and the question stays open. A
// dismissal is not a refusal. The record has the values in the receipt.
func TestConsentForm(t *testing.T) {
	w := waitsAt(t, 1, time.Hour)
	answer := func(id string, n int, q consent.Question, more map[string]any) (*http.Response, string) {
		body := map[string]any{"id": id, "at": n, "question": q.ID, "digest": q.Digest}
		maps.Copy(body, more)
		return w.post("chat/consent", body)
	}
	ask := func() (string, card) {
		id := w.send(map[string]any{"id": "new", "text": "Book.", "model": "agent/booker"})
		return id, w.card(id, 0)
	}
	id, c := ask()
	_, page := get(t, w.base+"chat/"+id)
	for _, want := range []string{`name="v.name"`, `type="email"`, `<option value="d" selected>Double`, `multiple`, `value="2"`, "&lt;script&gt;hacked", `class="dismiss"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the card has no %s", want)
		}
	}
	for want, values := range map[string]map[string][]string{
		"name: a value is needed": {"mail": {"a@example.org"}}, "mail: want an address": {"name": {"Ada"}, "mail": {"nobody"}}, "nights: ": {"name": {"Ada"}, "nights": {"31"}},
		"nights: want a number": {"name": {"Ada"}, "nights": {"two"}}, "room: ": {"name": {"Ada"}, "room": {"suite"}}, "name: want one value": {"name": {"Ada", "Bob"}},
	} {
		if resp, text := answer(id, c.N, c.Question, map[string]any{"agree": true, "values": values}); resp.StatusCode != 400 || !strings.Contains(text, want) {
			t.Errorf("%v: %s %s, want %q", values, resp.Status, text, want)
		}
	}
	w.streamed(answer(id, c.N, c.Question, map[string]any{"agree": true, "values": map[string][]string{"name": {"Ada"}, "extras": {"tea", "bike"}, "nights": {"3"}}}))
	if got, want := <-w.booked, `{"extras":["tea","bike"],"name":"Ada","nights":3,"room":"d","smoke":false}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for want, more := range map[string]map[string]any{"dismissed": {"dismiss": true}, "refused": {}} {
		id, c := ask()
		w.streamed(answer(id, c.N, c.Question, more))
		if got := <-w.booked; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	var receipts []string
	for _, x := range w.given() {
		text := ""
		if x.Values != nil {
			text = string(x.Values.Text)
		}
		receipts = append(receipts, fmt.Sprint(x.Agreed, " ", x.Dismissed, " ", text))
	}
	slices.Sort(receipts)
	if want := []string{"false false ", "false true ", `true false {"extras":["tea","bike"],"name":"Ada","nights":3,"smoke":false}`}; !slices.Equal(receipts, want) {
		t.Errorf("%q, want %q", receipts, want)
	}
}
