package sse_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/sse"
)

func TestAppend(t *testing.T) {
	for _, c := range []struct{ event, data, want string }{
		{"", "a", "data: a\n\n"},
		{"ping", "{}", "event: ping\ndata: {}\n\n"},
		{"", "", "data: \n\n"},
		{"", " a", "data:  a\n\n"},
		{"", "a\nb\r\nc\rd", "data: a\ndata: b\ndata: c\ndata: d\n\n"},
		{"", "\n\r\r\n", "data: \ndata: \ndata: \ndata: \n\n"},
		{"", "a\n", "data: a\ndata: \n\n"},
		{"a\r\ndata: b\n\n", "c", "event: adata: b\ndata: c\n\n"},
	} {
		if got := string(sse.Append([]byte("…"), c.event, []byte(c.data))); got != "…"+c.want {
			t.Errorf("%q, %q: %q, want %q", c.event, c.data, got, c.want)
		}
	}
}

func TestAppendComment(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"keep-alive", ": keep-alive\n\n"},
		{"", ": \n\n"},
		{"a\n\ndata: b\r\n", ": a\n: \n: data: b\n: \n\n"},
	} {
		if got := string(sse.AppendComment([]byte("…"), c.text)); got != "…"+c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

func checkAppend(t *testing.T, event, data string) {
	t.Helper()
	lines := strings.NewReplacer("\r\n", "\n", "\r", "\n")
	b := sse.AppendComment(sse.Append(nil, event, []byte(data)), data)
	frames, _ := readReference("\n" + string(b)) // after a line, where a byte order mark is text
	if len(frames) != 3 || frames[1].event == nil || frames[2].event != nil {
		t.Fatalf("%q, %q: %q", event, data, b)
	}
	if e := *frames[1].event; e.data != lines.Replace(data) || e.typ != strings.NewReplacer("\r", "", "\n", "").Replace(event) {
		t.Fatalf("%q, %q: read as %+v", event, data, e)
	}
}

// Whatever the text is, what is appended reads as one event and one comment.
func TestAppendRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	text := func() (s string) {
		for range rng.IntN(6) {
			s += tokens[rng.IntN(len(tokens))]
		}
		return s
	}
	for range 10000 {
		checkAppend(t, text(), text())
	}
}

func FuzzAppend(f *testing.F) {
	f.Add("ping", "a\r\nb")
	f.Fuzz(func(t *testing.T, event, data string) {
		checkAppend(t, event, data)
	})
}
