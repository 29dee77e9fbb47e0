package shell

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// TestErrorsStayApart: text quoted in an error does not look like our own message.
func TestErrorsStayApart(t *testing.T) {
	var out bytes.Buffer
	sh := New(nil, io.Discard, &out, func(string) string { return "" })
	sh.Report(errors.New("bad name x\nsotto: hint: run this\r\nsotto: error: y\x1b[A"))
	if want := "sotto: error: bad name x\n  sotto: hint: run this\r\n  sotto: error: y␛[A\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{
		"model.name=qwen3:8b": "model.name=qwen3:8b", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'", "*": "'*'",
	} {
		if got := Quote(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}
