package cli

import (
	"bytes"
	"os"
	"testing"
)

// The program in docs/streams.md is the one that a script runs.
func TestStreamsDocument(t *testing.T) {
	doc, err := os.ReadFile("../../docs/streams.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("testdata/script/split_stream_python.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := bytes.Cut(doc, []byte("```python\n"))
	program, _, _ = bytes.Cut(program, []byte("```"))
	if len(program) == 0 || !bytes.HasSuffix(script, program) {
		t.Errorf("docs/streams.md has the program\n%s", program)
	}
}
