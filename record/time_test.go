package record_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sotto-llm/sotto/record"
)

// A segment ends when its first event is old enough, whenever the next comes.
func TestSegmentAge(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := open(t, dir, record.Options{SegmentAge: time.Hour})
		for range 5 {
			put(t, w, "", 0, record.CycleStart{})
			time.Sleep(25 * time.Minute)
		}
		shut(t, w)
	})
	if list := segments(t, dir); len(list) != 2 {
		t.Errorf("segments %v", list)
	}
	sound(t, dir, record.VerifyOptions{})
	synctest.Test(t, func(t *testing.T) { // also of one that was opened again
		time.Sleep(10 * time.Hour)
		w := open(t, dir, record.Options{SegmentAge: time.Hour})
		put(t, w, "", 0, record.CycleStart{})
		shut(t, w)
	})
	if list := segments(t, dir); len(list) != 3 {
		t.Errorf("segments %v", list)
	}
}

// A checkpoint comes at the latest CheckpointAfter behind an event, also while
// others keep coming, and none comes where there is nothing to sign.
func TestCheckpointsInTime(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := open(t, dir, record.Options{SigningKey: key()})
		put(t, w, "", 0, record.CycleStart{})
		time.Sleep(10 * time.Minute)
		for range 7 {
			put(t, w, "", 0, record.CycleStart{})
			time.Sleep(20 * time.Second)
		}
		time.Sleep(time.Hour)
		shut(t, w)
	})
	list := read(t, dir, record.ReadOptions{}, record.Query{})
	var unsigned []time.Time
	checkpoints := 0
	for _, e := range list {
		if e.Type != record.TypeCheckpoint {
			unsigned = append(unsigned, e.Time)
			continue
		}
		checkpoints++
		for _, at := range unsigned {
			if d := e.Time.Sub(at); d > time.Minute+time.Second {
				t.Errorf("an event was signed after %v", d)
			}
		}
		unsigned = nil
	}
	if len(unsigned) > 0 || checkpoints != 4 {
		t.Errorf("%d checkpoints, %d events without", checkpoints, len(unsigned))
	}
	sound(t, dir, record.VerifyOptions{Keys: public()})
}
