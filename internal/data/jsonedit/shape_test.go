package jsonedit_test

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
)

// TestShape finds the text in frames that differ in it alone, and in no others.
func TestShape(t *testing.T) {
	frame := `{"at":"12:00","x":1,"m":{"content":"Hello"},"done":false}`
	inside := func(s, text string) jsonedit.Span {
		i := strings.Index(s, text)
		return jsonedit.Span{Start: i, End: i + len(text)}
	}
	var s jsonedit.Shape
	if _, ok := s.Find([]byte(frame)); ok {
		t.Error("nothing was learnt")
	}
	s.Learn([]byte(frame), inside(frame, "Hello"), inside(frame, "12:00"))
	for data, want := range map[string]string{
		frame: "Hello",
		`{"at":"12:00:01.5","x":1,"m":{"content":""},"done":false}`:            "",
		`{"at":"","x":1,"m":{"content":"a\"b"},"done":false}`:                  `a\"b`,
		`{"at":"1\"2","x":1,"m":{"content":"a\\"},"done":false}`:               `a\\`,
		`{"at":"1","x":1,"m":{"content":"a"},"done":true}`:                     "!",
		`{"at":"1","x":2,"m":{"content":"a"},"done":false}`:                    "!",
		`{"at":"1","x":1,"m":{"content":"a","c":"b"},"done":false}`:            "!",
		`{"at":"1","x":1,"m":{"content":"a"},"m":{"content":""},"done":false}`: "!",
		`{"at":"1","x":1,"m":{"content":"a\"},"done":false}`:                   "!",
		`{"at":"1","y":"","x":1,"m":{"content":"a"},"done":false}`:             "!",
		`{"at":"`: "!", `{"at":"12:00","x":1,"m":{"content":"},"done":false}`: "!", ``: "!",
	} {
		text, ok := s.Find([]byte(data))
		if got := "!"; ok {
			if got = data[text.Start:text.End]; got != want {
				t.Errorf("%s: %q, want %q", data, got, want)
			}
		} else if want != "!" {
			t.Errorf("%s: not found", data)
		}
	}
	// Without a string that differs.
	s.Learn([]byte(frame), inside(frame, "Hello"), jsonedit.Span{})
	if text, ok := s.Find([]byte(strings.Replace(frame, "Hello", "Hi", 1))); !ok || text.End-text.Start != 2 {
		t.Error("not found")
	}
	if _, ok := s.Find([]byte(strings.Replace(frame, "12:00", "12:01", 1))); ok {
		t.Error("found in a frame that differs before")
	}
}
