package interop_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/a2aserver"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/model"
)

// jsPeer starts an agent of the JavaScript SDK, and returns its URL.
func jsPeer(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("SOTTO_A2AJS")
	if dir == "" {
		t.Skip("SOTTO_A2AJS is not set: run it as SOTTO_A2AJS=$(interop/a2ajs/install)")
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "peer.mjs"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Wait() }) // the context of the test ends it
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(url)
}

// An askingModel calls the tool "peer" with a message, and keeps the result.
type askingModel struct{ message, result string }

func (*askingModel) Name() string { return "asking" }

func (m *askingModel) Invoke(_ context.Context, q model.Request, _ func(model.Delta) error) (model.Reply, error) {
	if last := q.Messages[len(q.Messages)-1]; last.Role != model.User {
		m.result = last.Text
		return model.Reply{Raw: "Done.", End: sotto.EndStopped}, nil
	}
	arguments, err := json.Marshal(map[string]string{"message": m.message})
	return model.Reply{Calls: []model.Call{{ID: "a", Name: "peer", Arguments: string(arguments)}}, End: sotto.EndStopped}, err
}

// TestA2APieces: what an agent of the JavaScript SDK sends in pieces reads as the whole,
// wherever it was cut: its artifact as the visible text, its statuses as narration.
func TestA2APieces(t *testing.T) {
	tool, err := a2aserver.Remote{Name: "peer", Description: "p", URL: jsPeer(t)}.Tool()
	if err != nil {
		t.Fatal(err)
	}
	ask := func(t *testing.T, pieces []string) (answer, narrated string) {
		t.Helper()
		plan, err := json.Marshal(map[string][]string{"statuses": pieces, "pieces": pieces})
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var lines strings.Builder
		m := &askingModel{message: base64.StdEncoding.EncodeToString(plan)}
		a := agent.Agent{Turn: agent.Turn{Model: m, Tools: []agent.Tool{tool}}}
		_, err = a.Answer(t.Context(), agent.Conversation{Messages: []model.Message{{Role: model.User, Text: "Ask."}}}, func(e agent.Event) error {
			mu.Lock()
			defer mu.Unlock()
			if n, ok := e.(agent.Narration); ok {
				lines.WriteString(n.Text)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return m.result, lines.String()
	}
	data, err := os.ReadFile("../testdata/conformance.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	letters := func(text string) string { return strings.Join(strings.Fields(text), "") }
	asked := 0
	for line := range strings.Lines(string(data)) {
		var c struct {
			ID, Raw string
			Deltas  []string
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		c.Raw += strings.Join(c.Deltas, "")
		if !utf8.ValidString(c.Raw) || strings.ContainsRune(c.Raw, 0) {
			continue
		}
		visible, narration := sotto.Strip(c.Raw), ""
		for _, s := range sotto.Parse(c.Raw, sotto.EndStopped).Segments {
			if s.Channel == sotto.ChannelText || s.Channel == sotto.ChannelNarration {
				narration += c.Raw[s.Start:s.End]
			}
		}
		// The agent reads what its tool narrates once more.
		again, err := sotto.Default().Parse(narration, sotto.BeginOutside, sotto.EndStopped)
		if err != nil {
			t.Fatal(err)
		}
		narration = again.VisibleWith(sotto.ChannelNarration)
		// Longer replies are cut at every third letter: a server that keeps each
		// status takes long for hundreds of them.
		var pieces []string
		if letters := strings.Split(c.Raw, ""); len(letters) <= 40 {
			pieces = letters
		} else {
			for piece := range slices.Chunk(letters, 3) {
				pieces = append(pieces, strings.Join(piece, ""))
			}
		}
		asked++
		answer, narrated := ask(t, pieces)
		if letters(visible) == "" {
			if !strings.Contains(answer, "has no visible text") {
				t.Errorf("%s in %d pieces: the answer is %q, want none", c.ID, len(pieces), answer)
			}
		} else if letters(answer) != letters(visible) {
			t.Errorf("%s in %d pieces: the answer is %q, want %q", c.ID, len(pieces), answer, visible)
		}
		if got := letters(strings.ReplaceAll(narrated, "peer: ", "")); got != letters(narration) {
			t.Errorf("%s in %d pieces: narrated %q, want %q", c.ID, len(pieces), narrated, narration)
		}
	}
	t.Logf("%d calls", asked)
}
