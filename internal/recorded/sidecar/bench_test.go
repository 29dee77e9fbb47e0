package sidecar

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/record"
)

// paragraphs are those of the real replies in the folder SOTTO_DATA, or else of sentences of
// drawn words.
func paragraphs(t testing.TB) []string {
	var list []string
	files, _ := filepath.Glob(filepath.Join(os.Getenv("SOTTO_DATA"), "*.jsonl"))
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			var x struct{ Raw, Reasoning string }
			if json.Unmarshal(lines.Bytes(), &x) != nil {
				continue
			}
			for _, text := range []string{x.Reasoning, x.Raw} {
				for p := range strings.SplitSeq(text, "\n\n") {
					if len(p) > 80 {
						list = append(list, p)
					}
				}
			}
		}
	}
	if len(list) > 0 {
		return list
	}
	r := rand.New(rand.NewPCG(1, 2))
	z := rand.NewZipf(r, 1.2, 2, 60_000)
	for range 2000 {
		var p []string
		for range 60 {
			p = append(p, strconv.FormatUint(mix(z.Uint64())%(1<<30), 36))
		}
		list = append(list, strings.Join(p, " "))
	}
	return list
}

// A maker writes exchanges of about size bytes.
type benchMaker struct {
	r     *rand.Rand
	words *rand.Zipf
	list  []string
	n     int
}

func newBenchMaker(t testing.TB) *benchMaker {
	r := rand.New(rand.NewPCG(3, 4))
	return &benchMaker{r: r, list: paragraphs(t), words: rand.NewZipf(r, 1.1, 8, 4_000_000)}
}

// text returns paragraphs with some words of a long tail among theirs: names, numbers and the
// like, which real texts have and a small corpus lacks.
func (m *benchMaker) text(size int) string {
	var b strings.Builder
	for b.Len() < size {
		for i, w := range strings.Fields(m.list[m.r.IntN(len(m.list))]) {
			if i > 0 {
				b.WriteByte(' ')
			}
			if m.r.IntN(40) == 0 {
				w = strconv.FormatUint(mix(m.words.Uint64())%(1<<34), 36)
			}
			b.WriteString(w)
			if b.Len() > size {
				break
			}
		}
		b.WriteString("\n\n")
	}
	return b.String()
}

var benchModels = []string{"qwen3:8b", "deepseek-r1:14b", "gpt-5.2", "claude-opus-5", "gemini-3-pro"}

func (m *benchMaker) event(size int) record.Event {
	m.n++
	thought := m.r.IntN(size / 2)
	raw := "<think>" + m.text(thought) + "</think>" + m.text(size/4)
	if m.n%100_000 == 777 {
		raw += " xylophonist" + strconv.Itoa(m.n)
	}
	read, err := sotto.Default().Parse(raw, sotto.BeginOutside, sotto.EndStopped)
	if err != nil {
		panic(err)
	}
	model := benchModels[min(m.r.IntN(12), len(benchModels)-1)]
	x := record.Exchange{
		ID: fmt.Sprintf("x-%016x", mix(uint64(m.n))), API: "chat", Model: model, Caller: fmt.Sprint("team-", m.r.IntN(30)), ResponseID: fmt.Sprintf("chatcmpl-%x", mix(uint64(m.n)<<1)),
		IDs:  map[string]string{"session_id": fmt.Sprintf("s-%x", mix(uint64(m.n/6))), record.IDTrace: fmt.Sprintf("%016x%016x", mix(uint64(m.n/2)), mix(uint64(m.n/2)+9))},
		Path: "/v1/chat/completions", Upstream: "http://upstream:8000", Status: 200, Streamed: true, Outcome: "answered",
		Millis: int64(m.r.ExpFloat64() * 4000), FirstThought: 200 + m.r.Int64N(300), FirstAnswer: 900 + m.r.Int64N(3000), Leak: "field", LeakBytes: thought,
		Usage: &record.Usage{Input: int64(size / 16), Output: int64(size / 8), Reasoning: int64(thought / 4)}, Replies: []record.Reply{record.ReplyOf(read)},
		Messages:  []record.Message{{Role: "system", Text: record.Say("You are a helpful assistant.")}, {Role: "user", Text: record.Say(m.text(size / 4))}},
		Delivered: &record.Delivery{Display: "field"},
	}
	if m.r.IntN(50) == 0 {
		x.Outcome, x.Status = "failed", 502
	}
	return record.Event{Payload: x}
}

func (m *benchMaker) record(t testing.TB, dir string, events, size int) (bytes int64) {
	w, err := record.Open(dir, record.Options{Policy: record.None, Queue: 256 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		e := m.event(size)
		if i%64 == 63 {
			if _, err := w.Append(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if !w.Enqueue(e) {
			t.Fatal("dropped")
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := record.Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := os.Stat(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	return bytes
}

// shares prints the parts of the sidecars of a record.
func shares(t testing.TB, dir string, of int64) {
	sums := map[string]int64{}
	for _, path := range sidecars(t, dir) {
		data, _ := os.ReadFile(path)
		line, _, _ := strings.Cut(string(data), "\n")
		sums["header"] += int64(len(line)) + 66
		var h header
		if err := json.Unmarshal([]byte(line), &h); err != nil {
			t.Fatal(err)
		}
		for name, s := range h.Sections {
			sums[name] += s.size()
		}
		t.Logf("%s: %d rows, %d blocks, %d words", filepath.Base(path), h.Rows, h.Blocks, h.Sections["terms"].plain())
	}
	total := int64(0)
	for name, n := range sums {
		total += n
		if 1000*n > of {
			t.Logf("%-14s %8d %.2f %%", name, n, 100*float64(n)/float64(of))
		}
	}
	t.Logf("total %d of %d: %.2f %%", total, of, 100*float64(total)/float64(of))
}

// benchDir is a record of SOTTO_SIDECAR_EVENTS events (20,000 if it is not set) with sidecars,
// which is kept in the folder SOTTO_SIDECAR_DIR if that is set.
func benchDir(b *testing.B) (dir string, events int) {
	events, _ = strconv.Atoi(os.Getenv("SOTTO_SIDECAR_EVENTS"))
	if events == 0 {
		events = 20_000
	}
	if dir = os.Getenv("SOTTO_SIDECAR_DIR"); dir == "" {
		dir = b.TempDir()
	}
	dir = filepath.Join(dir, strconv.Itoa(events))
	if _, err := os.Stat(dir); err != nil {
		newBenchMaker(b).record(b, dir, events, 400)
	}
	if _, err := Make(b.Context(), dir, Options{}); err != nil {
		b.Fatal(err)
	}
	return dir, events
}

// report says what a question read, of all bytes.
func reportRead(b *testing.B, dir string, r Report) {
	total := int64(0)
	files, err := record.Files(dir)
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range files {
		if info, err := os.Stat(f.Path); err == nil {
			total += info.Size()
		}
	}
	b.ReportMetric(float64(r.Bytes+r.Sidecars)/float64(b.N), "read-B/op")
	b.ReportMetric(100*float64(r.Bytes+r.Sidecars)/float64(b.N)/float64(total), "%read")
	b.ReportMetric(float64(r.Reads)/float64(b.N), "reads/op")
	b.ReportMetric(float64(total)/1e6, "record-MB")
}

// cold makes the system forget what it has of the files of a record, if it lets us.
func cold(b *testing.B, dir string) {
	b.StopTimer()
	defer b.StartTimer()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range files {
		forget(name)
	}
}

func benchEvents(b *testing.B, queries func(n int) Query) {
	dir, events := benchDir(b)
	s, err := Open(dir, record.ReadOptions{NoPrompts: true})
	if err != nil {
		b.Fatal(err)
	}
	q := queries(events)
	found := 0
	for b.Loop() {
		cold(b, dir)
		for _, err := range s.Events(q) {
			if err != nil {
				b.Fatal(err)
			}
			found++
		}
	}
	b.ReportMetric(float64(found)/float64(b.N), "events/op")
	reportRead(b, dir, s.Report())
}

func BenchmarkIdentifier(b *testing.B) {
	benchEvents(b, func(n int) Query { return Query{IDs: []string{fmt.Sprintf("x-%016x", mix(uint64(n/2)))}} })
}

func BenchmarkNoIdentifier(b *testing.B) {
	benchEvents(b, func(int) Query { return Query{IDs: []string{"nobody"}} })
}

func BenchmarkRareWord(b *testing.B) {
	benchEvents(b, func(int) Query { return Query{Pattern: regexp.MustCompile("(?i)xylophonist")} })
}

func BenchmarkNoWord(b *testing.B) {
	benchEvents(b, func(int) Query { return Query{Pattern: regexp.MustCompile("glockenspielerin")} })
}

// BenchmarkFilter sums up the failed exchanges of a model by caller, and keeps the slowest.
func BenchmarkFilter(b *testing.B) {
	dir, _ := benchDir(b)
	s, err := Open(dir, record.ReadOptions{})
	if err != nil {
		b.Fatal(err)
	}
	found := 0
	for b.Loop() {
		cold(b, dir)
		totals := map[string]int64{}
		var slowest []int64
		q := record.Query{Model: "gpt-5.2", Types: []record.Type{record.TypeExchange}}
		for f, err := range s.Facts(q, Want{Numbers: []Number{Millis, Output}, Words: []Word{Outcome, Caller}}) {
			if err != nil {
				b.Fatal(err)
			}
			if f.Word[Outcome] != "failed" {
				continue
			}
			found++
			totals[f.Word[Caller]] += f.Number[Output]
			if at, _ := slices.BinarySearchFunc(slowest, f.Number[Millis], func(a, b int64) int { return cmp.Compare(b, a) }); at < 100 {
				slowest = slices.Insert(slowest, at, f.Number[Millis])
				slowest = slowest[:min(len(slowest), 100)]
			}
		}
	}
	b.ReportMetric(float64(found)/float64(b.N), "events/op")
	reportRead(b, dir, s.Report())
}

// BenchmarkMake makes the sidecar of a segment.
func BenchmarkMake(b *testing.B) {
	dir := b.TempDir()
	size := newBenchMaker(b).record(b, dir, 10_000, 400)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Make(b.Context(), dir, Options{Again: true}); err != nil {
			b.Fatal(err)
		}
	}
}
