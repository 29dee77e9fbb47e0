package console_test

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/record"
)

// TestGuardVerdicts: the page of an exchange says what a guard decided: how much passed,
// and each other verdict with its reason, or that the record does not have the reason.
func TestGuardVerdicts(t *testing.T) {
	for _, level := range []record.Level{record.Full, record.Off} {
		dir := t.TempDir()
		w, err := record.Open(dir, record.Options{Policy: record.None, Reasoning: level})
		if err != nil {
			t.Fatal(err)
		}
		x := consoletest.Exchange("m", "Hi", "<think>No.</think>Yes.")
		x.Guard = &record.Guarding{ID: "g", Pieces: 3, Judgements: []record.Judgement{
			{Channel: "reasoning", End: 3, Action: "pass"},
			{Channel: "answer", End: 2, Action: "failed", Failure: "connection refused"},
			{Channel: "answer", Start: 2, End: 4, Action: "cut", Reason: record.Say("a \u202ename <b>")},
		}}
		consoletest.Put(t, w, x)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		base := serve(t, console.Config{Record: consoletest.Store(t, dir)}, "/")
		_, page := get(t, base+"exchanges/1")
		var got []string
		walk(t, page, func(n *html.Node) {
			if n.Data == "section" && strings.Contains(attr(n, "class"), "verdicts") {
				for d := range n.Descendants() {
					if d.Type == html.TextNode {
						got = append(got, strings.TrimSpace(d.Data))
					}
				}
			}
		})
		text := strings.Join(got, " ")
		want := []string{"failed answer bytes 0 to 2", "connection refused", "cut answer bytes 2 to 4", `a \u202ename <b>`}
		if level == record.Off {
			want[3] = "are not in the record"
		}
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("level %v: %q lacks %q", level, text, w)
			}
		}
		if !strings.Contains(page, "3 pieces: 1 pass, 1 failed, 1 cut") || strings.Contains(text, "pass") {
			t.Errorf("level %v: %s", level, text)
		}
	}
}
