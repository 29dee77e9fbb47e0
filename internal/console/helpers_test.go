package console

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/record"
)

// Times are said in the largest unit that they fill, places and shares in whole numbers.
func TestTimesAndShares(t *testing.T) {
	now := time.Date(2026, 5, 2, 12, 0, 0, 0, time.UTC)
	before := func(d time.Duration) string { return ago(now, now.Add(-d)) }
	for _, c := range []struct{ got, want string }{
		{before(-time.Second), "just now"}, {before(0), "0 s ago"}, {before(59 * time.Second), "59 s ago"}, {before(time.Minute), "1 min ago"}, {before(59 * time.Minute), "59 min ago"},
		{before(time.Hour), "1 h ago"}, {before(47 * time.Hour), "47 h ago"}, {before(48 * time.Hour), "2 d ago"}, {before(73 * time.Hour), "3 d ago"},
		{clock(now, now.Add(-12*time.Hour)), "00:00:00"}, {clock(now, now.Add(-13*time.Hour)), "2026-05-01 23:00"},
		{percent(0, 0), "0 %"}, {percent(1, 1), "100 %"}, {percent(1, 8), "12 %"}, {percent(2, 3), "67 %"},
		{fmt.Sprint(tick(0, 0), tick(1, 2) == view.Strip()/2, tick(3, 3) == view.Strip()), "0 true true"},
		{line(" a\n\tb "), "a b"}, {outcomeOf("answered") + " " + outcomeOf("x"), "answered unknown"},
		{fmt.Sprint(indented(`{"a":[1]}`) == "{\n  \"a\": [\n    1\n  ]\n}", indented("{a")), "true{a"},
		{fmt.Sprint(diffLines("+a\n-b\n@@ c\n d\n")), "[{added +a} {removed -b} {place @@ c} {  d}]"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// The rate of a reply counts the time from its first byte, and says nothing of a reply
// that was too quick.
func TestRate(t *testing.T) {
	for _, c := range []struct {
		reply *conversation.Reply
		want  float64
	}{
		{nil, 0},
		{&conversation.Reply{FirstThought: -1, FirstAnswer: 500, Millis: 1500}, 0},
		{&conversation.Reply{FirstThought: -1, FirstAnswer: 500, Millis: 1500, Output: 1}, 1},
		{&conversation.Reply{FirstThought: 1000, FirstAnswer: 1500, Millis: 2000, Output: 30}, 30},
		{&conversation.Reply{FirstThought: 1000, FirstAnswer: -1, Millis: 2000, Output: 30}, 30},
		{&conversation.Reply{FirstThought: 1500, FirstAnswer: 1000, Millis: 2000, Output: 30}, 30},
		{&conversation.Reply{FirstThought: 0, FirstAnswer: 1000, Millis: 2000, Output: 30}, 15},
		{&conversation.Reply{FirstThought: -1, FirstAnswer: -1, Millis: 2000, Output: 30}, 15},
		{&conversation.Reply{FirstThought: -1, FirstAnswer: 0, Millis: 200, Output: 30}, 150},
		{&conversation.Reply{FirstThought: -1, FirstAnswer: 0, Millis: 199, Output: 30}, 0},
	} {
		if got := rate(c.reply); got != c.want {
			t.Errorf("%+v: %v, want %v", c.reply, got, c.want)
		}
	}
}

// A message on one of three branches has neighbours, except at the ends.
func TestBranches(t *testing.T) {
	for n, want := range map[int]string{2: "1: 0 5", 5: "2: 2 9", 9: "3: 5 0"} {
		m := talkMessage{N: n, Beside: []int{2, 5, 9}}
		if got := fmt.Sprintf("%d: %d %d", m.Place(), m.Step(-1), m.Step(1)); got != want {
			t.Errorf("message %d: %s, want %s", n, got, want)
		}
	}
}

// What is shown around a find begins with a whole character at most 30 bytes before it.
func TestNearby(t *testing.T) {
	long := strings.Repeat("a", 50) + "FIND" + strings.Repeat("b", 100)
	for _, c := range []struct {
		text string
		at   int
		want string
	}{
		{"FIND it", 0, "FIND it"}, {long, 50, strings.Repeat("a", 30) + "FIND" + strings.Repeat("b", 60)},
		{"é" + strings.Repeat("a", 29) + "FIND\n x", 31, "é" + strings.Repeat("a", 29) + "FIND x"},
	} {
		if got := nearby(c.text, c.at, 4); got != c.want {
			t.Errorf("%q at %d: %q, want %q", c.text, c.at, got, c.want)
		}
	}
	row := talkRow{}
	f := &conversation.File{Messages: []conversation.Message{{Text: "One"}, {Text: "Two", Files: []conversation.Attachment{{Name: "list.txt", Text: "three"}}}}}
	for words, want := range map[string]int{"one": 1, "TWO": 2, "list": 2, "Three": 2} {
		if row = (talkRow{}); !row.find(f, words) || row.Message != want {
			t.Errorf("%s: message %d, want %d", words, row.Message, want)
		}
	}
	if row = (talkRow{}); row.find(f, "four") {
		t.Errorf("found: %+v", row)
	}
}

// The command that sends a prompt again has the form of its API, and none is shown if
// the record does not have all of the prompt.
func TestCurlOfAPIs(t *testing.T) {
	say := func(s string) view.Excerpt { return view.Excerpt{Text: record.Text(s), Bytes: len(s)} }
	of := func(path string) *view.Exchange {
		x := &view.Exchange{}
		x.Upstream, x.Path, x.Model = "http://h/", path, "m"
		x.Prompt = []view.Message{{Role: "system", Text: say("It's <s>")}, {Role: "user", Text: say("u")}}
		return x
	}
	both := `[{"role":"system","content":"It'\''s <s>"},{"role":"user","content":"u"}]`
	for path, want := range map[string]string{
		"/v1/chat/completions": `{"messages":` + both + `,"model":"m","stream":false}`,
		"/v1/responses":        `{"input":` + both + `,"model":"m","stream":false}`,
		"/api/generate":        `{"model":"m","prompt":"It'\''s <s>u","stream":false}`,
		"/v1/completions":      `{"model":"m","prompt":"It'\''s <s>u","stream":false}`,
		"/v1/messages":         `{"max_tokens":4096,"messages":[{"role":"user","content":"u"}],"model":"m","stream":false,"system":"It'\''s <s>"}`,
	} {
		got := strings.Join(strings.Fields(curl(of(path))), "")
		want = "curl-sS'http://h" + path + `'\-H'Content-Type:application/json'\-d'` + strings.ReplaceAll(want, " ", "") + "'"
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", path, got, want)
		}
	}
	for name, spoil := range map[string]func(x *view.Exchange){
		"no upstream":   func(x *view.Exchange) { x.Upstream = "" },
		"no path":       func(x *view.Exchange) { x.Path = "" },
		"no prompt":     func(x *view.Exchange) { x.Prompt = nil },
		"more messages": func(x *view.Exchange) { x.MoreMessages = 1 },
		"more tools":    func(x *view.Exchange) { x.MoreTools = 1 },
		"a cut message": func(x *view.Exchange) { x.Prompt[1].Text.Cut = true },
		"a cut value": func(x *view.Exchange) {
			x.Parameters = []view.Parameter{{Name: "seed", Value: view.Excerpt{Text: "1", Cut: true}}}
		},
		"a tool without its text": func(x *view.Exchange) { x.Tools = []view.Tool{{Name: "t", Digest: "d", Definition: say(`{}`)}} },
		"a tool that is not JSON": func(x *view.Exchange) { x.Tools = []view.Tool{{Name: "t", Definition: say(`{`)}} },
	} {
		x := of("/v1/chat/completions")
		if spoil(x); curl(x) != "" {
			t.Errorf("%s: %s", name, curl(x))
		}
	}
}

// The facts of an exchange have at most twelve parameters, each of at most 32 bytes.
func TestGiven(t *testing.T) {
	x := &view.Exchange{}
	add := func(text string, cut bool) {
		x.Parameters = append(x.Parameters, view.Parameter{Name: "p", Value: view.Excerpt{Text: record.Text(text), Cut: cut}})
	}
	add("", false)
	add(strings.Repeat("x", 33), false)
	add("cut", true)
	add(strings.Repeat("x", 32), false)
	for range 14 {
		add("1", false)
	}
	if got := givenBy(x); len(got) != 12 || len(got[0].Value) != 32 || got[1].Value != "1" {
		t.Errorf("%v", got)
	}
}

// Links keep what the list was filtered by, and how the exchange is read.
func TestLinks(t *testing.T) {
	re := manner{Reread: view.Reread{Dialect: "qwen3", Start: "inside"}, Filter: view.Filter{Model: "m"}}
	for _, c := range []struct{ got, want string }{
		{byteLink(0, 0, manner{}), "bytes?"}, {byteLink(1, 1, manner{}), "bytes?at=1&choice=1"}, {byteLink(2, 4096, re), "bytes?at=4096&choice=2&dialect=qwen3&model=m&start=inside"},
		{re.list(), "exchanges?model=m"}, {manner{}.list(), "exchanges"}, {withQuery("a", url.Values{}), "a"},
		{exchangeQuery("", manner{}), ""}, {exchangeQuery("reading", manner{}), ""}, {exchangeQuery("markdown", manner{}), "?markdown=1"}, {exchangeQuery("curl", manner{}), "?view=curl"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}

// A text ends its blocks at blank lines, but not within a fence, a list or an indented
// part; a list keeps the number that it begins with, and a link an address of the web.
func TestNodesOfMarkdown(t *testing.T) {
	for text, want := range map[string]string{
		"a *b* **c**\n\nd":                "[[p  a  [em  b]   [strong  c]] [p  d]]",
		"3. x\n4. y":                      "[[ol 3 [li  x] [li  y]]]",
		"1. x":                            "[[ol  [li  x]]]",
		"- x\n- y":                        "[[ul  [li  x] [li  y]]]",
		"[a](https://h/p)":                "[[p  [a https://h/p a]]]",
		"[a](javascript:x)":               "[[p  a]]",
		"```go\nx\n\ny\n```\nz":           "[[pre  [code  x\n\ny\n]] [p  z]]",
		"# h\n## i":                       "[[h1  h] [h2  i]]",
		"> q":                             "[[blockquote  [p  q]]]",
		"| a | b |\n|---|---|\n| 1 | 2 |": "[[table  [thead  [tr  [th  a] [th  b]]] [tbody  [tr  [td  1] [td  2]]]]]",
	} {
		got := ""
		for _, b := range blocksOf(text) {
			got += nodeText(nodesOf(b))
		}
		if got != want {
			t.Errorf("%q:\n got %q\nwant %q", text, got, want)
		}
	}
	for line, want := range map[string]bool{"- a": true, "* a": true, "+ a": true, "-a": false, "1. a": true, "1) a": true, "12. a": true, "1a": false, "1.": true, "-": true, "": false, "1.a": false, ". a": false} {
		if got := isItem(line); got != want {
			t.Errorf("%q is an item: %v", line, got)
		}
	}
	for line, want := range map[string]string{"```": "```", "````go": "````", "~~~": "~~~", "``": "", "```a`b": "", "a```": "", "~~~a`b": "~~~"} {
		if got := fenceOf(line); got != want {
			t.Errorf("%q opens the fence %q, want %q", line, got, want)
		}
	}
}

// nodeText writes nodes without the white space between elements.
func nodeText(nodes []node) string {
	var parts []string
	for _, n := range nodes {
		switch n := n.(type) {
		case string:
			if strings.Trim(n, "\n") != "" || n == "" {
				parts = append(parts, n)
			}
		case []node:
			parts = append(parts, nodeText(n))
		}
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// A number of things has the form of the word for one or for several.
func TestCounted(t *testing.T) {
	for n, want := range map[int]string{0: "0 cycles", 1: "1 cycle", 2: "2 cycles", 11: "11 cycles", 12345: "12\u202f345 cycles"} {
		if got := counted(n, "run.cycles.n"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	if got := Word("run.cycles.n") + counted(1, "more"); got != "cycles1 more" {
		t.Errorf("%q", got)
	}
}
