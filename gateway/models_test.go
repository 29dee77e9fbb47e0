package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/check/scripted"
)

// TestModels asks every scripted model over every API, streamed and whole: the
// client gets the right reading, and nothing twice.
func TestModels(t *testing.T) {
	for _, m := range scripted.Models() {
		if m.Fault != "" {
			continue
		}
		chosen := effort.OneIn(3, m.Name)
		for _, a := range apis {
			if m.Reply.Thought != nil && (a.name == "openai.completions" || a.name == "llamacpp.completion") {
				continue // it has no field for thoughts
			}
			for _, stream := range []bool{true, false} {
				if !chosen() {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/stream=%v", m.Name, a.name, stream), func(t *testing.T) {
					base := start(t, scripted.New(scripted.Options{}), gateway.Config{})
					got := a.ask(t, base, m.Name, stream)
					want := rightReading(t, m)
					if got.text != want.text {
						t.Errorf("text %q\nwant %q", got.text, want.text)
					}
					if strings.TrimSpace(got.thought) != strings.TrimSpace(want.thought) {
						t.Errorf("thought %q\nwant    %q", got.thought, want.thought)
					}
					if got.failed != "" || got.finish == "" {
						t.Errorf("failed %q, finish %q", got.failed, got.finish)
					}
				})
			}
		}
	}
}

// rightReading is what a client should get of a model's reply, its narration and
// tool markup in the text.
func rightReading(t *testing.T, m scripted.Model) said {
	t.Helper()
	g, err := sotto.Named(m.Dialect)
	if err != nil {
		t.Fatal(err)
	}
	r, err := g.Parse(strings.Join(m.Reply.Deltas, ""), m.Reply.Start, m.Reply.End)
	if err != nil {
		t.Fatal(err)
	}
	return said{text: r.VisibleWith(sotto.ChannelNarration, sotto.ChannelTool), thought: strings.Join(m.Reply.Reasoning, "\n\n")}
}
