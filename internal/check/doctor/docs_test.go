package doctor

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sotto-llm/sotto/internal/testing/pipeserver"
)

var update = flag.Bool("update", false, "write the output into docs/doctor.md")

// TestDocs: the output in the guide that needs a server of this test is real.
func TestDocs(t *testing.T) {
	const file, begin, end = "../../../docs/doctor.md", "<!-- not run: the server is one of that test -->\n```console\n", "```\n<!-- end -->"
	guide, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	mystery := &fake{say: always(map[string]any{"content": "[THINK]The primes are 23, 29, 31 and 37.[/THINK]Four."})}
	output := printed(t, mystery, "http://localhost:8000", Options{})
	before, after, ok := strings.Cut(string(guide), begin)
	_, after, ok2 := strings.Cut(after, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for an output", file)
	}
	text := before + begin + output + end + after
	if text == string(guide) {
		return
	}
	if !*update {
		t.Fatalf("%s shows another output: run the test with -update\n%s", file, output)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// printed is what sotto doctor prints about a server.
func printed(t *testing.T, server http.Handler, url string, o Options) string {
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		s := pipeserver.New(server)
		defer s.Close()
		o.Transport = s.Transport()
		command := "$ sotto doctor "
		if o.Model != "" {
			command += "--model " + o.Model + " "
		}
		command += url
		fmt.Fprintf(&out, "%s\nsotto: examining %s: %s\n", command, url, o.Cost())
		r, err := Run(t.Context(), url, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Print(&out); err != nil {
			t.Fatal(err)
		}
	})
	return out.String()
}
