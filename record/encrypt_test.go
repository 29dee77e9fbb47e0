package record_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/record"
)

// What is written for a recipient comes back to the identity, byte for byte, and
// to nobody else: the folder holds no word of it.
func TestEncryption(t *testing.T) {
	id, to := recipient(t)
	dir := t.TempDir()
	raw := "<think>CANARY \xff</think>CANARY"
	var group sync.WaitGroup
	for range 2 { // the writer goes on with what it cannot read
		w := open(t, dir, record.Options{Recipients: to, SigningKey: key(), SegmentSize: 8 << 10})
		for i := range 40 {
			group.Go(func() {
				if _, err := w.Append(t.Context(), record.Event{Run: "CANARY-run", Cycle: i, Payload: said("CANARY-model", raw)}); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		shut(t, w)
	}
	if all := everything(t, dir); strings.Contains(all, "CANARY") || strings.Contains(all, "LLM_INVOCATION") {
		t.Error("something stands in the clear")
	}
	r := sound(t, dir, record.VerifyOptions{Keys: public()})
	q := record.Query{Run: "CANARY-run", Model: "CANARY-model", Types: []record.Type{record.TypeInvocation}}
	got := read(t, dir, record.ReadOptions{Identities: []age.Identity{id}}, q)
	if len(got) != 80 || r.Events != uint64(80+r.Checkpoints) {
		t.Fatalf("%d events, report %+v", len(got), r)
	}
	for _, e := range got {
		if string(e.Payload.(record.Invocation).Replies[0].Raw.Text) != raw {
			t.Fatalf("event %d is %s", e.Seq, e.Line())
		}
	}
	one := read(t, dir, record.ReadOptions{Identities: []age.Identity{id}}, record.Query{After: got[10].Seq, Limit: 1})
	if len(one) != 1 || one[0].Seq != got[10].Seq+1 {
		t.Errorf("after %d comes %+v", got[10].Seq, one)
	}
}

// Without the identity a reader sees batches, and is told where a query needs
// more.
func TestSealed(t *testing.T) {
	_, to := recipient(t)
	dir := t.TempDir()
	w := open(t, dir, record.Options{Recipients: to})
	for i := range 3 {
		put(t, w, "r", i, record.CycleStart{})
	}
	shut(t, w)
	for i, e := range read(t, dir, record.ReadOptions{}, record.Query{From: time.Now().Add(-time.Hour)}) {
		if p, ok := e.Payload.(record.SealedBatch); !ok || e.Type != record.TypeSealed || p.Last != uint64(i+1) || len(p.Age) == 0 {
			t.Errorf("event %+v", e)
		}
	}
	other, _ := recipient(t)
	for _, o := range []record.ReadOptions{{}, {Identities: []age.Identity{other}}} {
		r, _ := record.OpenReader(dir, o)
		n := 0
		for _, err := range r.Events(record.Query{Run: "r"}) {
			n++
			var no *age.NoIdentityMatchError
			if !errors.Is(err, record.ErrSealed) && !errors.As(err, &no) {
				t.Errorf("a query without the identity: %v", err)
			}
		}
		if n == 0 {
			t.Error("a query without the identity finds nothing and says nothing")
		}
	}
	r, _ := record.OpenReader(dir, record.ReadOptions{})
	for _, err := range r.Entries(record.Query{Run: "r"}) {
		if !errors.Is(err, record.ErrSealed) {
			t.Errorf("entries: %v", err)
		}
	}
}

// Tampering with an encrypted record is found at the batch.
func TestSealedTampered(t *testing.T) {
	_, to := recipient(t)
	_, l, _ := written(t, record.Options{Recipients: to})
	l[4] = []byte(strings.Replace(string(l[4]), `"age":"YWdl`, `"age":"YWdm`, 1))
	r := verify(t, join(t, l...), record.VerifyOptions{Keys: public()})
	if len(r.Findings) != 1 || r.Findings[0].Fault != record.Edited || r.Findings[0].First != 5 {
		t.Errorf("found %v", r.Findings)
	}
	if got := fmt.Sprint(r.Findings[0]); got != "event 5 (00000000000000000001.jsonl): edited" {
		t.Errorf("the finding says %q", got)
	}
}
