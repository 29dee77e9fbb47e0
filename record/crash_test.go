package record_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/record"
)

// appendForever appends until it is killed, and says which events were
// acknowledged.
func appendForever(dir string) {
	policy := record.Always
	_ = policy.UnmarshalText([]byte(os.Getenv("RECORD_POLICY")))
	w, err := record.Open(dir, record.Options{Policy: policy, SegmentSize: 256 << 10, SigningKey: key(), CheckpointEvery: 100})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	var mu sync.Mutex
	for i := range 16 {
		go func() {
			for j := 0; ; j++ {
				text := fmt.Sprintf("%d-%d-%d %s", os.Getpid(), i, j, strings.Repeat("x", rand.IntN(3000)))
				r, err := w.Append(context.Background(), record.Event{Payload: said("m", text)})
				if err != nil {
					fmt.Println("error", err)
					os.Exit(1)
				}
				mu.Lock()
				fmt.Println(r.Seq, record.DigestOf(text))
				mu.Unlock()
			}
		}()
	}
	select {}
}

// An acknowledged event survives kill -9, at any moment, under every policy, and
// the record opens and verifies. RECORD_KILLS says how many processes are killed,
// instead of 100: about 15 a second.
func TestKill(t *testing.T) {
	kills := 100
	if effort.Brief() {
		kills = 4
	}
	if n, err := strconv.Atoi(os.Getenv("RECORD_KILLS")); err == nil {
		kills = n
	}
	const each = 20 // kills of one record
	var done, acked, torn atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d processes killed, %d events acknowledged, none lost; %d torn lines repaired", done.Load(), acked.Load(), torn.Load())
	})
	for n := 0; n < kills; n += each {
		policy := record.Policy(n / each % 3)
		t.Run(fmt.Sprintf("%v-%d", policy, n), func(t *testing.T) {
			t.Parallel()
			dir, events := t.TempDir(), map[uint64]string{}
			for range min(each, kills-n) {
				killed(t, dir, policy, events)
				done.Add(1)
				w := open(t, dir, record.Options{SigningKey: key()})
				if w.Repaired() > 0 {
					torn.Add(1)
				}
				put(t, w, "after", 0, record.CycleStart{})
				shut(t, w)
				sound(t, dir, record.VerifyOptions{Keys: public()})
			}
			acked.Add(int64(len(events)))
			for _, e := range read(t, dir, record.ReadOptions{}, record.Query{Types: []record.Type{record.TypeInvocation}}) {
				if want, ok := events[e.Seq]; ok && want != e.Payload.(record.Invocation).Replies[0].Digest.String() {
					t.Fatalf("event %d is another one", e.Seq)
				}
				delete(events, e.Seq)
			}
			if len(events) > 0 {
				t.Errorf("%d acknowledged events are lost", len(events))
			}
		})
	}
}

// killed lets a child append and kills it: after some acknowledgements, or at a
// moment of which nothing is known, as early as while it opens the record.
func killed(t *testing.T, dir string, policy record.Policy, acked map[uint64]string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "RECORD_CHILD=append", "RECORD_DIR="+dir, "RECORD_POLICY="+policy.String())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop, after := rand.IntN(400), time.Minute
	if rand.IntN(2) == 0 {
		stop, after = -1, time.Duration(rand.IntN(60_000))*time.Microsecond
	}
	timer := time.AfterFunc(after, func() { cmd.Process.Kill() })
	defer timer.Stop()
	lines := bufio.NewReader(out)
	for n := 0; ; n++ {
		if n == stop {
			cmd.Process.Kill()
		}
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		var seq uint64
		var digest string
		if _, err := fmt.Sscan(line, &seq, &digest); err != nil || len(digest) != 64 {
			t.Fatalf("the child says %q", line)
		}
		acked[seq] = digest
	}
	_ = cmd.Wait()
}

// A last line torn at any byte is removed on open, the lines before it stay, and
// the record goes on.
func TestTornTail(t *testing.T) {
	whole := t.TempDir()
	w := open(t, whole, record.Options{})
	for i := range 4 {
		put(t, w, "r", i, said("m", "<think>a</think>b"))
	}
	shut(t, w)
	name := filepath.Base(segments(t, whole)[0])
	data, _ := os.ReadFile(filepath.Join(whole, name))
	last := bytes.LastIndexByte(data[:len(data)-1], '\n') + 1
	chosen := effort.OneIn(11, "cuts")
	for cut := last; cut < len(data); cut++ {
		if !chosen() {
			continue
		}
		for _, behind := range []string{"", "\x00\x00\x00"}[:1+cut%2] { // also the bytes that a crash leaves of an extent
			dir := t.TempDir()
			os.WriteFile(filepath.Join(dir, name), append(bytes.Clone(data[:cut]), behind...), 0o600)
			if torn := verify(t, dir, record.VerifyOptions{}).Torn; torn != int64(cut-last+len(behind)) {
				t.Fatalf("Verify sees %d torn bytes of %d", torn, cut-last)
			}
			w := open(t, dir, record.Options{Policy: record.None})
			if w.Repaired() != int64(cut-last+len(behind)) {
				t.Fatalf("repaired %d bytes of %d", w.Repaired(), cut-last)
			}
			if r := put(t, w, "r", 9, record.CycleStart{}); r.Seq != 4 {
				t.Fatalf("the next event is number %d", r.Seq)
			}
			shut(t, w)
			if r := sound(t, dir, record.VerifyOptions{}); r.Events != 4 {
				t.Fatalf("%d events", r.Events)
			}
		}
	}
}

// A segment whose first line was torn, or that is empty, goes on where the one
// before it ended.
func TestTornFirstLine(t *testing.T) {
	for _, rest := range []string{"", `{"v":1,"seq":3,`} {
		dir := t.TempDir()
		w := open(t, dir, record.Options{SegmentSize: 1})
		for range 3 {
			put(t, w, "", 0, record.CycleStart{})
		}
		shut(t, w)
		list := segments(t, dir)
		os.WriteFile(list[len(list)-1], []byte(rest), 0o600)
		w = open(t, dir, record.Options{})
		if r := put(t, w, "", 0, record.CycleEnd{}); r.Seq != 3 {
			t.Errorf("the next event is number %d", r.Seq)
		}
		shut(t, w)
		sound(t, dir, record.VerifyOptions{})
	}
}
