package agent

import (
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/record"
)

// Retention prunes what came before a run, and nothing of the run, which is resumed
// and replayed from its record.
func TestRetentionKeepsTheRun(t *testing.T) {
	dir := t.TempDir()
	o := in(dir)
	o.RecordOptions.SegmentSize, o.RecordOptions.KeepSize = 1500, 1
	w, err := record.Open(o.Record, record.Options{SegmentSize: 1500})
	if err != nil {
		t.Fatal(err)
	}
	for range 12 {
		if _, err := w.Append(t.Context(), record.Event{Run: "earlier", Payload: record.CycleStart{Goal: record.Say(strings.Repeat("x", 400))}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for cycles := 2; cycles <= 3; cycles++ { // the second time it is extended
		x := keeps(t, "v")
		x.Cycles = cycles
		if s, err := Run(t.Context(), x, o); err != nil || s.Status != Done || s.Cycles != cycles {
			t.Fatalf("%+v, %v", s, err)
		}
		stones, _ := filepath.Glob(filepath.Join(o.Record, "*.pruned"))
		segments, _ := filepath.Glob(filepath.Join(o.Record, "*.jsonl"))
		if len(stones) < 3 || len(segments) < 3 {
			t.Errorf("%d segments were pruned, %d are left", len(stones), len(segments))
		}
		if p, err := Replay(t.Context(), x, o.Record, Options{}); err != nil || p.Difference != nil {
			t.Errorf("%v, %v", p.Difference, err)
		}
		if r, err := record.Verify(o.Record, record.VerifyOptions{}); err != nil || r.Err() != nil {
			t.Errorf("%v, %v", err, r.Err())
		}
	}
}

// An encrypted record is begun without an identity, and resumed and replayed with
// one. Without one nobody can tell whether the run is in it.
func TestEncryptedRun(t *testing.T) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	o := in(t.TempDir())
	o.RecordOptions.Recipients = []age.Recipient{id.Recipient()}
	x := keeps(t, "v")
	if s, err := Run(t.Context(), x, o); err != nil || s.Status != Done {
		t.Fatalf("%+v, %v", s, err)
	}
	if _, err := Run(t.Context(), x, o); !isError(err, record.ErrSealed) {
		t.Errorf("resumed without an identity: %v", err)
	}
	if _, err := Replay(t.Context(), x, o.Record, Options{}); !isError(err, record.ErrSealed) {
		t.Errorf("replayed without an identity: %v", err)
	}
	o.Identities = []age.Identity{id}
	if s, err := Run(t.Context(), x, o); err != nil || s.Passed == 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if p, err := Replay(t.Context(), x, o.Record, Options{Identities: o.Identities}); err != nil || p.Difference != nil || p.Events == 0 {
		t.Errorf("%+v, %v", p, err)
	}
}

// A record of which something is withheld cannot be resumed, so it is not begun.
func TestLevelsOfRuns(t *testing.T) {
	o := in(t.TempDir())
	o.RecordOptions.Reasoning = record.Off
	if _, err := Run(t.Context(), keeps(t, "v"), o); err == nil || !strings.Contains(err.Error(), "full") {
		t.Errorf("error %v", err)
	}
}
