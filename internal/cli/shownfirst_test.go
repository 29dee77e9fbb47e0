package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
)

// firstReply is the reply at the beginning of README.md.
func firstReply(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n\n    ")
	block, _, _ := strings.Cut("    "+rest, "\n\nThe ")
	reply := strings.ReplaceAll(strings.TrimPrefix(block, "    "), "\n    ", "\n")
	if !strings.HasPrefix(reply, "Seven times") || !strings.HasSuffix(reply, "\n</think>\n\n**50**") {
		t.Fatalf("the first reply is %q", reply)
	}
	return reply
}

// TestShownFirst: the reply that README.md shows first gives its answer alone in
// every way that README.md names. TestReadme runs the program of README.md.
func TestShownFirst(t *testing.T) {
	reply := firstReply(t)
	const want = "**50**"
	name := writeFile(t, "reply.txt", reply)
	asked := func(stdin string, args ...string) func(*testing.T) string {
		return func(t *testing.T) string {
			out, errs, status := runSotto(t, stdin, args...)
			if status != 0 || errs != "" {
				t.Errorf("status %d: %s", status, errs)
			}
			return out
		}
	}
	split := func(stdin string, args ...string) func(*testing.T) string {
		return func(t *testing.T) string {
			var read struct{ Visible string }
			if err := json.Unmarshal([]byte(asked(stdin, args...)(t)), &read); err != nil {
				t.Error(err)
			}
			return read.Visible
		}
	}
	ways := map[string]func(*testing.T) string{
		"strip --model, from a pipe":           asked(reply, "strip", "--model", "deepseek-r1"),
		"strip --model, a file":                asked("", "strip", "--model", "deepseek-r1", name),
		"strip, a file":                        asked("", "strip", name),
		"strip --start inside":                 asked(reply, "strip", "--start", "inside"),
		"strip --start auto":                   asked(reply, "strip", "--start", "auto"),
		"split":                                split(reply, "split"),
		"split --model, a file":                split("", "split", "--model", "deepseek-r1", name),
		"Parse":                                func(*testing.T) string { return sotto.Parse(reply, sotto.EndStopped).Visible() },
		"the default grammar from auto, whole": func(t *testing.T) string { return parsed(t, sotto.Default(), sotto.BeginAuto, reply) },
		"ForModel, whole":                      func(t *testing.T) string { return parsed(t, forModel(t, "deepseek-r1"), "", reply) },
		"ForModel, streamed":                   func(t *testing.T) string { return filtered(t, forModel(t, "deepseek-r1"), sotto.Options{}, reply) },
		"the default grammar, streamed from auto": func(t *testing.T) string {
			return filtered(t, sotto.Default(), sotto.Options{Start: sotto.BeginAuto}, reply)
		},
		"the gateway":           func(t *testing.T) string { return throughGateway(t, reply, false) },
		"the gateway, streamed": func(t *testing.T) string { return throughGateway(t, reply, true) },
	}
	for way, read := range ways {
		t.Run(way, func(t *testing.T) {
			if got := read(t); got != want {
				t.Errorf("gives %q", got)
			}
		})
	}
}

func forModel(t *testing.T, model string) *sotto.Grammar {
	g, known := sotto.ForModel(model)
	if !known {
		t.Fatalf("%s is not known", model)
	}
	return g
}

func parsed(t *testing.T, g *sotto.Grammar, start sotto.Beginning, reply string) string {
	r, err := g.Parse(reply, start, sotto.EndStopped)
	if err != nil {
		t.Fatal(err)
	}
	return r.Visible()
}

// filtered streams a reply, a byte at a time.
func filtered(t *testing.T, g *sotto.Grammar, o sotto.Options, reply string) string {
	f, err := g.NewFilter(o)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	f.OnText = func(s string) { text.WriteString(s) }
	for i := range len(reply) {
		f.Feed(reply[i : i+1])
	}
	f.Close(sotto.EndStopped)
	return text.String()
}

// throughGateway returns the content of a reply that an upstream sends as the text of
// deepseek-r1, about which the gateway has learned nothing.
func throughGateway(t *testing.T, reply string, stream bool) string {
	quoted, _ := json.Marshal(reply)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !stream {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}]}`, quoted)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range len(reply) {
			delta, _ := json.Marshal(reply[i : i+1])
			fmt.Fprintf(w, `data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":%s}}]}`+"\n\n", delta)
		}
		fmt.Fprint(w, `data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer upstream.Close()
	to, _ := url.Parse(upstream.URL)
	g, err := gateway.New(gateway.Config{Upstream: to})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	served := httptest.NewServer(g)
	defer served.Close()
	body := fmt.Sprintf(`{"model":"deepseek-r1","stream":%t,"messages":[{"role":"user","content":"7*8-6?"}]}`, stream)
	response, err := http.Post(served.URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v: %s", response.Status, err, all)
	}
	var content strings.Builder
	for line := range strings.Lines(string(all)) {
		var got struct {
			Choices []struct{ Message, Delta struct{ Content string } }
		}
		if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &got) == nil && len(got.Choices) == 1 {
			content.WriteString(got.Choices[0].Message.Content + got.Choices[0].Delta.Content)
		}
	}
	return content.String()
}

// TestMistakes: what would lose text or show a thought is refused, or there is a hint
// that says what to do instead.
func TestMistakes(t *testing.T) {
	reply := firstReply(t)
	lines := "{\"raw\":\"<think>a</think>b\"}\n{\"raw\":\"<think>c</think>d\"}\n"
	const (
		ofField  = "sotto: error: --field needs --jsonl\nsotto: hint: without it, the whole input is one reply\n"
		ofLines  = "looks like JSON Lines, but is read as one reply; use --jsonl, with --field, to read one reply per line\n"
		ofOthers = "sotto: hint: the reply has markers of dialect magistral; --dialect magistral\n"
		ofPipe   = "sotto: hint: standard input is empty; in a pipe, ollama run needs its prompt as an argument: ollama run MODEL PROMPT\n"
	)
	for _, c := range []struct {
		args   string
		stdin  string
		status int
		says   string
	}{
		{"strip", reply, 1, "sotto: hint: if the prompt opens the block, use --start inside\n"},
		{"strip --model nobody-knows", reply, 1, "sotto: hint: if the prompt opens the block, use --start inside\n"},
		{"strip --model nobody-knows", "Four.", 0, `sotto: hint: no dialect is known for model "nobody-knows"; using the default dialect` + "\n"},
		{"strip --field raw", lines, 2, ofField},
		{"split --field raw", lines, 2, ofField},
		{"split --stream --field raw", "", 2, ofField},
		{"extract --task math --field raw", lines, 2, ofField},
		{"score --task math --field raw", lines, 2, ofField},
		{"strip", lines, 0, ofLines},
		{"split", lines, 0, ofLines},
		{"extract --task math", lines, 3, ofLines},
		{"strip", "[THINK]a[/THINK]b", 1, ofOthers},
		{"split --dialect default", "[THINK]a[/THINK]b", 0, ofOthers},
		{"strip --model qwen3", "[THINK]a[/THINK]b", 1, ofOthers},
		{"strip", "Thinking...\nHm.\n...done thinking.\n\nFour.\n", 1, "sotto: hint: to read the output of ollama run, use --dialect ollama_cli\n"},
		{"strip --dialect ollama_cli", "", 3, ofPipe},
		{"strip", "\n", 3, ofPipe},
	} {
		_, errs, status := runSotto(t, c.stdin, strings.Fields(c.args)...)
		if status != c.status || !strings.Contains(errs, c.says) {
			t.Errorf("%s: status %d, says\n%swant status %d and\n%s", c.args, status, errs, c.status, c.says)
		}
	}
	for _, args := range [][]string{{"split"}, {"strip"}, {"extract", "--task", "math"}} { // a variable is for all commands
		var errs strings.Builder
		env := func(name string) string { return map[string]string{"SOTTO_FIELD": "text"}[name] }
		if status := Run(args, strings.NewReader("Answer: 4"), io.Discard, &errs, env); status != 0 {
			t.Errorf("%q with SOTTO_FIELD: status %d: %s", args, status, &errs)
		}
	}
}
