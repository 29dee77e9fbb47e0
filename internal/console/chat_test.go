package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// chatConfig is that of a console whose chat talks with an upstream.
func chatConfig(t *testing.T, upstream http.Handler) console.Config {
	t.Helper()
	up := httptest.NewServer(upstream)
	t.Cleanup(up.Close)
	base, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Upstream: base})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return console.Config{Chat: &console.Chat{Gateway: g, Kept: &conversation.Store{Folder: filepath.Join(t.TempDir(), "conversations")}}}
}

func chatScripted(t *testing.T) console.Config {
	return chatConfig(t, scripted.New(scripted.Options{}))
}

// says is an upstream that streams texts.
func says(pieces ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, p := range pieces {
			data, _ := json.Marshal(map[string]any{"id": "r", "model": "m", "choices": []any{map[string]any{"index": 0, "delta": map[string]string{"content": p}}}})
			fmt.Fprintf(w, "data: %s\n\n", data)
		}
		fmt.Fprint(w, `data: {"id":"r","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	})
}

// postJSON sends JSON, as the page's script does.
func postJSON(t *testing.T, address, body string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest("POST", address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return do(t, r)
}

// send sends a message and returns the events of the reply.
func send(t *testing.T, base string, q map[string]any) (events []map[string]any) {
	t.Helper()
	if q["model"] == nil {
		q["model"] = "plain"
	}
	body, _ := json.Marshal(q)
	resp, text := postJSON(t, base+"chat/send", string(body))
	if resp.StatusCode != 200 {
		t.Fatalf("%s: %s", resp.Status, text)
	}
	for line := range strings.Lines(text) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		events = append(events, e)
	}
	if n := len(events); n < 2 || events[0]["k"] != "begin" || events[n-1]["k"] != "end" {
		t.Fatalf("the events are %v", events)
	}
	return events
}

// tree reads a conversation as JSON.
func tree(t *testing.T, base, path string) (out struct {
	Title, ID            string
	Leaf, Earlier, Later int
	All                  int
	Messages             []struct {
		N, Parent int
		Text      string
		Role      string
		Beside    []int
		Stopped   bool
	}
}) {
	t.Helper()
	resp, text := get(t, base+path)
	if err := json.Unmarshal([]byte(text), &out); err != nil || resp.StatusCode != 200 {
		t.Fatalf("%s: %s %v %s", path, resp.Status, err, text)
	}
	return out
}

// A conversation has branches: a reply that was asked again and a message that was
// edited stand beside the first ones, and every branch stays.
func TestChatBranches(t *testing.T) {
	config := chatScripted(t)
	base := serve(t, config, "/any/prefix/")
	id := send(t, base, map[string]any{"id": "new", "text": "One?"})[0]["id"].(string)
	send(t, base, map[string]any{"id": id, "after": 2, "text": "Two?"})                // 3, 4
	send(t, base, map[string]any{"id": id, "after": 3, "again": true})                 // 5 beside 4
	send(t, base, map[string]any{"id": id, "after": 1, "edits": true, "text": "Uno?"}) // 6, 7: 6 beside 1
	now := tree(t, base, "chat/"+id+"?format=json")
	if now.Title != "One?" || now.All != 7 || now.Leaf != 7 || len(now.Messages) != 2 || now.Messages[0].Text != "Uno?" || fmt.Sprint(now.Messages[0].Beside) != "[1 6]" {
		t.Errorf("after an edit: %+v", now)
	}
	for at, want := range map[string]string{"1": "1 2 3 5", "4": "1 2 3 4", "5": "1 2 3 5", "6": "6 7", "99": "6 7", "x": "6 7"} {
		var got []string
		for _, m := range tree(t, base, "chat/"+id+"?format=json&at="+at).Messages {
			got = append(got, fmt.Sprint(m.N))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("at %s: messages %v, not %s", at, got, want)
		}
	}
	// A new console, as after a restart, has it too.
	again := serve(t, config, "/")
	if _, page := get(t, again+"chat/"+id+"?at=4"); !strings.Contains(page, `id="m4"`) || !strings.Contains(page, "1/2") || strings.Contains(page, "Uno?") {
		t.Errorf("the page of a branch: %s", page)
	}
	if resp, text := get(t, base+"chat/"+id+"/export?at=5"); !strings.Contains(text, "Two?") || strings.Contains(text, "Uno?") || !strings.Contains(resp.Header.Get("Content-Disposition"), "attachment") {
		t.Errorf("the exported branch: %s", text)
	}
	if _, text := get(t, base+"chat/"+id+"/export?as=json"); !strings.Contains(text, "Uno?") || !strings.Contains(text, "Two?") || !json.Valid([]byte(text)) {
		t.Errorf("the exported conversation: %s", text)
	}
	if _, text := get(t, base+"chat?q=UNO&format=json"); !strings.Contains(text, `"message":6`) {
		t.Errorf("the search: %s", text)
	}
	if _, text := get(t, base+"chat?q=nosuch&format=json"); strings.Contains(text, id) {
		t.Errorf("the search: %s", text)
	}
	form := func(path, body string) (*http.Response, string) {
		return postJSON(t, base+"chat/"+id+path, body, "Content-Type", "application/x-www-form-urlencoded")
	}
	if resp, _ := form("/title", "title=About+numbers"); resp.StatusCode != 303 || resp.Header.Get("Location") != "../"+id {
		t.Errorf("a new title: %s", resp.Status)
	}
	if got := tree(t, base, "chat/"+id+"?format=json").Title; got != "About numbers" {
		t.Errorf("the title is %q", got)
	}
	if resp, _ := form("/delete", "word=yes"); resp.StatusCode != 400 {
		t.Errorf("deleted without the word: %s", resp.Status)
	}
	if resp, _ := form("/delete", "word=delete"); resp.StatusCode != 303 {
		t.Errorf("delete: %s", resp.Status)
	}
	if resp, _ := get(t, base+"chat/"+id); resp.StatusCode != 404 {
		t.Errorf("after it was deleted: %s", resp.Status)
	}
}

// The rest of a long conversation is on other pages, and every message is on one.
func TestChatPages(t *testing.T) {
	config := chatScripted(t)
	n := 3001
	if effort.Brief() {
		n = 501
	}
	add := make([]conversation.Message, n)
	for i := range add {
		add[i] = conversation.Message{Role: "user", Text: fmt.Sprintf("message %d ", i+1) + strings.Repeat("word ", 100), Parent: i}
		if i%2 == 1 {
			add[i].Role = "assistant"
		}
	}
	id, err := config.Chat.Kept.Create("console/", "console", conversation.Change{Add: add})
	if err != nil {
		t.Fatal(err)
	}
	base := serve(t, config, "/")
	seen := map[int]bool{}
	for at, pages := 0, 0; pages < 100; pages++ {
		p := tree(t, base, fmt.Sprintf("chat/%s?format=json&at=%d", id, at))
		if len(p.Messages) == 0 || len(p.Messages) > 40 || at > 0 && (p.Messages[0].N > at || p.Messages[len(p.Messages)-1].N < at) {
			t.Fatalf("at %d: %d messages from %d", at, len(p.Messages), p.Messages[0].N)
		}
		for _, m := range p.Messages {
			seen[m.N] = true
		}
		if at = p.Earlier; at == 0 {
			break
		}
	}
	if len(seen) != len(add) {
		t.Errorf("%d of %d messages are on a page", len(seen), len(add))
	}
	if _, page := get(t, base+"chat/"+id); len(page) > 400<<10 {
		t.Errorf("a page of %d bytes", len(page))
	}
	// The text on a page is bounded too, and says where the rest is.
	long := strings.Repeat("A long line of an answer.\n\n", 40_000)
	var all []conversation.Message
	for i := range 4 {
		all = append(all, conversation.Message{Role: "assistant", Text: long, Parent: i})
	}
	if id, err = config.Chat.Kept.Create("console/", "console", conversation.Change{Add: all}); err != nil {
		t.Fatal(err)
	}
	if _, page := get(t, base+"chat/"+id); len(page) > 2<<20 || !strings.Contains(page, "The rest is in the exported file.") {
		t.Errorf("a page of %d bytes", len(page))
	}
}

// What is streamed as blocks is what the page shows of the kept answer.
func TestChatStream(t *testing.T) {
	answer := "# Title\n\nA paragraph that is long enough to be a block of its own, with words.\n\n```go\nfunc f() {}\n```\n\nThe *end* of it, which has [a link](https://example.org/x)."
	var pieces []string
	for rest := answer; rest != ""; {
		n := min(len(rest), 7)
		pieces, rest = append(pieces, rest[:n]), rest[n:]
	}
	base := serve(t, chatConfig(t, says(pieces...)), "/")
	events := send(t, base, map[string]any{"id": "new", "text": "x", "model": "m"})
	var shown, open strings.Builder
	blocks := 0
	for _, e := range events {
		switch e["k"] {
		case "text":
			open.WriteString(e["s"].(string))
		case "block":
			open.Reset()
			blocks++
			for _, n := range e["nodes"].([]any) {
				text(n, &shown)
			}
		}
	}
	var kept strings.Builder
	_, page := get(t, base+"chat/"+events[0]["id"].(string))
	walk(t, page, func(n *html.Node) {
		if n.Data == "div" && len(n.Attr) > 0 && n.Attr[0].Val == "answer md" && kept.Len() == 0 {
			for d := range n.Descendants() {
				if d.Type == html.TextNode {
					kept.WriteString(d.Data)
				}
			}
		}
	})
	if shown.String() != kept.String() || blocks < 2 || open.Len() > 0 || !strings.Contains(kept.String(), "func f() {}") {
		t.Errorf("%d blocks, streamed:\n%s\nkept:\n%s\nopen: %s", blocks, shown.String(), kept.String(), open.String())
	}
}

// text writes the texts in a node.
func text(n any, to *strings.Builder) {
	switch n := n.(type) {
	case string:
		to.WriteString(n)
	case []any:
		if n[0] == "div" {
			to.WriteString(n[2].(string))
			return
		}
		for _, child := range n[2:] {
			text(child, to)
		}
	}
}

// A browser that goes away, a stop and the end of the console each stop the upstream, and
// what was said is kept as stopped.
func TestChatStops(t *testing.T) {
	for _, how := range []string{"stop", "gone", "closed"} {
		t.Run(how, func(t *testing.T) {
			gone := make(chan struct{})
			config := chatConfig(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer close(gone)
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, `data: {"id":"r","model":"m","choices":[{"index":0,"delta":{"content":"It began. "}}]}`+"\n\n")
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}))
			k := console.New(config)
			s := httptest.NewServer(k)
			t.Cleanup(func() { k.Close(); s.Close() })
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			r, _ := http.NewRequestWithContext(ctx, "POST", s.URL+"/chat/send", strings.NewReader(`{"id":"new","text":"x","model":"m"}`))
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			lines := json.NewDecoder(resp.Body)
			var begin, first struct{ K, ID, Stop, S string }
			if lines.Decode(&begin) != nil || lines.Decode(&first) != nil || first.S != "It began. " {
				t.Fatalf("%+v %+v", begin, first)
			}
			switch how {
			case "stop":
				if _, text := postJSON(t, s.URL+"/chat/stop", `{"stop":"`+begin.Stop+`"}`); !strings.Contains(text, `"stopped":true`) {
					t.Error(text)
				}
			case "gone":
				leave()
			case "closed":
				k.Close()
			}
			select {
			case <-gone:
			case <-time.After(time.Minute):
				t.Fatal("the upstream still writes")
			}
			for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
				f, err := config.Chat.Kept.Get("console/", begin.ID)
				if err != nil {
					t.Fatal(err)
				}
				if n := len(f.Messages); n == 2 {
					if m := f.Messages[1]; !m.Stopped || m.Text != "It began. " || m.Reply.Error != "" {
						t.Errorf("%+v %+v", m, m.Reply)
					}
					return
				}
				if time.Now().After(end) {
					t.Fatal("the reply is not kept")
				}
			}
		})
	}
}

// A message is bounded, says what is wrong with it, and goes nowhere that it should not.
func TestChatRefusals(t *testing.T) {
	base := serve(t, chatScripted(t), "/")
	id := send(t, base, map[string]any{"id": "new", "text": "x"})[0]["id"].(string)
	file := func(text string) string { return `[{"name":"f.txt","text":"` + text + `"}]` }
	for body, want := range map[string]string{
		`{`:                                   "not valid JSON",
		`{"id":1}`:                            "members of a message",
		`{"id":"new","text":"x"}`:             "choose a model",
		`{"id":"new","model":"m","text":" "}`: "empty",
		`{"id":"new","model":"m","text":"x","think":"maybe"}`:                                                  "think",
		`{"id":"new","model":"m","text":"` + strings.Repeat("x", 256<<10+1) + `"}`:                             "longer than",
		`{"id":"new","model":"m","text":"x","files":` + file(strings.Repeat("x", 256<<10+1)) + `}`:             "text file",
		`{"id":"new","model":"m","text":"x","files":` + file(`\u0000`) + `}`:                                   "text file",
		`{"id":"new","model":"m","text":"x","files":[` + strings.Repeat(`{"name":"a","text":""},`, 8) + `{}]}`: "at most 8",
		`{"id":"` + id + `","model":"m","text":"x","after":9}`:                                                 "message 9",
		`{"id":"` + id + `","model":"m","after":2,"again":true}`:                                               "message 2",
		`{"id":"` + id + `","model":"m","text":"x","after":2,"edits":true}`:                                    "message 2",
		`{"id":"` + strings.Repeat("0", 32) + `","model":"m","text":"x"}`:                                      "no such conversation",
		`{"id":"../../x","model":"m","text":"x"}`:                                                              "no such conversation",
		strings.Repeat(" ", 4<<20+1):                                                                           "larger than",
	} {
		resp, text := postJSON(t, base+"chat/send", body)
		if resp.StatusCode < 400 || resp.StatusCode >= 500 || !strings.Contains(text, want) {
			t.Errorf("%.80s: %s %s", body, resp.Status, text)
		}
	}
	config := chatScripted(t)
	config.Chat.Kept.Limits.Each = 1
	small := serve(t, config, "/")
	full := send(t, small, map[string]any{"id": "new", "text": "x"})[0]["id"].(string)
	if resp, text := postJSON(t, small+"chat/send", `{"id":"`+full+`","model":"plain","text":"x","after":2}`); resp.StatusCode != 400 || !strings.Contains(text, "begin a new chat") {
		t.Errorf("a full conversation: %s %s", resp.Status, text)
	}
	if got := tree(t, base, "chat/"+id+"?format=json"); got.All != 2 {
		t.Errorf("a refused message was kept: %+v", got)
	}
	for name, header := range map[string][]string{"another origin": {"Origin", "https://attacker.invalid"}, "another site": {"Sec-Fetch-Site", "cross-site"}, "a page of this site": {"Sec-Fetch-Site", "same-site"}} {
		for _, path := range []string{"chat/send", "chat/stop", "chat/" + id + "/title", "chat/" + id + "/delete"} {
			if resp, _ := postJSON(t, base+path, `{"id":"new","text":"x","model":"plain"}`, header...); resp.StatusCode != 403 {
				t.Errorf("%s, %s: %s", name, path, resp.Status)
			}
		}
	}
	if resp, _ := get(t, base+"chat/send"); resp.StatusCode != 404 {
		t.Errorf("GET sends: %s", resp.Status)
	}
}

// Writing needs the scope of models too. Each token has its own conversations.
func TestChatTokens(t *testing.T) {
	config := chatScripted(t)
	reads := []access.Scope{access.Console, access.Record}
	config.Tokens = []access.Token{{Name: "ada", Secret: "secret-of-ada"}, {Name: "bob", Secret: "secret-of-bob"}, {Name: "eve", Secret: "secret-of-eve", Scopes: reads}}
	base := serve(t, config, "/")
	say := func(token string) (*http.Response, string) {
		return postJSON(t, base+"chat/send?format=json", `{"id":"new","text":"x","model":"plain"}`, "Authorization", "Bearer "+token)
	}
	resp, text := say("secret-of-ada")
	if resp.StatusCode != 200 {
		t.Fatalf("%s %s", resp.Status, text)
	}
	var begin struct{ ID string }
	_ = json.Unmarshal([]byte(text[:strings.IndexByte(text, '\n')]), &begin)
	if resp, text := say("secret-of-eve"); resp.StatusCode != 403 || !strings.Contains(text, "models") {
		t.Errorf("a token that only reads: %s %s", resp.Status, text)
	}
	if resp, _ := say("nothing"); resp.StatusCode != 401 {
		t.Errorf("no token: %s", resp.Status)
	}
	for token, want := range map[string]int{"secret-of-ada": 200, "secret-of-bob": 404, "secret-of-eve": 404} {
		if resp, _ := get(t, base+"chat/"+begin.ID+"?format=json", "Authorization", "Bearer "+token); resp.StatusCode != want {
			t.Errorf("%s: %s", token, resp.Status)
		}
	}
	// A login knows whose it is.
	login, _ := postJSON(t, base+"login", "token=secret-of-eve", "Content-Type", "application/x-www-form-urlencoded")
	cookie := login.Header.Get("Set-Cookie")
	if _, page := get(t, base+"chat/new", "Cookie", cookie); strings.Contains(page, `id="composer"`) || !strings.Contains(page, "scope models") {
		t.Errorf("the page of a token that only reads: %s", page)
	}
	if resp, _ := postJSON(t, base+"chat/send", `{"id":"new","text":"x","model":"plain"}`, "Cookie", cookie); resp.StatusCode != 403 {
		t.Errorf("a login that only reads: %s", resp.Status)
	}
}

// A console without a gateway has no chat and no route of it.
func TestNoChat(t *testing.T) {
	base := serve(t, console.Config{Record: consoletest.Store(t, consoletest.Scripted(t))}, "/")
	if _, page := get(t, base+"exchanges"); strings.Contains(page, `"chat"`) {
		t.Error("the rail has a chat")
	}
	for _, path := range []string{"chat", "chat/new", "chat/send", "chat/stop"} {
		if resp, _ := get(t, base+path); resp.StatusCode != 404 {
			t.Errorf("%s: %s", path, resp.Status)
		}
		if resp, _ := postJSON(t, base+path, "{}"); resp.StatusCode != 404 {
			t.Errorf("POST %s: %s", path, resp.Status)
		}
	}
}

// Hostile texts are inert in the messages, the names and the list, as they are in the
// pages of exchanges.
func TestChatHostile(t *testing.T) {
	config := chatScripted(t)
	var all []conversation.Message
	for i, text := range consoletest.Hostile() {
		if len(text) > 4000 {
			continue
		}
		text = strings.ToValidUTF8(text, "?")
		all = append(all, conversation.Message{Role: "user", Text: text, Parent: len(all), Files: []conversation.Attachment{{Name: text, Text: text}}},
			conversation.Message{Role: "assistant", Text: text, Parent: len(all) + 1, Reply: &conversation.Reply{Model: text, Response: text, Narration: text, Error: text, Thought: 1, Calls: []conversation.Call{{Name: text, Arguments: text}}}})
		if i%9 != 8 {
			continue
		}
		if _, err := config.Chat.Kept.Create("console/", "console", conversation.Change{Title: text, Add: all}); err != nil {
			t.Fatal(err)
		}
		all = nil
	}
	base := serve(t, config, "/")
	keys, err := config.Chat.Kept.Keys("console/")
	if err != nil || len(keys) < 15 {
		t.Fatalf("%d %v", len(keys), err)
	}
	for _, k := range keys {
		_, page := get(t, base+"chat/"+k.Key)
		walk(t, page, func(n *html.Node) {
			switch n.Data {
			case "iframe", "img", "object", "embed", "base", "style", "video", "audio", "math", "image":
				t.Errorf("%s has a %s", k.Key, n.Data)
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "srcdoc" ||
					(a.Key == "href" || a.Key == "src" || a.Key == "action") && strings.Contains(strings.ToLower(a.Val), "script:") && !strings.HasPrefix(a.Val, "../exchanges/find?") {
					t.Errorf("%s: <%s %s=%q>", k.Key, n.Data, a.Key, a.Val)
				}
			}
		})
		if strings.ContainsAny(page, "\u202e\u2066\x1b\u200b") {
			t.Errorf("%s has characters that hide or reorder", k.Key)
		}
	}
}

// The model is asked the branch up to the message, with the files as fenced text. An
// edited message keeps its files, and a reply that was asked again is not in the prompt.
func TestChatPrompt(t *testing.T) {
	var asked []string
	config := chatConfig(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Messages []struct{ Role, Content string }
		}
		_ = json.NewDecoder(r.Body).Decode(&q)
		var list []string
		for _, m := range q.Messages {
			list = append(list, m.Role+": "+m.Content)
		}
		asked = append(asked, strings.Join(list, " | "))
		says(fmt.Sprintf("answer %d", len(asked))).ServeHTTP(w, r)
	}))
	base := serve(t, config, "/")
	file := []map[string]string{{"name": "notes.txt", "text": "a\n```\nb\n"}}
	id := send(t, base, map[string]any{"id": "new", "text": "One?", "files": file})[0]["id"].(string)
	send(t, base, map[string]any{"id": id, "after": 1, "again": true})
	send(t, base, map[string]any{"id": id, "after": 3, "text": "Two?"})
	send(t, base, map[string]any{"id": id, "after": 1, "edits": true, "text": "Uno?"})
	fenced := "\n\nnotes.txt\n````\na\n```\nb\n````"
	want := []string{"user: One?" + fenced, "user: One?" + fenced, "user: One?" + fenced + " | assistant: answer 2 | user: Two?", "user: Uno?" + fenced}
	if fmt.Sprintf("%q", asked) != fmt.Sprintf("%q", want) {
		t.Errorf("asked\n%q, want\n%q", asked, want)
	}
}
