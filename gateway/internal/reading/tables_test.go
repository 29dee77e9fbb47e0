package reading

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/wire"
)

// What a reply's calls are is kept within bounds, each once.
func TestCallIDs(t *testing.T) {
	var c callIDs
	for _, call := range [][2]string{{"", ""}, {"1", "f"}, {"1", ""}, {"", "g"}, {"", "g"}, {"2", ""}} {
		c.found(call[0], call[1])
		c.sign("s" + call[0])
		c.sign("again")
		c.sign("")
	}
	if got := fmt.Sprint(c.List, c.Tools, c.Names, c.bytes, c.Signatures, c.signed); got != "[1 g g 2] [f g g ] true 7 map[0:s1 1:s 2:s 3:s2] 6" {
		t.Error(got)
	}
	var many callIDs
	for i := range maxCalls + 2 {
		many.found(fmt.Sprint(i), "")
	}
	var large, signed callIDs
	large.found(strings.Repeat("x", maxCallBytes-1), "")
	large.found("y", "z")
	large.found("y", "")
	large.found("z", "")
	signed.found("a", "")
	signed.sign(strings.Repeat("x", maxSignatureBytes+1))
	signed.sign(strings.Repeat("x", maxSignatureBytes))
	if len(many.List) != maxCalls || len(large.List) != 2 || large.bytes != maxCallBytes || signed.signed != maxSignatureBytes {
		t.Errorf("%d calls, %d of %d bytes, %d bytes of signatures", len(many.List), len(large.List), large.bytes, signed.signed)
	}
}

// Encrypted items are kept if nothing was said before them, whole, and none of them if they
// are too many or too large. What they weigh is what is kept.
func TestSealedItemsKept(t *testing.T) {
	item := func(i, size int) wire.Event { return wire.Event{Index: i, Raw: strings.Repeat("x", size)} }
	for name, c := range map[string]struct {
		do   func(r *Reading)
		list []int // sizes
		many bool
	}{
		"two":                       {func(r *Reading) { r.keepSealed(item(0, 3)); r.keepSealed(item(2, 5)) }, []int{3, 5}, false},
		"one that comes twice":      {func(r *Reading) { r.keepSealed(item(0, 3)); r.keepSealed(item(0, 7)) }, []int{7}, false},
		"one that shrinks":          {func(r *Reading) { r.keepSealed(item(1, 7)); r.keepSealed(item(1, 2)) }, []int{2}, false},
		"one after a call":          {func(r *Reading) { r.keepSealed(item(0, 3)); r.Calls.found("1", "f"); r.keepSealed(item(1, 5)) }, []int{3}, false},
		"one that ends after calls": {func(r *Reading) { r.keepSealed(item(0, 3)); r.Calls.found("1", "f"); r.keepSealed(item(0, 5)) }, []int{5}, false},
		"one after text":            {func(r *Reading) { r.Choices = []*Choice{{shown: 1}}; r.keepSealed(item(1, 5)) }, nil, false},
		"one after a thought":       {func(r *Reading) { r.Choices = []*Choice{{Thought: 1}}; r.keepSealed(item(1, 5)) }, []int{5}, false},
		"not remembered":            {func(r *Reading) { r.Remembers = false; r.keepSealed(item(0, 3)) }, nil, false},
		"as large as may be":        {func(r *Reading) { r.keepSealed(item(0, maxSealedBytes)) }, []int{maxSealedBytes}, false},
		"too large": {func(r *Reading) {
			r.keepSealed(item(0, 9))
			r.keepSealed(item(1, maxSealedBytes-8))
			r.keepSealed(item(2, 1))
		}, nil, true},
	} {
		r := &Reading{Manner: Manner{Remembers: true}}
		c.do(r)
		var sizes []int
		weight := 0
		for _, raw := range r.Sealed.List {
			sizes = append(sizes, len(raw))
			weight += len(raw)
		}
		if !slices.Equal(sizes, c.list) || r.Sealed.many != c.many || r.Weight != weight || r.Sealed.bytes != weight {
			t.Errorf("%s: %v, too many: %v, weight %d, %d bytes", name, sizes, r.Sealed.many, r.Weight, r.Sealed.bytes)
		}
	}
	r := &Reading{Manner: Manner{Remembers: true}}
	for i := range maxSealedItems {
		r.keepSealed(item(i, 1))
	}
	if len(r.Sealed.List) != maxSealedItems {
		t.Errorf("%d items are kept", len(r.Sealed.List))
	}
	if r.keepSealed(item(maxSealedItems, 1)); !r.Sealed.many || r.Weight != 0 {
		t.Errorf("%+v, weight %d", r.Sealed, r.Weight)
	}
}

// A loop is found from the length and the number of repetitions on that it takes.
func TestLoopEdges(t *testing.T) {
	for _, size := range []int{1, 3, 7, 64, 341, 342, 400, 600} {
		passage := make([]byte, size)
		for i := range passage {
			passage[i] = byte('a' + (i*i+i/7)%26)
		}
		for _, n := range []int{loopLeast - 1, loopLeast, loopLeast + 1, loopTimes*size - 1, loopTimes * size, loopTimes*size + 1} {
			window := slices.Repeat(passage, n/size+1)
			window = append([]byte("<start>"), window[len(window)-n:]...)
			l := loop{window: window}
			if got, want := l.repeats(), endsInLoop(window); got != want {
				t.Errorf("%d bytes of a passage of %d: %v, want %v", n, size, got, want)
			}
		}
	}
}

// White space in a thought waits for what follows it, within its bound, and is dropped at
// the ends of a block.
func TestThoughtTrim(t *testing.T) {
	for _, c := range []struct {
		most   int
		pieces []sotto.Piece
		want   string
	}{
		{0, []sotto.Piece{{Bytes: []byte(" \n")}, {Bytes: []byte(" a ")}, {Bytes: []byte(" b\n")}}, "a| | b"},
		{0, []sotto.Piece{{Bytes: []byte("a  ")}, {Block: 1, Bytes: []byte(" ")}, {Block: 1, Bytes: []byte("b")}}, "a|\n\n|b"},
		{2, []sotto.Piece{{Bytes: []byte("a  ")}}, "a"}, {2, []sotto.Piece{{Bytes: []byte("a   ")}}, "a|   "}, {2, []sotto.Piece{{Bytes: []byte("a ")}, {Bytes: []byte(" ")}, {Bytes: []byte(" ")}, {Bytes: []byte("b")}}, "a|   |b"},
	} {
		trim := thoughtTrim{most: c.most}
		var given []string
		for _, p := range c.pieces {
			trim.add(p, func(text []byte) { given = append(given, string(text)) })
		}
		if got := strings.Join(given, "|"); got != c.want {
			t.Errorf("%v: %q, want %q", c.pieces, got, c.want)
		}
	}
}

// Letters and digits begin no marker; all other bytes may.
func TestWords(t *testing.T) {
	const words = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	for c := range 256 {
		if got := isWord(byte(c)); got != (strings.IndexByte(words, byte(c)) >= 0) {
			t.Errorf("%q: %v", byte(c), got)
		}
	}
}

// The findings about a reply are listed each once, those about the whole of it first.
func TestFindingsOfReplies(t *testing.T) {
	dropped := &Choice{}
	dropped.json.fence.dropped, dropped.json.layer = true, jsonFence
	for want, r := range map[string]*Reading{
		"": {}, "reasoning_in_content": {Reasoning: 1}, "reasoning_in_content, reasoning_in_error": {Reasoning: 2, InError: true}, "json_fence_dropped, json_missing=fence": {Choices: []*Choice{nil, dropped}},
		string(thinkingLimit) + ", " + string(thinkingLoop): {Choices: []*Choice{{overLimit: true}, {overLimit: true, circles: true}}},
	} {
		if got := r.Findings(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
