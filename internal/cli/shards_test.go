package cli

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/sotto-llm/sotto/internal/base/decompress"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

// A replyBatch makes files of replies for tests: plain, compressed, as an array and as CSV,
// with lines that are blank or broken, with both kinds of line end, and without one at
// the end. Replies to one problem are in all files.
type replyBatch struct {
	*rand.Rand
	problems int
	next     int
}

func (b *replyBatch) record() string {
	b.next++
	return fmt.Sprintf(`{"id":%d,"arm":"arm %d","input":"problem %d","gold":"42","raw":"<think>%s</think>It is \\boxed{%d}."}`,
		b.next, b.IntN(3), b.IntN(b.problems), strings.Repeat("well ", b.IntN(1+b.IntN(80))), 41+b.IntN(3))
}

func (b *replyBatch) lines(n int) string {
	var text strings.Builder
	for range n {
		switch b.IntN(12) {
		case 0:
			text.WriteString("{\"id\":0,\"raw\":broken\n")
		case 1:
			text.WriteString("\r\n")
		case 2:
			text.WriteString(b.record() + "\r\n")
		default:
			text.WriteString(b.record() + "\n")
		}
	}
	if b.IntN(2) == 0 {
		return strings.TrimSuffix(text.String(), "\n")
	}
	return text.String()
}

// write makes the files, and returns their names.
func (b *replyBatch) write(t *testing.T, dir string, n int) (names []string) {
	put := func(end, text string) {
		name := filepath.Join(dir, fmt.Sprintf("%02d%s", len(names), end))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	for range 1 + b.IntN(5) {
		switch b.IntN(8) {
		case 6:
			put(".jsonl.zst", string(inFrames(t, b.Rand, b.lines(n), ".zst")))
		case 7:
			put(".jsonl.gz", string(inFrames(t, b.Rand, b.lines(n), ".gz")))
		case 0:
			var z bytes.Buffer
			w := gzip.NewWriter(&z)
			w.Write([]byte(b.lines(n)))
			w.Close()
			put(".jsonl.gz", z.String())
		case 1:
			put(".json", "["+b.record()+","+b.record()+"]")
		case 2:
			put(".csv", fmt.Sprintf("id,arm,input,gold,raw\nc%d,arm 1,problem 1,42,\"It is\nAnswer: 42\"\n", len(names)))
		case 3:
			put(".jsonl", "")
		default:
			put(".jsonl", b.lines(n))
		}
	}
	return names
}

// inFrames compresses a text in frames of zstd or members of gzip that end anywhere.
func inFrames(t *testing.T, r *rand.Rand, text, ending string) []byte {
	t.Helper()
	var b bytes.Buffer
	for text != "" {
		n := 1 + r.IntN(len(text))
		w, err := decompress.NewWriter(ending, &b)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, text[:n])
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		text = text[n:]
	}
	return b.Bytes()
}

// TestShardsOfOneFile divides one compressed file by its frames, and a Parquet file by its row
// groups: more than one shard has lines, and together they have those of one process. A file
// of one frame is read by one shard, and the others say so.
func TestShardsOfOneFile(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	text := (&replyBatch{Rand: r, problems: 8}).lines(200)
	files := map[string][]byte{"one.jsonl.zst": inFrames(t, r, text, ".zst"), "one.jsonl.gz": inFrames(t, r, text, ".gz")}
	for range 6 { // some more frames
		files["one.jsonl.zst"] = append(files["one.jsonl.zst"], inFrames(t, r, "\n"+text, ".zst")...)
		files["one.jsonl.gz"] = append(files["one.jsonl.gz"], inFrames(t, r, "\n"+text, ".gz")...)
	}
	var groups bytes.Buffer
	w := parquet.NewGenericWriter[parquetRow](&groups)
	for i := range 40 {
		row := parquetRow{ID: int64(i), Raw: strings.Repeat("so ", r.IntN(400)) + "The answer is 5.", Gold: "5"}
		if _, err := w.Write([]parquetRow{row}); err != nil {
			t.Fatal(err)
		}
		if i%4 == 3 {
			w.Flush()
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	files["one.parquet"] = groups.Bytes()
	if pzstd, err := exec.LookPath("pzstd"); err == nil {
		plain, packed := writeFile(t, "one.jsonl", text), filepath.Join(t.TempDir(), "one.zst")
		if out, err := exec.Command(pzstd, "-q", "-p", "4", plain, "-o", packed).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if files["pzstd.jsonl.zst"], err = os.ReadFile(packed); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range files {
		file, dir := writeFile(t, name, string(data)), t.TempDir()
		extract := shardCommand{"extract", "--jsonl", "--task", "math"}
		whole := extract.all(t, r, 1, filepath.Join(dir, "1"), []string{file})
		if parts := extract.all(t, r, 7, filepath.Join(dir, "7"), []string{file}); parts != whole {
			t.Errorf("%s: seven shards wrote\n%s\none wrote\n%s", name, parts, whole)
		}
		if plain, _ := extract.run(t, file); unplaced(plain) != unplaced(whole) {
			t.Errorf("%s: without --shard\n%s\nwith --shard 0/1\n%s", name, plain, whole)
		}
		some := 0
		for i := range 7 {
			if info, err := os.Stat(filepath.Join(dir, "7", fmt.Sprintf("part-%05d-of-00007.jsonl", i))); err == nil && info.Size() > 0 {
				some++
			}
		}
		if some < 2 && name != "pzstd.jsonl.zst" { // which makes frames of some megabytes
			t.Errorf("%s: %d of seven shards have lines", name, some)
		}
	}
	one := writeFile(t, "single.jsonl.gz", string(gzipped(t, text)))
	if _, said := scoreShards.run(t, "--shard", "1/2", "-o", t.TempDir(), one); !strings.Contains(said, "no member of gzip begins in bytes") {
		t.Errorf("the second shard of a file of one member said: %s", said)
	}
	if _, said := scoreShards.run(t, "--shard", "0/4", "-o", t.TempDir(), one); !strings.Contains(said, "this shard does the work of others") {
		t.Errorf("the first shard of a file of one member said: %s", said)
	}
}

// A shardCommand is a command and its flags that tests of shards run.
type shardCommand []string

// run runs the command, which may end with the status of failed lines, and returns what it printed.
func (c shardCommand) run(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	return c.runWith(t, noEnv, args...)
}

func (c shardCommand) runWith(t *testing.T, getenv func(string) string, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	if status := Run(append(append([]string{}, c...), args...), strings.NewReader(""), &out, &err, getenv); status > 1 {
		t.Fatalf("%q %q: status %d\n%s", c, args, status, err.String())
	}
	return out.String(), err.String()
}

// all runs each shard, in any order, and some twice. It returns their outputs in order.
func (c shardCommand) all(t *testing.T, r *rand.Rand, count int, dir string, files []string) string {
	t.Helper()
	for _, i := range append(r.Perm(count), r.IntN(count)) {
		c.run(t, append([]string{"--shard", fmt.Sprintf("%d/%d", i, count), "-o", dir}, files...)...)
	}
	return joined(t, dir, count)
}

// joined returns the outputs of all shards in order.
func joined(t *testing.T, dir string, count int) string {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(dir, fmt.Sprintf("part-*-of-%05d.jsonl", count)))
	if len(names) != count {
		t.Fatalf("%d shards have %d outputs", count, len(names))
	}
	var all strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	return all.String()
}

var scoreShards = shardCommand{"score", "--task", "math", "--jsonl", "--k", "--group-field", "input", "--by-field", "arm"}

// TestShardsAreTheBatch holds the law of sharding for random files and numbers of shards:
// the outputs of all shards, one after another, are the output of one. That is the output
// without --shard, except for how a line that fails is named. What score merge prints is
// byte for byte what one process prints.
func TestShardsAreTheBatch(t *testing.T) {
	draws := 1
	if !effort.Brief() {
		draws = 40 * effort.Times()
	}
	for draw := range draws {
		r := rand.New(rand.NewPCG(1, uint64(draw)))
		dir := t.TempDir()
		files := (&replyBatch{Rand: r, problems: 8}).write(t, dir, 20)
		for _, c := range []shardCommand{
			{"strip", "--jsonl", "--field", "raw"},
			{"split", "--jsonl", "--add-columns"},
			{"extract", "--jsonl", "--task", "math"},
			scoreShards,
		} {
			out := func(count int) string { return filepath.Join(dir, fmt.Sprintf("%s-%d", c[0], count)) }
			count := 2 + r.IntN(12)
			whole := c.all(t, r, 1, out(1), files)
			if parts := c.all(t, r, count, out(count), files); parts != whole {
				t.Fatalf("draw %d: %q: %d shards wrote\n%s\none wrote\n%s", draw, c, count, parts, whole)
			}
			plain, _ := c.run(t, files...)
			if a, b := unplaced(plain), unplaced(whole); a != b {
				t.Fatalf("draw %d: %q wrote\n%s\nwith --shard 0/1\n%s", draw, c, a, b)
			}
			if c[0] == "score" {
				sameSummary(t, c, files, out(count))
			}
		}
	}
}

// unplaced removes the objects of lines that failed, which say where the line is.
func unplaced(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, `{"v":1,"line":`) && !strings.HasPrefix(line, `{"v":1,"byte":`) && !strings.HasPrefix(line, `{"v":1,"frame":`) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// sameSummary compares the summaries of one process and of the shards in a folder.
func sameSummary(t *testing.T, c shardCommand, files []string, dir string) {
	t.Helper()
	one, _ := c.run(t, append([]string{"--json"}, files...)...)
	merged, _ := shardCommand{"score", "merge", "--json"}.run(t, dir)
	if one != merged {
		t.Fatalf("score merge printed\n%s\none process\n%s", merged, one)
	}
	_, one = c.run(t, files...)
	_, merged = shardCommand{"score", "merge"}.run(t, dir)
	if merged == "" || !strings.HasSuffix(one, merged) { // the faults come first
		t.Fatalf("score merge printed\n%s\none process\n%s", merged, one)
	}
}

// TestShardsKilled runs shards in four processes at a time, kills some at random, starts
// some twice at once, and starts each again until it has succeeded, as a scheduler does.
// Their outputs and scores are those of one process.
func TestShardsKilled(t *testing.T) {
	if effort.Brief() {
		t.Skip("processes that are killed: SOTTO_EFFORT=1 runs it")
	}
	// .ci/long has 400 shards, here and in its stages slurm and parallel.
	count, lines := 40, 4_000
	if effort.Times() > 1 {
		count, lines = 400, 20_000
	}
	r := rand.New(rand.NewPCG(5, 6))
	dir := t.TempDir()
	b := &replyBatch{Rand: r, problems: 50}
	var files []string
	for i := range 3 {
		name := filepath.Join(dir, fmt.Sprintf("%d.jsonl", i))
		if err := os.WriteFile(name, []byte(b.lines(lines)), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
	}
	whole := scoreShards.all(t, r, 1, filepath.Join(dir, "one"), files)

	out := filepath.Join(dir, "many")
	tasks, killed := make(chan int, count), 0
	var workers sync.WaitGroup
	var mu sync.Mutex
	for range 4 {
		workers.Go(func() {
			for i := range tasks {
				for {
					mu.Lock()
					patience := time.Hour
					if r.IntN(2) == 0 {
						patience = time.Duration(r.IntN(80)) * time.Millisecond
					}
					mu.Unlock()
					if done := runShard(t, i, count, out, files, patience); done {
						break
					}
					mu.Lock()
					killed++
					mu.Unlock()
				}
			}
		})
	}
	for i := range count {
		tasks <- i
		if i%20 == 0 {
			tasks <- i // twice, perhaps at once
		}
	}
	close(tasks)
	workers.Wait()
	if killed == 0 {
		t.Error("no process was killed")
	}
	t.Logf("%d processes killed", killed)
	if joined(t, out, count) != whole {
		t.Error("the outputs are not those of one process")
	}
	sameSummary(t, scoreShards, files, out)
}

// runShard runs a process for a shard, and reports whether it succeeded before it was
// killed.
func runShard(t *testing.T, i, count int, out string, files []string, patience time.Duration) bool {
	c := exec.Command("sotto", append(append(append([]string{}, scoreShards...), "--shard", fmt.Sprintf("%d/%d", i, count), "-o", out), files...)...)
	var text bytes.Buffer
	c.Stdout, c.Stderr = &text, &text
	if err := c.Start(); err != nil {
		t.Error(err)
		return true
	}
	kill := time.AfterFunc(patience, func() { c.Process.Kill() })
	defer kill.Stop()
	err := c.Wait()
	if err != nil && c.ProcessState.ExitCode() >= 0 {
		t.Errorf("shard %d: %v\n%s", i, err, text.String())
		return true
	}
	return err == nil
}
