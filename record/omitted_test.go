package record_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/record"
)

// TestOmissions: what a caller left out of a text stays marked at every level, in its place,
// and everything else of the text is cut as it would be without.
func TestOmissions(t *testing.T) {
	raw := "<think>head SECRET-2</think>"
	whole := "<think>head SECRET" + strings.Repeat("x", 100) + "-2</think>42 SECRET-1"
	omitted := record.Cut{Start: 18, End: 118, Why: record.CutByLimit}
	segments := []record.Segment{{Channel: sotto.ChannelMarkup, End: 7}, {Channel: sotto.ChannelReasoning, Block: 1, Start: 7, End: 120}, {Channel: sotto.ChannelMarkup, Start: 120, End: 128}, {Channel: sotto.ChannelText, Start: 128, End: len(whole)}}
	say := func(text record.Text) record.Content { return record.Content{Text: text, Cuts: []record.Cut{omitted}} }
	for _, c := range []struct {
		name  string
		o     record.Options
		whole bool // with segments
		want  record.Text
		cuts  int
	}{
		{"full", record.Options{}, true, record.Text(raw + "42 [secret]"), 2},
		{"off", record.Options{Reasoning: record.Off}, true, "<think></think>42 [secret]", 4},
		{"digest", record.Options{Reasoning: record.Digests, DigestKey: []byte(strings.Repeat("k", 32))}, true, "<think></think>42 [secret]", 4},
		{"without segments", record.Options{Reasoning: record.Off}, false, "", 3},
	} {
		c.o.Secrets = record.NewSecrets("SECRET-1")
		reply := record.Reply{End: sotto.EndStopped, Raw: say(record.Text(raw + "42 SECRET-1")), Reasoning: []record.Thought{{Field: "thinking", Text: say("<think>head SECRET-2")}}}
		if c.whole {
			reply.Segments = segments
		}
		got := write(t, c.o, record.Exchange{Model: "m", Outcome: "answered", Replies: []record.Reply{reply}}).Replies[0]
		if got.Raw.Text != c.want || got.Raw.Len() != len(whole) || len(got.Raw.Cuts) != c.cuts {
			t.Errorf("%s: %q with the cuts %v", c.name, got.Raw.Text, got.Raw.Cuts)
		}
		for _, text := range []record.Content{got.Raw, got.Reasoning[0].Text} {
			if !slices.Contains(text.Cuts, omitted) {
				t.Errorf("%s: the cuts %v", c.name, text.Cuts)
			}
		}
	}
}

// TestForeignCuts: cuts that no caller may make, or that do not fit their text, are dropped.
func TestForeignCuts(t *testing.T) {
	for _, cuts := range [][]record.Cut{
		{{Start: 1, End: 2, Why: "reasoning"}}, {{Start: 1, End: 2, Now: 1, Why: record.CutByLimit}}, {{Start: 4, End: 5, Why: record.CutByLimit}},
		{{Start: 2, End: 2, Why: record.CutByLimit}}, {{Start: 2, End: 5, Why: record.CutByLimit}, {Start: 3, End: 9, Why: record.CutByLimit}}, {{Start: -1, End: 5, Why: record.CutByLimit}},
	} {
		got := write(t, record.Options{}, record.Exchange{Outcome: "answered", Replies: []record.Reply{{Raw: record.Content{Text: "abc", Cuts: cuts}}}}).Replies[0].Raw
		if got.Text != "abc" || !got.Whole() {
			t.Errorf("%v: %+v", cuts, got)
		}
	}
}

// write records an exchange and returns what is recorded of it.
func write(t *testing.T, o record.Options, x record.Exchange) record.Exchange {
	t.Helper()
	dir := t.TempDir()
	w := open(t, dir, o)
	put(t, w, "", 0, x)
	shut(t, w)
	return read(t, dir, record.ReadOptions{}, record.Query{})[0].Payload.(record.Exchange)
}
