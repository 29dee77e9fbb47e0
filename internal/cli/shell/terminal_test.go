package shell

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
)

// TestVisible checks the escaped form of a text at every place where it may be cut.
func TestVisible(t *testing.T) {
	const text = "a\x1b[2J\x07\ttab\r\nline\rover\x7f \u009b1m \x9b1m café \u202edeb \xff\xe2\x82 \u20ac \U000e0041\u200b\ufeff end\r"
	const want = "a␛[2J␇\ttab\r\nline␍over\\u007f \\u009b1m \ufffd1m café \\u202edeb \ufffd\ufffd\ufffd \u20ac \\udb40\\udc41\\u200b\\ufeff end␍"
	for cut := 0; cut <= len(text); cut++ {
		var out bytes.Buffer
		p := &Printer{newTerminal(&out, os.Getenv), true}
		io.WriteString(p, text[:cut])
		io.WriteString(p, text[cut:])
		if err := p.Flush(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Fatalf("cut at %d: %q, want %q", cut, out.String(), want)
		}
	}
	var out bytes.Buffer
	p := &Printer{newTerminal(&out, os.Getenv), true}
	if _, err := io.Copy(p, iotest.OneByteReader(strings.NewReader(text))); err != nil {
		t.Fatal(err)
	}
	if p.Flush(); out.String() != want {
		t.Errorf("byte by byte: %q, want %q", out.String(), want)
	}
}
