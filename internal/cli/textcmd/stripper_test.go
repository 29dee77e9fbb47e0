package textcmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/internal/cli/reading"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/internal/reply/demo"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/internal/testing/race"
	"github.com/sotto-llm/sotto/internal/testing/replies"
)

// TestStripperIsStrip checks that the shortcuts of strip --jsonl give the same
// result as Grammar.Strip.
func TestStripperIsStrip(t *testing.T) {
	seen := 0
	for next := demo.Scripted(); ; seen++ {
		reply, err := next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, start := range []sotto.Beginning{reply.Start, sotto.BeginOutside, sotto.BeginAuto} {
			m := dialectset.Manner{Grammar: reply.Grammar, Name: reply.Dialect, Start: start, End: reply.End}
			text := strings.Join(reply.Deltas, "")
			want, err := m.Grammar.Strip(text, start)
			if err != nil {
				t.Fatal(err)
			}
			object := append(jsontext.AppendString([]byte(`{"raw":`), text), '}')
			got, err := newStripper(m, linesOf(t), watchOf(), "raw", []jsonpath.Step{{Name: "raw"}}, nil).line(nil, object)
			if err != nil {
				t.Fatal(err)
			}
			if want := string(jsontext.AppendString([]byte(`{"raw":`), want)) + "}"; string(got) != want {
				t.Errorf("%s from %s: got %s, want %s", reply.Caption, start, got, want)
			}
		}
	}
	if seen == 0 {
		t.Error("no replies")
	}
}

// FuzzStripper checks that reading a reply once, and then what stays of it, gives the bytes
// that Strip gives, which reads again until nothing changes.
func FuzzStripper(f *testing.F) {
	for _, seed := range []string{
		"<think>a</think>b", "plain", "a</think>b", "<th<think></think>ink>x</think>y", "<th<narrate></narrate>ink>c</th<narrate></narrate>ink>d",
		"<<think>a</think>think>b</think>c", "`<think>`<think>`</think>`", "a<output>b</output>c", "[TH<think>x</think>INK]a[/THINK]b",
		"<thi<thi<think>a</think>nk>b</think>nk>c</think>d", "\n<think>a</think>\n\n b", "```\n<think>\n```<think>a",
	} {
		f.Add(seed, uint8(0), uint8(0))
		f.Add(seed, uint8(1), uint8(5))
	}
	rows, lines, watch := dialect.All(), linesOf(f), watchOf()
	f.Fuzz(func(t *testing.T, text string, row, way uint8) {
		agrees(t, lines, watch, rows[int(row)%len(rows)].Name, text, way)
	})
}

// agrees checks a reply. The bits of way are the start, the end and what is inline.
func agrees(t *testing.T, lines *dialectset.LineReader, watch *reading.Watch, name, text string, way uint8) (again bool) {
	t.Helper()
	g, err := sotto.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	var inline []sotto.Channel
	if way&1 != 0 {
		inline = []sotto.Channel{sotto.ChannelNarration}
	}
	m := dialectset.Manner{Grammar: g, Name: name, By: dialectset.ByFlag,
		Start: []sotto.Beginning{sotto.BeginAuto, sotto.BeginOutside}[way>>1&1],
		End:   []sotto.Ending{sotto.EndUnknown, sotto.EndStopped, sotto.EndCut, sotto.EndAborted}[way>>2&3]}
	s := newStripper(m, lines, watch, "raw", nil, inline)
	s.text = []byte(text)
	got, same, err := s.visible(m)
	if err != nil {
		t.Fatal(err)
	}
	read, err := g.Parse(text, m.Start, m.End)
	if err != nil {
		t.Fatal(err)
	}
	want := read.VisibleWith(inline...)
	if same != (want == text) {
		t.Fatalf("%s, %q: unchanged %v, but what is visible is %q", name, text, same, want)
	}
	if want != text {
		once := want
		if want, err = s.strip(m); err != nil {
			t.Fatal(err)
		}
		again = want != once
	}
	if string(got) != want {
		t.Fatalf("%s from %s to %s, %q: got %q, want %q", name, m.Start, m.End, text, got, want)
	}
	return again
}

// TestStripperAgrees: the law of FuzzStripper for replies of the markers of each dialect, also
// cut in two, many of which change when they are read again.
func TestStripperAgrees(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	lines, watch := linesOf(t), watchOf()
	changes := 0
	for _, row := range dialect.All() {
		parts := []string{"a", " ", "\n", "`", "```\n", "\"", "b c", "<think>", "</think>", "<narrate>", "</narrate>", "<output>", "</output>"}
		for _, k := range row.Markers {
			whole := append(slices.Clone(k.Open), k.Close...)
			if k.Tag != "" {
				whole = append(whole, "<"+k.Tag+">", "</"+k.Tag+">")
			}
			for _, one := range whole {
				parts = append(parts, one, one, one[:len(one)/2], one[len(one)/2:])
			}
		}
		for range 200 {
			text := ""
			for range 2 + rng.IntN(9) {
				text += parts[rng.IntN(len(parts))]
			}
			if agrees(t, lines, watch, row.Name, text, uint8(rng.IntN(16))) {
				changes++
			}
		}
	}
	if changes < 20 {
		t.Errorf("only %d replies changed when they were read again", changes)
	}
}

// TestStripAllocates: lines take no memory of their own.
func TestStripAllocates(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	line := func(reply string) []byte { return append(jsontext.AppendString([]byte(`{"id":1,"raw":`), reply), '}') }
	all := [][]byte{
		line("<think>" + strings.Repeat("A thought, if a < b.\n", 50) + "</think>" + strings.Repeat("So \"it\" is.\n", 50)),
		line(strings.Repeat("Only an answer <b>in bold</b>.\n", 60)),
	}
	work := newStripper(dialectset.Manner{Grammar: sotto.Default(), By: dialectset.ByDefault, Start: sotto.BeginAuto}, linesOf(t), watchOf(), "raw", []jsonpath.Step{{Name: "raw"}}, nil)
	strip := stripLine(&sync.Pool{New: func() any { return work }}) // a collection of the garbage may empty it
	var dst []byte
	allocations := testing.AllocsPerRun(5, func() {
		for i := range 1000 {
			var err error
			if dst, err = strip(dst[:0], all[i%2], nil, batch.LineAt(1)); err != nil {
				t.Fatal(err)
			}
		}
	})
	if allocations > 10 {
		t.Errorf("1,000 lines take %v allocations", allocations)
	}
}

// A reader may take any of several members of the same name, so each is stripped, and
// every other byte stays.
func TestStripEveryMember(t *testing.T) {
	m := dialectset.Manner{Grammar: sotto.Default(), Start: sotto.BeginAuto}
	for _, tt := range []struct{ field, line, want string }{
		{"raw", `{"raw":"<think>a</think>x", "raw":"<think>b</think>y"}`, `{"raw":"x", "raw":"y"}`},
		{"raw", `{"raw":"<think>a</think>x","raw":"y"}`, `{"raw":"x","raw":"y"}`},
		{"m.-1.c", `{"m":[{"c":"<think>a</think>x"},{"c":"<think>b</think>y","c":"z"}],"m":[{"c":"<think>d</think>u"}]}`,
			`{"m":[{"c":"<think>a</think>x"},{"c":"y","c":"z"}],"m":[{"c":"u"}]}`},
	} {
		path, err := jsonpath.Parse(tt.field)
		if err != nil {
			t.Fatal(err)
		}
		got, err := newStripper(m, linesOf(t), watchOf(), tt.field, path, nil).line(nil, []byte(tt.line))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v; want %s", tt.line, got, err, tt.want)
		}
	}
}

func linesOf(t testing.TB) *dialectset.LineReader {
	lines, err := new(dialectset.Set).LineReader("", false)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func watchOf() *reading.Watch { return reading.NewWatch(new(dialectset.Set)) }

func BenchmarkStripLines(b *testing.B) {
	for name, raw := range map[string]string{
		"plain":  strings.Repeat("A sentence of an answer.\\n", 60),
		"tagged": "<think>" + strings.Repeat("A sentence of a thought.\\n", 50) + "</think>" + strings.Repeat("So it is. ", 25),
	} {
		b.Run(name, func(b *testing.B) {
			line := []byte(`{"id":"x","meta":{"n":[1,2.5,null]},"raw":"` + raw + `"}`)
			work := stripLine(&sync.Pool{New: func() any {
				return newStripper(dialectset.Manner{Grammar: sotto.Default(), Start: sotto.BeginAuto}, linesOf(b), watchOf(), "raw", []jsonpath.Step{{Name: "raw"}}, nil)
			}})
			var dst []byte
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if dst, err = work(dst[:0], line, nil, batch.LineAt(1)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStripPipeline strips lines of 2 kB as Go writes them, by one worker, without the
// start of a program: of every n-th, a thought is removed.
func BenchmarkStripPipeline(b *testing.B) {
	for _, every := range []int{20, 2} {
		b.Run(fmt.Sprintf("1in%d", every), func(b *testing.B) {
			var lines bytes.Buffer
			for i := 0; lines.Len() < 16<<20; i++ {
				reply := replies.Text(2 << 10)
				if i%every == 0 {
					reply = replies.Whole(2<<10, 0.5)
				}
				if err := json.NewEncoder(&lines).Encode(map[string]any{"id": i, "raw": reply}); err != nil {
					b.Fatal(err)
				}
			}
			work := stripLine(&sync.Pool{New: func() any {
				return newStripper(dialectset.Manner{Grammar: sotto.Default(), By: dialectset.ByDefault, Start: sotto.BeginAuto}, linesOf(b), watchOf(), "raw", []jsonpath.Step{{Name: "raw"}}, nil)
			}})
			b.SetBytes(int64(lines.Len()))
			for b.Loop() {
				p := &batch.Pipeline{Line: work, Workers: 1}
				if err := p.Run(bytes.NewReader(lines.Bytes()), io.Discard); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
