package alike

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
)

// TestFrames: frames that differ in a text and in a time are alike, and others are not.
func TestFrames(t *testing.T) {
	for _, c := range []struct {
		first, second string
		alike         bool
	}{
		{`{"delta":{"content":"a"}}`, `{"delta":{"content":"b \" c"}}`, true},
		{`{"delta":{"content":"a"}}`, `{"delta":{"content":""}}`, true},
		{`{"delta":{"content":"a"}}`, `{"delta":{"content":"b","error":1}}`, false},
		{`{"delta":{"content":"a"}}`, `{"delta":{"content":"b","x":"c"}}`, false},
		{`{"type":"a","text":"b"}`, `{"type":"c","text":"b"}`, false},
		{`{"created_at":"1","response":"a"}`, `{"created_at":"23","response":"bc"}`, true},
		{`{"response":"a","created_at":"1"}`, `{"response":"a","created_at":"2"}`, false}, // a time after the text
		{`{"reasoning":"a","content":"b"}`, `{"reasoning":"c","content":"b"}`, false},     // the last text only
		{`{"id":"a"}`, `{"id":"b"}`, false},
		{`{"content":"a`, `{"content":"b`, false},
	} {
		var f Frames
		if f.Like([]byte(c.first)) {
			t.Errorf("%s is like none", c.first)
		}
		f.Learn([]byte(c.first), nil)
		if got := f.Like([]byte(c.second)); got != c.alike {
			t.Errorf("%s and %s: alike is %v", c.first, c.second, got)
		}
	}
}

// TestLearn: what is kept of a frame has a bound, frames that are all different are learned no
// more, and a frame whose strings may not be others is not learned.
func TestLearn(t *testing.T) {
	frame := func(i, size int) []byte {
		return fmt.Appendf(nil, `{"id":%d,"x":"%s","content":"a"}`, i, strings.Repeat("x", size))
	}
	var f Frames
	if f.Learn(frame(1, mostLearned), nil); f.Like(frame(1, mostLearned)) {
		t.Error("a long frame was kept")
	}
	for i := range mostMisses {
		f.Learn(frame(i, 1), nil)
	}
	if f.Like(frame(mostMisses-1, 1)) || !f.Like(frame(mostMisses-2, 1)) {
		t.Error("frames that are all different are learned for ever")
	}
	f.Learn(frame(9, 1), nil) // one was alike
	if !f.Like(frame(9, 1)) {
		t.Error("after frames that are alike, nothing is learned")
	}
	no := Frames{}
	if no.Learn(frame(1, 1), func(jsonedit.Span) bool { return false }); no.Like(frame(1, 1)) {
		t.Error("a frame was learned whose strings may not be others")
	}
}
