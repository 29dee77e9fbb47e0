package rivals

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/testing/replies"
)

var grammars = []struct {
	name string
	g    *sotto.Grammar
}{{"qwen3", Qwen3()}, {"default", sotto.Default()}}

// The rivals must do the same work before their times are compared.
func TestSameAnswer(t *testing.T) {
	for _, part := range []float64{0.5, 0.95, 0.05} {
		reply := replies.Whole(64<<10, part)
		for _, g := range grammars {
			r, err := g.g.Parse(reply, sotto.BeginOutside, sotto.EndStopped)
			if err != nil {
				t.Fatal(err)
			}
			p := ollama()
			var thought, text strings.Builder
			for _, d := range replies.Deltas(reply, 7) {
				a, b := p.AddContent(d)
				thought.WriteString(a)
				text.WriteString(b)
			}
			if text.String() != r.Visible() {
				t.Errorf("%s: the answers differ", g.name)
			}
			if strings.TrimSpace(thought.String()) != strings.Join(r.Reasoning(), "") {
				t.Errorf("%s: the reasoning differs", g.name)
			}
			if got := thinkBlock.ReplaceAllString(reply, ""); strings.TrimSpace(got) != strings.TrimSpace(r.Visible()) {
				t.Errorf("%s: the regexp's answer differs", g.name)
			}
		}
	}
}

func BenchmarkDelta(b *testing.B) {
	for _, in := range []struct{ name, head, body string }{
		{"reasoning", "<think>\nSo ", replies.Reasoning(64 << 10)},
		{"text", "So ", replies.Text(64 << 10)},
		{"prose", "So ", replies.Prose(64 << 10)},
	} {
		for _, size := range []int{1, 4, 16, 64, 4096} {
			deltas := replies.Deltas(in.body, size)
			for _, g := range grammars {
				b.Run(fmt.Sprintf("%s/%d/%s", in.name, size, g.name), func(b *testing.B) {
					measure(b, len(in.body), len(deltas), Deltas(g.g, in.head, deltas))
				})
			}
			b.Run(fmt.Sprintf("%s/%d/ollama", in.name, size), func(b *testing.B) {
				measure(b, len(in.body), len(deltas), OllamaDeltas(in.head, deltas))
			})
		}
	}
}

func BenchmarkReply(b *testing.B) {
	for _, in := range []struct {
		name  string
		reply string
	}{
		{"half", replies.Whole(1<<20, 0.5)},
		{"reasoning", replies.Whole(1<<20, 0.95)},
		{"text", replies.Whole(1<<20, 0.05)},
	} {
		for _, r := range []struct {
			name string
			run  Run
		}{
			{"qwen3", Reply(Qwen3(), sotto.Options{}, in.reply)},
			{"default", Reply(sotto.Default(), sotto.Options{}, in.reply)},
			{"parse", Parse(Qwen3(), in.reply)},
			{"ollama", OllamaReply(in.reply)},
			{"regexp", Regexp(in.reply)},
			{"lines", Lines(in.reply)},
			{"angles", Angles(in.reply)},
			{"copy", Copy(in.reply)},
		} {
			b.Run(in.name+"/"+r.name, func(b *testing.B) { measure(b, len(in.reply), 1, r.run) })
		}
	}
}

// BenchmarkGrowth reads longer and longer replies in deltas of 16 bytes.
func BenchmarkGrowth(b *testing.B) {
	for _, size := range []int{1 << 10, 16 << 10, 256 << 10, 4 << 20} {
		deltas := replies.Deltas(replies.Whole(size, 0.5), 16)
		for _, r := range []struct {
			name string
			run  Run
			most int
		}{
			{"qwen3", Reply(Qwen3(), sotto.Options{}, deltas...), 1 << 30},
			{"ollama", OllamaReply(deltas...), 1 << 30},
			{"regexp", RegexpStream(deltas...), 16 << 10},
		} {
			if size <= r.most {
				b.Run(fmt.Sprintf("%s/%d", r.name, size), func(b *testing.B) { measure(b, size, len(deltas), r.run) })
			}
		}
	}
}

func measure(b *testing.B, size, deltas int, run Run) {
	run()
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(deltas), "ns/delta")
}
