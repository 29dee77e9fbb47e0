package console_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/lab/runview"
	"github.com/sotto-llm/sotto/internal/lab/scoreview"
	"github.com/sotto-llm/sotto/internal/lab/screens"
	"github.com/sotto-llm/sotto/internal/lab/studyreport/studytest"
	"github.com/sotto-llm/sotto/record"
)

var update = flag.Bool("update", false, "write the pages as they are now into testdata/pages")

// What a page shows is what it showed when somebody last read it: its texts, its links
// and its fields. After a change of the pages, run
//
//	go test ./internal/console -run TestPages -update
//
// and read what changed in testdata/pages.
func TestPages(t *testing.T) {
	towers := console.Config{Record: consoletest.Store(t, towersRecord(t)), Name: "towers", Dialects: []string{"default", "qwen3"}}
	pagesAre(t, "exchanges", towers,
		"exchanges", "exchanges?model=qwen3", "exchanges?model=qwen3&text=tower&outcome=answered&diagnostic=orphan_close", "exchanges?limit=2", "exchanges?limit=2&before=4", "exchanges?limit=2&after=1",
		"exchanges/1", "exchanges/1?markdown=1", "exchanges/1?view=compare", "exchanges/1?view=request", "exchanges/1?view=curl", "exchanges/1?dialect=qwen3&start=inside", "exchanges/1?model=qwen3",
		"exchanges/2", "exchanges/2?view=request", "exchanges/2?view=compare", "exchanges/2?view=curl", "exchanges/3", "exchanges/4", "exchanges/4?view=curl", "exchanges/5",
		"exchanges/1/bytes", "exchanges/2/bytes?choice=1", "exchanges/4/bytes?at=5000", "exchanges/4/bytes?at=9000&model=long", "exchanges/1/export",
		"search?q=tower", "search?q=tower&in=thoughts", "search?q=nowhere", "search", "evaluation", "sessions?id=s1", "sessions", "health", "exchanges/99", "exchanges/x", "exchanges?limit=x",
	)
	files := scored(t, scoredLines(40, 3), scoredLines(40, 5))
	pagesAre(t, "evaluation", withLab(console.Config{}, screens.Config{Scores: &scoreview.Files{Scores: files}}),
		"evaluation", "evaluation?with=1", "evaluation?verdict=wrong", "evaluation?method=boxed&reason=ok", "evaluation?at=25", "evaluation?with=1&change=lost", "evaluation?file=1&task=math",
		"evaluation/0", "evaluation/1", "evaluation/3?with=1", "evaluation/39", "evaluation/3?file=1&with=0", "evaluation/7?verdict=wrong&model=b", "evaluation/99",
	)
	dir, file := consoletest.Runs(t)
	g, err := metagraph.Open(file, metagraph.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	pagesAre(t, "runs", withLab(console.Config{Record: consoletest.Store(t, dir)}, screens.Config{Memory: runview.NewFile(g, "memory.db")}),
		"runs", "runs?below=1", "runs/"+consoletest.Second, "runs/"+consoletest.Second+"?at=9", "runs/"+consoletest.First+"?from=2&to=4", "runs/"+consoletest.Solved+"?from=1&to=1", "runs/"+consoletest.First+"?view=memory&cycle=2",
		"runs/"+consoletest.Solved+"?view=memory&cycle=3", "runs/"+consoletest.First+"?view=reflections", "runs/"+consoletest.First+"?view=again", "runs/"+consoletest.Solved+"?view=again",
		"runs/"+consoletest.First+"/compare?with="+consoletest.Second, "sessions?run="+consoletest.First, "memory", "memory?run="+consoletest.Solved, "memory?from=record", "memory?task=game24", "memory?task=none", "memory?run=none", "runs/none",
	)
	studies := t.TempDir()
	studytest.Streams(t, filepath.Join(studies, "one"), studytest.Grid{Models: []string{"a"}, Modes: []string{"io", "template"}, Repetitions: 3, Size: 12})
	studytest.Runs(t, filepath.Join(studies, "two"), studytest.Grid{Models: []string{"a"}, Modes: []string{"strip", "keep"}, Repetitions: 2, Size: 5})
	if err := errors.Join(os.Mkdir(filepath.Join(studies, "empty"), 0o700), os.WriteFile(filepath.Join(studies, "notes.txt"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	pagesAre(t, "studies", withLab(console.Config{}, screens.Config{Studies: &screens.Studies{Dir: studies}}), "studies", "studies/one", "studies/two", "studies/three")
	chat := chatScripted(t)
	reply := conversation.Message{Role: "assistant", Text: "The **CN Tower**.\n\n1. It is tall.", Reply: &conversation.Reply{Model: "qwen3", Thought: 12, ThoughtMillis: 900, FirstThought: 100, FirstAnswer: 1000, Millis: 2100, Input: 9, Output: 40, Finish: "stop", Calls: []conversation.Call{{}}}}
	add := []conversation.Message{{Role: "user", Text: "Which tower?"}, reply, {Role: "user", Text: "And then?"}, reply, reply, {Role: "user", Text: "Which <b>bridge</b>?"}}
	for i, parent := range []int{0, 1, 2, 3, 3, 0} {
		add[i].Parent = parent
	}
	short := conversation.Message{Role: "assistant", Text: "It is", Stopped: true, Parent: 6, Reply: &conversation.Reply{FirstThought: -1, FirstAnswer: 5, Millis: 10, Error: "broken off"}}
	ask := conversation.Message{Role: "user", Text: "And this?", Parent: 7, Files: []conversation.Attachment{{Name: "list.txt", Text: "1\n2"}}}
	add = append(add, short, ask)
	id, err := chat.Chat.Kept.Create("console/", "console", conversation.Change{Add: add})
	if err != nil {
		t.Fatal(err)
	}
	pagesAre(t, "chat", chat, "chat?format=json", "chat?format=json&q=tower", "chat/"+id+"?format=json", "chat/"+id+"?format=json&at=5", "chat/"+id+"/export?as=markdown", "chat/"+id+"/export?as=json&at=4", "chat", "chat?q=tower", "chat?q=nowhere", "chat/"+id, "chat/"+id+"?at=4", "chat/"+id+"?at=5", "chat/"+id+"?at=2", "chat/"+id+"?at=8", "chat/"+id+"/export?as=markdown&at=8", "chat/new", "chat/nothing")
}

// towersRecord is a record of exchanges that differ in what a page shows of them.
func towersRecord(t *testing.T) (dir string) {
	t.Helper()
	w, dir := consoletest.Open(t)
	one := consoletest.Exchange("qwen3", "Which tower is *taller*?", "<think>The one in Toronto.\nIt is 553 m.</think>The **CN Tower** is.\n\n- tower 1\n- tower 2")
	one.Caller, one.ID, one.ResponseID, one.Streamed = "ada", "id-1", "resp-1", true
	one.IDs = map[string]string{"session": "s1", "user": "ada"}
	one.Parameters = record.Say(`{"temperature":0.2,"seed":7,"stop":["a","b"]}`)
	one.Tools = []record.Tool{{Name: "height_of", Definition: record.Say(`{"type":"function","function":{"name":"height_of"}}`)}}
	two := consoletest.Exchange("gpt", "And <the> \"oldest\"?", "no thought")
	two.Replies = append(two.Replies, consoletest.Exchange("gpt", "", "<think>x</think>second choice").Replies...)
	two.Replies[1].Choice = 1
	two.Replies[0].ToolCalls = []record.Call{{Name: "height_of", ID: "c1", Arguments: record.Say(`{"tower":"CN"}`)}}
	two.Replies[0].Finish, two.Outcome, two.Status = "tool_calls", "refused", 429
	two.Error, two.Millis = "too many requests", 61_000
	two.Messages = append([]record.Message{{Role: "system", Text: record.Say("Be terse.")}}, two.Messages...)
	two.Revisions = []record.Revision{{Field: "content", Message: 1, Removed: record.Say("<think>old</think>")}}
	three := consoletest.Exchange("qwen3", "broken", "Hm.</think>It is one tower.")
	three.Usage, three.Millis, three.Route, three.Leak, three.LeakBytes = nil, 12, "local", "close", 9
	four := consoletest.Exchange("long", "many", "<think>"+strings.Repeat("thought ", 900)+"</think>"+strings.Repeat("answer\n", 800))
	four.Guard = &record.Guarding{ID: "g1", Pieces: 2, Judgements: []record.Judgement{{Channel: "text", Action: "allow", Reason: record.Say("fine")}}}
	five := consoletest.Exchange("", "", "")
	five.API, five.Replies, five.Outcome, five.Upstream = "anthropic.messages", nil, "failed", ""
	for _, x := range []record.Exchange{one, two, three, four, five} {
		consoletest.Put(t, w, x)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// scoredLines are scored lines of which each n-th is wrong.
func scoredLines(lines, n int) (list []map[string]any) {
	for i := range lines {
		method, task, model := []string{"boxed", "marker:answer"}[i%2], []string{"math", "gsm8k"}[i%4/2], []string{"a", "b", "c"}[i%3]
		raw, reason := fmt.Sprintf("<think>It is %d.</think>So \\boxed{%d}.", i, i), "ok"
		at := strings.Index(raw, "{") + 1
		if i%n == 0 {
			reason = "different"
		}
		list = append(list, map[string]any{
			"id": fmt.Sprintf("q%d", i), "candidate": fmt.Sprint(i), "method": method, "span": []int{at, at + len(fmt.Sprint(i))}, "status": "ok", "rules": task + "/2", "ok": i%n > 0, "reason": reason,
			"attempts": []map[string]any{{"method": "answer_block", "found": 0, "why": "empty"}, {"method": method, "found": 1}}, "raw": raw, "gold": fmt.Sprint(i), "model": model, "task": task, "input": "What is it?",
		})
	}
	return list
}

// pagesAre holds the pages at some paths against a file.
func pagesAre(t *testing.T, name string, c console.Config, paths ...string) {
	t.Helper()
	c.Now = func() time.Time { return time.Now().Add(3*time.Hour + 30*time.Minute) }
	base := serve(t, c, "/p/")
	var b strings.Builder
	for _, path := range paths {
		resp, body := get(t, base+path)
		fmt.Fprintf(&b, "== %.100s: %d %s %s\n", steady(path, base), resp.StatusCode, resp.Header.Get("Content-Type"), resp.Header.Get("Location"))
		if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
			body = pageText(t, steady(body, base))
		}
		b.WriteString(steady(body, base))
	}
	holds(t, name, b.String())
}

// holds holds a text against a file of testdata/pages, line by line.
func holds(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", "pages", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := ""
	now, then := strings.Split(text, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(now), len(then)) {
		if i >= len(now) || i >= len(then) || now[i] != then[i] {
			t.Fatalf("%s:%d, in %s\n got %.400q\nwant %.400q", file, i+1, page, now[min(i, len(now)-1)], then[min(i, len(then)-1)])
		}
		if strings.HasPrefix(now[i], "== ") {
			page = now[i]
		}
	}
}

// pageText writes what is in the body of a page: its texts, and the attributes that
// mean something to a reader.
func pageText(t *testing.T, page string) string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	var walk func(n *html.Node, depth int)
	walk = func(n *html.Node, depth int) {
		indent := strings.Repeat(" ", depth)
		switch {
		case n.Type == html.TextNode:
			if text := strings.Join(strings.Fields(n.Data), " "); text != "" && n.Parent.Data != "style" && n.Parent.Data != "script" {
				if n := len(text); n > 400 {
					text = text[:150] + " … " + text[n-40:]
				}
				b.WriteString(indent + text + "\n")
			}
		case n.Type == html.ElementNode && (n.Data == "nav" && attr(n, "class") == "rail" || n.Data == "head" || n.Data == "dialog" || attr(n, "aria-hidden") == "true" || n.Data == "svg" && attr(n, "height") == "30"):
			return // the same on every page, without a meaning, or drawn to the scale of time
		case n.Type == html.ElementNode && n.Data != "path":
			b.WriteString(indent + n.Data)
			for _, a := range n.Attr {
				if a.Key != "d" && a.Key != "integrity" && a.Key != "content" {
					fmt.Fprintf(&b, " %s=%q", a.Key, a.Val)
				}
			}
			b.WriteString("\n")
		}
		for k := range n.ChildNodes() {
			walk(k, depth+1)
		}
	}
	walk(root, 0)
	return b.String()
}

// changing is what differs between two runs of the tests: times, digests, versions.
var changing = []struct {
	expr *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?)?|\b\d\d:\d\d:\d\d(\.\d+)?\b`), "TIME"}, // a time of another day has a date
	{regexp.MustCompile(`\b[0-9a-f]{12,128}\b`), "HEX"},
	{regexp.MustCompile(`(data-searched|data-total|max|value)="\d{4,}"|"(searched_)?bytes":\d+|\b[\d.]+ k?B\b`), "SIZE"},
	{regexp.MustCompile(`,"thought_millis":\d+`), ""},
	{regexp.MustCompile(`"(stop|first_thought|first_answer|millis|rate)":("[A-Z0-9]+"|[\d.-]+)`), "$1"},
	{regexp.MustCompile(`\b\d+ ms\b|\b[\d.]+ s\b`), "TOOK"},
	{regexp.MustCompile(regexp.QuoteMeta(filepath.Clean(os.TempDir())) + `[^\s"&]*`), "FILE"},
}

func steady(text, base string) string {
	text = strings.ReplaceAll(text, strings.TrimSuffix(base, "/p/"), "HOST")
	for _, c := range changing {
		text = c.expr.ReplaceAllString(text, c.with)
	}
	return text
}

// What the page is sent of a reply while it comes is what it was sent when somebody last
// read it, for every scripted model.
func TestSentReplies(t *testing.T) {
	base := serve(t, chatScripted(t), "/p/")
	var b strings.Builder
	for _, m := range scripted.Models() {
		fmt.Fprintf(&b, "== %s\n", m.Name)
		body, _ := json.Marshal(map[string]any{"id": "new", "model": m.Name, "text": "Which tower is taller?"})
		resp, text := postJSON(t, base+"chat/send", string(body))
		fmt.Fprintf(&b, "%d %s\n%s", resp.StatusCode, resp.Header.Get("Content-Type"), steady(text, base))
	}
	holds(t, "sent", b.String())
}
