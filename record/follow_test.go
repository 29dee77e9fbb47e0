package record

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"
)

// A follower gets every event once and in order, however appends, half written lines,
// lines that are taken back, the ends of segments and prunes fall between its readings.
func TestFollowInterleavings(t *testing.T) {
	source := t.TempDir() // of which the lines are
	w, err := Open(source, Options{Policy: None, SegmentSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		if _, err := w.Append(t.Context(), Event{Run: fmt.Sprint("r", i%2), Payload: CycleStart{}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	data, err := os.ReadFile(segmentAt(source, 1).path)
	if err != nil {
		t.Fatal(err)
	}
	for len(data) > 0 {
		at := slices.Index(data, '\n') + 1
		all, data = append(all, data[:at]), data[at:]
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 25 {
		follows(t, rng, all, Query{After: uint64(rng.IntN(6)), Run: []string{"", "r1"}[rng.IntN(2)], Limit: []int{0, 0, 7}[rng.IntN(3)]})
	}
}

func follows(t *testing.T, rng *rand.Rand, all [][]byte, q Query) {
	dir := t.TempDir()
	r, err := OpenReader(dir, ReadOptions{NoIndex: true})
	if err != nil {
		t.Fatal(err)
	}
	var got, want []uint64
	at, more := place{}, true
	out := sink{q: &q, yield: func(e Event, err error) bool {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Seq)
		return true
	}}
	var done []string
	next, started, half := 1, uint64(0), 0 // half: bytes of the next line that are there
	current := segment{}
	add := func(line []byte) {
		f, err := os.OpenFile(current.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err == nil {
			_, err = f.Write(line)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for next <= len(all) {
		op := rng.IntN(6)
		switch {
		case current.path == "" || op == 0 && half == 0 && uint64(next) > started: // another segment
			started = uint64(next)
			current = segmentAt(dir, started)
			add(nil)
			op = 0
		case op == 1 && half == 0: // a part of a line
			half = 1 + rng.IntN(len(all[next-1])-1)
			add(all[next-1][:half])
		case op == 2 && half > 0: // which is taken back
			info, err := os.Stat(current.path)
			if err == nil {
				err = os.Truncate(current.path, info.Size()-int64(half))
			}
			if err != nil {
				t.Fatal(err)
			}
			half = 0
		case op == 3: // the oldest segment is pruned, when it was read
			list, err := segmentsOf(dir)
			if err != nil || len(list) < 2 || at.segment <= list[0].first {
				continue
			}
			if err := os.Remove(list[0].path); err != nil {
				t.Fatal(err)
			}
		default:
			add(all[next-1][half:])
			half = 0
			if uint64(next) > q.After && (q.Run == "" || next%2 == 0) && (q.Limit == 0 || len(want) < q.Limit) {
				want = append(want, uint64(next))
			}
			next++
		}
		done = append(done, fmt.Sprint(op))
		if more && rng.IntN(3) > 0 {
			more = r.advance(&at, &q, &out)
			if q.Limit > 0 && more == (len(got) >= q.Limit) {
				t.Fatalf("%+v, %v: more is wanted: %v, after %d events", q, done, more, len(got))
			}
		}
		if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
			t.Fatalf("%+v, %v: the follower gets %v of %v", q, done, got, want)
		}
	}
	if more {
		r.advance(&at, &q, &out)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%+v, %v: the follower gets %v, want %v", q, done, got, want)
	}
}

// A line that was read and then taken back is followed by the one that takes its place; a
// folder that is gone is an error at each reading, until the caller has enough.
func TestFollowUndone(t *testing.T) {
	dir := t.TempDir()
	line := func(seq uint64, text string) []byte {
		dst := append(appendFront(nil, "", seq, 0, time.Unix(1, 0).UTC()), `"run":"","cycle":0,"type":"CYCLE_START","payload":{"goal":{"text":"`+text+`"}}`...)
		dst, _ = appendBack(dst, 0, Digest{})
		return dst
	}
	first, second := line(1, "one"), line(2, "undone")
	path := segmentAt(dir, 1).path
	write := func(parts ...[]byte) {
		if err := os.WriteFile(path, slices.Concat(parts...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := OpenReader(dir, ReadOptions{Poll: time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	var q Query
	at, got, enough := place{}, "", false
	out := sink{q: &q, yield: func(e Event, err error) bool {
		if err != nil {
			got += "error "
			return !enough
		}
		got += string(e.Payload.(CycleStart).Goal.Text) + " "
		return !enough
	}}
	for _, step := range []struct {
		write func()
		got   string
		more  bool
	}{
		{func() { write(first, second) }, "one undone ", true},
		{func() { write(first) }, "", true},
		{func() { write(first, line(2, "now"), line(3, "three")) }, "now three ", true},
		{func() { write(first, line(2, "now"), line(3, "three"), line(4, "four")); enough = true }, "four ", false},
		{func() { err = os.Rename(dir, dir+"-away") }, "error ", false},
		{func() { enough = false }, "error ", true},
		{func() { err = os.Rename(dir+"-away", dir) }, "four ", true},
	} {
		got = ""
		if step.write(); err != nil {
			t.Fatal(err)
		}
		if more := r.advance(&at, &q, &out); more != step.more || got != step.got {
			t.Fatalf("the follower gets %s and wants more: %v; want %s, %v", got, more, step.got, step.more)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	got = ""
	for e, err := range r.Follow(ctx, Query{After: 1}) {
		if got += fmt.Sprint(e.Seq, err, " "); e.Seq == 3 {
			stop() // the fourth is not wanted any more
		}
	}
	if got != "2 <nil> 3 <nil> " {
		t.Errorf("a follower that stops gets %s", got)
	}
}
