package interop_test

import (
	"bytes"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/lab/memorygraph"
)

// hostileKeys are names that must not end where they stand.
var hostileKeys = []string{
	`"]; n9 [label="x`, `\`, `a\"b`, "</data></node><node id=\"x\"/>", "<script>alert(1)</script>", "]]>", "a\x00b\x1b[2J\nc\ufffe", "\xff\xfe",
	strings.Repeat("long ", 10_000), "", "<<b>bold</b>>", `\N\G`, "plain",
}

func hostileGraph() *memorygraph.Graph {
	g := &memorygraph.Graph{All: len(hostileKeys) + 1}
	for i, key := range hostileKeys {
		g.Nodes = append(g.Nodes, memorygraph.Node{Kind: memorygraph.Solution, Key: key, Task: key, Model: key, Candidate: key})
		g.Edges = append(g.Edges, memorygraph.Edge{From: 0, To: i, Relation: memorygraph.UsedFor})
	}
	return g
}

// runProgram runs a program that judges, and skips where it is not installed.
func runProgram(t *testing.T, input []byte, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed", name)
	}
	c := exec.Command(name, args...)
	var out, errs bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(input), &out, &errs
	if err := c.Run(); err != nil || errs.Len() > 0 {
		if strings.Contains(errs.String(), "No module named") {
			t.Skip(errs.String())
		}
		t.Fatalf("%s: %v: %s", name, err, errs.String())
	}
	return out.String()
}

// Graphviz reads every node and edge without a warning.
func TestMemoryGraphInGraphviz(t *testing.T) {
	var dot bytes.Buffer
	if err := hostileGraph().DOT(&dot); err != nil {
		t.Fatal(err)
	}
	svg := runProgram(t, dot.Bytes(), "dot", "-Tsvg")
	if n, e := strings.Count(svg, `class="node"`), strings.Count(svg, `class="edge"`); n != len(hostileKeys) || e != len(hostileKeys) {
		t.Errorf("%d nodes and %d edges, want %d", n, e, len(hostileKeys))
	}
}

// networkx reads every node and edge, with numbers as numbers.
func TestMemoryGraphInNetworkx(t *testing.T) {
	var graphml bytes.Buffer
	if err := hostileGraph().GraphML(&graphml); err != nil {
		t.Fatal(err)
	}
	out := runProgram(t, graphml.Bytes(), "/usr/bin/python3", "-c", `
import io, sys, networkx
g = networkx.read_graphml(io.BytesIO(sys.stdin.buffer.read()))
print(len(g), g.number_of_edges(), g.is_directed(), g.nodes["n12"]["key"], g.nodes["n12"]["seen"] + 1, g.edges["n0", "n12"]["relation"])`)
	want := strconv.Itoa(len(hostileKeys)) + " " + strconv.Itoa(len(hostileKeys)) + " True plain 1 used_for\n"
	if out != want {
		t.Errorf("%q, want %q", out, want)
	}
}
