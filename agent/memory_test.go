package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/record"
)

// Each bound of a memory holds at its edge, and what a change does is said.
func TestMemoryEdges(t *testing.T) {
	m := MemoryOf(map[string]string{"old": "12345"})
	big := strings.Repeat("x", MaxValue)
	for _, c := range []struct{ key, value, want string }{
		{"a", "xy", `wrote "a", 2 bytes`}, {"a", "x", `replaced "a", 1 bytes`}, {"old", "", `replaced "old", 0 bytes`}, {strings.Repeat("k", MaxKeyBytes), big, "65536 bytes"},
		{strings.Repeat("k", MaxKeyBytes+1), "", "want a key of 1 to 128 bytes"}, {"a\x1f", "", "want a key"}, {"a\x7f", "", "want a key"}, {"a\xff", "", "want a key"}, {"a b~", "", "wrote"}, {"b", big + "x", "the value has 65537 bytes: the limit is 65536"},
		{"bad", "a\xff", `wrote "bad", 4 bytes`},
	} {
		got, err := m.Write("u", c.key, c.value)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%.20q: %s, want %s", c.key, got, c.want)
		}
	}
	if got, err := m.Delete("u", "a"); got != `deleted "a"` || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := m.Delete("u", "a"); err == nil || err.Error() != `there is no key "a"` {
		t.Error(err)
	}
	values := m.Values()
	values["old"] = "changed"
	if v, _ := m.Read("old"); v != "" || len(values) != 4 {
		t.Errorf("old is %q, of %d values", v, len(values))
	}
	if MemoryOf(nil).Values() == nil {
		t.Error("an empty memory has no values")
	}
	full := MemoryOf(map[string]string{"rest": strings.Repeat("x", MaxMemory-100)})
	if _, err := full.Write("u", "a", strings.Repeat("x", 101)); err == nil || !strings.Contains(err.Error(), "the memory is full") {
		t.Errorf("a byte more than fits: %v", err)
	}
	if _, err := full.Write("u", "a", strings.Repeat("x", 100)); err != nil {
		t.Errorf("what fits: %v", err)
	}
	if _, err := full.Write("u", "a", strings.Repeat("y", 100)); err != nil {
		t.Errorf("in the place of a text: %v", err)
	}
	if _, err := full.Delete("u", "a"); err != nil {
		t.Error(err)
	}
	if _, err := full.Write("u", "b", strings.Repeat("x", 100)); err != nil {
		t.Errorf("after a text was deleted: %v", err)
	}
	for _, run := range []string{"", "a/b", ".."} {
		if _, err := OpenMemory(t.TempDir(), run); !errors.Is(err, record.ErrRunName) {
			t.Errorf("the memory of %q: %v", run, err)
		}
	}
}

// A search lists lines with their places, the keys in order, and not too many.
func TestMemorySearch(t *testing.T) {
	m := MemoryOf(map[string]string{"b": "one\ntwo\nthree", "a": "two " + strings.Repeat("x", 600), "two": "first\nsecond"})
	many := MemoryOf(map[string]string{"k": strings.Repeat("x\n", 49) + "x", "z": "y"})
	for _, c := range []struct {
		m             *Memory
		pattern, want string
	}{
		{m, "t[wh]", "a:1: two " + strings.Repeat("x", 496) + "\nb:2: two\nb:3: three\ntwo:1: first"}, {m, "none", "nothing matches"}, {m, "(", "the pattern is not a valid RE2 pattern"},
		{m, strings.Repeat("x", 1000), "nothing matches"}, {m, strings.Repeat("x", 1001), "longer than 1000 bytes"}, {m, "second", "two:2: second"},
	} {
		got, err := c.m.search(c.pattern)
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%.20q: %q, want %q", c.pattern, got, c.want)
		}
	}
	if got, _ := many.search("x"); strings.Count(got, "\n") != 49 || strings.Contains(got, "more than") {
		t.Errorf("50 lines: %q", got)
	}
	if got, _ := many.search("."); !strings.HasSuffix(got, "k:50: x\n[more than 50 lines match]") {
		t.Errorf("51 lines: %q", got)
	}
	tools := map[string]Tool{}
	for _, tool := range m.Tools() {
		tools[tool.Spec().Name] = tool
	}
	for _, c := range []struct{ name, arguments, want string }{
		{"list", "{}", "a\nb\ntwo"}, {"read", `{"key":"two"}`, "first\nsecond"}, {"read", `{"key":"x"}`, `there is no key "x"`}, {"write", `{"key":"x","value":"v"}`, `wrote "x", 1 bytes`},
		{"pattern_search", `{"pattern":"^v"}`, "x:1: v"}, {"delete", `{"key":"x"}`, `deleted "x"`},
	} {
		got, err := tools[c.name].Call(t.Context(), Use{Run: "r", Number: 1, Arguments: json.RawMessage(c.arguments)})
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %s: %q, want %q", c.name, c.arguments, got, c.want)
		}
	}
	empty := NewMemory().Tools()[2]
	if got, _ := empty.Call(t.Context(), Use{}); got != "the memory is empty" {
		t.Error(got)
	}
	if list, err := m.named([]string{"read", "list"}); err != nil || len(list) != 2 || list[1].Spec().Name != "list" {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := m.named([]string{"look"}); err == nil || !strings.Contains(err.Error(), "choose from write, read, list, delete, pattern_search") {
		t.Error(err)
	}
}

// An inbox keeps the newest 1,000 messages, each once, and answers under its own address only.
func TestInboxKeeps(t *testing.T) {
	b := new(Inbox)
	list := func() (all []InboxMessage) {
		w := httptest.NewRecorder()
		b.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/messages", nil))
		if err := json.Unmarshal(w.Body.Bytes(), &all); err != nil || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("X-Content-Type-Options") != "nosniff" || all == nil {
			t.Fatalf("%v: %v %s", err, w.Header(), w.Body)
		}
		return all
	}
	if n := len(list()); n != 0 {
		t.Errorf("%d messages", n)
	}
	for i := range MaxInbox + 2 {
		if err := b.Tell(t.Context(), OperatorMessage{ID: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Tell(t.Context(), OperatorMessage{ID: "5", Text: "again"}); err != nil {
		t.Fatal(err)
	}
	all := list()
	if n := len(all); n != MaxInbox || all[0].ID != "2" || all[n-1].Text != "again" || all[n-2].ID != "1001" || all[0].Open {
		t.Errorf("%d messages, from %s to %+v", n, all[0].ID, all[n-1])
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Ask(ctx, OperatorMessage{ID: "asked"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if all := list(); all[len(all)-1].ID != "asked" || all[len(all)-1].Open {
		t.Errorf("a question that nobody waits for: %+v", all[len(all)-1])
	}
	for _, c := range []struct {
		method, address, site, origin string
		status                        int
	}{
		{"GET", "http://localhost/messages", "", "", 200}, {"GET", "http://localhost:80/messages", "none", "", 200}, {"GET", "http://127.0.0.9:80/messages", "same-origin", "http://127.0.0.9:80", 200}, {"GET", "http://[::1]:80/messages", "", "", 200}, {"GET", "http://[::1]/messages", "", "", 200},
		{"GET", "http://10.0.0.1/messages", "", "", 403}, {"GET", "http://localhost.evil/messages", "", "", 403}, {"GET", "http://localhost/messages", "cross-site", "", 403}, {"GET", "http://localhost/messages", "same-site", "", 403},
		{"GET", "http://localhost/messages", "", "http://localhost:1", 403}, {"GET", "http://localhost/messages", "", "://", 403}, {"POST", "http://localhost/messages", "", "", 404}, {"GET", "http://localhost/answers", "", "", 404}, {"GET", "http://localhost/", "", "", 404},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(c.method, c.address, nil)
		for name, value := range map[string]string{"Sec-Fetch-Site": c.site, "Origin": c.origin} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		if b.ServeHTTP(w, r); w.Code != c.status {
			t.Errorf("%+v: %d", c, w.Code)
		}
	}
	longest := `{"id":"x","answer":"` + strings.Repeat("a", MaxAnswer) + `"}`
	for body, status := range map[string]int{longest: 404, longest + strings.Repeat(" ", MaxAnswer+1024-len(longest)): 404, longest + strings.Repeat(" ", MaxAnswer+1025-len(longest)): 413, `{"answer":"x"}`: 400, `{`: 400} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "http://localhost/answers", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json; charset=utf-8")
		if b.ServeHTTP(w, r); w.Code != status {
			t.Errorf("%.30s of %d bytes: %d, want %d", body, len(body), w.Code, status)
		}
	}
}
