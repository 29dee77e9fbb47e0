//go:build unix

package record_test

import (
	"context"
	"crypto/sha256"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/record"
)

// A cost is what something took of the clock and of the processors.
type cost struct{ wall, cpu float64 }

// took measures f, which returns the time that counts of it.
func took(f func() time.Duration) cost {
	used := func() float64 {
		var u syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
	}
	from := used()
	wall := f().Seconds()
	return cost{wall, used() - from}
}

// ratio returns how many times as fast a was as b, by the medians of the pairs.
func ratio(a, b []cost) cost {
	var wall, cpu []float64
	for i := range a {
		wall, cpu = append(wall, b[i].wall/a[i].wall), append(cpu, b[i].cpu/a[i].cpu)
	}
	return cost{median(wall), median(cpu)}
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// TestRatios, with RECORD_RATIOS set, holds appends against a bare buffered write
// of the same events, verifying against SHA-256 of the same bytes, and verifying with
// two workers against one, a pair after the other. It is a measurement, so that no build rests on it.
func TestRatios(t *testing.T) {
	if os.Getenv("RECORD_RATIOS") == "" {
		t.Skip("a measurement: set RECORD_RATIOS")
	}
	const n, rounds = 30_000, 11
	_, to := recipient(t)
	names := []string{"bare, the lines ready", "bare, encoding", "always", "batch", "none", "always, signed", "always, encrypted"}
	runs := []func() time.Duration{
		func() time.Duration { return bare(t, n, false) },
		func() time.Duration { return bare(t, n, true) },
		func() time.Duration { return appends(t, n, record.Options{}) },
		func() time.Duration { return appends(t, n, record.Options{Policy: record.Batch}) },
		func() time.Duration { return appends(t, n, record.Options{Policy: record.None}) },
		func() time.Duration { return appends(t, n, record.Options{SigningKey: key()}) },
		func() time.Duration { return appends(t, n, record.Options{Recipients: to}) },
	}
	costs := make([][]cost, len(runs))
	for range rounds {
		for i, run := range runs {
			costs[i] = append(costs[i], took(run))
		}
	}
	for i, name := range names {
		best := slices.MinFunc(costs[i], func(a, b cost) int { return int(1e9 * (a.wall - b.wall)) })
		ready, encoding := ratio(costs[i], costs[0]), ratio(costs[i], costs[1])
		t.Logf("%-22s best %6.0f events/s; of bare with the lines ready %.2f (processor %.2f), of bare that encodes %.2f (processor %.2f)",
			name, n/best.wall, ready.wall, ready.cpu, encoding.wall, encoding.cpu)
	}
	if got := ratio(costs[2], costs[1]); got.wall < 0.7 {
		t.Errorf("appends with an fsync behind each are %.2f times as fast as a bare write of the same events", got.wall)
	}
}

// TestVerifyRatios is the part of verifying.
func TestVerifyRatios(t *testing.T) {
	if os.Getenv("RECORD_RATIOS") == "" {
		t.Skip("a measurement: set RECORD_RATIOS")
	}
	const n, rounds = 30_000, 11
	verifyRatio(t, n, rounds)
	workersRatio(t, n, 3*rounds)
}

// workersRatio holds verifying with two workers against verifying with one. Rounds count
// apart in which two processors were free: SHA-256 of the halves at once was 1.8 times as
// fast as one after the other.
func workersRatio(t *testing.T, n, rounds int) {
	dir := t.TempDir()
	w := open(t, dir, record.Options{Policy: record.None, SegmentSize: 4 << 20})
	e := twoKB()
	abreast(t, n, func() error { _, err := w.Append(context.Background(), e); return err })
	shut(t, w)
	list := segments(t, dir)
	half := len(list) / 2
	verifying := func(workers int) cost {
		return took(func() time.Duration {
			from := time.Now()
			if r, err := record.Verify(dir, record.VerifyOptions{Workers: workers}); err != nil || r.Err() != nil {
				t.Fatal(err, r.Err())
			}
			return time.Since(from)
		})
	}
	var one, two, each, both, free1, free2 []cost
	for range rounds {
		one, two = append(one, verifying(1)), append(two, verifying(2))
		each = append(each, took(func() time.Duration { return hashed(t, list[:half]) + hashed(t, list[half:]) }))
		both = append(both, took(func() time.Duration {
			from := time.Now()
			var group sync.WaitGroup
			group.Go(func() { hashed(t, list[:half]) })
			hashed(t, list[half:])
			group.Wait()
			return time.Since(from)
		}))
		if i := len(one) - 1; each[i].wall/both[i].wall >= 1.8 {
			free1, free2 = append(free1, one[i]), append(free2, two[i])
		}
	}
	got, hash := ratio(two, one), ratio(both, each)
	t.Logf("verify with two workers: %.2f times as fast as with one (SHA-256 alone: %.2f), with %.2f times the processor time", got.wall, hash.wall, 1/got.cpu)
	if len(free1) > 0 {
		t.Logf("the same in the %d of %d rounds with two free processors: %.2f", len(free1), rounds, ratio(free2, free1).wall)
	}
}

func verifyRatio(t *testing.T, n, rounds int) {
	dir := t.TempDir()
	w := open(t, dir, record.Options{Policy: record.None})
	e := twoKB()
	abreast(t, n, func() error { _, err := w.Append(context.Background(), e); return err })
	shut(t, w)
	var check, hash []cost
	var bytes int64
	for range rounds + 1 {
		check = append(check, took(func() time.Duration {
			from := time.Now()
			bytes = sound(t, dir, record.VerifyOptions{}).Bytes
			return time.Since(from)
		}))
		hash = append(hash, took(func() time.Duration { return hashed(t, segments(t, dir)) }))
	}
	best := slices.MinFunc(check, func(a, b cost) int { return int(1e9 * (a.cpu - b.cpu)) })
	got := ratio(hash, check)
	t.Logf("verify %.0f MB/s of one processor; %.2f times the processor time of SHA-256 over the same bytes", float64(bytes)/1e6/best.cpu, got.cpu)
	if got.cpu > 1.5 && float64(bytes)/1e6/best.cpu < 300 {
		t.Error("verifying is too slow")
	}
}

// hashed reads segments through SHA-256.
func hashed(t *testing.T, list []string) time.Duration {
	from := time.Now()
	h := sha256.New()
	for _, s := range list {
		f, err := os.Open(s)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{f}, make([]byte, 1<<20))
		f.Close()
	}
	return time.Since(from)
}
