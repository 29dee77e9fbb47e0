package gateway_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/record"
)

// streams asks for n replies, several at once, and checks that each came whole.
func streams(t *testing.T, g http.Handler, n int) {
	t.Helper()
	m, _ := scripted.Find("minimax-m2")
	srv := httptest.NewServer(g)
	defer srv.Close()
	var all sync.WaitGroup
	work := make(chan bool)
	for range 8 {
		all.Go(func() {
			for range work {
				got := apis[0].ask(t, srv.URL, m.Name, true)
				if got.text != m.Reply.Visible || got.failed != "" || got.finish != "stop" {
					t.Errorf("text %q, failed %q, finish %q", got.text, got.failed, got.finish)
				}
			}
		})
	}
	for range n {
		work <- true
	}
	close(work)
	all.Wait()
}

// droppedIn reads what the metrics say was lost.
func droppedIn(t *testing.T, g http.Handler) int {
	t.Helper()
	m := regexp.MustCompile(`(?m)^sotto_record_dropped_total (\d+)$`).FindStringSubmatch(metricsOf(g))
	if m == nil {
		t.Fatal("no metric")
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

func scriptedUpstream(t *testing.T) string {
	t.Helper()
	up := httptest.NewServer(scripted.New(scripted.Options{}))
	t.Cleanup(up.Close)
	return up.URL
}

// A stopped recipient stops the goroutine that writes, as a disk does that hangs.
type stopped struct {
	age.Recipient
	go_ chan struct{}
}

func (s stopped) Wrap(key []byte) ([]*age.Stanza, error) {
	<-s.go_
	return s.Recipient.Wrap(key)
}

// TestDiskHangs: while nothing can be written, streams go on as if it were. What
// the queue has no room for is counted, and once the disk is back the record says
// how much is missing: all exchanges are there, or in the count.
func TestDiskHangs(t *testing.T) {
	const n = 200
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	free := make(chan struct{})
	w, dir := openRecord(t, record.Options{Recipients: []age.Recipient{stopped{id.Recipient(), free}}, Queue: 16 << 10})
	var log journal
	g := inFront(t, scriptedUpstream(t), gateway.Config{Recorder: w, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	streams(t, g, n)
	if err := g.Close(); err != nil { // the last exchanges are handed over in the background
		t.Fatal(err)
	}
	lost := droppedIn(t, g)
	if lost == 0 || lost >= n {
		t.Errorf("%d lost of %d", lost, n)
	}
	if got := strings.Count(log.String(), "events are lost"); got != 1 {
		t.Errorf("said %d times", got)
	}
	close(free)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := record.OpenReader(dir, record.ReadOptions{Identities: []age.Identity{id}})
	if err != nil {
		t.Fatal(err)
	}
	kept, said := 0, uint64(0)
	for e, err := range r.Events(record.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		switch p := e.Payload.(type) {
		case record.Exchange:
			kept++
		case record.Failure:
			said += p.Count
		}
	}
	if kept+lost != n || said != uint64(lost) {
		t.Errorf("%d recorded and %d lost of %d; the record says %d", kept, lost, n, said)
	}
}

// TestDiskFull: on a real file system without room streams go on, what is lost is
// counted, and events are recorded again where there is room again.
func TestDiskFull(t *testing.T) {
	dir := smallDisk(t)
	w, err := record.Open(filepath.Join(dir, "record"), record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ballast := filepath.Join(dir, "ballast")
	fill(t, ballast)
	var log journal
	g := inFront(t, scriptedUpstream(t), gateway.Config{Recorder: w, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	const n = 60
	streams(t, g, n)
	for range 100 { // the last batch may be under way
		if droppedIn(t, g) >= n-8 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if lost := droppedIn(t, g); lost < n-8 { // the rest of a block may have room
		t.Errorf("%d lost of %d", lost, n)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	streams(t, g, 10)
	if err := g.Close(); err != nil { // the last exchanges are handed over in the background
		t.Fatal(err)
	}
	lost := droppedIn(t, g)
	if list := exchanges(t, w, filepath.Join(dir, "record")); len(list)+lost != n+10 || len(list) < 10 {
		t.Errorf("%d recorded, %d lost of %d", len(list), lost, n+10)
	}
	if report, err := record.Verify(filepath.Join(dir, "record"), record.VerifyOptions{}); err != nil || report.Err() != nil {
		t.Error(err, report.Err())
	}
	if got := strings.Count(log.String(), "events are lost"); got != 1 {
		t.Errorf("said %d times: %s", got, log.String())
	}
}

// fill writes a file until the disk is full.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := bytes.Repeat([]byte("x"), 4096); err == nil; {
		_, err = f.Write(block)
	}
}

// BenchmarkRecord is a streamed exchange, without a network, with and without a
// record.
func BenchmarkRecord(b *testing.B) {
	s := speakers[0]
	var cut []string
	for i := range 144 {
		cut = append(cut, fmt.Sprintf("word%d ", i))
	}
	cut[0], cut[70] = "<think>", "</think>"
	stream := s.stream(cut, 1)
	up := answering(func(*http.Request) *http.Response { return response(s.kind(true), strings.NewReader(stream)) })
	for _, kept := range []struct {
		name   string
		record bool
		o      record.Options
	}{{name: "without"}, {name: "full", record: true}, {name: "digest", record: true, o: record.Options{Reasoning: record.Digests}}, {name: "off", record: true, o: record.Options{Reasoning: record.Off, Answer: record.Off}}} {
		b.Run(kept.name, func(b *testing.B) {
			c := gateway.Config{}
			if kept.record {
				kept.o.Policy = record.Batch
				w, _ := openRecord(b, kept.o)
				c.Recorder = w
			}
			g := handler(b, c, up)
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			for b.Loop() {
				ask(g, s.path, `{"model":"m","stream":true,"messages":[{"role":"user","content":"What is it?"}]}`)
			}
			runtime.KeepAlive(c)
		})
	}
}
