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
	s.Remember("alice", q, history.Said{Visible: "a", ToolCalls: []string{"c1"}, Remembered: history.Remembered{Thought: "r", Raw: "<think>r</think>a"}})
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
		if r, ok := s.Recall("alice", back(members), 2); !ok || r.Thought != "r" || r.Raw != "<think>r</think>a" {
			t.Errorf("%s: %+v, %v", members, r, ok)
		}
	}
	for _, members := range []string{`"content":"b",` + call, `"content":"a"`, `"content":"a","tool_calls":[{"id":"c2"}]`} {
		if r, ok := s.Recall("alice", back(members), 2); ok {
			t.Errorf("%s: %+v", members, r)
		}
	}
	whole := back(`"content":"a",` + call)
	for _, caller := range []string{"", "bob", "alic", "alice "} {
		if _, ok := s.Recall(caller, whole, 2); ok {
			t.Errorf("%q sees what alice was told", caller)
		}
	}
	other := read("deepseek-v4", `[{"role":"user","content":"sq"},{"role":"assistant","content":"a",`+call+`}]`)
	if _, ok := s.Recall("alice", other, 1); ok {
		t.Error("another conversation")
	}
	for _, m := range []int{-1, 0, 1, 3, 4, 99} {
		if _, ok := s.Recall("alice", whole, m); ok {
			t.Errorf("message %d", m)
		}
	}
	// The messages before may lose their reasoning: the key stays.
	full := read("deepseek-v4", "["+asked+`,{"role":"assistant","content":"<think>r</think>a",`+call+`},`+result+"]")
	s.Remember("alice", full, history.Said{Visible: "b", Remembered: history.Remembered{Thought: "r2"}})
	later := read("deepseek-v4", "["+asked+`,{"role":"assistant","content":"a",`+call+`},`+result+`,{"role":"assistant","content":"b"}]`)
	if r, _ := s.Recall("alice", later, 4); r.Thought != "r2" {
		t.Errorf("behind a message that lost its reasoning: %q", r.Thought)
	}
	// The latest wins.
	s.Remember("alice", full, history.Said{Visible: "b", Remembered: history.Remembered{Thought: "r3"}})
	if r, _ := s.Recall("alice", later, 4); r.Thought != "r3" {
		t.Errorf("said again: %q", r.Thought)
	}
}

func TestStorePrefill(t *testing.T) {
	s := history.NewStore(100, 1<<20, time.Hour)
	s.Remember("alice", read("m", `[{"role":"user","content":"q"},{"role":"assistant","content":"Sure: "}]`), history.Said{Visible: "a", Remembered: history.Remembered{Thought: "r"}})
	if r, _ := s.Recall("alice", read("m", `[{"role":"user","content":"q"},{"role":"assistant","content":"Sure: a"}]`), 1); r.Thought != "r" {
		t.Errorf("%q", r.Thought)
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
			if _, whole := turn(i); func() bool { _, ok := s.Recall("c", whole, 1); return ok }() {
				have = append(have, i)
			}
		}
		return have
	}
	fill := func(s *history.Store, n int, thought string) {
		for i := range n {
			asked, _ := turn(i)
			s.Remember("c", asked, history.Said{Visible: "a", Remembered: history.Remembered{Thought: thought}})
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
	s.Remember("c", asked, history.Said{Visible: "a", Remembered: history.Remembered{Thought: "r"}})
	if have := held(s, 10); fmt.Sprint(have) != "[2 4 9]" {
		t.Errorf("the least used goes first: %v", have)
	}
	s = history.NewStore(100, 12_000, time.Hour)
	fill(s, 20, strings.Repeat("r", 2000))
	if have := held(s, 20); fmt.Sprint(have) != "[16 17 18 19]" {
		t.Errorf("of 12000 bytes: %v", have)
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
		s.Remember("c", asked, history.Said{Visible: "a", Remembered: history.Remembered{Thought: "r"}})
		for range 3 { // entries in use stay
			time.Sleep(59 * time.Minute)
			if _, ok := s.Recall("c", whole, 1); !ok {
				t.Fatal("forgotten too early")
			}
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := s.Len(); n != 0 {
			t.Errorf("%d entries left that nobody asked for", n)
		}
		if _, ok := s.Recall("c", whole, 1); ok {
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
				s.Remember(caller, asked, history.Said{Visible: "a", Remembered: history.Remembered{Thought: caller}})
				if r, ok := s.Recall(caller, whole, 1); ok && r.Thought != caller {
					t.Errorf("%s got %q", caller, r.Thought)
				}
			}
		})
	}
	all.Wait()
}

// A plan with a store puts back what a client dropped, and only its own.
func TestRestore(t *testing.T) {
	s := history.NewStore(100, 1<<20, time.Hour)
	s.Remember("alice", read("deepseek-v4", "["+ask+"]"), history.Said{ToolCalls: []string{"c1"}, Remembered: history.Remembered{Thought: "r"}})
	q := read("deepseek-v4", "["+ask+`,{"role":"assistant","content":"",`+call+`},`+result+"]")
	for caller, want := range map[string]string{"alice": "r", "bob": ""} {
		p := history.PlanFor(q, history.Auto, history.Knowledge{Native: "reasoning_content", Recall: s.For(caller, q)}, codecOf(chat))
		if len(p.Changes) != 1 || p.Changes[0].Field != "reasoning_content" || p.Changes[0].Add != want || p.Missed != 1-len(want) {
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
	s.Remember("alice", q, history.Said{Visible: "a", Remembered: history.Remembered{Thought: "r"}})
	b.SetBytes(int64(len(list)))
	for b.Loop() {
		history.PlanFor(q, history.Auto, history.Knowledge{Native: "reasoning_content", Recall: s.For("alice", q)}, codecOf(chat))
	}
}

// The second key: the ids of calls, where they look random and belong to one
// conversation.
func TestStoreCalls(t *testing.T) {
	talk := func(system, ids string) (asked, whole *wire.Request) {
		list := `[{"role":"system","content":"` + system + `"},` + ask
		calls := ""
		for id := range strings.SplitSeq(ids, ",") {
			calls += `,{"id":"` + id + `","function":{"name":"f"}}`
		}
		return read("m", list+"]"), read("m", list+`,{"role":"assistant","content":"a","tool_calls":[`+calls[1:]+`]}]`)
	}
	said := func(ids string) history.Said {
		return history.Said{Visible: "a", ToolCalls: strings.Split(ids, ","), Remembered: history.Remembered{Thought: "r", Raw: "<think>r</think>a"}}
	}
	for ids, found := range map[string]bool{
		"call_01ab23CD": true, "toolu_01A09q90qw90lq917835lq9": true, "chatcmpl-tool-9f8a7b6c5d4e3f2a": true, "D681PevKs": true,
		"call_01ab23CD,call_45ef67GH": true,
		"call_0":                      false, "c1": false, "functions.get_weather:0": false, "get_weather": false, "call_01ab23CD,call_0": false, "": false,
	} {
		s := history.NewStore(100, 1<<20, time.Hour)
		asked, _ := talk("one o'clock", ids)
		s.Remember("alice", asked, said(ids))
		_, later := talk("two o'clock", ids)
		r, ok := s.Recall("alice", later, 2)
		if ok != found || found && (r.Thought != "r" || r.Raw != "<think>r</think>a") {
			t.Errorf("%s: %+v, %v", ids, r, ok)
		}
		if _, ok := s.Recall("bob", later, 2); ok {
			t.Errorf("%s: bob gets what alice was sent", ids)
		}
	}
	const id = "call_01ab23CD"
	s := history.NewStore(100, 1<<20, time.Hour)
	named := said("WeatherToolV2")
	named.Names = true
	asked, _ := talk("one", "WeatherToolV2")
	s.Remember("alice", asked, named)
	if _, later := talk("two", "WeatherToolV2"); func() bool { _, ok := s.Recall("alice", later, 2); return ok }() {
		t.Error("names of tools are no ids")
	}
	// Two conversations with the same ids: neither is found by them, both by the rest.
	for _, system := range []string{"one", "two"} {
		asked, _ := talk(system, id)
		s.Remember("alice", asked, said(id))
	}
	for system, want := range map[string]bool{"one": true, "two": true, "three": false} {
		_, whole := talk(system, id)
		if _, ok := s.Recall("alice", whole, 2); ok != want {
			t.Errorf("%s: %v", system, ok)
		}
	}
	// The same call twice in a request gets its thought once.
	s = history.NewStore(100, 1<<20, time.Hour)
	asked, _ = talk("one", id)
	s.Remember("alice", asked, said(id))
	message := `{"role":"assistant","content":"a","tool_calls":[{"id":"` + id + `"}]}`
	recall, n := s.For("alice", read("m", "["+message+","+message+"]")), 0
	for m := range 2 {
		if _, ok := recall(m); ok {
			n++
		}
	}
	if n != 1 {
		t.Errorf("one reply for %d messages", n)
	}
	// A text that the client changed does not get the old one back.
	changed := read("m", `[{"role":"assistant","content":"b","tool_calls":[{"id":"`+id+`"}]}]`)
	if r, ok := s.Recall("alice", changed, 0); !ok || r.Thought != "r" || r.Raw != "" {
		t.Errorf("a changed text: %+v, %v", r, ok)
	}
}

// An entry counts once, and its end ends both keys.
func TestStoreBothKeysEnd(t *testing.T) {
	const n = 50
	s := history.NewStore(3, 1<<20, time.Hour)
	for i := range n {
		asked, _ := turn(i)
		s.Remember("c", asked, history.Said{Visible: "a", ToolCalls: []string{fmt.Sprintf("call_%08x", i)}, Remembered: history.Remembered{Thought: "r"}})
	}
	if s.Len() != 3 {
		t.Errorf("%d entries", s.Len())
	}
	found := 0
	for i := range n {
		q := read("m", fmt.Sprintf(`[{"role":"assistant","content":"a","tool_calls":[{"id":"call_%08x"}]}]`, i))
		if _, ok := s.Recall("c", q, 0); ok {
			found++
		}
	}
	if found != 3 {
		t.Errorf("%d entries are found by their calls", found)
	}
	// Signatures count.
	s = history.NewStore(100, 4000, time.Hour)
	asked, whole := turn(0)
	s.Remember("c", asked, history.Said{Visible: "a", Remembered: history.Remembered{Signatures: map[int]string{0: strings.Repeat("s", 4000)}}})
	if _, ok := s.Recall("c", whole, 1); ok {
		t.Error("signatures larger than the store")
	}
}

// TestStoreOwnIDs finds replies where the client gives calls ids of its own, as clients
// of Ollama's API do: by the conversation or by the words, with the names of the called tools.
func TestStoreOwnIDs(t *testing.T) {
	talk := func(own bool, ids ...string) (asked, whole *wire.Request) {
		const user = `{"role":"user","content":"hi"}`
		list := user
		for _, id := range ids {
			list += fmt.Sprintf(`,{"role":"assistant","content":"","tool_calls":[{"id":%q,"function":{"name":"look"}}]},{"role":"tool","tool_call_id":%q,"content":"4"}`, id, id)
		}
		asked, whole = read("m", "["+user+"]"), read("m", "["+list+"]")
		asked.OwnIDs, whole.OwnIDs = own, own
		return asked, whole
	}
	said := func(id, thought string) history.Said {
		return history.Said{ToolCalls: []string{id}, Called: []string{"look"}, Remembered: history.Remembered{Thought: thought}}
	}
	for _, own := range []bool{true, false} {
		s := history.NewStore(9, 1<<20, time.Hour)
		asked, _ := talk(own)
		s.Remember("alice", asked, said("call_0001", "r"))
		_, once := talk(own, "call_9991")
		s.Remember("alice", once, said("call_0002", "q"))
		_, whole := talk(own, "call_9991", "call_9992")
		for at, want := range map[int]string{1: "r", 3: "q"} {
			if r, ok := s.Recall("alice", whole, at); !ok || r.Thought != want {
				t.Errorf("ids of the client's own %v: message %d: %+v, %v", own, at, r, ok)
			}
		}
		if _, ok := s.Recall("mallory", whole, 1); ok {
			t.Error("another caller gets it")
		}
		// Two replies to one request: their ids tell them apart, and nothing else does.
		s.Remember("alice", asked, said("call_0003", "other"))
		if r, ok := s.Recall("alice", whole, 1); ok {
			t.Errorf("one of two: %+v", r)
		}
		_, whole = talk(own, "call_0003")
		if r, ok := s.Recall("alice", whole, 1); !ok || r.Thought != "other" {
			t.Errorf("by its id: %+v, %v", r, ok)
		}
	}
}
