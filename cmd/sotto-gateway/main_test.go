package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMain runs the program itself under its name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "sotto-gateway" {
		main()
	}
	os.Exit(m.Run())
}

// without are packages that the program must not have, or what their paths begin with. They
// are what its commands get by lists, which it leaves empty.
var without = []string{
	"modernc.org/", "go.etcd.io/bbolt", "github.com/parquet-go/", "github.com/a2aproject/", "github.com/modelcontextprotocol/", "golang.org/x/image/",
	"github.com/sotto-llm/sotto/a2aserver", "github.com/sotto-llm/sotto/agent", "github.com/sotto-llm/sotto/answer", "github.com/sotto-llm/sotto/internal/lab/metagraph", "github.com/sotto-llm/sotto/internal/lab/solve",
	"github.com/sotto-llm/sotto/internal/agents/agentfile", "github.com/sotto-llm/sotto/internal/agents/agentmodel", "github.com/sotto-llm/sotto/internal/data/boltfile", "github.com/sotto-llm/sotto/internal/lab/screens",
	"github.com/sotto-llm/sotto/internal/lab/runview", "github.com/sotto-llm/sotto/internal/lab/scoreview", "github.com/sotto-llm/sotto/internal/lab/contreact", "github.com/sotto-llm/sotto/internal/lab/databases",
	"github.com/sotto-llm/sotto/internal/lab/graphbot", "github.com/sotto-llm/sotto/internal/lab/parquetfile", "github.com/sotto-llm/sotto/internal/lab/report", "github.com/sotto-llm/sotto/internal/lab/inputfiles",
	"github.com/sotto-llm/sotto/internal/lab/scoring", "github.com/sotto-llm/sotto/internal/lab/study",
}

// question is the package of the questions that a call waits for. The console shows and answers
// them, whoever keeps them; the package needs the standard library alone.
const question = "github.com/sotto-llm/sotto/agent/consent"

// TestEdges: the program has nothing of agents, experiments, SQLite and Parquet, and at most
// so many packages of others. A new import between its commands and those is found here.
func TestEdges(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}} {{.Standard}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	others, own := 0, 0
	for line := range strings.Lines(string(out)) {
		path, standard, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case standard == "true":
		case strings.HasPrefix(path, "github.com/sotto-llm/sotto"):
			own++
		default:
			others++
		}
		if path != question && slices.ContainsFunc(without, func(begin string) bool {
			return path == begin || strings.HasPrefix(path, strings.TrimSuffix(begin, "/")+"/")
		}) {
			t.Errorf("it has %s", path)
		}
	}
	if own < 80 || others < 100 || others > 210 {
		t.Errorf("it has %d packages of its own and %d of others", own, others)
	}
	t.Logf("%d packages of its own and %d of others", own, others)
}
