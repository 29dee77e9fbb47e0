package textcmd

import (
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/cli/reading"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/internal/reply/demo"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
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
				if dst, err = work(dst[:0], line, nil, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
