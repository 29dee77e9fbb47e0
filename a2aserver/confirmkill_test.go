//go:build unix

package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/model"
)

// eraser is a mind whose tool erases something, if the person who is asked agrees. Each
// call leaves a byte in a file of the folder.
func eraser(dir string) Mind {
	script, err := model.ReadScript(strings.NewReader(`
{"when":{"tool":"erase"},"text":"<think>CANARY</think>It is gone."}
{"text":"<think>CANARY</think>","calls":[{"name":"erase","arguments":{}}]}
`), "eraser.jsonl")
	if err != nil {
		panic(err)
	}
	erase := &agent.Func{Name: "erase", Schema: `{"type":"object"}`, Do: func(context.Context, agent.Use) (string, error) {
		f, err := os.OpenFile(filepath.Join(dir, "erased"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return "", err
		}
		_, err = f.WriteString("x")
		return "erased", errors.Join(err, f.Close())
	}}
	return &AgentMind{Turn: agent.Turn{Model: model.NewScripted("eraser", script), Confirm: []string{"erase"}, Tools: []agent.Tool{erase}}}
}

// erased returns how many calls the mind of a folder has made.
func erased(t *testing.T, dir string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "erased"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return len(data)
}

// TestConfirmKill: wherever the process of a turn is killed, a call that needs consent
// is made only after the consent is on disk, and a restart never makes it again. A
// question that waits is still there, and its answer makes the call once.
func TestConfirmKill(t *testing.T) {
	step := 1
	if effort.Brief() {
		step = 7
	}
	file := filepath.Join(t.TempDir(), "a2a.db")
	for _, text := range []string{"Erase it.", "yes"} {
		points := 0
		for _, at := range []string{"before create", "after create", "before change", "after change", "before memo"} {
			for n := 1; ; n += step {
				copied := after(t, file, text, fmt.Sprintf("%s#%d", at, n), "A2A_MIND=eraser")
				if copied == "" {
					break
				}
				points++
				resumeErasing(t, copied, fmt.Sprintf("%q, killed at %s#%d", text, at, n), text == "yes")
			}
		}
		if points < 4/step {
			t.Errorf("%q: %d points", text, points)
		}
		if file = after(t, file, text, "answered#1", "A2A_MIND=eraser"); file == "" {
			t.Fatalf("%q was not answered", text)
		}
	}
	if n := erased(t, filepath.Dir(file)); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// resumeErasing starts a server on what a killed one left. agreed says that the process
// was killed in the turn of the consent.
func resumeErasing(t *testing.T, file, killed string, agreed bool) {
	t.Helper()
	dir := filepath.Dir(file)
	made := erased(t, dir)
	s, err := New(Config{Mind: eraser(dir), File: file, Tokens: []Token{person}})
	if err != nil {
		t.Fatalf("%s: %v", killed, err)
	}
	defer s.Close()
	waits, done := false, false
	for _, l := range s.store.alone() {
		waits = waits || l.state == a2a.TaskStateInputRequired
		done = done || l.state == a2a.TaskStateCompleted
	}
	if made > 0 && (waits || !agreed) || done && made != 1 || made > 1 {
		t.Errorf("%s: %d calls, a question waits: %v, completed: %v", killed, made, waits, done)
	}
	text, want := "Hello.", made
	if waits {
		text, want = "yes", 1
	}
	if err := said(t.Context(), s, text); err != nil {
		t.Errorf("%s: %v", killed, err)
	}
	if n := erased(t, dir); n != want {
		t.Errorf("%s: %d calls in the end, want %d", killed, n, want)
	}
}
