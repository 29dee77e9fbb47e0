package conversation_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// Every message is on a branch that begins at the beginning and goes on to the message
// that was added last after it, whatever parents a file names.
func TestTree(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		all := make([]conversation.Message, 1+rng.IntN(40))
		for i := range all {
			all[i].Parent = rng.IntN(i+1) - rng.IntN(2) // 0 and less begin
			if rng.IntN(10) == 0 {
				all[i].Parent = i + rng.IntN(50) // no earlier message, which begins too
			}
		}
		numbers := make([]int, len(all))
		for i := range all {
			numbers[i] = i + 1
		}
		beside := conversation.Beside(all, numbers)
		for _, n := range numbers {
			leaf := conversation.Newest(all, n)
			branch := conversation.Branch(all, leaf)
			if !slices.Contains(branch, n) || !slices.IsSorted(branch) || leaf < n {
				t.Fatalf("%v: message %d is not on the branch %v to %d", all, n, branch, leaf)
			}
			if conversation.Newest(all, leaf) != leaf {
				t.Fatalf("%v: a message follows %d", all, leaf)
			}
			if !slices.Contains(beside[n], n) {
				t.Fatalf("%d is not beside itself: %v", n, beside[n])
			}
			for _, m := range beside[n] {
				if !slices.Equal(beside[m], beside[n]) {
					t.Fatalf("%d is beside %v, and %d beside %v", n, beside[n], m, beside[m])
				}
				a, b := conversation.Branch(all, n), conversation.Branch(all, m)
				if !slices.Equal(a[:len(a)-1], b[:len(b)-1]) {
					t.Fatalf("%d and %d do not follow the same message", n, m)
				}
			}
		}
	}
}

// What a store keeps of a conversation is there again, without secrets, for its caller
// alone, and until it is removed.
func TestKept(t *testing.T) {
	s := &conversation.Store{Folder: t.TempDir(), Secrets: record.NewSecrets("hunter22")}
	said := conversation.Message{Role: model.User, Text: "my hunter22", Files: []conversation.Attachment{{Name: "hunter22", Text: "hunter22"}}}
	key, err := s.Create("ada", "console", conversation.Change{Add: []conversation.Message{said}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Change("ada", key, func(f *conversation.File) (conversation.Change, error) {
		return conversation.Change{Title: "hunter22!", Add: []conversation.Message{{Role: model.Assistant, Parent: 1, Text: "hunter22", Reply: &conversation.Reply{
			Narration: "hunter22", Error: "hunter22", Calls: []conversation.Call{{Name: "f", Arguments: "hunter22"}},
		}}}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	again := &conversation.Store{Folder: s.Folder}
	f, err := again.Get("ada", key)
	if err != nil || len(f.Messages) != 2 || f.Messages[1].Reply == nil || f.Messages[1].Parent != 1 {
		t.Fatalf("%v %+v", err, f)
	}
	_ = filepath.Walk(s.Folder, func(path string, info os.FileInfo, _ error) error {
		if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), "hunter22") {
			t.Errorf("a secret is in %s", data)
		}
		return nil
	})
	list, err := again.Keys("ada")
	if err != nil || len(list) != 1 || list[0].Key != key {
		t.Errorf("%v %v", list, err)
	}
	for _, get := range []struct{ caller, key string }{{"bob", key}, {"ada", strings.Repeat("0", 32)}, {"ada", "../" + key}, {"ada", ""}} {
		if _, err := again.Get(get.caller, get.key); !errors.Is(err, conversation.ErrNotFound) {
			t.Errorf("%v: %v", get, err)
		}
		if err := again.Remove(get.caller, get.key); !errors.Is(err, conversation.ErrNotFound) {
			t.Errorf("%v: %v", get, err)
		}
	}
	if err := again.Remove("ada", key); err != nil {
		t.Fatal(err)
	}
	if list, _ := again.Keys("ada"); len(list) != 0 {
		t.Errorf("after it was removed: %v", list)
	}
}

// A full conversation takes no new question, and still takes the reply that is under way.
func TestKeptBound(t *testing.T) {
	s := &conversation.Store{Folder: t.TempDir(), Limits: conversation.Limits{Each: 2000}}
	add := func(m conversation.Message) func(*conversation.File) (conversation.Change, error) {
		return func(*conversation.File) (conversation.Change, error) {
			return conversation.Change{Add: []conversation.Message{m}}, nil
		}
	}
	key, err := s.Create("ada", "console", conversation.Change{Add: []conversation.Message{{Role: model.User, Text: strings.Repeat("x", 3000)}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Change("ada", key, add(conversation.Message{Role: model.User, Text: "y"})); !errors.Is(err, conversation.ErrFull) {
		t.Errorf("a question: %v", err)
	}
	if err := s.Change("ada", key, add(conversation.Message{Role: model.Assistant, Reply: &conversation.Reply{}})); err != nil {
		t.Errorf("a reply: %v", err)
	}
	if f, err := s.Get("ada", key); err != nil || fmt.Sprint(len(f.Messages)) != "2" {
		t.Errorf("%v %v", f, err)
	}
}

// The arguments that a question shows hold no secret.
func TestAsksRedacted(t *testing.T) {
	s := &conversation.Store{Folder: t.TempDir(), Secrets: record.NewSecrets("sk-of-the-file")}
	asks := &conversation.Asks{Question: conversation.Question{Tool: "erase", Arguments: "all of sk-of-the-file"}}
	id, err := s.Create("c", "a", conversation.Change{Add: []conversation.Message{{Role: "assistant", Reply: &conversation.Reply{Asks: asks}}}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.Get("c", id)
	if err != nil || f.Messages[0].Reply.Asks.Arguments != "all of [secret]" || asks.Arguments != "all of sk-of-the-file" {
		t.Errorf("%+v, %v, and the caller's has %q", f.Messages[0].Reply, err, asks.Arguments)
	}
}
