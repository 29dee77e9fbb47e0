package conversation

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// talk makes one turn of a conversation, and returns the id of its response.
func talk(t *testing.T, s *Store, w Wish, user, assistant string, memory map[string]string) string {
	t.Helper()
	x, err := s.Begin(w)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if err := x.Commit([]Message{{Role: model.User, Text: user}, {Role: model.Assistant, Text: assistant}}, memory); err != nil {
		t.Fatal(err)
	}
	return x.Response
}

// said is what a conversation holds, as it would be continued now.
func said(t *testing.T, s *Store, w Wish) (texts []string, memory map[string]string) {
	t.Helper()
	w.Discard = true
	x, err := s.Begin(w)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range x.Messages {
		texts = append(texts, m.Text)
	}
	return texts, x.Memory
}

func same(t *testing.T, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A conversation continues by its name and by the ids of its responses. A response in
// the middle begins another one, which has its own turns from there on, with the
// memory as it was then.
func TestContinue(t *testing.T) {
	everywhere(t, func(t *testing.T, s *Store) {
		named := Wish{Caller: "ann", Agent: "a", Name: "n"}
		one := talk(t, s, named, "1", "one", map[string]string{"k": "v1", "gone": "x"})
		two := talk(t, s, named, "2", "two", map[string]string{"k": "v2"})
		texts, memory := said(t, s, named)
		same(t, texts, []string{"1", "one", "2", "two"})
		same(t, memory, map[string]string{"k": "v2"})

		after := Wish{Caller: "ann", Agent: "a", Response: one}
		other := talk(t, s, after, "2b", "twob", map[string]string{"k": "v3"})
		texts, memory = said(t, s, Wish{Caller: "ann", Agent: "a", Response: other})
		same(t, texts, []string{"1", "one", "2b", "twob"})
		same(t, memory, map[string]string{"k": "v3"})
		texts, memory = said(t, s, after)
		same(t, texts, []string{"1", "one"})
		same(t, memory, map[string]string{"k": "v1", "gone": "x"})
		texts, _ = said(t, s, Wish{Caller: "ann", Agent: "a", Response: two})
		same(t, texts, []string{"1", "one", "2", "two"})
		third := talk(t, s, Wish{Caller: "ann", Agent: "a", Response: other}, "3", "three", nil)
		texts, memory = said(t, s, Wish{Caller: "ann", Agent: "a", Response: third})
		same(t, texts, []string{"1", "one", "2b", "twob", "3", "three"})
		same(t, memory, map[string]string{})
		texts, _ = said(t, s, named)
		same(t, texts, []string{"1", "one", "2", "two"})
	})
}

// No other caller and no other agent continues a conversation, by no name and by no id.
func TestOwners(t *testing.T) {
	everywhere(t, func(t *testing.T, s *Store) {
		w := Wish{Caller: "ann", Agent: "a", Name: "n"}
		id := talk(t, s, w, "SECRET", "SECRET", nil)
		for _, other := range []Wish{
			{Caller: "bob", Agent: "a", Response: id}, {Caller: "", Agent: "a", Response: id}, {Caller: "ann", Agent: "b", Response: id},
			{Caller: "ann", Agent: "a", Response: id + "0"}, {Caller: "ann", Agent: "a", Response: strings.Replace(id, "resp_", "resp_../", 1)},
			{Caller: "ann", Agent: "a", Response: id[:len(id)-1] + "2"},
		} {
			if x, err := s.Begin(other); !errors.Is(err, ErrNotFound) {
				t.Errorf("%+v: %+v, %v", other, x, err)
			}
		}
		for _, other := range []Wish{{Caller: "bob", Agent: "a", Name: "n"}, {Caller: "ann", Agent: "b", Name: "n"}} {
			if texts, _ := said(t, s, other); len(texts) > 0 {
				t.Errorf("%+v: %q", other, texts)
			}
		}
	})
}

// A conversation has one turn at a time. Its name is refused meanwhile, and a response
// of it begins another conversation. A turn that is not committed leaves nothing.
func TestBusy(t *testing.T) {
	everywhere(t, func(t *testing.T, s *Store) {
		w := Wish{Agent: "a", Name: "n"}
		id := talk(t, s, w, "1", "one", nil)
		x, err := s.Begin(w)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Begin(w); !errors.Is(err, ErrBusy) {
			t.Error(err)
		}
		other := talk(t, s, Wish{Agent: "a", Response: id}, "2b", "twob", nil)
		x.Close()
		texts, _ := said(t, s, w)
		same(t, texts, []string{"1", "one"})
		texts, _ = said(t, s, Wish{Agent: "a", Response: other})
		same(t, texts, []string{"1", "one", "2b", "twob"})

		y, err := s.Begin(Wish{Agent: "a", Name: "new"})
		if err != nil {
			t.Fatal(err)
		}
		y.Close()
		if list, err := s.Keys(""); err != nil || len(list) != 2 {
			t.Errorf("%v, %v", list, err)
		}
	})
}

// The bounds: the conversations that rest longest go, those of the caller who holds
// the most; one that is in use stays; an old one is not found; a large one takes no
// further turn.
func TestBounds(t *testing.T) {
	s := &Store{Folder: t.TempDir(), Limits: Limits{Number: 10, Each: 1000, Keep: time.Hour}}
	few := talk(t, s, Wish{Caller: "few", Agent: "a", Name: "n"}, "1", "one", nil)
	old := time.Now().Add(-time.Minute)
	os.Chtimes(s.path("few", keyOf("a", "n")), old, old)
	busy, err := s.Begin(Wish{Caller: "many", Agent: "a", Name: "busy"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		talk(t, s, Wish{Caller: "many", Agent: "a"}, fmt.Sprint(i), "answer", nil)
	}
	if err := busy.Commit([]Message{{Role: model.User, Text: "b"}}, nil); err != nil {
		t.Error(err)
	}
	busy.Close()
	if texts, _ := said(t, s, Wish{Caller: "many", Agent: "a", Name: "busy"}); len(texts) != 1 {
		t.Errorf("the conversation in use is gone: %q", texts)
	}
	if texts, _ := said(t, s, Wish{Caller: "few", Agent: "a", Response: few}); len(texts) != 2 {
		t.Errorf("the caller of one conversation lost it: %q", texts)
	}
	list, err := s.list()
	if n := len(list[0]) + len(list[1]); err != nil || n > 10 {
		t.Errorf("%d conversations, %v", n, err)
	}

	large := Wish{Agent: "a", Name: "large"}
	talk(t, s, large, strings.Repeat("x", 1000), "answer", nil)
	if _, err := s.Begin(large); !errors.Is(err, ErrFull) {
		t.Error(err)
	}

	old = time.Now().Add(-2 * time.Hour)
	os.Chtimes(s.path("few", keyOf("a", "n")), old, old)
	if _, err := s.Begin(Wish{Caller: "few", Agent: "a", Response: few}); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if texts, _ := said(t, s, Wish{Caller: "few", Agent: "a", Name: "n"}); len(texts) > 0 {
		t.Errorf("too old, but continued: %q", texts)
	}
}

// A file that is cut at any byte is the conversation before its last change, or after
// it, and takes further ones. No secret is in it.
func TestCutAnywhere(t *testing.T) {
	s := &Store{Folder: t.TempDir(), Secrets: record.NewSecrets("sk-of-the-agent")}
	w := Wish{Agent: "a", Name: "n"}
	talk(t, s, w, "1 é", "one\n", map[string]string{"k": "sk-of-the-agent v1"})
	path := s.path("", keyOf("a", "n"))
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	talk(t, s, w, "2 sk-of-the-agent", "two", map[string]string{"k": "v2"})
	whole, err := os.ReadFile(path)
	if err != nil || bytes.Contains(whole, []byte("sk-of")) || bytes.Count(whole, []byte("[secret]")) != 2 {
		t.Fatalf("%s, %v", whole, err)
	}
	for n := range len(whole) + 1 {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		texts, memory := said(t, s, w)
		want, kept := []string(nil), map[string]string{}
		if n >= len(first) {
			want, kept = []string{"1 é", "one\n"}, map[string]string{"k": "[secret] v1"}
		}
		if n == len(whole) {
			want, kept = append(want, "2 [secret]", "two"), map[string]string{"k": "v2"}
		}
		same(t, texts, want)
		same(t, memory, kept)
		if n%16 == 0 {
			talk(t, s, w, "more", "said", kept)
			texts, _ := said(t, s, w)
			same(t, texts, append(want, "more", "said"))
		}
	}
}

// A file that is not a conversation is refused and stays as it is.
func TestForeignFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	for _, text := range []string{"no\n", "{\"add\":[]}\n", "[]\n", "{\"head\":1}\n", strings.Repeat("[", 100000) + "\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if f, err := Open(path, nil); err == nil {
			f.Close()
			t.Errorf("%.20q is opened", text)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("%.20q became %.20q, %v", text, now, err)
		}
	}
}
