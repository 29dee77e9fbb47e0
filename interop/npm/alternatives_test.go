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
	"github.com/sotto-llm/sotto/interop/internal/everyday"
)

var thinkBlock = regexp.MustCompile(`(?s)<think>.*?</think>`)

// TestAlternatives reads everyday replies with what people use instead of Sotto, and
// compares the table in docs/alternatives.md.
func TestAlternatives(t *testing.T) {
	middleware := readWithMiddleware(t)
	var b strings.Builder
	b.WriteString("| reply | regular expression | Ollama's parser | Vercel's middleware | the same, with `startWithReasoning` | Sotto |\n| --- | --- | --- | --- | --- | --- |\n")
	for i, e := range everyday.Replies {
		ours := e.Judge(readWithSotto(t, e))
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", e.Name,
			e.Judge(thinkBlock.ReplaceAllString(e.Raw, "")), e.Judge(readWithOllama(e)), e.Judge(middleware[i].Plain.Text), e.Judge(middleware[i].Inside.Text), ours)
		if ours != "yes" && e.Model != everyday.NobodyKnows {
			t.Errorf("%s: Sotto %s", e.Name, ours)
		}
	}
	checkGenerated(t, "../../docs/alternatives.md", "other readers", b.String())
}

// readWithSotto reads a stream with nothing set except the name of the model.
func readWithSotto(t *testing.T, e everyday.Reply) string {
	t.Helper()
	g, ok := sotto.ForModel(e.Model)
	if !ok {
		g = sotto.Default()
	}
	f, err := g.NewFilter(sotto.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	f.OnText = func(s string) { text.WriteString(s) }
	for _, d := range e.Deltas() {
		f.Feed(d)
	}
	f.Close(e.End)
	return text.String()
}

func readWithOllama(e everyday.Reply) string {
	p := &thinking.Parser{OpeningTag: "<think>", ClosingTag: "</think>"}
	var text strings.Builder
	for _, d := range e.Deltas() {
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
	for _, e := range everyday.Replies {
		replies = append(replies, e.Deltas())
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
	if err := json.Unmarshal(out, &read); err != nil || len(read) != len(everyday.Replies) {
		t.Fatalf("%v: %d readings", err, len(read))
	}
	return read
}
