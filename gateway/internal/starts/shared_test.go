package starts

import (
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/sealing"
)

// What replicas share is what each would have learned itself; of what no replica made,
// nothing is believed.
func TestSharedStarts(t *testing.T) {
	box, err := sealing.New([]byte(strings.Repeat("s", 32)), "learned starts")
	if err != nil {
		t.Fatal(err)
	}
	store := values{}
	s := &sharedStarts{store: store, box: box}
	key := Key{Upstream: "u", Model: "m"}
	for range 2 {
		s.tell(key, Lesson{Start: Outside, API: "openai.chat", Native: "thinking"})
	}
	if len(store) != 1 {
		t.Fatalf("%d fields", len(store))
	}
	for field, value := range store {
		e, ok := s.decode(field, value)
		if !ok || e.Start() != "outside" || !e.Proved || e.Native != "thinking" || e.Key != key {
			t.Errorf("%+v, %v", e, ok)
		}
		for name, bad := range map[string]func() (history.Key, []byte){
			"another field": func() (history.Key, []byte) { return history.Key{1}, value },
			"a changed value": func() (history.Key, []byte) {
				return field, append(slices.Clone(value[:len(value)-1]), value[len(value)-1]^1)
			},
			"nothing": func() (history.Key, []byte) { return field, nil },
			"text":    func() (history.Key, []byte) { return field, box.Seal(field[:], []byte("x")) },
			"three replies": func() (history.Key, []byte) {
				return field, box.Seal(field[:], []byte(`{"last":["inside","inside","inside"]}`))
			},
			"another model": func() (history.Key, []byte) { return field, box.Seal(field[:], []byte(`{"model":"a\nb"}`)) },
		} {
			if e, ok := s.decode(bad()); ok {
				t.Errorf("%s: %+v", name, e)
			}
		}
		if e, ok := s.decode(field, box.Seal(field[:], []byte(`{"last":["inside","outside"]}`))); !ok || len(e.Last) != 1 || !e.Proved {
			t.Errorf("of an older replica: %+v, %v", e, ok)
		}
	}
	l, err := Open("", 2)
	if err != nil {
		t.Fatal(err)
	}
	names := func() (names string) {
		for _, s := range l.Starts() {
			names += s.Model + " "
		}
		return names
	}
	for i, c := range []struct{ hear, want string }{{"a", "a "}, {"b", "a b "}, {"b", "a b "}, {"a", "a b "}, {"c", "b c "}} {
		e := &Entry{Key: Key{Model: c.hear}}
		e.Seen = e.Seen.AddDate(1, 0, i)
		if c.hear == "a" {
			e.Seen = e.Seen.AddDate(-1, 0, 0) // the oldest
		}
		if l.hear(e); names() != c.want {
			t.Errorf("after hearing of %s: %s, want %s", c.hear, names(), c.want)
		}
	}
}

// values are the fields that replicas share.
type values map[history.Key][]byte

func (v values) Change(field history.Key, change func([]byte) []byte) { v[field] = change(v[field]) }
