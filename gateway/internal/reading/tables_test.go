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
		c.name(call[0], call[1])
		c.sign("s" + call[0])
		c.sign("again")
		c.sign("")
	}
	if got := fmt.Sprint(c.List, c.Tools, c.Names, c.bytes, c.Signatures, c.signed); got != "[1 g g 2] [f g g ] true 7 map[0:s1 1:s 2:s 3:s2] 6" {
		t.Error(got)
	}
	var many callIDs
	for i := range maxCalls + 2 {
		many.name(fmt.Sprint(i), "")
	}
	var large, signed callIDs
	large.name(strings.Repeat("x", maxCallBytes-1), "")
	large.name("y", "z")
	large.name("y", "")
	large.name("z", "")
	signed.name("a", "")
	signed.sign(strings.Repeat("x", maxSignatureBytes+1))
	signed.sign(strings.Repeat("x", maxSignatureBytes))
	if len(many.List) != maxCalls || len(large.List) != 2 || large.bytes != maxCallBytes || signed.signed != maxSignatureBytes {
		t.Errorf("%d calls, %d of %d bytes, %d bytes of signatures", len(many.List), len(large.List), large.bytes, signed.signed)
	}
}

// The arguments of calls are kept whole, or not at all.
func TestCallArguments(t *testing.T) {
	piece := func(i int, id, text string) wire.Event {
		return wire.Event{Index: i, ID: id, Name: id, Text: []byte(text)}
	}
	whole, again := piece(0, "", "{}"), piece(0, "", "twice")
	whole.Whole, again.Again = true, true
	large := strings.Repeat("x", maxArgumentBytes)
	for name, c := range map[string]struct {
		events []wire.Event
		want   []string
	}{
		"in turns":           {[]wire.Event{piece(0, "a", ""), piece(1, "b", "[1"), piece(0, "", "{"), piece(1, "", "]"), piece(0, "", "}")}, []string{"{}", "[1]"}},
		"whole at the end":   {[]wire.Event{piece(0, "a", "{"), whole}, []string{"{}"}},
		"said again":         {[]wire.Event{piece(0, "a", "{}"), again}, []string{"{}"}},
		"one number twice":   {[]wire.Event{piece(0, "a", "1"), piece(0, "b", "2")}, []string{"1", "2"}},
		"of no call":         {[]wire.Event{piece(0, "a", "1"), piece(1, "", "2")}, nil},
		"as large as may be": {[]wire.Event{piece(0, "a", large[1:]), piece(1, "b", "2")}, []string{large[1:], "2"}},
		"too large":          {[]wire.Event{piece(0, "a", large), piece(1, "b", "2"), piece(1, "", "3")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := Reading{Manner: Manner{Remembers: true}}
			for i := range c.events {
				r.keepCall(&c.events[i])
			}
			if got := r.Calls.Arguments(); !slices.Equal(got, c.want) || r.Weight != len(strings.Join(c.want, "")) {
				t.Errorf("%.20q, weight %d", got, r.Weight)
			}
		})
	}
}

// What the blocks of a reply say is kept together. Choices and items are kept apart, and so is a text without a
// first one.
func TestKeptVisible(t *testing.T) {
	for name, c := range map[string]struct {
		can  wire.Capabilities
		at   []int // of the texts "a", "b" …
		want string
	}{
		"blocks":         {wire.Capabilities{Texts: true}, []int{0, 1, 3}, "abc true"},
		"one block":      {wire.Capabilities{Texts: true}, []int{0, 0}, "ab false"},
		"choices":        {wire.Capabilities{}, []int{0, 1, 0}, "ac false"},
		"items":          {wire.Capabilities{Texts: true, Items: true}, []int{0, 1}, "a false"},
		"no first block": {wire.Capabilities{Texts: true}, []int{1, 2}, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Reading{Manner: Manner{Remembers: true, Can: c.can}, Limits: Bounds{Choices: 9, Frame: 99}}
			for i, at := range c.at {
				r.keepVisible(r.choice(at), []byte{'a' + byte(i)})
			}
			got := "none"
			if first := r.First(); first != nil {
				got = fmt.Sprintf("%s %v", first.Kept.Visible, first.Kept.Several)
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
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
		"one after a call":          {func(r *Reading) { r.keepSealed(item(0, 3)); r.Calls.name("1", "f"); r.keepSealed(item(1, 5)) }, []int{3}, false},
		"one that ends after calls": {func(r *Reading) { r.keepSealed(item(0, 3)); r.Calls.name("1", "f"); r.keepSealed(item(0, 5)) }, []int{5}, false},
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
			trim.trim(p, func(text []byte) { given = append(given, string(text)) })
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
