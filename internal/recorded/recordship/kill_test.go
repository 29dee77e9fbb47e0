package recordship

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/net/objects"
	"github.com/sotto-llm/sotto/internal/net/objects/objectstest"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
	"github.com/sotto-llm/sotto/record"
)

func TestMain(m *testing.M) {
	switch os.Getenv("SHIP_CHILD") {
	case "write":
		appendForever(os.Getenv("SHIP_DIR"))
	case "ship":
		shipForever(strings.Split(os.Getenv("SHIP_DIR"), "\n"))
	}
	os.Exit(m.Run())
}

// appendForever appends until it is killed, and says which events were acknowledged.
func appendForever(dir string) {
	w, err := record.Open(dir, record.Options{Policy: record.Batch, SegmentSize: 20_000, SigningKey: signer, CheckpointEvery: 50})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	for n := 0; ; n++ {
		text := fmt.Sprintf("%d-%d %s", os.Getpid(), n, strings.Repeat("x", rand.IntN(2000)))
		r, err := w.Append(context.Background(), record.Event{Payload: record.CycleEnd{Summary: record.Say(text)}})
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println(r.Seq, record.DigestOf(text))
		time.Sleep(time.Duration(rand.IntN(4000)) * time.Microsecond)
	}
}

// shipForever ships records until it is killed.
func shipForever(dirs []string) {
	for _, dir := range dirs {
		go func() {
			for {
				s, err := Open(context.Background(), dir, place, Options{Every: 5 * time.Millisecond, small: true, Bucket: objects.Options{Retry: quick}})
				if err == nil {
					err = s.Run(context.Background())
				}
				fmt.Println("error", err)
				os.Exit(1)
			}
		}()
	}
	select {}
}

// A child is a process of the test that is killed and started again.
type child struct {
	t     *testing.T
	env   []string
	cmd   *exec.Cmd
	lines sync.WaitGroup
	line  func(string)
}

func (c *child) start() {
	c.t.Helper()
	c.cmd = exec.Command(os.Args[0])
	c.cmd.Env = append(os.Environ(), c.env...)
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.lines.Add(1)
	go func() {
		defer c.lines.Done()
		for r := bufio.NewScanner(out); r.Scan(); {
			c.line(r.Text())
		}
	}()
}

func (c *child) kill() {
	if c.cmd.ProcessState != nil {
		return
	}
	_ = c.cmd.Process.Kill()
	c.lines.Wait()
	_ = c.cmd.Wait()
}

// Four writers and their shippers share a store. Writers, shippers and the store are
// killed at random. Then every event that was acknowledged is in the store, once, and
// every record verifies against the head beside it, and each segment that has ended has its
// sidecar. At each moment, what the store has verifies.
func TestKill(t *testing.T) {
	kills := 40
	switch {
	case effort.Brief():
		kills = 3
	case effort.Times() > 1: // .ci/long kills
		kills = 100
	}
	s := objectstest.Start(t, bucket)
	s.Setenv()
	var dirs []string
	var mu sync.Mutex
	acked := map[string]map[uint64]string{}
	var list []*child
	for i := range 4 {
		dir := filepath.Join(t.TempDir(), fmt.Sprint("writer", i))
		dirs, acked[dir] = append(dirs, dir), map[uint64]string{}
		list = append(list, &child{t: t, env: []string{"SHIP_CHILD=write", "SHIP_DIR=" + dir}, line: func(line string) {
			var seq uint64
			var digest string
			if _, err := fmt.Sscan(line, &seq, &digest); err != nil || len(digest) != 64 {
				t.Errorf("the writer says %q", line)
				return
			}
			mu.Lock()
			acked[dir][seq] = digest
			mu.Unlock()
		}})
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	list = append(list, &child{t: t, env: []string{"SHIP_CHILD=ship", "SHIP_DIR=" + strings.Join(dirs, "\n")}, line: func(line string) { t.Errorf("the shipper says %q", line) }})
	for _, c := range list {
		c.start()
		t.Cleanup(c.kill)
	}
	// A writer that is killed before its first event leaves no record.
	waiting.Until(t, "an event of each writer", func() bool {
		mu.Lock()
		defer mu.Unlock()
		for _, dir := range dirs {
			if len(acked[dir]) == 0 {
				return false
			}
		}
		return true
	})
	folder := t.TempDir()
	for n := range kills {
		time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond)
		if victim := rand.IntN(len(list) + 1); victim < len(list) {
			list[victim].kill()
			list[victim].start()
		} else {
			s.Kill()
			s.Start()
		}
		if n%20 == 7 {
			for _, c := range copies(t, s.Getenv, folder, false) {
				whole(t, c)
			}
		}
	}
	for _, c := range list {
		c.kill()
	}
	for _, dir := range dirs {
		if err := shipSmall(t, dir, s.Getenv); err != nil {
			t.Fatal(err)
		}
	}
	brought := copies(t, s.Getenv, folder, true)
	if len(brought) != len(dirs) {
		t.Fatalf("%d records", len(brought))
	}
	events := 0
	for _, c := range brought {
		sound(t, c)
		dir := sourceOf(t, c, dirs)
		same(t, dir, c)
		events += len(acked[dir])
		compare(t, c, acked[dir])
		files, err := record.Files(c.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if checked, err := sidecar.Check(c.Dir, nil); err != nil || len(checked.Wrong) > 0 || checked.Compared < len(files)-1 {
			t.Errorf("of %d segments, the last of which may grow: %+v, %v", len(files), checked, err)
		}
	}
	t.Logf("%d kills, %d events acknowledged, all shipped once", kills, events)
}

// whole verifies a copy while its record is being written and shipped: the objects fit
// their names and the chain. The head may be newer than the objects that were listed
// after it, or older.
func whole(t *testing.T, c *Copy) {
	t.Helper()
	r, err := record.Verify(c.Dir, record.VerifyOptions{ID: c.ID})
	if err != nil || r.Err() != nil || len(c.Faults) > 0 {
		t.Errorf("%v, %v, %v", err, r.Err(), c.Faults)
	}
	if c.Head != nil && r.Head.Seq < c.Head.Seq {
		t.Errorf("the head is event %d, and the objects reach %d", c.Head.Seq, r.Head.Seq)
	}
}

// sourceOf finds the folder of which a copy is, by its identity.
func sourceOf(t *testing.T, c *Copy, dirs []string) string {
	t.Helper()
	for _, dir := range dirs {
		if r, err := record.Verify(dir, record.VerifyOptions{}); err == nil && r.ID == c.ID {
			return dir
		}
	}
	t.Fatalf("no writer has record %s", c.ID)
	return ""
}

// compare reads a copy: every event that was acknowledged is there, once and as it was.
func compare(t *testing.T, c *Copy, acked map[uint64]string) {
	t.Helper()
	r, err := record.OpenReader(c.Dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]bool{}
	for e, err := range r.Events(record.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if seen[e.Seq] {
			t.Errorf("event %d is there twice", e.Seq)
		}
		seen[e.Seq] = true
		p, ok := e.Payload.(record.CycleEnd)
		if want, known := acked[e.Seq]; known && (!ok || record.DigestOf(string(p.Summary.Text)).String() != want) {
			t.Errorf("event %d is another one", e.Seq)
		}
	}
	for seq := range acked {
		if !seen[seq] {
			t.Errorf("event %d was acknowledged and is not there", seq)
		}
	}
}
