package anthropic

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/wire"
)

var tokens = []string{"<think>", "</think>", "<think>", "</think>", "<", "</th", "<narrate>", "</narrate>", "<output>", "</output>", "a", "b ", "\n", "\n\n", "`", "\"", "\\", "é", "日本", "😀", "&"}

// seeds is how many seeds are tried.
func seeds(n uint64) uint64 {
	if effort.Brief() {
		return n / 10
	}
	return n * uint64(effort.Times())
}

func randomText(rng *rand.Rand) string {
	var b strings.Builder
	for range rng.IntN(9) {
		b.WriteString(tokens[rng.IntN(len(tokens))])
	}
	return b.String()
}

func randomMessage(rng *rand.Rand) message {
	reasons := []string{"end_turn", "stop_sequence", "tool_use", "max_tokens", "refusal", "pause_turn", "new"}
	m := message{reason: reasons[rng.IntN(len(reasons))]}
	for range rng.IntN(6) {
		switch rng.IntN(6) {
		case 0:
			m.blocks = append(m.blocks, tool)
		case 1:
			m.blocks = append(m.blocks, redacted)
		case 2:
			m.blocks = append(m.blocks, thinks(randomText(rng), []string{"", "c2ln"}[rng.IntN(2)]))
		default:
			m.blocks = append(m.blocks, says(randomText(rng)))
		}
	}
	return m
}

func randomSpelling(rng *rand.Rand) spelling {
	return spelling{rng: rng, ping: rng.IntN(3) == 0, lines: rng.IntN(3) == 0, empty: rng.IntN(3) == 0, late: rng.IntN(3) == 0}
}

// However a message is cut and spelt, a strict client takes its stream, and gets
// the blocks that the whole body gives; tools and sealed blocks are all there.
func TestStreamedIsWhole(t *testing.T) {
	for seed := range seeds(4000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		m := randomMessage(rng)
		from := &reader{start: starts[rng.IntN(len(starts))], hide: rng.IntN(3) == 0, tags: rng.IntN(3) == 0}
		d := from.with()
		writes := from.hide || rng.IntN(2) == 0
		body := d.either(writes).Whole(nil, m.whole(), d)
		want := wholeBlocks(t, body)
		checkKept(t, m.blocks, want, from)
		ends := d.closed
		for range 3 {
			d, s := from.with(), randomSpelling(rng)
			y := d.either(writes)
			got := received(t, y.End(pass(y, m.stream(s), d, nil), nil, d))
			if show(got.blocks) != show(want) || !got.stopped || got.fault != "" {
				t.Fatalf("seed %d, %+v, %+v\nof    %s, %s\ngot   %s\nwhole %s", seed, *from, s, show(m.blocks), m.reason, show(got.blocks), show(want))
			}
			for choice, end := range d.closed {
				if ends[choice] != end {
					t.Fatalf("seed %d: choice %d ended %v in the stream, %v in the body", seed, choice, end, ends[choice])
				}
			}
		}
	}
}

// checkKept checks what the reading may not touch.
func checkKept(t *testing.T, from, to []block, d *reader) {
	t.Helper()
	sealed := func(list []block) (kept []block) {
		for _, b := range list {
			if b.Type == "tool_use" || b.Type == "redacted_thinking" || b.Sig != "" && !d.tags {
				if d.hide && b.Type == "thinking" {
					b.Text = ""
				}
				kept = append(kept, b)
			}
		}
		return kept
	}
	if want, got := sealed(from), sealed(to); !slices.Equal(got, want) {
		t.Fatalf("of %s\nkept %s", show(from), show(to))
	}
	if !d.hide {
		return
	}
	for _, b := range to {
		if b.Type == "thinking" && b.Text != "" {
			t.Fatalf("hidden reasoning in %s", show(to))
		}
	}
}

// A stream that breaks anywhere is still one that a strict client takes, and
// begins as the unbroken one.
func TestBrokenAnywhere(t *testing.T) {
	for seed := range seeds(300) {
		rng := rand.New(rand.NewPCG(seed, 2))
		m := randomMessage(rng)
		from := &reader{start: starts[rng.IntN(len(starts))], hide: rng.IntN(3) == 0, tags: rng.IntN(3) == 0}
		writes := rng.IntN(2) == 0
		frames := bytes.SplitAfter(m.stream(randomSpelling(rng)), []byte("\n\n"))
		for n := range frames {
			d := from.with()
			y := d.either(writes)
			got := received(t, y.End(pass(y, bytes.Join(frames[:n], nil), d, nil), nil, d))
			if (got.fault == "") != (n >= len(frames)-1) {
				t.Fatalf("seed %d: fault %q after %d of %d frames", seed, got.fault, n, len(frames))
			}
			if got.open && got.blocks[len(got.blocks)-1].Type != "tool_use" && got.blocks[len(got.blocks)-1].Type != "redacted_thinking" {
				t.Fatalf("seed %d: %s is open", seed, show(got.blocks))
			}
			if len(d.Open()) > 0 {
				t.Fatalf("seed %d: open choices %v", seed, d.Open())
			}
		}
	}
}

// A frame that is like an earlier one is written as if it were parsed.
func TestShapes(t *testing.T) {
	for seed := range seeds(1000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		m := randomMessage(rng)
		from := &reader{start: starts[rng.IntN(len(starts))], tags: rng.IntN(3) == 0}
		stream := m.stream(randomSpelling(rng))
		d := from.with()
		fast := pass(d.reply(), stream, d, nil)
		d = from.with()
		y := d.reply()
		slow := pass(y, stream, d, func() { y.shapes = [3]shape{} })
		if !bytes.Equal(fast, slow) {
			t.Fatalf("seed %d:\n%s\nand parsed\n%s", seed, fast, slow)
		}
	}
}

// FuzzFrames feeds any bytes: nothing panics, and an end is an error or has been
// a message_stop.
func FuzzFrames(f *testing.F) {
	for _, c := range replies {
		m := message{c.blocks, "end_turn"}
		f.Add(m.stream(spelling{}), c.reader.hide, c.reader.tags)
	}
	f.Fuzz(func(t *testing.T, stream []byte, hide, tags bool) {
		d := &reader{hide: hide, tags: tags}
		for _, writes := range []bool{false, true} {
			d = d.with()
			y := d.either(writes)
			out := y.End(pass(y, stream, d, nil), nil, d)
			if len(d.Open()) > 0 || len(y.End(nil, nil, d)) > 0 {
				t.Fatalf("open %v after\n%s", d.Open(), out)
			}
			d = d.with()
			d.either(writes).Whole(nil, stream, d)
		}
	})
}

// Frames that leave as they came cost no memory.
func TestAllocs(t *testing.T) {
	for _, c := range []struct {
		name   string
		blocks []block
		shift  bool
	}{
		{"text", blocksOf(says(strings.Repeat("some text ", 50))), false},
		{"thinking", blocksOf(thinks(strings.Repeat("some text ", 50), "c2ln")), false},
		{"tool", blocksOf(block{Type: "tool_use", Text: strings.Repeat(" ", 99)}), false},
		{"escapes", blocksOf(says(strings.Repeat("say \"é\"\n", 50))), false},
		{"shifted text", blocksOf(says("<think>r</think>" + strings.Repeat("some text ", 50))), true},
	} {
		d := &reader{}
		y := d.reply()
		stream := message{c.blocks, "end_turn"}.stream(spelling{rng: rand.New(rand.NewPCG(1, 1))})
		half := stream[:len(stream)/2+bytes.Index(stream[len(stream)/2:], []byte("event: content_block_delta"))]
		dst := make([]byte, 0, 4*len(stream))
		dst = append(dst, pass(y, half, d, nil)...)
		frame := bytes.Clone(stream[len(half):])
		frame = frame[:bytes.Index(frame, []byte("\n\n"))+2]
		at := bytes.Index(frame, []byte("{"))
		f := wire.Frame{Raw: frame, Type: frame[7:26], Data: frame[at : len(frame)-2], At: at}
		got := y.Frame(dst[:0], f, d)
		if !c.shift && !bytes.Equal(got, frame) {
			t.Errorf("%s: %q became %q", c.name, frame, got)
		}
		if n := testing.AllocsPerRun(100, func() { y.Frame(dst[:0], f, d) }); n != 0 {
			t.Errorf("%s: %v allocations", c.name, n)
		}
	}
}

func BenchmarkFrame(b *testing.B) {
	d := &reader{}
	y := d.reply()
	stream := message{blocksOf(says("some text")), "end_turn"}.stream(spelling{})
	pass(y, cutAt(stream, "content_block_stop"), d, nil)
	frame := spelling{}.deltas(nil, 0, "text_delta", "text", " word")
	at := bytes.Index(frame, []byte("{"))
	f := wire.Frame{Raw: frame, Data: frame[at : len(frame)-2], At: at}
	var dst []byte
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		dst = y.Frame(dst[:0], f, d)
	}
}
