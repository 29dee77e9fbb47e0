//go:build unix

package solve_test

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/lab/solve"
)

// All solvable games, in template mode. The stand-in model solves those that no
// template solves. Every result is a transaction in the memory's file.
func BenchmarkTemplates(b *testing.B) {
	problems := solve.Games(1)
	before := cpu(b)
	for b.Loop() {
		g, err := metagraph.Open(filepath.Join(b.TempDir(), "memory.db"), metagraph.Options{})
		if err != nil {
			b.Fatal(err)
		}
		s, err := solve.New(solve.Options{Task: solve.TaskOf(answer.Game24), Mode: solve.Template, Model: solve.Scripted{Task: solve.TaskOf(answer.Game24)}, Memory: g})
		if err != nil {
			b.Fatal(err)
		}
		solved := 0
		err = s.Stream(context.Background(), each(problems), nil, solve.Budget{}, func(r solve.Result) error {
			if r.Solved {
				solved++
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		g.Close()
		b.ReportMetric(float64(solved), "solved")
	}
	b.ReportMetric(float64(len(problems)), "games")
	b.ReportMetric((cpu(b)-before).Seconds()/float64(b.N), "cpu-s/op")
}

// cpu returns the processor time of the process, which a busy machine changes
// little.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
