package record_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/record"
)

// Random queries select what they say, whichever of the readers is asked, of records of
// several segments, in clear and encrypted.
func TestRandomQueries(t *testing.T) {
	id, to := recipient(t)
	now := time.Now()
	for name, o := range map[string]record.Options{"plain": {SigningKey: key(), CheckpointEvery: 7}, "sealed": {Recipients: to}} {
		dir := t.TempDir()
		o.SegmentSize, o.Policy = 5000, record.None
		w := open(t, dir, o)
		for i := range 40 {
			run := fmt.Sprintf("run-%d", i%3)
			put(t, w, run, i/3, said([]string{"a", "b"}[i%2], []string{"<think>x</think>y", "<think>x", "plain", ""}[i%4]))
			if i%10 == 0 {
				put(t, w, run, i/3, record.Failure{Code: "upstream"})
			}
			if i%15 == 0 {
				put(t, w, run, i/3, record.RunStart{Model: "b"})
			}
		}
		shut(t, w)
		r, err := record.OpenReader(dir, record.ReadOptions{Identities: []age.Identity{id}})
		if err != nil {
			t.Fatal(err)
		}
		all := read(t, dir, record.ReadOptions{Identities: []age.Identity{id}}, record.Query{})
		rng := rand.New(rand.NewPCG(3, 4))
		for range map[string]int{"plain": 80, "sealed": 10}[name] {
			q := randomQuery(rng, all, now)
			want := selected(all, q)
			var got, back, listed []uint64
			for e, err := range r.Events(q) {
				got = append(got, e.Seq)
				if err != nil {
					t.Fatal(err)
				}
			}
			for g, err := range r.Back(q, 1<<20) {
				back = append(back, g.Event.Seq)
				if err != nil {
					t.Fatal(err)
				}
			}
			last := want
			if q.Limit > 0 {
				wide := q
				wide.Limit = 0
				last = selected(all, wide)
				last = last[max(0, len(last)-q.Limit):]
			}
			slices.Reverse(back)
			if !slices.Equal(got, want) || !slices.Equal(back, last) {
				t.Fatalf("%s: %+v gives %v and backwards %v, want %v and %v", name, q, got, back, want, last)
			}
			if name == "sealed" {
				continue
			}
			for e, err := range r.Entries(q) {
				listed = append(listed, e.Seq)
				if err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(listed, want) {
				t.Fatalf("%+v lists %v, want %v", q, listed, want)
			}
		}
	}
}

// randomQuery asks for each member about every third time.
func randomQuery(rng *rand.Rand, all []record.Event, now time.Time) (q record.Query) {
	some := func() bool { return rng.IntN(3) == 0 }
	seq := func() uint64 { return uint64(rng.IntN(len(all) + 3)) }
	at := func() time.Time {
		if rng.IntN(6) == 0 {
			return now.Add(time.Duration(rng.IntN(3)-1) * time.Hour)
		}
		return all[rng.IntN(len(all))].Time
	}
	if some() {
		q.Run = []string{"run-1", "run-2", "none"}[rng.IntN(3)]
	}
	if some() {
		q.Model = []string{"a", "b", "c"}[rng.IntN(3)]
	}
	if rng.IntN(6) == 0 {
		q.Diagnostic = []string{string(sotto.CodeTruncated), "upstream", "none"}[rng.IntN(3)]
	}
	if rng.IntN(6) == 0 {
		cycle := rng.IntN(4)
		q.Cycle = &cycle
	}
	if some() {
		q.Types = [][]record.Type{{record.TypeInvocation}, {record.TypeError, record.TypeCheckpoint}, {"NONE"}}[rng.IntN(3)]
	}
	if some() {
		q.From = at()
	}
	if some() {
		q.To = at()
	}
	if some() {
		q.After = seq()
	}
	if some() {
		q.Before = seq()
	}
	if some() {
		q.Limit = 1 + rng.IntN(5)
	}
	q.NoCheckpoints = some()
	return q
}

// Appending changes nothing in the payload of the caller, who may use it for something else
// meanwhile, whatever is withheld of it.
func TestPayloadsAreTheCallers(t *testing.T) {
	const secret = "secret-12345678"
	w := open(t, t.TempDir(), record.Options{Policy: record.None, Reasoning: record.Digests, Answer: record.Off, IDs: record.Off, Secrets: record.NewSecrets(secret)})
	defer shut(t, w)
	for _, p := range payloads {
		full := func() record.Payload {
			v := reflect.New(reflect.TypeOf(p)).Elem()
			fillStrings(v, "<think>"+secret+"</think>https://u:"+secret+"@host")
			return v.Interface().(record.Payload)
		}
		given := full()
		put(t, w, "r", 1, given)
		if want := full(); !reflect.DeepEqual(given, want) {
			t.Errorf("%s became %+v, was %+v", p.Type(), given, want)
		}
	}
}

// Opening a record and closing it again changes no byte of it, and a checkpoint is due as if
// it had stayed open.
func TestOpenedAgain(t *testing.T) {
	_, to := recipient(t)
	for name, o := range map[string]record.Options{"plain": {}, "signed": {SigningKey: key(), CheckpointEvery: 6}, "sealed": {SigningKey: key(), CheckpointEvery: 6, Recipients: to}} {
		dir := t.TempDir()
		w := open(t, dir, o)
		for i := range 4 {
			put(t, w, "r", i, record.CycleStart{})
		}
		shut(t, w)
		before := everything(t, dir)
		for range 2 {
			w = open(t, dir, o)
			if r := sound(t, dir, record.VerifyOptions{}); w.Head() != r.Head || w.ID() == "" || r.ID != w.ID() {
				t.Errorf("%s: %s of %s is opened as %s of %s", name, r.Head, r.ID, w.Head(), w.ID())
			}
			shut(t, w)
			if everything(t, dir) != before {
				t.Errorf("%s: opening and closing changed the record", name)
			}
		}
		w = open(t, dir, o)
		var seqs []uint64
		for i := range 7 {
			seqs = append(seqs, put(t, w, "r", i, record.CycleStart{}).Seq)
		}
		shut(t, w)
		want := []uint64{5, 6, 7, 8, 9, 10, 11}
		if o.SigningKey != nil {
			want = []uint64{6, 7, 8, 9, 10, 11, 13} // 5 and 12 are checkpoints
		}
		if !slices.Equal(seqs, want) {
			t.Errorf("%s: the events have the numbers %v, want %v", name, seqs, want)
		}
		r := sound(t, dir, record.VerifyOptions{Keys: public()})
		for _, e := range read(t, dir, record.ReadOptions{}, record.Query{}) {
			c, ok := e.Payload.(record.Checkpoint)
			if ok && (c.Record != r.ID || c.Key != fmt.Sprintf("%x", []byte(public()[0])) || c.Sig == "") {
				t.Errorf("%s: %+v", name, c)
			}
		}
	}
}

// Reading on after an event gives all that follow, also by an index that shows other lines
// than the segment has.
func TestAfterByLyingIndexes(t *testing.T) {
	for name, forge := range map[string]func(rows []byte){
		"a boundary between lines": func(b []byte) { b[4*56+36]++; b[5*56+36]--; b[5*56+8]++ },
		"the first boundary":       func(b []byte) { b[36]++; b[56+36]--; b[56+8]++ },
		"all boundaries": func(b []byte) {
			for i := range 6 {
				b[2*i*56+36]++
				b[(2*i+1)*56+36]--
				b[(2*i+1)*56+8]++
			}
		},
		"a run": func(b []byte) { b[3*56+44] ^= 1 },
	} {
		dir, index := withIndex(t, record.Options{})
		want := read(t, dir, record.ReadOptions{NoIndex: true}, record.Query{})
		forgeIndex(t, index, forge)
		for after := range len(want) + 1 {
			got := read(t, dir, record.ReadOptions{NoIndex: true}, record.Query{After: uint64(after)})
			if len(got) != len(want)-after || after < len(want) && got[0].Seq != want[after].Seq {
				t.Errorf("%s: %d events after %d of %d", name, len(got), after, len(want))
			}
		}
	}
}
