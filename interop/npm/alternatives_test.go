package npm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ollama/ollama/thinking"

	"github.com/sotto-llm/sotto"
)

// An everyday reply, of which a reader shows the text. SECRET is only in thoughts.
type everyday struct {
	name  string
	model string
	raw   string
	text  string
	end   sotto.Ending
}

// nobodyKnows is a model that Sotto does not know either: the document explains what
// becomes of its stream.
const nobodyKnows = "nobody-knows-it"

var everydays = []everyday{
	{"a tagged block", "qwen3:8b", "<think>\nSECRET\n</think>\n\nThe answer.", "The answer.", sotto.EndStopped},
	{"the prompt opened the block", "deepseek-r1", "SECRET\n</think>\n\nThe answer.", "The answer.", sotto.EndStopped},
	{"the same, from a model that nobody knows", nobodyKnows, "SECRET\n</think>\n\nThe answer.", "The answer.", sotto.EndStopped},
	{"cut inside a tagged block", "qwen3:8b", "<think>\nSECRET, and then", "", sotto.EndCut},
	{"cut inside a block that the prompt opened", "deepseek-r1", "SECRET, and then", "", sotto.EndCut},
	{"no block, from a model whose prompt opens none", "qwen3:8b", "The answer.", "The answer.", sotto.EndStopped},
	{"no block, from a model whose prompt opens one", "deepseek-r1", "The answer.", "The answer.", sotto.EndStopped},
	{"an answer about the tags", "qwen3:8b", "Put it between `<think>` and `</think>`, then go on.", "Put it between `<think>` and `</think>`, then go on.", sotto.EndStopped},
	{"tags in the code of the answer", "qwen3:8b", "<think>SECRET</think>\n```xml\n<think>an example</think>\n```\n", "```xml\n<think>an example</think>\n```", sotto.EndStopped},
	{"a thought about the closing tag", "qwen3:8b", "<think>\nIt ends with `</think>`, SECRET.\n</think>\n\nThe answer.", "The answer.", sotto.EndStopped},
	{"a block within a block", "qwen3:8b", "<think>\nOne <think>two</think> SECRET.\n</think>\n\nThe answer.", "The answer.", sotto.EndStopped},
	{"closed with another tag", "my-agent", "<think>\nSECRET\n</thinking>\n\nThe answer.", "The answer.", sotto.EndStopped},
	{"a second block after some text", "qwen3:8b", "<think>SECRET</think>\nFirst.\n\n<think>SECRET</think>\nSecond.", "First.\n\nSecond.", sotto.EndStopped},
	{"a scratch pad and an output block", "my-agent", "<scratch_pad>\nSECRET\n</scratch_pad>\n<output>The answer.</output>", "The answer.", sotto.EndStopped},
	{"the markers of Mistral", "magistral-small", "[THINK]SECRET[/THINK]The answer.", "The answer.", sotto.EndStopped},
	{"the channels of gpt-oss", "gpt-oss:20b", "<|channel|>analysis<|message|>SECRET<|end|><|start|>assistant<|channel|>final<|message|>The answer.<|return|>", "The answer.", sotto.EndStopped},
}

// deltas cuts a reply as a server does.
func (e everyday) deltas() (list []string) {
	for rest := e.raw; rest != ""; {
		n := min(5, len(rest))
		list, rest = append(list, rest[:n]), rest[n:]
	}
	return list
}

// judge says in a word or two what is wrong with a text, or "yes".
func (e everyday) judge(text string) string {
	switch same := strings.Join(strings.Fields(text), " "); {
	case strings.Contains(text, "SECRET"):
		return "**leaks**"
	case same == strings.Join(strings.Fields(e.text), " "):
		return "yes"
	case len(same) < len(e.text):
		return "**loses text**"
	default:
		return "leaves markup"
	}
}

var thinkBlock = regexp.MustCompile(`(?s)<think>.*?</think>`)

// TestAlternatives reads everyday replies with what people use instead of Sotto, and
// compares the table in docs/alternatives.md.
func TestAlternatives(t *testing.T) {
	middleware := readWithMiddleware(t)
	var b strings.Builder
	b.WriteString("| reply | regular expression | Ollama's parser | Vercel's middleware | the same, with `startWithReasoning` | Sotto |\n| --- | --- | --- | --- | --- | --- |\n")
	for i, e := range everydays {
		ours := e.judge(readWithSotto(t, e))
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", e.name,
			e.judge(thinkBlock.ReplaceAllString(e.raw, "")), e.judge(readWithOllama(e)), e.judge(middleware[i].Plain.Text), e.judge(middleware[i].Inside.Text), ours)
		if ours != "yes" && e.model != nobodyKnows {
			t.Errorf("%s: Sotto %s", e.name, ours)
		}
	}
	checkGenerated(t, "../../docs/alternatives.md", "other readers", b.String())
}

// readWithSotto reads a stream with nothing set except the name of the model.
func readWithSotto(t *testing.T, e everyday) string {
	t.Helper()
	g, ok := sotto.ForModel(e.model)
	if !ok {
		g = sotto.Default()
	}
	f, err := g.NewFilter(sotto.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	f.OnText = func(s string) { text.WriteString(s) }
	for _, d := range e.deltas() {
		f.Feed(d)
	}
	f.Close(e.end)
	return text.String()
}

func readWithOllama(e everyday) string {
	p := &thinking.Parser{OpeningTag: "<think>", ClosingTag: "</think>"}
	var text strings.Builder
	for _, d := range e.deltas() {
		_, s := p.AddContent(d)
		text.WriteString(s)
	}
	return text.String()
}

// A middlewareReading is what Vercel's middleware makes of a reply, in each setting.
type middlewareReading struct{ Plain, Inside struct{ Text string } }

func readWithMiddleware(t *testing.T) []middlewareReading {
	t.Helper()
	dir := os.Getenv("SOTTO_NPM")
	if dir == "" {
		t.Skip("SOTTO_NPM is not set: interop/npm/install prints it")
	}
	var replies [][]string
	for _, e := range everydays {
		replies = append(replies, e.deltas())
	}
	in, err := json.Marshal(replies)
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	command := exec.Command(filepath.Join(dir, "node", "run"), filepath.Join(dir, "middleware.js"))
	command.Stdin, command.Stderr = bytes.NewReader(in), &errs
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	var read []middlewareReading
	if err := json.Unmarshal(out, &read); err != nil || len(read) != len(everydays) {
		t.Fatalf("%v: %d readings", err, len(read))
	}
	return read
}
