package record_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/record"
)

const benchWriters = 256

// twoKB is an event whose line has about 2 KB.
func twoKB() record.Event {
	raw := "<think>" + strings.Repeat("Six times seven is forty-two, \"is it not\"? Let me see.\n", 20) + "</think>\n" +
		strings.Repeat("The answer is 42, since 6 × 7 = 42.\n", 9)
	return record.Event{Run: "run-1", Cycle: 3, Payload: said("qwen3:8b", raw)}
}

// lineOf is the line that an event becomes.
func lineOf(tb testing.TB, e record.Event) []byte {
	dir := tb.TempDir()
	w := open(tb, dir, record.Options{})
	put(tb, w, e.Run, e.Cycle, e.Payload)
	shut(tb, w)
	data, err := os.ReadFile(segments(tb, dir)[0])
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// abreast calls one n times from many goroutines and returns what it took.
func abreast(tb testing.TB, n int, one func() error) time.Duration {
	var left atomic.Int64
	left.Store(int64(n))
	var group sync.WaitGroup
	from := time.Now()
	for range benchWriters {
		group.Go(func() {
			for left.Add(-1) >= 0 {
				if err := one(); err != nil {
					tb.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	return time.Since(from)
}

// appends appends n events and returns what it took, to the last acknowledgement.
func appends(tb testing.TB, n int, o record.Options) time.Duration {
	w := open(tb, tb.TempDir(), o)
	defer shut(tb, w)
	e := twoKB()
	return abreast(tb, n, func() error {
		_, err := w.Append(context.Background(), e)
		return err
	})
}

// bare writes n lines through a buffer with a mutex, without fsync. encode makes
// the line of the event each time, as a logger would.
func bare(tb testing.TB, n int, encode bool) time.Duration {
	f, err := os.Create(filepath.Join(tb.TempDir(), "f"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	out := bufio.NewWriterSize(f, 1<<20)
	defer out.Flush()
	e, line := twoKB(), lineOf(tb, twoKB())
	var mu sync.Mutex
	return abreast(tb, n, func() error {
		line := line
		if encode {
			var b bytes.Buffer
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(e.Payload); err != nil {
				return err
			}
			line = b.Bytes()
		}
		mu.Lock()
		defer mu.Unlock()
		_, err := out.Write(line)
		return err
	})
}

func recipient(tb testing.TB) (*age.X25519Identity, []age.Recipient) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		tb.Fatal(err)
	}
	return id, []age.Recipient{id.Recipient()}
}

func BenchmarkAppend(b *testing.B) {
	_, to := recipient(b)
	size := int64(len(lineOf(b, twoKB())))
	report := func(name string, run func(n int) time.Duration) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			took := run(b.N)
			b.ReportMetric(float64(b.N)/took.Seconds(), "events/s")
		})
	}
	report("always", func(n int) time.Duration { return appends(b, n, record.Options{}) })
	report("batch", func(n int) time.Duration { return appends(b, n, record.Options{Policy: record.Batch}) })
	report("none", func(n int) time.Duration { return appends(b, n, record.Options{Policy: record.None}) })
	report("always,signed", func(n int) time.Duration { return appends(b, n, record.Options{SigningKey: key()}) })
	report("always,encrypted", func(n int) time.Duration { return appends(b, n, record.Options{Recipients: to}) })
	report("always,digest", func(n int) time.Duration {
		return appends(b, n, record.Options{Reasoning: record.Digests, Secrets: record.NewSecrets("sk-something-secret")})
	})
	report("bare", func(n int) time.Duration { return bare(b, n, false) })
	report("bare,encoding", func(n int) time.Duration { return bare(b, n, true) })
}

// TestRatios, with RECORD_RATIOS set, holds appends against a bare buffered write
// of the same events, and verifying against SHA-256 of the same bytes. It needs a
// machine that does nothing else, so that no build rests on it.
func TestRatios(t *testing.T) {
	if os.Getenv("RECORD_RATIOS") == "" {
		t.Skip("a measurement: set RECORD_RATIOS")
	}
	const n, rounds = 30_000, 12
	_, to := recipient(t)
	runs := []func() time.Duration{
		func() time.Duration { return bare(t, n, false) },
		func() time.Duration { return bare(t, n, true) },
		func() time.Duration { return appends(t, n, record.Options{}) },
		func() time.Duration { return appends(t, n, record.Options{Recipients: to}) },
	}
	best := make([]float64, len(runs)) // events a second
	for range rounds {
		for i, run := range runs {
			best[i] = max(best[i], float64(n)/run().Seconds())
		}
	}
	t.Logf("%d writers: bare buffered write %.0f/s, with the encoding %.0f/s; fsync behind every append %.0f/s (%.2f and %.2f of it); encrypted %.0f/s",
		benchWriters, best[0], best[1], best[2], best[2]/best[0], best[2]/best[1], best[3])
	check, hash, mb := verifying(t, n, rounds)
	t.Logf("verify %.0f MB/s, SHA-256 of the same bytes %.0f MB/s (%.2f times the time)", mb/check.Seconds(), mb/hash.Seconds(), check.Seconds()/hash.Seconds())
	if best[2] < 0.7*best[1] || mb/check.Seconds() < 300 && check.Seconds() > 1.5*hash.Seconds() {
		t.Error("a target is missed")
	}
}

// verifying times Verify, and SHA-256 over the same files.
func verifying(t *testing.T, n, rounds int) (check, hash time.Duration, mb float64) {
	dir := t.TempDir()
	w := open(t, dir, record.Options{Policy: record.None})
	e := twoKB()
	abreast(t, n, func() error { _, err := w.Append(context.Background(), e); return err })
	shut(t, w)
	check, hash = time.Hour, time.Hour
	for range rounds + 1 {
		from := time.Now()
		mb = float64(sound(t, dir, record.VerifyOptions{}).Bytes) / 1e6
		check, from = min(check, time.Since(from)), time.Now()
		h := sha256.New()
		for _, s := range segments(t, dir) {
			f, err := os.Open(s)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{f}, make([]byte, 1<<20))
			f.Close()
		}
		hash = min(hash, time.Since(from))
	}
	return check, hash, mb
}
