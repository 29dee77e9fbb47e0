package history_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/wire"
)

func TestStore(t *testing.T) {
	s := history.NewStore(100, 1<<20, time.Hour)
	asked := `{"role":"system","content":"s"},{"role":"user","content":"q"}`
	q := read("deepseek-v4", "["+asked+"]")
	s.Remember("alice", q, history.Said{Visible: "a", ToolCalls: []string{"c1"}, Thought: "r", Raw: "<think>r</think>a"})
	back := func(members string) *wire.Request {
		return read("deepseek-v4", "["+asked+`,{"role":"assistant",`+members+`},`+result+"]")
	}
	for _, members := range []string{
		`"content":"a",` + call,
		`"content":" a\n",` + call,
		`"content":[{"type":"text","text":"a"}],` + call,
		`"content":"a","reasoning_content":"r",` + call,
		`"content":"<think>\nr\n</think>\n\na",` + call,
		`"content":"r</think>a",` + call,
	} {
		if thought, raw, ok := s.Recall("alice", back(members), 2); !ok || thought != "r" || raw != "<think>r</think>a" {
			t.Errorf("%s: %q, %q, %v", members, thought, raw, ok)
		}
	}
	for _, members := range []string{`"content":"b",` + call, `"content":"a"`, `"content":"a","tool_calls":[{"id":"c2"}]`} {
		if thought, _, ok := s.Recall("alice", back(members), 2); ok {
			t.Errorf("%s: %q", members, thought)
		}
	}
	whole := back(`"content":"a",` + call)
	for _, caller := range []string{"", "bob", "alic", "alice "} {
		if _, _, ok := s.Recall(caller, whole, 2); ok {
			t.Errorf("%q sees what alice was told", caller)
		}
	}
	other := read("deepseek-v4", `[{"role":"user","content":"sq"},{"role":"assistant","content":"a",`+call+`}]`)
	if _, _, ok := s.Recall("alice", other, 1); ok {
		t.Error("another conversation")
	}
	for _, m := range []int{-1, 0, 1, 3, 4, 99} {
		if _, _, ok := s.Recall("alice", whole, m); ok {
			t.Errorf("message %d", m)
		}
	}
	// The messages before may lose their reasoning: the key stays.
	full := read("deepseek-v4", "["+asked+`,{"role":"assistant","content":"<think>r</think>a",`+call+`},`+result+"]")
	s.Remember("alice", full, history.Said{Visible: "b", Thought: "r2"})
	later := read("deepseek-v4", "["+asked+`,{"role":"assistant","content":"a",`+call+`},`+result+`,{"role":"assistant","content":"b"}]`)
	if thought, _, _ := s.Recall("alice", later, 4); thought != "r2" {
		t.Errorf("behind a message that lost its reasoning: %q", thought)
	}
	// The latest wins.
	s.Remember("alice", full, history.Said{Visible: "b", Thought: "r3"})
	if thought, _, _ := s.Recall("alice", later, 4); thought != "r3" {
		t.Errorf("said again: %q", thought)
	}
}

func TestStorePrefill(t *testing.T) {
	s := history.NewStore(100, 1<<20, time.Hour)
	s.Remember("alice", read("m", `[{"role":"user","content":"q"},{"role":"assistant","content":"Sure: "}]`), history.Said{Visible: "a", Thought: "r"})
	if thought, _, _ := s.Recall("alice", read("m", `[{"role":"user","content":"q"},{"role":"assistant","content":"Sure: a"}]`), 1); thought != "r" {
		t.Errorf("%q", thought)
	}
}

// turn is a conversation whose answer is remembered, with and without it.
func turn(i int) (asked, whole *wire.Request) {
	user := fmt.Sprintf(`[{"role":"user","content":"q%d"}`, i)
	return read("m", user+"]"), read("m", user+`,{"role":"assistant","content":"a"}]`)
}

func TestStoreBounds(t *testing.T) {
	held := func(s *history.Store, n int) (have []int) {
		for i := range n {
			if _, whole := turn(i); func() bool { _, _, ok := s.Recall("c", whole, 1); return ok }() {
				have = append(have, i)
			}
		}
		return have
	}
	fill := func(s *history.Store, n int, thought string) {
		for i := range n {
			asked, _ := turn(i)
			s.Remember("c", asked, history.Said{Visible: "a", Thought: thought})
		}
	}
	s := history.NewStore(3, 1<<20, time.Hour)
	fill(s, 5, "r")
	if have := held(s, 5); fmt.Sprint(have) != "[2 3 4]" {
		t.Errorf("of 3 entries: %v", have)
	}
	_, whole := turn(2)
	s.Recall("c", whole, 1) // used last, so it stays
	asked, _ := turn(9)
	s.Remember("c", asked, history.Said{Visible: "a", Thought: "r"})
	if have := held(s, 10); fmt.Sprint(have) != "[2 4 9]" {
		t.Errorf("the least used goes first: %v", have)
	}
	s = history.NewStore(100, 10_000, time.Hour)
	fill(s, 20, strings.Repeat("r", 2000))
	if have := held(s, 20); fmt.Sprint(have) != "[16 17 18 19]" {
		t.Errorf("of 10000 bytes: %v", have)
	}
	fill(s, 1, strings.Repeat("r", 20_000))
	if have := held(s, 20); fmt.Sprint(have) != "[16 17 18 19]" {
		t.Errorf("a reply larger than the store: %v", have)
	}
	for _, s := range []*history.Store{nil, history.NewStore(0, 1, 1), history.NewStore(1, 0, time.Hour), history.NewStore(1, 1<<20, 0)} {
		fill(s, 1, "r")
		if have := held(s, 1); have != nil {
			t.Errorf("a store without room: %v", have)
		}
	}
}

func TestStoreAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := history.NewStore(10, 1<<20, time.Hour)
		asked, whole := turn(0)
		s.Remember("c", asked, history.Said{Visible: "a", Thought: "r"})
		for range 3 { // entries in use stay
			time.Sleep(59 * time.Minute)
			if _, _, ok := s.Recall("c", whole, 1); !ok {
				t.Fatal("forgotten too early")
			}
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := s.Len(); n != 0 {
			t.Errorf("%d entries left that nobody asked for", n)
		}
		if _, _, ok := s.Recall("c", whole, 1); ok {
			t.Error("remembered for too long")
		}
	})
}

func TestStoreConcurrently(t *testing.T) {
	s := history.NewStore(50, 1<<20, time.Hour)
	var all sync.WaitGroup
	for c := range 8 {
		all.Go(func() {
			caller := fmt.Sprint("caller ", c)
			for i := range 200 {
				asked, whole := turn(i % 20)
				s.Remember(caller, asked, history.Said{Visible: "a", Thought: caller})
				if thought, _, ok := s.Recall(caller, whole, 1); ok && thought != caller {
					t.Errorf("%s got %q", caller, thought)
				}
			}
		})
	}
	all.Wait()
}

// A plan with a store puts back what a client dropped, and only its own.
func TestRestore(t *testing.T) {
	s := history.NewStore(100, 1<<20, time.Hour)
	s.Remember("alice", read("deepseek-v4", "["+ask+"]"), history.Said{ToolCalls: []string{"c1"}, Thought: "r"})
	q := read("deepseek-v4", "["+ask+`,{"role":"assistant","content":"",`+call+`},`+result+"]")
	for caller, want := range map[string]int{"alice": 1, "bob": 0} {
		p := history.PlanFor(q, history.Auto, history.Knowledge{Native: "reasoning_content", Recall: s.For(caller, q)}, codecOf(chat))
		if len(p.Changes) != want || p.Restored != want {
			t.Errorf("%s: %+v", caller, p)
		}
	}
}

func BenchmarkRestore(b *testing.B) {
	s := history.NewStore(100, 1<<20, time.Hour)
	list := "[" + ask
	for i := range 100 {
		list += fmt.Sprintf(`,{"role":"assistant","content":%q,%s},%s`, strings.Repeat("an answer ", 100), strings.ReplaceAll(call, "c1", fmt.Sprint("c", i)), strings.ReplaceAll(result, "c1", fmt.Sprint("c", i)))
	}
	q := read("deepseek-v4", list+"]")
	s.Remember("alice", q, history.Said{Visible: "a", Thought: "r"})
	b.SetBytes(int64(len(list)))
	for b.Loop() {
		history.PlanFor(q, history.Auto, history.Knowledge{Native: "reasoning_content", Recall: s.For("alice", q)}, codecOf(chat))
	}
}
