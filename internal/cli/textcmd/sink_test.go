package textcmd

import (
	"bytes"
	"testing"
)

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
