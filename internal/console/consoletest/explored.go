package consoletest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/record"
)

// What [Explored] plants.
const (
	Leaky   = "qwen3:8b" // a model whose thoughts stand in the text of 12 % of its replies, …
	Since   = 0.6        // … from this share of the record on, and of 0.5 % before
	Pensive = "gpt-oss:20b"
	Broken  = "timetable" // a tool that fails from there on
)

// Explored records n exchanges of four models, and the uses of two tools. The longest thought
// is one of Pensive. It returns the record's folder.
func Explored(t testing.TB, n int) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "audit")
	w, err := record.Open(dir, record.Options{Policy: record.None, Queue: 256 << 20})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(11, 12))
	for i := range n {
		late := float64(i) >= Since*float64(n)
		var p record.Payload = explored(r, i, n, late)
		e := record.Event{Payload: p}
		if i%10 == 7 {
			call := record.ToolCall{Name: []string{Broken, "weather"}[i/10%2], Phase: "end", Millis: r.Int64N(90), Result: record.Say("ok")}
			if call.Name == Broken && late && r.IntN(3) == 0 {
				call.Error = "the timetable of 31 February does not exist"
			}
			invocation := record.Invocation{Model: Pensive, Millis: 40}
			if !w.Enqueue(record.Event{Run: fmt.Sprint("run-", i%50), Cycle: 1, Payload: invocation}) {
				t.Fatal("the queue is full")
			}
			e = record.Event{Run: fmt.Sprint("run-", i%50), Cycle: 1, Payload: call}
		}
		if i%64 == 63 { // waits, so that the queue never fills
			if _, err := w.Append(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		} else if !w.Enqueue(e) {
			t.Fatal("the queue is full")
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func explored(r *rand.Rand, i, n int, late bool) record.Exchange {
	model := []string{Leaky, Leaky, "deepseek-r1:14b", "claude-opus-5", Pensive}[r.IntN(5)]
	leaks := model == Leaky && (late && r.IntN(100) < 12 || r.IntN(200) == 0)
	thought := strings.Repeat("The tower stands by the lake. ", 1+r.IntN(4))
	if i == n/3 {
		model, leaks, thought = Pensive, false, strings.Repeat("Which of them is taller? ", 400)
	}
	x := Exchange(model, "Which tower is taller?", "The CN Tower is taller, at 553 metres.")
	if leaks {
		x = Exchange(model, "Which tower is taller?", "<think>"+thought+"</think>The CN Tower.")
		x.Leak, x.LeakBytes = record.ThoughtInText, len(thought)
	} else {
		x.Replies[0].Reasoning = []record.Thought{{Field: "reasoning", Text: record.Say(thought)}}
	}
	x.Caller = fmt.Sprint("team-", r.IntN(5))
	x.Millis = 400 + int64(r.ExpFloat64()*2000)
	x.FirstAnswer = x.Millis / 3
	if model == "deepseek-r1:14b" && late {
		x.Millis *= 2
	}
	if r.IntN(60) == 0 {
		x.Outcome, x.Status, x.Error, x.Replies = "failed", 502, "the upstream closed the connection", nil
	}
	return x
}

// Spread rewrites the times of a record, so that its events lie between two times. Its chain
// does not hold then.
func Spread(t testing.TB, dir string, from, to time.Time) {
	t.Helper()
	Retime(t, dir, func(n, of int, _ []byte) time.Time {
		share := float64(n) / float64(of)
		return time.Unix(int64(float64(from.Unix())*(1-share)+float64(to.Unix())*share), 0)
	})
}

// Retime gives each event of a record the time that at returns for the line that is n-th of so
// many. Its chain does not hold then.
func Retime(t testing.TB, dir string, at func(n, of int, line []byte) time.Time) {
	t.Helper()
	files, err := record.Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	of := 0
	var all [][]byte
	for _, f := range files {
		data, err := os.ReadFile(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data)
		of += bytes.Count(data, []byte("\n"))
	}
	place := regexp.MustCompile(`"time":"[^"]*"`)
	n := 0
	for i, f := range files {
		var out bytes.Buffer
		for line := range bytes.Lines(all[i]) {
			at, old := at(n, of, line), place.FindIndex(line)
			out.Write(line[:old[0]])
			fmt.Fprintf(&out, `"time":%q`, at.UTC().Format(time.RFC3339Nano))
			out.Write(line[old[1]:])
			n++
		}
		if err := os.WriteFile(f.Path, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old, _ := filepath.Glob(filepath.Join(dir, "*.index"))
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}
