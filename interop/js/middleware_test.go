package js

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sotto-llm/sotto/interop/internal/everyday"
)

// TestMiddleware reads the everyday replies of docs/alternatives.md with the middleware in the real
// AI SDK, and logs how fast it is beside the SDK's own.
func TestMiddleware(t *testing.T) {
	built(t)
	type reply struct {
		Model  string   `json:"model"`
		Deltas []string `json:"deltas"`
		End    string   `json:"end"`
	}
	var replies []reply
	for _, e := range everyday.Replies {
		replies = append(replies, reply{e.Model, e.Deltas(), e.End.String()})
	}
	in, err := json.Marshal(replies)
	if err != nil {
		t.Fatal(err)
	}
	var complaint bytes.Buffer
	cmd := exec.CommandContext(t.Context(), filepath.Join(os.Getenv("SOTTO_NPM"), "node", "run"), "testdata/middleware.mjs")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, complaint.String())
	}
	var got struct {
		Texts                     []string
		Start, Ours, Theirs, None float64
	}
	if err := json.Unmarshal(out, &got); err != nil || len(got.Texts) != len(everyday.Replies) {
		t.Fatalf("%s: %v", out, err)
	}
	right := 0
	for i, e := range everyday.Replies {
		switch said := e.Judge(got.Texts[i]); {
		case said == "yes":
			right++
		case e.Model != everyday.NobodyKnows:
			t.Errorf("%s: the middleware %s: %q", e.Name, said, got.Texts[i])
		}
	}
	t.Logf("%d of %d right; start %.0f ms; deltas of 16 characters: %.1f MB/s, extractReasoningMiddleware %.1f MB/s, none %.1f MB/s",
		right, len(replies), got.Start, got.Ours, got.Theirs, got.None)
}
