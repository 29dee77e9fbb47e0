package sotto_test

import (
	"fmt"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/testing/replies"
)

var benchGrammars = []struct {
	name string
	g    *sotto.Grammar
}{{"qwen3", mustNamed("qwen3")}, {"default", sotto.Default()}}

// onceGrammars also has a grammar that watches the order of a reply's parts.
var onceGrammars = append(benchGrammars[:len(benchGrammars):len(benchGrammars)], struct {
	name string
	g    *sotto.Grammar
}{"thought", mustNamed("thought")})

func mustNamed(name string) *sotto.Grammar {
	g, err := sotto.Named(name)
	if err != nil {
		panic(err)
	}
	return g
}

func newSplitter(t testing.TB, g *sotto.Grammar, o sotto.Options) *sotto.Splitter {
	t.Helper()
	s, err := g.NewSplitter(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var benchStreams = []struct{ name, head, body string }{
	{"reasoning", "<think>\nSo ", replies.Reasoning(64 << 10)},
	{"text", "So ", replies.Text(64 << 10)},
	{"prose", "So ", replies.Prose(64 << 10)},
}

// In steady state a delta costs no allocation, for any ordinary content.
func TestDeltasDoNotAllocate(t *testing.T) {
	effort.OneGoroutine(t)
	for _, in := range append(benchStreams, []struct{ name, head, body string }{
		{"angles in reasoning", "<think>\nSo ", "if a < b then <b>bold</b>, <!-- or --> x <<= 2 "},
		{"back-ticks in reasoning", "<think>\nSo ", "`a`, ``b ` c`` and\n```go\nx < y\n```\nso `unpaired\n"},
		{"angles in text", "So ", "if a < b then <b>bold</b>, <!-- or --> x <<= 2\n"},
		{"back-ticks in text", "So ", "`a`, ``b ` c`` and `List<T>`\n```go\nx < y\n```\n~~~\n<ul>\n~~~\nso `unpaired\n"},
		{"tags in text", "So ", "<ul>\n<li><a href=\"/\">List<String></a></li>\n</ul>, < / , <strong>so</strong> it is <"},
		{"text after a block", "<think>a</think>\nSo ", "`a` < `b`, and so on.\n\n"},
		{"a prefix of a marker", "So ", "<thin <think-tank> </thinks> <tool_cal "},
		{"a prefix of a close", "<think>So ", "</thin </think-tank> </thinks> <tool_cal "},
	}...) {
		for size := range 64 {
			deltas := replies.Deltas(in.body, size+1)
			for _, g := range onceGrammars {
				s := newSplitter(t, g.g, sotto.Options{})
				s.FeedString(in.head)
				feed := func() {
					for _, d := range deltas {
						s.FeedString(d)
					}
				}
				for range 10 { // the cuts fall at other places of the lines each time
					feed()
				}
				if n := fewestAllocs(feed); n != 0 {
					t.Errorf("%s, %s: %v allocations in %d deltas of %d bytes", g.name, in.name, n, len(deltas), size+1)
				}
			}
		}
	}
}

// fewestAllocs returns the fewest allocations of three runs of f. The count is that of
// the whole process, and the runtime allocates now and then while f runs.
func fewestAllocs(f func()) float64 {
	n := testing.AllocsPerRun(1, f)
	for range 2 {
		if n == 0 {
			break
		}
		n = min(n, testing.AllocsPerRun(1, f))
	}
	return n
}

// A reply of ordinary length, read by a splitter that has already read one.
func TestRepliesDoNotAllocate(t *testing.T) {
	deltas := replies.Deltas(replies.Whole(16<<10, 0.5), 4)
	for _, g := range onceGrammars {
		s := newSplitter(t, g.g, sotto.Options{})
		read := func() {
			s.Reset()
			for _, d := range deltas {
				s.FeedString(d)
			}
			s.Close(sotto.EndStopped)
		}
		if n := testing.AllocsPerRun(5, read); n != 0 {
			t.Errorf("%s: %v allocations", g.name, n)
		}
	}
}

func BenchmarkDelta(b *testing.B) {
	for _, in := range benchStreams {
		for _, size := range []int{1, 4, 16, 64, 4096} {
			deltas := replies.Deltas(in.body, size)
			for _, g := range benchGrammars {
				b.Run(fmt.Sprintf("%s/%d/%s", in.name, size, g.name), func(b *testing.B) {
					s := newSplitter(b, g.g, sotto.Options{})
					s.FeedString(in.head)
					b.SetBytes(int64(len(in.body)))
					b.ReportAllocs()
					for b.Loop() {
						for _, d := range deltas {
							s.FeedString(d)
						}
					}
					perDelta(b, len(deltas))
				})
			}
		}
	}
}

func BenchmarkReply(b *testing.B) {
	for _, in := range []struct {
		name string
		part float64
	}{{"half", 0.5}, {"reasoning", 0.95}, {"text", 0.05}} {
		reply := replies.Whole(1<<20, in.part)
		for _, g := range benchGrammars {
			b.Run(in.name+"/feed/"+g.name, func(b *testing.B) {
				benchReply(b, g.g, sotto.Options{}, len(reply), reply)
			})
			b.Run(in.name+"/parse/"+g.name, func(b *testing.B) {
				b.SetBytes(int64(len(reply)))
				b.ReportAllocs()
				for b.Loop() {
					r, err := g.g.Parse(reply, sotto.BeginOutside, sotto.EndStopped)
					if err != nil {
						b.Fatal(err)
					}
					r.Visible()
				}
			})
		}
	}
}

// The time per byte must not grow with the reply.
func BenchmarkGrowth(b *testing.B) {
	for _, size := range []int{1 << 10, 16 << 10, 256 << 10, 4 << 20, 64 << 20} {
		reply := replies.Whole(size, 0.5)
		b.Run(fmt.Sprintf("whole/%d", size), func(b *testing.B) {
			benchReply(b, sotto.Default(), sotto.Options{MaxHold: -1}, size, reply)
		})
		b.Run(fmt.Sprintf("deltas/%d", size), func(b *testing.B) {
			benchReply(b, sotto.Default(), sotto.Options{}, size, replies.Deltas(reply, 16)...)
		})
	}
}

// Nor may it grow with a hostile reply; -short leaves out the longest.
func BenchmarkHostile(b *testing.B) {
	for _, h := range replies.Hostile {
		for _, size := range []int{1 << 10, 64 << 10, 1 << 20, 64 << 20} {
			if testing.Short() && size > 1<<20 {
				continue
			}
			b.Run(fmt.Sprintf("%s/whole/%d", h.Name, size), func(b *testing.B) {
				reply := h.Of(size)
				benchReply(b, sotto.Default(), sotto.Options{MaxHold: -1}, len(reply), reply)
			})
			b.Run(fmt.Sprintf("%s/deltas/%d", h.Name, size), func(b *testing.B) {
				reply := h.Of(size)
				benchReply(b, sotto.Default(), sotto.Options{}, len(reply), replies.Deltas(reply, 16)...)
			})
		}
	}
}

func benchReply(b *testing.B, g *sotto.Grammar, o sotto.Options, size int, deltas ...string) {
	s := newSplitter(b, g, o)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		s.Reset()
		for _, d := range deltas {
			s.FeedString(d)
		}
		s.Close(sotto.EndStopped)
	}
	perDelta(b, len(deltas))
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size), "ns/byte")
}

func perDelta(b *testing.B, deltas int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(deltas), "ns/delta")
}
