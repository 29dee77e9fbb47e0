package record_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
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
