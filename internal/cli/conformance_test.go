package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestConformanceKit compares what the command line prints for the replies of the
// kit with the kit's answers, or rewrites them. A test of the library compares the
// answers with its reading.
func TestConformanceKit(t *testing.T) {
	const folder = "../../testdata/"
	var out, diag bytes.Buffer
	args := []string{"split", "--dialect-file", folder + "conformance.dialects.json", "--jsonl", folder + "conformance.jsonl"}
	if status := Run(args, strings.NewReader(""), &out, &diag, func(string) string { return "" }); status != 0 {
		t.Fatalf("sotto split exits %d: %s", status, diag.String())
	}
	name := folder + "conformance.want.jsonl"
	if *update {
		if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), want) {
		t.Errorf("%s does not hold what sotto split prints; go test ./internal/cli -run TestConformanceKit -update rewrites it", name)
	}
}
