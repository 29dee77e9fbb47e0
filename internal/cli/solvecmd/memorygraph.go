package solvecmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/decompress"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/sealing"
	"github.com/sotto-llm/sotto/internal/lab/memorygraph"
	"github.com/sotto-llm/sotto/internal/lab/solvereport"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
)

// The most nodes of a graph, if --nodes does not say it. Graphviz takes minutes for
// more.
const maxDotNodes = 2000

type memoryGraph struct {
	memoryPlace
	Task   string `short:"t" placeholder:"TASK" help:"Only nodes of this task."`
	Format string `enum:",dot,html,graphml" default:"" placeholder:"FORMAT" help:"dot (for Graphviz), html (a page), graphml (for networkx, Gephi and others). Without it, what the name of --output ends with, or dot."`
	Nodes  int    `placeholder:"N" help:"The maximum number of nodes: those that solved most (dot 2000, html 300, graphml all)."`
	Output string `short:"o" placeholder:"FILE" help:"Write to FILE instead of standard output."`
	File   string `arg:"" optional:"" name:"file" placeholder:"FILE" help:"The output of sotto solve: show what that stream used and learned, not a memory."`
}

// Help explains the graph.
func (memoryGraph) Help() string {
	return `The nodes are templates, solutions, and problems that nodes were used for and that are not solved. The edges are "learned_from" (the solution that a template was first made from), "template_of" (other solutions of that form), "solved" (the template gave the solution) and "used_for" (the node was an example).

A page draws each template beside its solutions, numbered in the order in which they were learned, with the growth of the memory and a table of which template solved what.

Examples:

    sotto solve memory graph -o memory.html
    sotto solve memory graph --task game24 --nodes 100 | dot -Tsvg > memory.svg
    sotto solve memory graph --format graphml -o memory.graphml
    sotto solve memory graph -o stream.html first.jsonl`
}

// Validate refuses flags that cannot be combined.
func (x *memoryGraph) Validate() error {
	switch {
	case x.Nodes < 0:
		return errors.New("--nodes: want 1 or more")
	case x.File != "" && (x.Memory != "" || x.Task != "" || x.Nodes > 0):
		return errors.New("--memory, --task and --nodes are for a memory, and FILE is the output of a stream")
	}
	return nil
}

// Run writes the graph.
func (x *memoryGraph) Run(sh *shell.Shell) error {
	format := x.format()
	g, err := x.graph(sh, format)
	if err != nil {
		return err
	}
	if len(g.Nodes) == 0 {
		return errorhint.Add(errors.New("there is no node to show"), "sotto solve memory ls lists the nodes; a stream learns in the modes graph and template")
	}
	var out bytes.Buffer
	switch format {
	case "html":
		var page []byte
		if page, err = g.Page("Memory: " + cmp.Or(x.Task, filepath.Base(cmp.Or(x.File, x.Memory, "memory.db")))); err == nil {
			out.Write(page)
		}
	case "graphml":
		err = g.GraphML(&out)
	default:
		err = g.DOT(&out)
	}
	switch {
	case err != nil:
		return err
	case x.Output == "" || x.Output == "-":
		return sh.Print(out.Bytes())
	}
	return sh.WriteFile(x.Output, out.Bytes())
}

func (x *memoryGraph) format() string {
	if x.Format != "" {
		return x.Format
	}
	name, _ := decompress.CutEnding(x.Output)
	for _, known := range []string{"html", "graphml"} {
		if strings.EqualFold(filepath.Ext(name), "."+known) {
			return known
		}
	}
	return "dot"
}

// graph reads a memory, or the output of a stream.
func (x *memoryGraph) graph(sh *shell.Shell, format string) (*memorygraph.Graph, error) {
	if x.File != "" {
		in, err := sh.Open(x.File)
		if err != nil {
			return nil, err
		}
		defer in.Close()
		ids, err := recording.ReadIdentities(x.Identity)
		if err != nil {
			return nil, fmt.Errorf("--identity: %w", err)
		}
		_, results, err := solvereport.ReadResults(sealing.NewReader(in, ids))
		if err != nil {
			return nil, sealing.Hint(fmt.Errorf("%s: %w", x.File, err))
		}
		return memorygraph.OfResults(results), nil
	}
	m, err := x.open(sh, false)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	most := map[string]int{"dot": maxDotNodes, "html": memorygraph.MaxDrawn}[format]
	return memorygraph.Of(context.Background(), m, x.Task, cmp.Or(x.Nodes, most))
}
