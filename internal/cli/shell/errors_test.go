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
