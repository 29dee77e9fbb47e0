package record

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"filippo.io/age"

	"github.com/sotto-llm/sotto"
)

// Cuts that are added cut every byte of their spans, once: what is cut already stays cut for
// its own reason.
func TestAddedCuts(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const size = 24
	spans := func() (list []Span) {
		for range rng.IntN(5) {
			at := rng.IntN(size)
			list = append(list, Span{Start: at, End: at + 1 + rng.IntN(size-at)})
		}
		return list
	}
	for range 3000 {
		var want [size]string
		mark := func(list []Span, why string) {
			for _, s := range list {
				for i := s.Start; i < s.End; i++ {
					if want[i] == "" {
						want[i] = why
					}
				}
			}
		}
		first, second := spans(), spans()
		text := fmt.Sprint(first, second)
		mark(first, "pattern")
		mark(second, "secret")
		cuts := add(add(nil, first, "pattern"), second, "secret")
		var got [size]string
		last := 0
		for _, c := range cuts {
			if c.Start < last || c.End <= c.Start || c.Now != len(words[c.Why]) {
				t.Fatalf("%s: %+v", text, cuts)
			}
			last = c.End
			for i := c.Start; i < c.End; i++ {
				got[i] = c.Why
			}
		}
		if got != want {
			t.Fatalf("%s: %+v cut %q, want %q", text, cuts, got, want)
		}
	}
}

// A reply whose segments do not cover it is read again; in a dialect that is not known here
// all of it is reasoning.
func TestCoveredReplies(t *testing.T) {
	for _, c := range []struct {
		list []Segment
		size int
		want bool
	}{{nil, 0, true}, {nil, 1, false}, {[]Segment{{Start: 0, End: 2}, {Start: 2, End: 5}}, 5, true}, {[]Segment{{Start: 0, End: 2}, {Start: 3, End: 5}}, 5, false}, {[]Segment{{Start: 1, End: 5}}, 5, false}, {[]Segment{{Start: 0, End: 4}}, 5, false}, {[]Segment{{Start: 0, End: 6}}, 5, false}, {[]Segment{{Start: 0, End: -1}, {Start: -1, End: 5}}, 5, false}} {
		if got := covers(c.list, c.size); got != c.want {
			t.Errorf("%v of %d bytes: %v", c.list, c.size, got)
		}
	}
	r := Reply{Raw: Say("<think>a</think>b"), Start: sotto.BeginOutside}
	if list := readAgain(r); len(list) != 4 || list[1].Channel != sotto.ChannelReasoning || list[3].Channel != sotto.ChannelText {
		t.Errorf("%+v", list)
	}
	for _, change := range []func(*Reply){func(r *Reply) { r.Dialect = "none" }, func(r *Reply) { r.Start = "middle" }} {
		bad := r
		change(&bad)
		if list := readAgain(bad); len(list) != 1 || list[0].Channel != sotto.ChannelReasoning || list[0].Start != 0 || list[0].End != len(r.Raw.Text) {
			t.Errorf("%+v", list)
		}
	}
}

// Of a record that cannot be decrypted, events are given as batches, those that a query asks
// for by number, and no more than it asks for.
func TestSealedQueries(t *testing.T) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "audit")
	w, err := Open(dir, Options{Policy: None, Recipients: []age.Recipient{id.Recipient()}})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := w.Append(t.Context(), Event{Payload: CycleStart{}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, ids := range [][]age.Identity{nil, {id}} {
		r, err := OpenReader(dir, ReadOptions{Identities: ids})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			q    Query
			want string
		}{{Query{}, "1 2 3 4 5 "}, {Query{Limit: 2}, "1 2 "}, {Query{Limit: 5}, "1 2 3 4 5 "}, {Query{After: 3}, "4 5 "}, {Query{Before: 3}, "1 2 "}, {Query{After: 1, Before: 5, Limit: 1}, "2 "}, {Query{After: 5}, ""}} {
			got := ""
			for e, err := range r.Events(c.q) {
				if err != nil {
					t.Errorf("%+v: %v", c.q, err)
					break
				}
				got += fmt.Sprint(e.Seq, " ")
			}
			if got != c.want {
				t.Errorf("%+v with %d identities: %s, want %s", c.q, len(ids), got, c.want)
			}
		}
	}
}
