package errortext_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway/internal/errortext"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
)

// TestUsual: in streams of frames of all kinds, in any order, no frame that has an error is
// taken for a usual one; and most frames of an ordinary stream are recognized.
func TestUsual(t *testing.T) {
	frames := []string{
		`{"choices":[{"index":0,"delta":{"content":"%"}}]}`, `{"choices":[{"index":0,"delta":{"content":"%"}}],"error":"x"}`,
		`{"choices":[{"index":0,"delta":{"content":"%","error":"y"}}]}`, `{"choices":[{"index":0,"delta":{"reasoning_content":"%"},"finish_reason":null}]}`,
		`{"type":"text","text":"%"}`, `{"type":"error","text":"%"}`, `{"type":"%"}`, `{"object":"%","text":"a"}`, `{"object":"error","text":"%"}`,
		`{"model":"m","created_at":"2026-01-31T00:00:0%Z","message":{"role":"assistant","content":"%"},"done":false}`,
		`{"model":"m","created_at":"%","message":"%","done":false}`, `{"created_at":"%","detail":"%"}`, `{"text":["%","%"],"err\u006fr":"%"}`,
		`{"text":"%`, `%`, `"text":"%"`, `{"text":"%","type":"error"}`, `{"text" : "%"}`, `{"a":"text","b":"%"}`, `["%"]`, `{"text":{"type":"%"}}`,
	}
	texts := []string{"", "a", "error", `\"error\":1`, `\\`, "text", `x","error":"y`, `x","type":"error`, `\"`, "detail", "message"}
	rnd := rand.New(rand.NewPCG(7, 7))
	errors, usual := 0, 0
	for range 3000 {
		var u errortext.Usual
		few := []string{frames[rnd.IntN(len(frames))], frames[rnd.IntN(len(frames))], frames[rnd.IntN(len(frames))]}
		for range 12 {
			frame := few[rnd.IntN(3)]
			for strings.Contains(frame, "%") {
				frame = strings.Replace(frame, "%", texts[rnd.IntN(len(texts))], 1)
			}
			root := jsonedit.Parse([]byte(frame))
			hasError := strings.HasPrefix(frame, "{") && len(errortext.Faults("", root)) > 0 && json.Valid([]byte(frame))
			if u.MayBeError(nil, []byte(frame)) {
				errors++
			} else if usual++; hasError {
				t.Fatalf("%s has an error", frame)
			}
		}
	}
	if errors < 1000 || usual < 1000 {
		t.Errorf("%d may be errors, %d are usual", errors, usual)
	}
	var u errortext.Usual
	if u.MayBeError(nil, []byte(`{"delta":{"content":"a"}}`)) || u.MayBeError(nil, []byte(`{"delta":{"content":"the \"error\": 1"}}`)) {
		t.Error("a frame that is like the one before may be an error")
	}
	for _, kind := range []string{"error", "exception/x"} {
		if !u.MayBeError([]byte(kind), []byte(`{"delta":{"content":"a"}}`)) {
			t.Errorf("an event %s is usual", kind)
		}
	}
	var large errortext.Usual
	long := func(text string) []byte {
		return []byte(`{"x":"` + strings.Repeat("x", 1<<20) + `","text":"` + text + `"}`)
	}
	if large.MayBeError(nil, long("a")) || !large.MayBeError(nil, long(`\"error`)) {
		t.Error("a frame that is too long to keep was kept")
	}
	if n := testing.AllocsPerRun(100, func() { u.MayBeError(nil, []byte(`{"delta":{"content":"a"}}`)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
