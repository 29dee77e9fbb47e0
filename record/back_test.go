package record_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sotto-llm/sotto/record"
)

// assorted is a record of several segments.
func assorted(t *testing.T, o record.Options) (dir string) {
	t.Helper()
	dir = t.TempDir()
	o.SegmentSize = 3000
	w := open(t, dir, o)
	for i := range 40 {
		run, model := fmt.Sprintf("run-%d", i%3), []string{"a", "b"}[i%2]
		switch i % 4 {
		case 3:
			put(t, w, run, i, record.CycleStart{Goal: record.Say(`,"replies":[{ in a text`)})
		case 2:
			x := said(model, "<think>long"+strings.Repeat("x", 200)+"</think>"+strings.Repeat("y", 200*i))
			put(t, w, run, i, record.Exchange{API: "openai.chat", Model: model, Outcome: "answered", Millis: int64(i), Replies: x.Replies})
		default:
			put(t, w, run, i, said(model, []string{"<think>x", "y</think>z"}[i%2]))
		}
	}
	shut(t, w)
	return dir
}

// Back gives what Events gives, in the opposite order: for every query, with and
// without indexes, in clear and encrypted records.
func TestBackIsEventsReversed(t *testing.T) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	plain := assorted(t, record.Options{SigningKey: key()})
	sealed := assorted(t, record.Options{Recipients: []age.Recipient{identity.Recipient()}})
	honest := assorted(t, record.Options{})
	lying := assorted(t, record.Options{}) // its indexes do not match their lines
	for _, s := range segments(t, lying)[:5] {
		forgeIndex(t, strings.TrimSuffix(s, ".jsonl")+".index", func(rows []byte) {
			if len(rows) < 2*56 {
				rows[40]++ // the cycle of the only line
				return
			}
			rows[36]++ // the first line, and the second begins later
			rows[56+8]++
			rows[56+36]--
		})
	}
	bad := func(err error) bool {
		var line *record.LineError
		return err != nil && !errors.As(err, &line)
	}
	rapid.Check(t, func(t *rapid.T) {
		dir := rapid.SampledFrom([]string{plain, sealed, lying}).Draw(t, "dir")
		options := record.ReadOptions{NoIndex: true, Identities: []age.Identity{identity}}
		r, err := record.OpenReader(dir, options)
		if err != nil {
			t.Fatal(err)
		}
		truth := r
		if dir == lying {
			if truth, err = record.OpenReader(honest, options); err != nil {
				t.Fatal(err)
			}
		}
		q := record.Query{
			Run:           rapid.SampledFrom([]string{"", "", "run-1"}).Draw(t, "run"),
			Model:         rapid.SampledFrom([]string{"", "", "b", "c"}).Draw(t, "model"),
			Diagnostic:    rapid.SampledFrom([]string{"", "", "truncated", "orphan_close"}).Draw(t, "code"),
			After:         uint64(rapid.IntRange(0, 45).Draw(t, "after")),
			Before:        uint64(rapid.IntRange(0, 45).Draw(t, "before")),
			NoCheckpoints: rapid.Bool().Draw(t, "checkpoints"),
		}
		if rapid.Bool().Draw(t, "types") {
			q.Types = []record.Type{record.TypeExchange, record.TypeInvocation}
		}
		var want []uint64
		for e, err := range truth.Events(q) {
			if err != nil {
				t.Fatal(err)
			}
			want = append([]uint64{e.Seq}, want...)
		}
		var got []uint64
		for g, err := range r.Back(q, 1<<20) {
			if bad(err) {
				t.Fatal(err)
			}
			if err == nil {
				got = append(got, g.Event.Seq)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%+v: %v, want %v", q, got, want)
		}
		if q.Limit = rapid.IntRange(1, 5).Draw(t, "limit"); len(want) > q.Limit {
			got = nil
			for g, err := range r.Back(q, 1<<20) {
				if err == nil {
					got = append(got, g.Seq)
				}
			}
			if !slices.Equal(got, want[:q.Limit]) {
				t.Fatalf("the last %d: %v of %v", q.Limit, got, want)
			}
		}
	})
}

// Of a line that is too long for a list, Back reads the members before the replies,
// whatever they say.
func TestBackOfLongLines(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, record.Options{})
	want := record.Exchange{
		API: "openai.chat", Model: `m","replies":[{`, Caller: "c", Outcome: "answered", Millis: 7, Error: `a ,"messages":[{ b`,
		IDs: map[string]string{"replies": "[{"}, Usage: &record.Usage{Input: 3, Output: 4},
	}
	long := want
	long.Replies = said("m", "<think>"+strings.Repeat("x", 1<<20)).Replies
	put(t, w, "", 0, long)
	put(t, w, "", 0, record.CycleStart{Goal: record.Say(strings.Repeat("y", 2000))})
	put(t, w, "", 0, want)
	shut(t, w)
	r, err := record.OpenReader(dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var list []record.Glimpse
	for g, err := range r.Back(record.Query{}, 1000) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, g)
	}
	if len(list) != 3 || list[0].Partial || !list[1].Partial || !list[2].Partial {
		t.Fatalf("%+v", list)
	}
	if list[1].Event.Payload != nil || list[1].Type != record.TypeCycleStart {
		t.Errorf("a long line of another type: %+v", list[1])
	}
	g := list[2]
	if diff := cmp.Diff(record.Payload(want), g.Event.Payload); diff != "" || g.Size < 1<<20 || g.Event.Seq != 1 || g.Event.Line() != nil {
		t.Errorf("%s; event %d, %d bytes, line %.40q", diff, g.Event.Seq, g.Size, g.Event.Line())
	}
	if !slices.Equal(g.Diagnostics, []string{"truncated", "no_visible_answer"}) {
		t.Errorf("diagnostics %v", g.Diagnostics)
	}
	found := 0
	for range r.Back(record.Query{Diagnostic: "truncated", Model: want.Model}, 1000) {
		found++
	}
	if found != 1 {
		t.Errorf("%d events with the diagnostic", found)
	}
}

// A long segment has no index, and is read backward line by line; an encrypted
// record without an identity gives its batches; a damaged line is reported and
// passed.
func TestBackWithoutIndex(t *testing.T) {
	dir := assorted(t, record.Options{})
	for _, s := range segments(t, dir) {
		os.Remove(strings.TrimSuffix(s, ".jsonl") + ".index")
	}
	first := segments(t, dir)[0]
	data, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	copy(data[20:], "#")
	if err := os.WriteFile(first, data, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := record.OpenReader(dir, record.ReadOptions{NoIndex: true})
	if err != nil {
		t.Fatal(err)
	}
	events, bad := 0, 0
	for _, err := range r.Back(record.Query{}, 1<<20) {
		var line *record.LineError
		switch {
		case errors.As(err, &line):
			bad++
		case err != nil:
			t.Fatal(err)
		default:
			events++
		}
	}
	if events != 39 || bad != 1 {
		t.Errorf("%d events, %d errors", events, bad)
	}
	identity, _ := age.GenerateX25519Identity()
	r, err = record.OpenReader(assorted(t, record.Options{Recipients: []age.Recipient{identity.Recipient()}}), record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for g, err := range r.Back(record.Query{Limit: 1}, 1<<20) {
		if err != nil || g.Type != record.TypeSealed {
			t.Errorf("%v %v", g.Type, err)
		}
	}
	for _, err := range r.Back(record.Query{Model: "a"}, 1<<20) {
		if !errors.Is(err, record.ErrSealed) {
			t.Errorf("%v", err)
		}
	}
}
