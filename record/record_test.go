package record_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/record"
)

// children are what this binary does instead of testing, by RECORD_CHILD.
var children = map[string]func(dir string){"append": appendForever}

func TestMain(m *testing.M) {
	if child, ok := children[os.Getenv("RECORD_CHILD")]; ok {
		child(os.Getenv("RECORD_DIR"))
		return
	}
	goleak.VerifyTestMain(m)
}

// key is a signing key that is the same in every run.
func key() ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("a key for tests"))
	return ed25519.NewKeyFromSeed(seed[:])
}

func public() []ed25519.PublicKey {
	return []ed25519.PublicKey{key().Public().(ed25519.PublicKey)}
}

func open(t testing.TB, dir string, o record.Options) *record.Writer {
	t.Helper()
	w, err := record.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func shut(t testing.TB, w *record.Writer) {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func put(t testing.TB, w *record.Writer, run string, cycle int, p record.Payload) record.Receipt {
	t.Helper()
	r, err := w.Append(context.Background(), record.Event{Run: run, Cycle: cycle, Payload: p})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func read(t testing.TB, dir string, o record.ReadOptions, q record.Query) []record.Event {
	t.Helper()
	r, err := record.OpenReader(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	var list []record.Event
	for e, err := range r.Events(q) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

func verify(t testing.TB, dir string, o record.VerifyOptions) record.Report {
	t.Helper()
	r, err := record.Verify(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Workers = 3
	if same, err := record.Verify(dir, o); err != nil || !reflect.DeepEqual(same, r) {
		t.Errorf("with three workers: %+v, %v; with one: %+v", same, err, r)
	}
	return r
}

func sound(t testing.TB, dir string, o record.VerifyOptions) record.Report {
	t.Helper()
	r := verify(t, dir, o)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return r
}

func segments(t testing.TB, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// said is an invocation with one reply.
func said(model, raw string) record.Invocation {
	r, err := sotto.Default().Parse(raw, sotto.BeginAuto, sotto.EndStopped)
	if err != nil {
		panic(err)
	}
	return record.Invocation{Model: model, Millis: 12, Replies: []record.Reply{record.ReplyOf(r)}}
}

// A record gives back what was appended to it, byte for byte: also what is no
// UTF-8, what looks like our own coding, and what encoders like to escape.
func TestRoundTrip(t *testing.T) {
	raws := []string{
		"<think>6 × 7 & \"so\"</think>\n42\u2028\u2029\x00\x7f", "\xff\xfe<think>\x80</think>a", "base64:QQ==", "base64:",
		strings.Repeat("x", 300<<10), "", "\ufffd", "a\\u0041\\",
	}
	dir := t.TempDir()
	w := open(t, dir, record.Options{})
	for i, raw := range raws {
		p := said("m", raw)
		p.Replies[0].Reasoning = []record.Thought{{Field: "thinking", Text: record.Say(raw), Sealed: true}}
		p.Replies[0].ToolCalls = []record.Call{{ID: "1", Name: "f", Arguments: record.Say(`{"b":1,"a":` + raw)}}
		r := put(t, w, "run-1", i, p)
		if r.Seq != uint64(i+1) || r.Replies[0] != record.DigestOf(raw) {
			t.Fatalf("receipt %+v", r)
		}
	}
	shut(t, w)
	sound(t, dir, record.VerifyOptions{})
	for i, e := range read(t, dir, record.ReadOptions{}, record.Query{}) {
		p := e.Payload.(record.Invocation)
		r := p.Replies[0]
		if string(r.Raw.Text) != raws[i] || r.Digest != record.DigestOf(raws[i]) || !r.Raw.Whole() {
			t.Errorf("reply %d came back as %q", i, r.Raw.Text)
		}
		if string(r.Reasoning[0].Text.Text) != raws[i] || string(r.ToolCalls[0].Arguments.Text) != `{"b":1,"a":`+raws[i] {
			t.Errorf("fields of reply %d changed", i)
		}
		if e.V != record.Version || e.Run != "run-1" || e.Cycle != i || e.Type != record.TypeInvocation || e.Time.IsZero() {
			t.Errorf("event %+v", e)
		}
	}
}

// The line holds the reply as it is, with no < or & escaped.
func TestVerbatim(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, record.Options{})
	put(t, w, "", 0, said("m", "<think>a & b</think>c"))
	shut(t, w)
	data, _ := os.ReadFile(segments(t, dir)[0])
	if !strings.Contains(string(data), `"text":"<think>a & b</think>c"`) {
		t.Errorf("the line is %s", data)
	}
}

// The chain is as documented: prev is the SHA-256 of the line before, its newline
// included, and of zeros at first.
func TestChainIsSHA256OfTheLineBefore(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, record.Options{})
	for i := range 5 {
		put(t, w, "", i, record.CycleStart{})
	}
	head := w.Head()
	shut(t, w)
	data, _ := os.ReadFile(segments(t, dir)[0])
	prev := record.Digest{}
	for i, line := range strings.SplitAfter(strings.TrimSuffix(string(data), "\n"), "\n") {
		e := read(t, dir, record.ReadOptions{}, record.Query{})[i]
		if e.Prev != prev {
			t.Fatalf("event %d has prev %s, want %s", e.Seq, e.Prev, prev)
		}
		prev = sha256.Sum256([]byte(strings.TrimSuffix(line, "\n") + "\n"))
	}
	if head != (record.Head{Seq: 5, Digest: prev}) {
		t.Errorf("head %v", head)
	}
	var again record.Head
	if err := again.UnmarshalText([]byte(head.String() + "\n")); err != nil || again != head {
		t.Errorf("the head reads back as %v, %v", again, err)
	}
}

// Many writers share one record: every event is there once, and the receipts tell
// the truth.
func TestManyWriters(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, record.Options{SegmentSize: 32 << 10, SigningKey: key(), CheckpointEvery: 50})
	var mu sync.Mutex
	want := map[uint64]string{}
	var group sync.WaitGroup
	for i := range 32 {
		group.Go(func() {
			for j := range 20 {
				raw := fmt.Sprintf("<think>%d</think>%d", i, j)
				r, err := w.Append(t.Context(), record.Event{Run: "r", Payload: said("m", raw)})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				want[r.Seq] = raw
				mu.Unlock()
			}
		})
	}
	group.Wait()
	shut(t, w)
	if len(want) != 32*20 {
		t.Fatalf("%d receipts", len(want))
	}
	r := sound(t, dir, record.VerifyOptions{Keys: public()})
	if r.Segments < 3 || r.Checkpoints < 5 || r.Signed != r.Head.Seq {
		t.Errorf("report %+v", r)
	}
	for _, e := range read(t, dir, record.ReadOptions{}, record.Query{NoCheckpoints: true}) {
		if got := string(e.Payload.(record.Invocation).Replies[0].Raw.Text); got != want[e.Seq] {
			t.Fatalf("event %d is %q, want %q", e.Seq, got, want[e.Seq])
		}
		delete(want, e.Seq)
	}
	if len(want) > 0 {
		t.Errorf("%d events are missing", len(want))
	}
}

// A second writer is refused, in this process too, until the first has closed.
func TestOneWriter(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, record.Options{})
	if _, err := record.Open(dir, record.Options{}); !errors.Is(err, record.ErrLocked) {
		t.Errorf("a second Open: %v", err)
	}
	if _, err := record.Prune(dir, record.PruneOptions{}); !errors.Is(err, record.ErrLocked) {
		t.Errorf("Prune: %v", err)
	}
	shut(t, w)
	shut(t, open(t, dir, record.Options{}))
	if _, err := w.Append(t.Context(), record.Event{Payload: record.CycleStart{}}); !errors.Is(err, record.ErrClosed) {
		t.Errorf("append after Close: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

// What goes into a segment that is no longer the record's is never acknowledged,
// and a lock file that was deleted does not let two writers write.
func TestMoved(t *testing.T) {
	for name, file := range map[string]string{"the folder": "", "the segment": "00000000000000000001.jsonl", "the lock": "LOCK"} {
		for _, policy := range []record.Policy{record.Always, record.Batch, record.None} {
			dir := filepath.Join(t.TempDir(), "audit")
			w := open(t, dir, record.Options{Policy: policy})
			put(t, w, "r", 1, record.CycleStart{})
			away := filepath.Join(t.TempDir(), "away")
			if err := os.Rename(filepath.Join(dir, file), away); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Append(t.Context(), record.Event{Payload: record.CycleStart{}}); !errors.Is(err, record.ErrMoved) {
				t.Errorf("%s is away, %v: append returns %v", name, policy, err)
			}
			if err := os.Rename(away, filepath.Join(dir, file)); err != nil {
				t.Fatal(err)
			}
			put(t, w, "r", 2, record.CycleStart{})
			shut(t, w)
			if r := sound(t, dir, record.VerifyOptions{}); r.Events != 2 {
				t.Errorf("%s was away, %v: %d events", name, policy, r.Events)
			}
		}
	}
}

// Where the lock was deleted, the writer that came last writes.
func TestLockDeleted(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, record.Options{})
	put(t, first, "first", 1, record.CycleStart{})
	if err := os.Remove(filepath.Join(dir, "LOCK")); err != nil {
		t.Fatal(err)
	}
	second := open(t, dir, record.Options{})
	put(t, second, "second", 1, record.CycleStart{})
	first.Enqueue(record.Event{Payload: record.CycleStart{}})
	if _, err := first.Append(t.Context(), record.Event{Payload: record.CycleStart{}}); !errors.Is(err, record.ErrMoved) {
		t.Errorf("append of the first returns %v", err)
	}
	if first.Dropped() != 1 {
		t.Errorf("%d events count as dropped", first.Dropped())
	}
	if err := first.Close(); !errors.Is(err, record.ErrMoved) {
		t.Errorf("Close of the first returns %v", err)
	}
	put(t, second, "second", 2, record.CycleStart{})
	shut(t, second)
	if r := sound(t, dir, record.VerifyOptions{}); r.Events != 3 {
		t.Errorf("%d events, want 3", r.Events)
	}
}

// Nobody else can read the files, and a run's name is never a path.
func TestFilesAndNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "record")
	w := open(t, dir, record.Options{SegmentSize: 1})
	for range 3 {
		put(t, w, "run:1@host+x", 0, record.CycleStart{})
	}
	for _, name := range []string{"../x", "a/b", ".x", "-x", "a\x00", "a b", "ü", "a\n", `a"`, strings.Repeat("a", 129), "a\\b"} {
		if _, err := w.Append(t.Context(), record.Event{Run: name, Payload: record.CycleStart{}}); !errors.Is(err, record.ErrRunName) {
			t.Errorf("run %q: %v", name, err)
		}
	}
	shut(t, w)
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if info, _ := os.Stat(d); info.Mode().Perm() != 0o700 {
			t.Errorf("%s is %v", d, info.Mode())
		}
	}
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		if info, _ := f.Info(); info.Mode().Perm() != 0o600 {
			t.Errorf("%s is %v", f.Name(), info.Mode())
		}
	}
	if len(files) < 6 {
		t.Errorf("%d files", len(files))
	}
}

// What an event must not be is refused, and the record goes on.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, record.Options{MaxEvent: 4 << 10, Reasoning: record.Off})
	for _, e := range []record.Event{
		{}, {Payload: record.Unknown{Name: "CHECKPOINT"}}, {Payload: record.Unknown{Name: `A","x`}},
		{Payload: record.Checkpoint{}}, {Payload: record.SealedBatch{}}, {Payload: record.Unknown{Name: "NEW", JSON: []byte(`{}`)}},
		{Payload: said("m", strings.Repeat("x", 5<<10))},
	} {
		if _, err := w.Append(t.Context(), e); err == nil {
			t.Errorf("%+v was recorded", e)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Append(ctx, record.Event{Payload: record.CycleStart{}}); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled append: %v", err)
	}
	put(t, w, "", 0, record.RunEnd{})
	shut(t, w)
	sound(t, dir, record.VerifyOptions{})
}
