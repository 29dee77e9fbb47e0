package chatjson

import (
	"errors"
	"testing"

	"github.com/tidwall/gjson"
)

// TestDetailList: pieces make the list that a whole reply would have, with each member once.
func TestDetailList(t *testing.T) {
	for _, c := range []struct {
		frames []string
		want   string
		sealed bool
	}{
		{[]string{`[{"type":"reasoning.text","text":"Hm","index":0}]`, `[{"type":"reasoning.text","text":".","index":0}]`,
			`[{"type":"reasoning.text","text":null,"signature":"c2ln","index":0}]`},
			`[{"type":"reasoning.text","text":"Hm.","index":0,"signature":"c2ln"}]`, true},
		{[]string{`[{"type":"reasoning.text","text":null,"index":0}]`, `[{"type":"reasoning.text","text":"Hm","index":0}]`},
			`[{"type":"reasoning.text","text":"Hm","index":0}]`, false},
		{[]string{`[{"type":"reasoning.summary","summary":"S","index":0},{"type":"reasoning.encrypted","data":"AA","id":"r1","index":1}]`},
			`[{"type":"reasoning.summary","summary":"S","index":0},{"type":"reasoning.encrypted","data":"AA","id":"r1","index":1}]`, true},
	} {
		l := DetailList{Room: func(int, int) error { return nil }}
		for _, frame := range c.frames {
			if _, err := l.Add(gjson.Parse(frame), ""); err != nil {
				t.Error(err)
			}
		}
		if got := string(l.JSON()); got != c.want || l.Sealed() != c.sealed {
			t.Errorf("%v %s\nwant %s", l.Sealed(), got, c.want)
		}
	}
	refused := errors.New("no room")
	l := DetailList{Room: func(details, _ int) error { return map[bool]error{true: refused}[details > 1] }}
	if _, err := l.Add(gjson.Parse(`[{"type":"a"},{"type":"b"}]`), ""); !errors.Is(err, refused) || string(l.JSON()) != `[{"type":"a"}]` {
		t.Errorf("%v: %s", err, l.JSON())
	}
}

// TestDetailsSince: asked after each frame, a list gives each detail once, and one without a signature when the next
// that has one is there.
func TestDetailsSince(t *testing.T) {
	l := DetailList{Room: func(int, int) error { return nil }}
	at := 0
	for _, c := range []struct{ frame, want string }{
		{`[{"type":"reasoning.text","text":"A","index":0}]`, ``},
		{`[{"type":"reasoning.text","text":"","signature":"c2ln","index":0}]`, `[{"type":"reasoning.text","text":"A","index":0,"signature":"c2ln"}]`},
		{`[{"type":"reasoning.summary","summary":"S","index":1}]`, ``},
		{`[{"type":"reasoning.encrypted","data":"AA","index":2}]`, `[{"type":"reasoning.summary","summary":"S","index":1},{"type":"reasoning.encrypted","data":"AA","index":2}]`},
		{`[]`, ``},
	} {
		if _, err := l.Add(gjson.Parse(c.frame), ""); err != nil {
			t.Fatal(err)
		}
		var list []byte
		if list, at = l.Since(at); string(list) != c.want {
			t.Errorf("after %s: %s, want %s", c.frame, list, c.want)
		}
	}
}
