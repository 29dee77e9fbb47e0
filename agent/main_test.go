package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// childProcess is what the test binary does where it is the process to be killed.
var childProcess func(dir string)

func TestMain(m *testing.M) {
	if dir := os.Getenv("AGENT_CHILD"); dir != "" {
		childProcess(dir)
	}
	goleak.VerifyTestMain(m)
}

// deaf is an operator who is told things.
type deaf struct {
	mu   sync.Mutex
	told []string
}

func (d *deaf) Tell(_ context.Context, m OperatorMessage) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.told = append(d.told, m.Text)
	return nil
}

func (d *deaf) Ask(ctx context.Context, m OperatorMessage) (string, error) {
	return "", d.Tell(ctx, m)
}

// first is the experiment that comes with the package.
func first(t testing.TB, o Operator) Experiment {
	t.Helper()
	x, err := Example().Experiment(Dependencies{Operator: func(OperatorConfig) Operator { return o }})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// in keeps a run in a folder.
func in(dir string) Options {
	return Options{Record: filepath.Join(dir, "record"), Memory: filepath.Join(dir, "memory"), RecordOptions: record.Options{Policy: record.Batch}}
}

// scripted is a model of a script in YAML.
func scripted(t testing.TB, script string) model.Model {
	t.Helper()
	s, err := model.ReadScript(strings.NewReader(script), "script.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return model.NewScripted("scripted", s)
}

func events(t testing.TB, dir string, q record.Query) []record.Event {
	t.Helper()
	r, err := record.OpenReader(filepath.Join(dir, "record"), record.ReadOptions{NoIndex: true})
	if err != nil {
		t.Fatal(err)
	}
	var list []record.Event
	for e, err := range r.Events(q) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// plain is a record without what must differ between two of the same run: times,
// and the digests of lines that hold times.
func plain(t testing.TB, dir string) []string {
	t.Helper()
	var lines []string
	for _, e := range events(t, dir, record.Query{}) {
		text, err := json.Marshal(whole(e.Payload))
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%d %s %d %s %s", e.Seq, e.Run, e.Cycle, e.Type, text))
	}
	return lines
}

func run1(t testing.TB, x Experiment, dir string) Result {
	t.Helper()
	s, err := Run(t.Context(), x, in(dir))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func asError[E error](err error, target *E) bool { return errors.As(err, target) }

func isError(err, target error) bool { return errors.Is(err, target) }
