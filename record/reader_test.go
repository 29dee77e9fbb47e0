package record_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/record"
)

// mixed is a record of several runs in many segments.
func mixed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	w := open(t, dir, record.Options{Policy: record.None, SegmentSize: 4 << 10, SigningKey: key()})
	for i := range 60 {
		run := fmt.Sprintf("run-%d", i%3)
		put(t, w, run, i/3, said([]string{"a", "b"}[i%2], []string{"<think>x</think>y", "<think>x", "plain", ""}[i%4]))
		if i%10 == 0 {
			put(t, w, run, i/3, record.Failure{Code: "upstream"})
		}
		if i%15 == 0 {
			put(t, w, run, i/3, record.RunStart{Model: "b"})
		}
	}
	shut(t, w)
	if len(segments(t, dir)) < 4 {
		t.Fatal("few segments")
	}
	return dir
}

func queries(all []record.Event) []record.Query {
	two := 2
	return []record.Query{
		{Run: "run-1"}, {Run: "none"}, {Cycle: &two}, {Types: []record.Type{record.TypeError, record.TypeRunStart}}, {Types: []record.Type{"NONE"}},
		{Model: "b"}, {Model: "c"}, {Diagnostic: string(sotto.CodeTruncated)}, {Diagnostic: "upstream"}, {Diagnostic: "none"},
		{From: all[20].Time, To: all[40].Time}, {To: all[0].Time}, {From: time.Now()},
		{Run: "run-2", Model: "a", Diagnostic: string(sotto.CodeNoVisibleAnswer), After: 12}, {After: 30, Run: "run-0", Limit: 3}, {NoCheckpoints: true}, {After: 50}, {Limit: 4},
	}
}

// selected is what a query means, said without an index.
func selected(all []record.Event, q record.Query) (seqs []uint64) {
	for _, e := range all {
		var model string
		var codes []string
		switch p := e.Payload.(type) {
		case record.Invocation:
			model = p.Model
			for _, d := range p.Replies[0].Diagnostics {
				codes = append(codes, string(d.Code))
			}
		case record.RunStart:
			model = p.Model
		case record.Failure:
			codes = []string{p.Code}
		}
		ok := e.Seq > q.After && (q.Before == 0 || e.Seq < q.Before) && (q.Run == "" || e.Run == q.Run) && (q.Cycle == nil || e.Cycle == *q.Cycle) &&
			(len(q.Types) == 0 || slices.Contains(q.Types, e.Type)) && (q.Model == "" || model == q.Model) &&
			(q.Diagnostic == "" || slices.Contains(codes, q.Diagnostic)) && (!q.NoCheckpoints || e.Type != record.TypeCheckpoint) &&
			(q.From.IsZero() || !e.Time.Before(q.From)) && (q.To.IsZero() || e.Time.Before(q.To))
		if ok && (q.Limit == 0 || len(seqs) < q.Limit) {
			seqs = append(seqs, e.Seq)
		}
	}
	return seqs
}

// A query gives the same with the writer's indexes, with those that a reader
// makes, with stale ones, and with none.
func TestQueries(t *testing.T) {
	dir := mixed(t)
	all := read(t, dir, record.ReadOptions{}, record.Query{})
	check := func(state string) {
		t.Helper()
		r, err := record.OpenReader(dir, record.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range queries(all) {
			want := selected(all, q)
			var got, listed []uint64
			for _, e := range read(t, dir, record.ReadOptions{}, q) {
				got = append(got, e.Seq)
			}
			for e, err := range r.Entries(q) {
				if err != nil {
					t.Fatal(err)
				}
				listed = append(listed, e.Seq)
			}
			if !slices.Equal(got, want) || !slices.Equal(listed, want) {
				t.Errorf("%s: %+v selects %v and lists %v, want %v", state, q, got, listed, want)
			}
		}
	}
	indexes := func() []string {
		list, _ := filepath.Glob(filepath.Join(dir, "*.index"))
		return list
	}
	check("the writer's")
	if len(indexes()) != len(segments(t, dir)) {
		t.Errorf("%d indexes", len(indexes()))
	}
	for _, x := range indexes() {
		data, _ := os.ReadFile(x)
		os.WriteFile(x, data[:len(data)-1], 0o600)
	}
	check("cut")
	list := indexes()
	first, _ := os.ReadFile(list[0])
	for _, x := range list {
		os.WriteFile(x, first, 0o600)
	}
	check("of another segment")
	for i, x := range indexes() {
		os.WriteFile(x, bytes.Repeat([]byte{byte(i), '\n'}, 100), 0o600)
	}
	check("garbage")
	for _, x := range indexes() {
		os.Remove(x)
	}
	check("none")
}

// The index that a writer makes as it appends is the one that is made of the
// finished lines.
func TestIndexIsTheSameEitherWay(t *testing.T) {
	dir := mixed(t)
	list := func() (entries []record.Entry) {
		r, _ := record.OpenReader(dir, record.ReadOptions{NoIndex: true})
		for e, err := range r.Entries(record.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			entries = append(entries, e)
		}
		return entries
	}
	written := list()
	for _, x := range segments(t, dir) {
		os.Remove(strings.TrimSuffix(x, ".jsonl") + ".index")
	}
	if made := list(); !reflect.DeepEqual(written, made) {
		t.Errorf("written %+v\nmade %+v", written, made)
	}
}

// An index is never trusted over the line: an edit behind its back is seen.
func TestIndexBehindTheBack(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, record.Options{})
	for i := range 5 {
		put(t, w, "r", i, record.CycleStart{Goal: record.Say("x")})
	}
	shut(t, w)
	s := segments(t, dir)[0]
	data, _ := os.ReadFile(s)
	os.WriteFile(s, bytes.Replace(data, []byte(`"seq":2,`), []byte(`"seq":7,`), 1), 0o600)
	r, _ := record.OpenReader(dir, record.ReadOptions{})
	faults := 0
	for _, err := range r.Events(record.Query{Run: "r"}) {
		if err != nil {
			faults++
		}
	}
	if faults != 1 {
		t.Errorf("%d faults", faults)
	}
}

// A line that cannot be read is reported, and the reading continues after it.
func TestBadLine(t *testing.T) {
	_, l, _ := written(t, record.Options{})
	l[3] = []byte("no event\n")
	r, _ := record.OpenReader(join(t, l...), record.ReadOptions{})
	good, bad := 0, 0
	for _, err := range r.Events(record.Query{}) {
		if err != nil {
			bad++
			continue
		}
		good++
	}
	if good != 9 || bad != 1 {
		t.Errorf("%d good, %d bad", good, bad)
	}
}

// What a newer version wrote is kept: its types, its versions, its members. What
// an older one did not write is zero.
func TestVersions(t *testing.T) {
	zeros := strings.Repeat("0", 64)
	dir := join(t,
		[]byte(`{"v":1,"seq":1,"time":"2026-01-02T03:04:05Z","run":"r","cycle":1,"type":"NEW_THING","shard":7,"payload":{"a":1},"prev":"`+zeros+"\"}\n"),
		[]byte(`{"v":3,"seq":2,"time":"2026-01-02T03:04:05Z","run":"r","cycle":1,"type":"CYCLE_START","payload":{"goal":["of","another","form"]},"prev":"`+zeros+"\"}\n"),
		[]byte(`{"v":1,"seq":3,"time":"2026-01-02T03:04:05Z","run":"r","type":"CYCLE_START","payload":{"goal":{"text":"g","tone":"kind"},"more":1},"prev":"`+zeros+"\"}\n"),
		[]byte(`{"v":1,"seq":4,"time":"2026-01-02T03:04:05Z","type":"CYCLE_START","payload":{"goal":5},"prev":"`+zeros+"\"}\n"),
	)
	got := read(t, dir, record.ReadOptions{}, record.Query{})
	if len(got) != 4 {
		t.Fatalf("%d events", len(got))
	}
	if u, ok := got[0].Payload.(record.Unknown); !ok || u.Name != "NEW_THING" || string(u.JSON) != `{"a":1}` || !strings.Contains(string(got[0].Line()), `"shard":7`) {
		t.Errorf("a new type is %+v", got[0])
	}
	if u, ok := got[1].Payload.(record.Unknown); !ok || got[1].V != 3 || u.Type() != record.TypeCycleStart {
		t.Errorf("a new version is %+v", got[1])
	}
	if p, ok := got[2].Payload.(record.CycleStart); !ok || p.Goal.Text != "g" || got[2].Cycle != 0 {
		t.Errorf("new members give %+v", got[2])
	}
	if _, ok := got[3].Payload.(record.Unknown); !ok {
		t.Errorf("a payload of another form is %+v", got[3])
	}
	w := open(t, t.TempDir(), record.Options{})
	defer shut(t, w)
	for _, e := range got[:1] { // and can be recorded again
		put(t, w, e.Run, e.Cycle, e.Payload)
	}
}

// A follower gets what is there and what comes, over the ends of segments, in
// order and once.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, record.Options{Policy: record.None, SegmentSize: 2 << 10})
	put(t, w, "r", 0, record.CycleStart{})
	put(t, w, "other", 0, record.CycleStart{})
	r, err := record.OpenReader(dir, record.ReadOptions{Poll: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	next := 0
	for e, err := range r.Follow(ctx, record.Query{Run: "r"}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Cycle != next {
			t.Fatalf("cycle %d comes where %d should", e.Cycle, next)
		}
		if next++; next == 100 {
			cancel()
			continue
		}
		put(t, w, "r", next, said("m", "<think>a</think>b"))
	}
	if next != 100 {
		t.Errorf("%d events", next)
	}
	shut(t, w)
}

// FuzzReader holds that no bytes, of segments or indexes, make a reader panic.
func FuzzReader(f *testing.F) {
	zeros := strings.Repeat("0", 64)
	for _, line := range []string{
		`{"v":1,"seq":1,"time":"2026-01-02T03:04:05Z","run":"r","cycle":1,"type":"CYCLE_START","payload":{"goal":{"text":"base64:QQ=="}},"prev":"` + zeros + "\"}\n",
		`{"v":1,"seq":1,"last":3,"time":"2026-01-02T03:04:05Z","run":"","cycle":0,"type":"SEALED","payload":{"age":"YWdl"},"prev":"` + zeros + "\"}\n",
		`{"v":1,"seq":1,"time":"","type":"EXCHANGE","payload":{"model":"m","replies":[{"diagnostics":[{"code":"x"}]}]},"prev":"` + zeros + "\"}\n",
		"{}\n", "\x00", `{"v":1,"seq":18446744073709551615,"prev":"` + zeros + "\"}\n",
	} {
		f.Add([]byte(line), []byte("x"))
	}
	f.Fuzz(func(t *testing.T, segment, index []byte) {
		dir := t.TempDir()
		name := filepath.Join(dir, "00000000000000000001")
		os.WriteFile(name+".jsonl", segment, 0o600)
		os.WriteFile(name+".index", index, 0o600)
		r, err := record.OpenReader(dir, record.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range []record.Query{{}, {Run: "r"}, {Model: "m", Diagnostic: "x"}} {
			for e := range r.Events(q) {
				_ = e.Type
			}
			for e := range r.Entries(q) {
				_ = e.Type
			}
		}
		before, err := record.Verify(dir, record.VerifyOptions{Keys: public()})
		if err != nil {
			t.Fatal(err)
		}
		w, err := record.Open(dir, record.Options{Policy: record.None})
		if err != nil {
			return // the last line is not ours, and stays
		}
		put(t, w, "r", 0, record.CycleStart{})
		shut(t, w)
		if after := verify(t, dir, record.VerifyOptions{Keys: public()}); len(after.Findings) > len(before.Findings) || after.Events != before.Events+1 {
			t.Errorf("before %+v, behind an append %+v", before, after)
		}
	})
}

// Reading on after an event gives the rest of what reading all gives, wherever
// the segments are parted, and Head is the last of it.
func TestAfter(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, record.Options{SegmentSize: 900, Policy: record.None, SigningKey: key(), CheckpointEvery: 3})
	for i := range 40 {
		put(t, w, "r", i, record.CycleStart{})
	}
	shut(t, w)
	all := read(t, dir, record.ReadOptions{}, record.Query{})
	for after := range len(all) + 2 {
		rest := read(t, dir, record.ReadOptions{}, record.Query{After: uint64(after)})
		if len(rest) != max(0, len(all)-after) || len(rest) > 0 && rest[0].Seq != uint64(after+1) {
			t.Fatalf("%d events behind number %d of %d", len(rest), after, len(all))
		}
	}
	r, err := record.OpenReader(dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if head, err := r.Head(); err != nil || head != verify(t, dir, record.VerifyOptions{}).Head {
		t.Errorf("head %v, %v", head, err)
	}
}
