package turnmemory

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/wire"
)

// A turn gets what its connection kept of the conversation, an id that is not known goes to
// the upstream, and one that was kept and is not any more is said to be forgotten. A
// connection that ends gives all its memory back.
func TestMemory(t *testing.T) {
	b := budget.New(64<<20, slog.New(slog.DiscardHandler))
	hold, err := b.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Leave()
	base, _, _ := b.State()
	all := &Share{Most: 3 * keptCost}
	m := New(all, b, 1<<20)
	turn := func(id, previous, items string) {
		m.Keep(&wire.Turn{Previous: previous, Items: []byte(items)}, &wire.TurnLeft{Ended: true, ID: id, Items: []byte(`"` + id + `"`)})
	}
	turn("a1", "", "1")
	turn("a2", "a1", "2")
	for id, want := range map[string]string{"": "", "a1": `1,"a1"`, "a2": `1,"a1",2,"a2"`, "unknown": ""} {
		items, previous, err := m.Before(&wire.Turn{Previous: id}, hold)
		passed := ""
		if id == "unknown" {
			passed = id
		}
		if err != nil || string(items) != want || previous != passed {
			t.Errorf("%q: %s, %q, %v", id, items, previous, err)
		}
	}
	if used, _, _ := b.State(); all.Kept() < 2*keptCost || used-base < all.Kept() {
		t.Errorf("%d bytes are kept, and %d reserved", all.Kept(), used-base)
	}
	turn("b1", "", strings.Repeat("x", keptCost)) // drops the other conversation
	_, _, err = m.Before(&wire.Turn{Previous: "a2", Lane: "l"}, hold)
	if bad, ok := errors.AsType[*wire.TurnError](err); !ok || bad.Fault != wire.TurnForgotten || bad.Lane != "l" {
		t.Errorf("a reply that was dropped: %v", err)
	}
	if items, _, err := m.Before(&wire.Turn{Previous: "b1"}, hold); err != nil || len(items) == 0 {
		t.Errorf("a reply that is kept: %d bytes, %v", len(items), err)
	}
	m.Forget()
	if all.Kept() != 0 {
		t.Error(fmt.Sprint(all.Kept()) + " bytes are kept of a connection that has ended")
	}
}
