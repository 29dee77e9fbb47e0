package recordtable

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/record"
)

// words returns n bytes of prose of letters, quotes and line ends.
func words(r *rand.Rand, n int) string {
	list := strings.Fields(`the cycle "memory" rule every fourth year is a leap_year unless 100 divides it; because so then I try another, and check`)
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(list[r.IntN(len(list))])
		b.WriteByte(" \n"[r.IntN(20)/19])
	}
	return b.String()
}

// longRecord makes a record of n events as an agent makes them, and returns its size:
// each third event is a call of a model with a prompt of 6 KiB, the others are the
// use of a tool.
func longRecord(tb testing.TB, n int) (*recordset.Set, int64) {
	dir := filepath.Join(tb.TempDir(), "r")
	w, err := record.Open(dir, record.Options{Policy: record.None})
	if err != nil {
		tb.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	var prompts []string
	for range 64 {
		prompts = append(prompts, words(r, 2000))
	}
	for i := 0; i < n; i += 3 {
		of := &record.Ref{Seq: uint64(i + 1)}
		prompt := []record.Message{{Role: "system", Text: record.Say(prompts[i%64])}, {Role: "user", Text: record.Say(prompts[(i+1)%64])}, {Role: "assistant", Text: record.Say(prompts[(i+7)%64])}}
		use := record.ToolCall{ID: "call_1", Name: "write", Phase: "start", Number: i + 1, Of: of, Arguments: record.Say(`{"key":"rule","value":"` + fmt.Sprint(i) + `"}`)}
		events := []record.Payload{
			record.Invocation{Model: "qwen3:8b", Provider: "ollama", Purpose: "act", Millis: 1200, Usage: &record.Usage{Input: 1500, Output: 400}, Messages: prompt, Replies: []record.Reply{record.ReplyOf(sotto.Parse("<think>"+words(r, 1200)+"</think>"+words(r, 400), sotto.EndStopped))}},
			use, use,
		}
		use.Phase, use.Result = "end", record.Say(prompts[i%64][:300])
		events[2] = use
		for _, p := range events {
			if _, err := w.Append(context.Background(), record.Event{Run: fmt.Sprint("run-", i/3000), Cycle: i/30 + 1, Payload: p}); err != nil {
				tb.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	size := int64(0)
	for _, name := range files {
		if info, err := os.Stat(name); err == nil {
			size += info.Size()
		}
	}
	set, err := recordset.Open(dir, record.ReadOptions{NoPrompts: true})
	if err != nil {
		tb.Fatal(err)
	}
	return set, size
}

// The bytes a second are those of the record.
func BenchmarkTable(b *testing.B) {
	set, size := longRecord(b, 30_000)
	for _, cores := range []int{1, runtime.NumCPU()} {
		for _, name := range []string{"replies", "thoughts", "calls", "edges"} {
			for _, f := range []Format{Parquet, CSV} {
				b.Run(fmt.Sprintf("%s/%s/cores=%d", name, f, cores), func(b *testing.B) {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
					b.SetBytes(size)
					b.ReportAllocs()
					table := Named(name)
					for b.Loop() {
						w, err := NewWriter(f, io.Discard, table.Columns, newParquet)
						if err != nil {
							b.Fatal(err)
						}
						if err := table.Write(w, set.Events(record.Query{Types: table.Types}), func(err error) error { return err }); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
