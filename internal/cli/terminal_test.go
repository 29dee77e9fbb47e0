package cli

import (
	"bytes"
	"strings"
	"testing"
	"testing/iotest"

	"io"
)

func TestVisibleWriter(t *testing.T) {
	const text = "a\x1b[2J\x07\ttab\r\nline\rover\x7f \u009b1m caf\u00e9 \u202edeb \xff\xe2\x82 \u20ac end\r"
	const want = "a␛[2J␇\ttab\r\nline␍over␡ \\u009b1m caf\u00e9 \\u202edeb \ufffd\ufffd\ufffd \u20ac end␍"
	for cut := 0; cut <= len(text); cut++ {
		var out bytes.Buffer
		v := &visibleWriter{w: &out}
		io.WriteString(v, text[:cut])
		io.WriteString(v, text[cut:])
		if err := v.Flush(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Fatalf("cut at %d: %q, want %q", cut, out.String(), want)
		}
	}
	var out bytes.Buffer
	v := &visibleWriter{w: &out}
	if _, err := io.Copy(v, iotest.OneByteReader(strings.NewReader(text))); err != nil {
		t.Fatal(err)
	}
	if v.Flush(); out.String() != want {
		t.Errorf("byte by byte: %q, want %q", out.String(), want)
	}
}

func TestBlockWriter(t *testing.T) {
	var out bytes.Buffer
	b := &blockWriter{w: &out}
	for _, p := range []struct {
		block int
		text  string
	}{{1, "\n"}, {1, " a "}, {1, "\n\n"}, {1, "b"}, {1, "\n"}, {2, " \n"}, {3, "\nc\n"}} {
		if err := b.write(p.block, []byte(p.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if want := "a \n\nb\n\nc\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
