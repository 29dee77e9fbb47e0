package solvecmd

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/texttable"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/datafolder"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/lab/solve"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
)

type memoryCommand struct {
	Ls     memoryLs     `cmd:"" help:"List the nodes (solutions and templates), one per line."`
	Show   memoryShow   `cmd:"" help:"Print a node, its statistics and its uses."`
	Export memoryExport `cmd:"" help:"Print the whole memory as JSON Lines."`
	Import memoryImport `cmd:"" help:"Add the nodes of an export; every node is judged again."`
	Graph  memoryGraph  `cmd:"" help:"Write the memory as a graph: for Graphviz, as a page, or as GraphML."`
	Prune  memoryPrune  `cmd:"" help:"Remove old nodes, or keep only the most useful ones."`
}

// Help explains what a memory is.
func (memoryCommand) Help() string {
	return `A memory is one file. Any number of sotto solve processes may use it at the same time. It holds traces (solved problems with their solutions) and templates (expressions with slots for numbers), but only if a validator accepted them.

Examples:

    sotto solve memory ls --task game24
    sotto solve memory show 'Solve 24 with 3 5 8 11'
    sotto solve memory graph -o memory.html
    sotto solve memory export > memory.jsonl
    sotto solve memory import --memory other.db memory.jsonl
    sotto solve memory prune --unused 90d --keep 10000 --dry-run
    sotto solve memory prune --model scripted`
}

// memoryPlace says which memory to use.
type memoryPlace struct {
	Memory   string   `placeholder:"FILE" setting:"SOTTO_MEMORY" help:"The memory's file (memory.db in --data)."`
	Data     string   `placeholder:"DIR" setting:"SOTTO_DATA_DIR" help:"The folder of the memory (the XDG state folder)."`
	Identity []string `short:"i" sep:"none" placeholder:"FILE" setting:"SOTTO_RECORD_IDENTITY" help:"Read a sealed memory with the age identities in FILE; repeatable."`
}

// openMemory opens a memory. If no file is named, it opens the default one, which
// has a name in the folder of the state.
func openMemory(sh *shell.Shell, file, data, name string, o metagraph.Options) (*metagraph.Graph, error) {
	if file == "" {
		folder := cmp.Or(data, files.StateFolder(sh.Getenv))
		if folder == "" {
			return nil, errorhint.Add(errors.New("there is no folder for the memory"), "name a file with --memory")
		}
		use := datafolder.Open
		if o.ReadOnly {
			use = datafolder.Check
		}
		if err := use(folder); err != nil {
			return nil, err
		}
		file = filepath.Join(folder, name)
	}
	g, err := metagraph.Open(file, o)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errorhint.Add(err, "sotto solve makes one; --memory names another: the stand-in's is memory-scripted.db in the same folder, that of --replies memory-replayed.db")
	}
	return g, err
}

func (p *memoryPlace) open(sh *shell.Shell, write bool) (*metagraph.Graph, error) {
	ids, err := recording.ReadIdentities(p.Identity)
	if err != nil {
		return nil, fmt.Errorf("--identity: %w", err)
	}
	if p.Memory == "" || !isSealed(p.Memory) {
		return openMemory(sh, p.Memory, p.Data, "memory.db", metagraph.Options{ReadOnly: !write})
	}
	if write {
		return nil, errorhint.Add(fmt.Errorf("memory %s: it is sealed, and only a stream writes it", p.Memory), "export it, and import that into another memory")
	}
	_, snapshot, err := readSealedMemory(p.Memory, ids)
	if err != nil {
		return nil, err
	}
	return metagraph.OpenHeld(snapshot, metagraph.Options{})
}

// A shownNode is a node as memory ls and memory show print it in JSON.
type shownNode struct {
	V int `json:"v"`
	metagraph.Ref
	Model     string `json:"model,omitempty"`
	Slots     int    `json:"slots,omitempty"`
	Input     string `json:"input"`
	Candidate string `json:"candidate"`
	metagraph.Stats
	Created  time.Time        `json:"created"`
	UsedAt   time.Time        `json:"used_at,omitzero"`
	SolvedAt time.Time        `json:"solved_at"`
	UsedFor  []metagraph.Edge `json:"used_for,omitempty"`
}

func shownNodeOf(n metagraph.Node) shownNode {
	return shownNode{V: 1, Ref: n.Ref, Model: n.Model, Slots: n.Slots, Input: n.Problem.Input, Candidate: n.Candidate, Stats: n.Stats, Created: n.Created, UsedAt: n.UsedAt, SolvedAt: n.SolvedAt}
}

type memoryLs struct {
	memoryPlace
	Task string `short:"t" placeholder:"TASK" help:"Only nodes of this task."`
	Kind string `enum:",trace,template" default:"" placeholder:"KIND" help:"Only nodes of this kind: trace, template."`
	JSON bool   `name:"json" help:"Print JSON Lines."`
}

// Run lists the nodes.
func (x *memoryLs) Run(sh *shell.Shell) error {
	g, err := x.open(sh, false)
	if err != nil {
		return err
	}
	defer g.Close()
	nodes, err := g.Nodes(context.Background(), x.Task)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(sh.Results(x.JSON))
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if !x.JSON {
		_ = lsLayout.Print(out, "TASK", "KIND", "SEEN", "USED", "SOLVED", "FAILED", "TOKENS", " EARNED BY", " KEY")
	}
	for _, n := range nodes {
		switch {
		case x.Kind != "" && string(n.Kind) != x.Kind:
		case x.JSON:
			err = cmp.Or(err, enc.Encode(shownNodeOf(n)))
		default:
			err = cmp.Or(err, lsLayout.Print(out, label1(n.Task, 10), string(n.Kind), count(n.Seen), count(n.Used), count(n.Solved), count(n.Failed),
				strconv.FormatFloat(n.Tokens, 'f', 0, 64), " "+label1(cmp.Or(n.Model, "?"), 16), " "+label1(n.Key, 100)))
		}
	}
	return cmp.Or(err, out.Flush())
}

func count(n int64) string { return strconv.FormatInt(n, 10) }

var lsLayout = texttable.Layout{Widths: []int{-10, -8, 6, 6, 6, 6, 8, -17, 0}, Gap: 1}

// label1 returns a text on one line, cut if it is long.
func label1(text string, long int) string {
	runes := []rune(visible.Text(text))
	if len(runes) > long {
		runes = append(runes[:long-1], '…')
	}
	return string(runes)
}

type memoryShow struct {
	memoryPlace
	Task string `short:"t" placeholder:"TASK" help:"Only nodes of this task."`
	JSON bool   `name:"json" help:"Print JSON Lines."`
	Key  string `arg:"" help:"The key of a node, as memory ls prints it."`
}

// Run prints the nodes with that key.
func (x *memoryShow) Run(sh *shell.Shell) error {
	g, err := x.open(sh, false)
	if err != nil {
		return err
	}
	defer g.Close()
	ctx := context.Background()
	nodes, err := g.Nodes(ctx, x.Task)
	if err != nil {
		return err
	}
	found := false
	for _, n := range nodes {
		if n.Key != x.Key {
			continue
		}
		found = true
		edges, err := g.Edges(ctx, n.Ref)
		if err != nil {
			return err
		}
		if err := x.show(sh, n, edges); err != nil {
			return err
		}
	}
	if !found {
		return errorhint.Add(fmt.Errorf("there is no node %q", x.Key), "sotto solve memory ls prints the keys")
	}
	return nil
}

func (x *memoryShow) show(sh *shell.Shell, n metagraph.Node, edges []metagraph.Edge) error {
	if x.JSON {
		s := shownNodeOf(n)
		s.UsedFor = edges
		text, err := json.Marshal(s)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(sh.Out, "%s\n", text)
		return err
	}
	out := bufio.NewWriter(sh.Text)
	fmt.Fprintf(out, "%s\n", visible.Text(n.Text()))
	fmt.Fprintf(out, "%s of task %s, first found for %s: %s\n", n.Kind, visible.Text(n.Task), visible.Text(n.Problem.Input), visible.Text(n.Candidate))
	fmt.Fprintf(out, "earned by %s\n", visible.Text(cmp.Or(n.Model, "a model that is not known")))
	fmt.Fprintf(out, "seen %d, used %d, solved %d, failed %d; lately %.0f %% success, %.0f tokens, %.0f ms a problem\n", n.Seen, n.Used, n.Solved, n.Failed, 100*n.Success, n.Tokens, n.Millis)
	fmt.Fprintf(out, "made %s, last success %s\n", n.Created.Format(time.DateTime), n.SolvedAt.Format(time.DateTime))
	for _, e := range edges {
		fmt.Fprintf(out, "  used for %-40s seen %d, used %d, solved %d, failed %d\n", label1(e.Query, 100), e.Seen, e.Used, e.Solved, e.Failed)
	}
	return out.Flush()
}

type memoryExport struct{ memoryPlace }

// Run prints the memory.
func (x *memoryExport) Run(sh *shell.Shell) error {
	g, err := x.open(sh, false)
	if err != nil {
		return err
	}
	defer g.Close()
	return g.Export(context.Background(), sh.Out)
}

type memoryImport struct {
	memoryPlace
	TaskFile []string `name:"task-file" sep:"none" placeholder:"FILE" help:"The definition of a task of your own in the export; repeatable."`
	File     string   `arg:"" optional:"" name:"file" placeholder:"FILE" help:"The output of memory export."`
}

// Run imports the nodes.
func (x *memoryImport) Run(sh *shell.Shell) error {
	own := map[string]answer.Task{}
	for _, file := range x.TaskFile {
		t, err := findTask("", file)
		if err != nil {
			return err
		}
		own[t.Name()] = t
	}
	in, err := sh.Open(x.File)
	if err != nil {
		return err
	}
	defer in.Close()
	g, err := x.open(sh, true)
	if err != nil {
		return err
	}
	defer g.Close()
	n, err := g.Import(context.Background(), in, func(name string) (answer.Task, error) {
		if t, ok := own[name]; ok {
			return t, nil
		}
		return solve.TaskNamed(name)
	})
	if err != nil {
		var unknown *answer.UnknownTaskError
		if errors.As(err, &unknown) {
			return errorhint.Add(err, "name the file of a task of your own with --task-file")
		}
		return err
	}
	fmt.Fprintf(sh.Err, "%d nodes and %d edges added, %d nodes existed already\n", n.Nodes, n.Edges, n.Known)
	return nil
}

type memoryPrune struct {
	memoryPlace
	Task   string `short:"t" placeholder:"TASK" help:"Only nodes of this task."`
	Model  string `short:"m" placeholder:"NAME" help:"Only what this model earned; alone, all of it."`
	Unused string `placeholder:"TIME" help:"Remove nodes that did not help for this long, such as 90d or 12h."`
	Keep   int    `placeholder:"N" help:"Keep the N most useful traces and the N most useful templates of each task."`
	DryRun bool   `name:"dry-run" help:"Only say what would be removed."`
}

// Run removes nodes.
func (x *memoryPrune) Run(sh *shell.Shell) error {
	o := metagraph.PruneOptions{Task: x.Task, Model: x.Model, Keep: x.Keep, DryRun: x.DryRun}
	if x.Unused != "" {
		age, err := recording.ParseAge(x.Unused)
		if err != nil {
			return errorhint.Usage(fmt.Errorf("--unused: %w", err), "want a time such as 90d or 12h")
		}
		o.Before = time.Now().Add(-age)
	}
	switch {
	case x.Keep < 0 || x.Keep == 0 && x.Unused == "" && x.Model == "":
		return errorhint.Usage(errors.New("nothing to remove was named"), "want --unused TIME, --keep N with N from 1 on, or --model NAME")
	case x.Keep == 0 && x.Unused == "":
		o.Keep = -1
	}
	g, err := x.open(sh, true)
	if err != nil {
		return err
	}
	defer g.Close()
	gone, err := g.Prune(context.Background(), o)
	if err != nil {
		return err
	}
	for _, r := range gone {
		fmt.Fprintf(sh.Text, "%s %s %s\n", label1(r.Task, 20), r.Kind, visible.Text(r.Key))
	}
	verb := "removed"
	if x.DryRun {
		verb = "would be removed"
	}
	fmt.Fprintf(sh.Err, "%d nodes %s\n", len(gone), verb)
	return nil
}
