package history

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/wire"
)

// shelf is a level in this process.
type shelf struct {
	mu      sync.Mutex
	values  map[Key][]byte
	aliases map[Key]Key
	gets    int
	asked   []int // how many keys each of gets had
}

func newShelf() *shelf { return &shelf{values: map[Key][]byte{}, aliases: map[Key]Key{}} }

func (l *shelf) Put(e LevelEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.values[e.Key] = bytes.Clone(e.Value)
	for _, a := range e.Aliases {
		if was, ok := l.aliases[a]; ok && was != e.Key {
			l.aliases[a] = Key{}
		} else {
			l.aliases[a] = e.Key
		}
	}
}

func (l *shelf) Get(_ Key, keys []Key) [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gets++
	l.asked = append(l.asked, len(keys))
	list := make([][]byte, len(keys))
	for i, k := range keys {
		list[i] = l.values[k]
	}
	return list
}

func (l *shelf) Resolve(_ Key, aliases []Key) []Key {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]Key, len(aliases))
	for i, a := range aliases {
		list[i] = l.aliases[a]
	}
	return list
}

var secret = []byte("a secret of the replicas, of 32 b")

func sharing(t *testing.T, l Level, secret []byte) *Store {
	t.Helper()
	s := NewStore(100, 1<<20, time.Hour)
	if err := s.Share(l, secret); err != nil {
		t.Fatal(err)
	}
	return s
}

// asked is a request, and the same one with a reply of the model behind it.
func asked(said string, ids ...string) (before, after *wire.Request) {
	user := wire.Message{Role: "user", Texts: []string{"What is the weather?"}}
	before = &wire.Request{Model: "qwen3", Messages: []wire.Message{user}}
	reply := wire.Message{Role: "assistant", Texts: []string{said}, Calls: len(ids) > 0, CallIDs: ids}
	after = &wire.Request{Model: "qwen3", Messages: []wire.Message{user, reply}}
	return before, after
}

// TestShare: what one store remembers, another one with the same level and secret
// finds: by the conversation, and by the ids of the calls. Nobody else does, and the
// level sees none of the text.
func TestShare(t *testing.T) {
	l := newShelf()
	first, second := sharing(t, l, secret), sharing(t, l, secret)
	before, after := asked("I look.", "call_8f3Kd92mXq")
	want := Remembered{Thought: "a canary \xff", Raw: "<think>a canary</think>I look.", Signatures: map[int]string{0: "signed canary"}}
	first.Remember("caller", before, Said{Visible: "I look.", ToolCalls: after.Messages[1].CallIDs, Remembered: want})
	want.said = len("Ilook.")

	changed := *after
	changed.Messages = slices.Clone(after.Messages)
	changed.Messages[0].Texts = []string{"The time is 12:31. What is the weather?"}
	for name, tt := range map[string]struct {
		store  *Store
		caller string
		q      *wire.Request
		found  bool
	}{
		"the same conversation": {second, "caller", after, true},
		"a changed one":         {sharing(t, l, secret), "caller", &changed, true},
		"another caller":        {second, "somebody else", after, false},
		"another secret":        {sharing(t, l, []byte("another secret of the replicas")), "caller", after, false},
	} {
		got, ok := tt.store.Recall(tt.caller, tt.q, 1)
		if ok != tt.found || ok && fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v %v, want %v", name, ok, got, tt.found)
		}
	}
	for _, value := range l.values {
		if bytes.Contains(value, []byte("canary")) {
			t.Error("the level sees the thought")
		}
	}
}

// TestShareAsksOnce: memory is the first level; what it has is not asked for, and what
// was fetched is kept there.
func TestShareAsksOnce(t *testing.T) {
	l := newShelf()
	first, second := sharing(t, l, secret), sharing(t, l, secret)
	before, after := asked("Sunny.")
	first.Remember("caller", before, Said{Visible: "Sunny.", Remembered: Remembered{Thought: "why"}})
	for _, s := range []*Store{first, second, second} {
		recall := s.For("caller", after)
		for range 3 {
			if _, ok := recall(1); !ok {
				t.Fatal("not found")
			}
		}
	}
	if l.gets != 1 {
		t.Errorf("the level was asked %d times, want once", l.gets)
	}
}

// TestShareAsksForWhatItLacks: the level is asked for the replies of the assistant that
// memory lacks, in one question, and for nothing else.
func TestShareAsksForWhatItLacks(t *testing.T) {
	l := newShelf()
	first, second := sharing(t, l, secret), sharing(t, l, secret)
	q := &wire.Request{Model: "qwen3"}
	for i := range 4 {
		q.Messages = append(q.Messages, wire.Message{Role: "user", Texts: []string{fmt.Sprintf("Question %d?", i)}})
		before := *q
		before.Messages = slices.Clone(q.Messages)
		store := first
		if i == 1 {
			store = second // has it in memory
		}
		text := fmt.Sprintf("Answer %d.", i)
		store.Remember("caller", &before, Said{Visible: text, Remembered: Remembered{Thought: "why"}})
		q.Messages = append(q.Messages, wire.Message{Role: "assistant", Texts: []string{text}})
	}
	recall := second.For("caller", q)
	for m, message := range q.Messages {
		if _, ok := recall(m); ok != (message.Role == "assistant") {
			t.Errorf("message %d of the %s is found: %v", m, message.Role, ok)
		}
	}
	if !slices.Equal(l.asked, []int{3}) {
		t.Errorf("the level was asked for %v keys, want 3 at once", l.asked)
	}

	unknown := *q
	unknown.Messages = []wire.Message{{Role: "user", Texts: []string{"Hi"}}, {Role: "assistant", Texts: []string{"Ho"}, Calls: true, CallIDs: []string{"call_8f3Kd92mXq"}}}
	l.asked = nil
	second.For("caller", &unknown)(1)
	if !slices.Equal(l.asked, []int{1}) {
		t.Errorf("for an alias that the level does not know it was asked for %v keys, want 1", l.asked)
	}
}

// TestRandomIDs: eight letters and digits in a row, with a digit or both cases.
func TestRandomIDs(t *testing.T) {
	for id, want := range map[string]bool{
		"abcdefg1": true, "abcdef1": false, "abcdefgh": false, "ABCDEFGH": false, "Abcdefgh": true, "ABCDEFGh": true, "Abcdefg": false,
		"12345678": true, "1234567": false, "call_1234567": false, "call_12345678": true, "1-abcdefgh": false, "A-bcdefghi": false, "abcd-efg1": false, "": false,
	} {
		if got := isRandom(id); got != want {
			t.Errorf("%q: %v", id, got)
		}
	}
}

// TestOpenCalls: the turn under way begins no later than each call whose result comes in
// it, and with the call's reply; over all short conversations.
func TestOpenCalls(t *testing.T) {
	kinds := []wire.Message{
		{Role: "user"}, {Role: "assistant"},
		{Role: "assistant", Calls: true, CallIDs: []string{"a"}}, {Role: "assistant", Calls: true, CallIDs: []string{"b"}},
		{Role: "tool", Results: true, CallIDs: []string{"a"}}, {Role: "tool", Results: true, CallIDs: []string{"b"}},
	}
	var all []wire.Message
	var try func(n int)
	try = func(n int) {
		for from := range len(all) + 1 {
			want := from
			for at, m := range all {
				if at < from || !m.Results {
					continue
				}
				call := at
				for call >= 0 && !(all[call].Calls && all[call].CallIDs[0] == m.CallIDs[0]) {
					call--
				}
				if call >= 0 && call < from {
					want = min(want, call)
				}
			}
			for want < from && want > 0 && all[want-1].Role == "assistant" {
				want--
			}
			if got := openCall(all, from); got != want {
				t.Fatalf("%+v from %d: %d, want %d", all, from, got, want)
			}
		}
		if n == 0 {
			return
		}
		for _, m := range kinds {
			all = append(all, m)
			try(n - 1)
			all = all[:len(all)-1]
		}
	}
	try(5)
}

// TestSharedAlias: ids that two replies have find neither, also where the replies are
// those of two processes.
func TestSharedAlias(t *testing.T) {
	l := newShelf()
	for i := range 2 {
		before, after := asked("I look.", "call_8f3Kd92mXq")
		before.Messages[0].Texts[0] += strings.Repeat("!", i)
		sharing(t, l, secret).Remember("caller", before, Said{Visible: "I look.", ToolCalls: after.Messages[1].CallIDs, Remembered: Remembered{Thought: "why"}})
	}
	_, after := asked("I look.", "call_8f3Kd92mXq")
	after.Messages[0].Texts[0] = "Another beginning."
	if got, ok := sharing(t, l, secret).Recall("caller", after, 1); ok {
		t.Errorf("found %v", got)
	}
}

// TestForgedLevel: values that no store sealed, or that were sealed for another key,
// are not used.
func TestForgedLevel(t *testing.T) {
	l := newShelf()
	before, after := asked("Sunny.")
	sharing(t, l, secret).Remember("caller", before, Said{Visible: "Sunny.", Remembered: Remembered{Thought: "why"}})
	var value []byte
	for _, v := range l.values {
		value = v
	}
	for name, forge := range map[string]func() []byte{
		"empty":    func() []byte { return nil },
		"short":    func() []byte { return []byte{entryVersion} },
		"changed":  func() []byte { c := bytes.Clone(value); c[len(c)/2] ^= 1; return c },
		"cut":      func() []byte { return value[:len(value)-1] },
		"too long": func() []byte { return make([]byte, 3*maxShared) },
	} {
		for k := range l.values {
			l.values[k] = forge()
		}
		if got, ok := sharing(t, l, secret).Recall("caller", after, 1); ok {
			t.Errorf("%s: found %v", name, got)
		}
	}
	other := &entry{}
	if l := (&shared{newShelf(), sharing(t, l, secret).level.box}); l.opened(Key{1}, value) != nil {
		t.Error("a value of another key is used")
	}
	for n := range len(other.encode()) {
		if (&entry{}).decode(other.encode()[:n]) {
			t.Errorf("an entry cut after %d bytes is read", n)
		}
	}
}

// TestOldEntry: an entry that a version without blocks wrote is read.
func TestOldEntry(t *testing.T) {
	want := Remembered{Thought: "t", Raw: "r", Sealed: []string{"s"}, Signatures: map[int]string{3: "x"}}
	b := append([]byte{oldVersion}, make([]byte, 2*len(key{}))...)
	b = append(b, "\x01t\x01r\x01\x01s\x03\x01x"...)
	var e entry
	if !e.decode(b) || !reflect.DeepEqual(e.Remembered, want) {
		t.Errorf("%+v", e.Remembered)
	}
}

func FuzzEntry(f *testing.F) {
	f.Add((&entry{Remembered: Remembered{Thought: "t", Blocks: []string{"", `{"a":1}`}}}).encode())
	f.Add((&entry{Remembered: Remembered{Thought: "t", Raw: "r", Signatures: map[int]string{3: "s"}}}).encode())
	f.Add((&entry{Remembered: Remembered{Calls: []Call{{ID: "call_1"}, {}}}}).encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		e := &entry{}
		if !e.decode(data) {
			return
		}
		again := &entry{}
		if !again.decode(e.encode()) || fmt.Sprint(again.Remembered, again.others) != fmt.Sprint(e.Remembered, e.others) {
			t.Errorf("%q reads as %v, and that as %v", data, e.Remembered, again.Remembered)
		}
	})
}

// TestShareLarge: an entry beyond the bound stays in memory only.
func TestShareLarge(t *testing.T) {
	l := newShelf()
	s := NewStore(100, 16<<20, time.Hour)
	if err := s.Share(l, secret); err != nil {
		t.Fatal(err)
	}
	before, after := asked("Sunny.")
	s.Remember("caller", before, Said{Visible: "Sunny.", Remembered: Remembered{Thought: strings.Repeat("x", maxShared)}})
	if _, ok := s.Recall("caller", after, 1); !ok || len(l.values) > 0 {
		t.Errorf("in memory %v, in the level %d", ok, len(l.values))
	}
	if err := s.Share(l, []byte("short")); err == nil {
		t.Error("a short secret is accepted")
	}
}

// TestEntryWithoutCalls reads what a replica wrote before calls were remembered.
func TestEntryWithoutCalls(t *testing.T) {
	want := entry{Remembered: Remembered{Thought: "r", Blocks: []string{"{}"}, Signatures: map[int]string{1: "s"}, said: 7}}
	want.others[byWords] = key{3}
	now := want.encode()
	const keys = 1 + otherKeys*len(key{})
	before := append([]byte{wordsVersion}, now[1:keys]...)
	before = append(before, withoutList(now[keys+1:], 1, &want)...) // without the number of calls
	var got entry
	if !got.decode(before) || fmt.Sprint(got.Remembered, got.others) != fmt.Sprint(want.Remembered, want.others) {
		t.Errorf("%v %v", got.Remembered, got.others)
	}
	want.Calls = []Call{{"call_1", callSaid("a", nil)}, {"", callSaid("b", nil)}}
	if got = (entry{}); !got.decode(want.encode()) || !reflect.DeepEqual(got.Remembered, want.Remembered) {
		t.Errorf("%v", got.Remembered)
	}
}

// withoutList is the rest of an entry, as it was before there were lists. Its texts begin at an offset.
func withoutList(rest []byte, texts int, e *entry) []byte {
	at := texts + 1 + len(e.Thought) + 1 + len(e.Raw)
	return slices.Delete(slices.Clone(rest), at, at+1)
}

// TestEntryWithoutList reads what a replica wrote before lists were remembered, and what it writes now.
func TestEntryWithoutList(t *testing.T) {
	want := entry{Remembered: Remembered{Thought: "r", Raw: "x", Calls: []Call{{"call_1", callSaid("a", nil)}}, said: 7}}
	now := want.encode()
	const calls = 1 + otherKeys*32 + 1 + 1 + len("call_1") + 32
	before := append([]byte{callsVersion}, now[1:calls]...)
	before = append(before, withoutList(now[calls:], 1, &want)...)
	var got entry
	if !got.decode(before) || !reflect.DeepEqual(got.Remembered, want.Remembered) {
		t.Errorf("%+v", got.Remembered)
	}
	want.Listed = `[{"data":"x"}]`
	if got = (entry{}); !got.decode(want.encode()) || !reflect.DeepEqual(got.Remembered, want.Remembered) {
		t.Errorf("%+v", got.Remembered)
	}
}

// TestEntryOfTwoKeys reads what a replica wrote before replies had keys of their words.
func TestEntryOfTwoKeys(t *testing.T) {
	want := entry{Remembered: Remembered{Thought: "r", Raw: "<think>r</think>a", Blocks: []string{"{}"}, Signatures: map[int]string{1: "s"}}}
	want.others[byIDs], want.others[byNames] = key{1}, key{2}
	now := want.encode()
	const keys = 1 + 2*len(key{})
	before := append([]byte{blocksVersion}, now[1:keys]...)
	before = append(before, withoutList(now[1+otherKeys*len(key{})+2:], 0, &want)...) // without the other keys, and the bytes of the calls and of what it said
	var got entry
	if !got.decode(before) || fmt.Sprint(got.Remembered, got.others) != fmt.Sprint(want.Remembered, want.others) {
		t.Errorf("%v %v", got.Remembered, got.others)
	}
	if got = (entry{}); !got.decode(now) || fmt.Sprint(got.Remembered, got.others) != fmt.Sprint(want.Remembered, want.others) {
		t.Errorf("%v %v", got.Remembered, got.others)
	}
	if got = (entry{}); got.decode(append([]byte{entryVersion + 1}, now[1:]...)) {
		t.Error("an entry of a later version was read")
	}
}
