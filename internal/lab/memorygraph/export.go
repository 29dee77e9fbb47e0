package memorygraph

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/visible"
)

// maxLabel bounds a label in bytes.
const maxLabel = 80

// cutNote says how much of the memory the graph shows; "" if all.
func (g *Graph) cutNote() string {
	shown := 0
	for _, n := range g.Nodes {
		if n.Kind != Problem {
			shown++
		}
	}
	if shown >= g.All {
		return ""
	}
	return fmt.Sprintf("%d of %d nodes: those that solved most", shown, g.All)
}

// quoted returns a text as a string of DOT.
func quoted(text string) string {
	text = strings.ReplaceAll(visible.Text(shorttext.Ellipsis(text, maxLabel)), `\`, `\\`)
	return `"` + strings.NewReplacer(`"`, `\"`, "\n", `\n`, "\t", " ").Replace(text) + `"`
}

// DOT writes the graph in the language of Graphviz.
func (g *Graph) DOT(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "digraph memory {\n\tgraph [rankdir=LR, label=%s];\n\tnode [fontname=\"sans-serif\", fontsize=10];\n\tedge [fontname=\"sans-serif\", fontsize=8, color=\"#5f6b7a\"];\n", quoted(g.cutNote()))
	shapes := map[Kind]string{
		Template: `shape=box, style="rounded,filled", fillcolor="#dbe7f8"`, Solution: "shape=ellipse", Problem: `shape=ellipse, style=dashed, color="#b3261e"`,
	}
	for i, n := range g.Nodes {
		fmt.Fprintf(out, "\tn%d [label=%s, tooltip=%s, %s];\n", i, quoted(n.Key), quoted(fmt.Sprintf("%s: seen %d, used %d, solved %d, failed %d", n.Kind, n.Seen, n.Used, n.Solved, n.Failed)), shapes[n.Kind])
	}
	styles := map[Relation]string{LearnedFrom: "style=bold", TemplateOf: "style=solid", Solved: `style=solid, color="#3568b5"`, UsedFor: "style=dotted, constraint=false"}
	for _, e := range g.Edges {
		fmt.Fprintf(out, "\tn%d -> n%d [tooltip=%s, %s];\n", e.From, e.To, quoted(string(e.Relation)), styles[e.Relation])
	}
	out.WriteString("}\n")
	return out.Flush()
}

// A field is an attribute of GraphML.
type field struct{ name, kind string }

var (
	nodeFields = []field{
		{"kind", "string"}, {"task", "string"}, {"key", "string"}, {"candidate", "string"}, {"model", "string"},
		{"seen", "long"}, {"used", "long"}, {"solved", "long"}, {"failed", "long"}, {"created", "string"}, {"order", "long"},
	}
	edgeFields = []field{{"relation", "string"}, {"used", "long"}, {"solved", "long"}, {"failed", "long"}}
)

// values are those of a node, in the order of nodeFields.
func (n *Node) values() []string {
	created := ""
	if !n.Created.IsZero() {
		created = n.Created.UTC().Format(time.RFC3339Nano)
	}
	number := func(x int64) string { return strconv.FormatInt(x, 10) }
	return []string{
		string(n.Kind), n.Task, n.Key, n.Candidate, n.Model,
		number(n.Seen), number(n.Used), number(n.Solved), number(n.Failed), created, strconv.Itoa(n.Order),
	}
}

// GraphML writes the graph as GraphML. Characters that XML cannot have become U+FFFD.
func (g *Graph) GraphML(w io.Writer) error {
	out := bufio.NewWriter(w)
	out.WriteString(xml.Header + `<graphml xmlns="http://graphml.graphdrawing.org/xmlns">` + "\n")
	for _, of := range []struct {
		name, letter string
		fields       []field
	}{{"node", "n", nodeFields}, {"edge", "e", edgeFields}} {
		for i, f := range of.fields {
			fmt.Fprintf(out, `<key id="%s%d" for="%s" attr.name="%s" attr.type="%s"/>`+"\n", of.letter, i, of.name, f.name, f.kind)
		}
	}
	out.WriteString(`<key id="g0" for="graph" attr.name="note" attr.type="string"/>` + "\n")
	out.WriteString(`<graph id="memory" edgedefault="directed">` + "\n")
	writeData(out, "g", 0, g.cutNote())
	for i := range g.Nodes {
		fmt.Fprintf(out, `<node id="n%d">`, i)
		for k, value := range g.Nodes[i].values() {
			writeData(out, "n", k, value)
		}
		out.WriteString("</node>\n")
	}
	for i, e := range g.Edges {
		fmt.Fprintf(out, `<edge id="e%d" source="n%d" target="n%d">`, i, e.From, e.To)
		writeData(out, "e", 0, string(e.Relation))
		for k, x := range []int64{e.Used, e.Solved, e.Failed} {
			writeData(out, "e", k+1, strconv.FormatInt(x, 10))
		}
		out.WriteString("</edge>\n")
	}
	out.WriteString("</graph>\n</graphml>\n")
	return out.Flush()
}

// writeData writes a value. An empty one is left out.
func writeData(out *bufio.Writer, letter string, key int, value string) {
	if value == "" {
		return
	}
	fmt.Fprintf(out, `<data key="%s%d">`, letter, key)
	xml.EscapeText(out, []byte(value))
	out.WriteString("</data>")
}
