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

// A checkpoint comes at the latest CheckpointAfter after an event, also while
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

// A writer that is to keep only so long, or so much, prunes by itself: also where
// nothing comes any more.
func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := open(t, dir, record.Options{SegmentSize: 1, KeepFor: 48 * time.Hour, SigningKey: key()})
		for range 3 {
			put(t, w, "", 0, record.CycleStart{})
		}
		time.Sleep(47 * time.Hour)
		synctest.Wait()
		if n := len(segments(t, dir)); n != 3 {
			t.Errorf("%d segments after 47 hours, want 3", n)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if n := len(segments(t, dir)); n != 1 {
			t.Errorf("%d segments after 49 hours, want 1", n)
		}
		put(t, w, "", 0, record.CycleStart{}) // what a new segment makes the last but one is old as well
		synctest.Wait()
		shut(t, w)
		if r := sound(t, dir, record.VerifyOptions{Keys: public()}); r.Pruned != 3 || r.Segments != 1 {
			t.Errorf("%+v", r)
		}

		dir = t.TempDir()
		w = open(t, dir, record.Options{SegmentSize: 1, KeepSize: 1000})
		for range 20 {
			put(t, w, "", 0, record.CycleStart{})
		}
		synctest.Wait()
		if n := len(segments(t, dir)); n < 2 || n > 8 {
			t.Errorf("%d segments are left in 1000 bytes", n)
		}
		shut(t, w)
		sound(t, dir, record.VerifyOptions{})
	})
}
