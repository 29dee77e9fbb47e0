package record

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto/internal/testing/waiting"
)

// What options leave out has the values that their documentation names, and what cannot be is
// refused.
func TestOptionDefaults(t *testing.T) {
	o, err := Options{}.withDefaults()
	if err != nil || o.SyncEvery != time.Second || o.SegmentSize != 64<<20 || o.SegmentAge != 24*time.Hour || o.Queue != 64<<20 || o.MaxEvent != 64<<20 || o.CheckpointEvery != 4096 || o.CheckpointAfter != time.Minute || len(o.DigestKey) != 32 || o.Log == nil {
		t.Errorf("%+v, %v", o, err)
	}
	o, err = Options{SyncEvery: 1, SegmentSize: 2, SegmentAge: 3, Queue: 4, MaxEvent: 5, CheckpointEvery: 6, CheckpointAfter: 7, DigestKey: []byte("k")}.withDefaults()
	if err != nil || o.SyncEvery != 1 || o.SegmentSize != 2 || o.SegmentAge != 3 || o.Queue != 4 || o.MaxEvent != 5 || o.CheckpointEvery != 6 || o.CheckpointAfter != 7 || string(o.DigestKey) != "k" {
		t.Errorf("%+v, %v", o, err)
	}
	for says, o := range map[string]Options{
		"not an Ed25519 key": {SigningKey: make(ed25519.PrivateKey, 63)}, "the limit for a line": {MaxEvent: maxMaxEvent + 1}, "unknown policy or level": {Policy: None + 1}, "policy or level": {Reasoning: Off + 1}, "or level": {Answer: Off + 1},
		"identifiers are recorded at level full": {IDs: Redacted}, "full, digest or off": {IDs: Off + 1},
	} {
		if _, err := o.withDefaults(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	for _, o := range []Options{{SigningKey: make(ed25519.PrivateKey, 64)}, {MaxEvent: maxMaxEvent}, {Policy: None, Reasoning: Off, Answer: Off, IDs: Off}} {
		if _, err := o.withDefaults(); err != nil {
			t.Error(err)
		}
	}
}

// Policies, levels, heads and digests are written as text and read back.
func TestTextForms(t *testing.T) {
	for p := Always; p <= None; p++ {
		var back Policy
		if text, _ := p.MarshalText(); back.UnmarshalText(text) != nil || back != p || string(text) != p.String() {
			t.Errorf("%s", text)
		}
	}
	var p Policy
	if err := p.UnmarshalText([]byte("never")); err == nil || err.Error() != `unknown policy "never": want always, batch or none` || Policy(9).String() != "policy(9)" || Level(9).String() != "level(9)" {
		t.Errorf("%v, %s, %s", err, Policy(9), Level(9))
	}
	h := Head{12, DigestOf("x")}
	var back Head
	if text, err := h.MarshalText(); err != nil || back.UnmarshalText(append(text, '\n')) != nil || back != h {
		t.Errorf("%s, %v", text, err)
	}
	for _, text := range []string{"", "12", ":" + h.Digest.String(), "x:" + h.Digest.String(), "12:ab", "12:" + strings.Repeat("g", 64), "99999999999999999999:"} {
		if err := back.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is the head %s", text, back)
		}
	}
	if err := back.UnmarshalText([]byte("18446744073709551615:")); err != nil || back.Seq != 1<<64-1 || !back.Digest.IsZero() {
		t.Errorf("%s, %v", back, err)
	}
	e := Event{Time: time.Unix(1, 0)}
	if !e.When().Equal(e.Time) {
		t.Error("an event happened at another time than it was recorded")
	}
	if e.Happened = time.Unix(0, 0); !e.When().Equal(e.Happened) {
		t.Error("an imported event happened when it was recorded")
	}
	x := Exchange{Messages: []Message{{}}, Tools: []Tool{{}}, Revisions: []Revision{{}}, Model: "m"}
	if got := withoutPrompts(x).(Exchange); got.Messages != nil || got.Tools != nil || got.Revisions != nil || got.Model != "m" {
		t.Errorf("%+v", got)
	}
	if got := withoutPrompts(Invocation{Messages: []Message{{}}, Tools: []Tool{{}}, Model: "m"}).(Invocation); got.Messages != nil || got.Tools != nil || got.Model != "m" {
		t.Errorf("%+v", got)
	}
	if got := withoutPrompts(RunStart{Agent: "a"}); got.(RunStart).Agent != "a" {
		t.Errorf("%+v", got)
	}
	if got := strings.Join(SessionHeaders(), " "); got != "Sotto-Conversation X-OpenWebUI-Chat-Id X-Claude-Code-Session-Id" {
		t.Error(got)
	}
	for _, header := range SessionHeaders() {
		if name, id := (Exchange{IDs: map[string]string{header: "v"}}).Session(); name != header || id != "v" {
			t.Errorf("%s names the session %q %q", header, name, id)
		}
	}
}

// A span of a text is what stands there in the original, unless a part of it was cut.
func TestSpans(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		original := strings.Repeat("abcdefghij", 3)
		var c Content
		at := 0
		for at < len(original) && rng.IntN(5) > 0 {
			start := at + rng.IntN(4)
			end := min(start+1+rng.IntN(4), len(original))
			if start >= end {
				break
			}
			now := "[gone]"[:rng.IntN(7)]
			c.Text += Text(original[at:start] + now)
			c.Cuts = append(c.Cuts, Cut{Start: start, End: end, Now: len(now)})
			at = end
		}
		c.Text += Text(original[at:])
		if c.Len() != len(original) || c.Whole() != (len(c.Cuts) == 0) {
			t.Fatalf("%+v has %d bytes", c, c.Len())
		}
		for start := -1; start <= len(original)+1; start++ {
			for end := start - 1; end <= len(original)+1; end++ {
				cut := slices.ContainsFunc(c.Cuts, func(k Cut) bool { return k.Start < end && k.End > start })
				want := start >= 0 && end >= start && end <= len(original) && !cut
				text, ok := c.Span(start, end)
				if ok != want || ok && text != original[start:end] {
					t.Fatalf("bytes %d to %d of %+v: %q, %v", start, end, c, text, ok)
				}
			}
		}
	}
}

// The files of a record are listed in the order of their events, each with whether it still
// changes, and lines say where they stand in the chain.
func TestFilesOfRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	w, err := Open(dir, Options{SegmentSize: 1, Policy: None})
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if _, err := w.Append(t.Context(), Event{Payload: CycleStart{}}); err != nil {
			t.Fatal(err)
		}
	}
	if w.Dir() != dir {
		t.Error(w.Dir())
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	stones, err := Prune(dir, PruneOptions{Before: time.Now().Add(time.Hour), Until: all[2].First})
	if err != nil || len(stones) != 2 {
		t.Fatalf("%d, %v", len(stones), err)
	}
	list, err := Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	var prev Digest
	for i, f := range list {
		last := i == len(list)-1
		if f.First != all[i].First || f.Sealed == last || f.Tombstone != (i < 2) || filepath.Dir(f.Path) != dir || IsSegment(filepath.Base(f.Path)) != true {
			t.Errorf("file %d: %+v", i, f)
		}
		if f.Tombstone {
			stone, err := f.Pruned()
			if err != nil || stone.First != f.First || filepath.Base(f.Path) != TombstoneName(f.First) || stone.Head != stones[i].Head {
				t.Errorf("tombstone %d: %+v, %v", i, stone, err)
			}
			prev = stone.Head
			continue
		}
		if _, err := f.Pruned(); !errors.Is(err, fs.ErrInvalid) || filepath.Base(f.Path) != SegmentName(f.First) {
			t.Errorf("segment %d: %v", i, err)
		}
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		in.Close()
		data, _ := os.ReadFile(f.Path)
		for line := range strings.Lines(string(data)) {
			m, err := MarkOf([]byte(line))
			if err != nil || m.Head.Digest != DigestOf(line) || m.Prev != prev || m.Time.IsZero() || m.Head.Seq < m.First || m.First < f.First {
				t.Errorf("%s: %+v, %v", line, m, err)
			}
			prev = m.Head.Digest
		}
	}
	if list[0].First != 1 || IsSegment("x.jsonl") || IsSegment("00000000000000000001.idx") {
		t.Errorf("%+v", list[0])
	}
	for _, line := range []string{"", "x\n", `{"v":1}` + "\n"} {
		if m, err := MarkOf([]byte(line)); err == nil {
			t.Errorf("%q is %+v", line, m)
		}
	}
	if err := os.Remove(list[0].Path); err != nil {
		t.Fatal(err)
	}
	if _, err := list[0].Pruned(); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Files(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// The numbers of lines in a wrong order, twice, or not at all are findings of their own, each
// once.
func TestNumberings(t *testing.T) {
	line := func(seq uint64) (frame, Head) {
		f := frame{first: seq, last: seq}
		if seq > 1 {
			f.prev = DigestOf(fmt.Sprint(seq - 1))
		}
		return f, Head{seq, DigestOf(fmt.Sprint(seq))}
	}
	for _, c := range []struct {
		seqs []uint64
		want string
	}{
		{[]uint64{1, 2, 3}, "[]"}, {[]uint64{1, 4, 5}, "[events 2 to 3 (s): missing]"}, {[]uint64{1, 3, 4}, "[event 2 (s): missing]"}, {[]uint64{1, 2, 2, 3}, "[event 2 (s): repeated]"}, {[]uint64{2, 3}, "[event 1 (s): missing]"},
		{[]uint64{1, 6, 7, 3, 8}, "[event 3 (s): reordered event 2 (s): missing events 4 to 5 (s): missing]"}, {[]uint64{1, 6, 7, 2, 8}, "[event 2 (s): reordered events 3 to 5 (s): missing]"}, {[]uint64{1, 6, 7, 5, 8}, "[event 5 (s): reordered events 2 to 4 (s): missing]"}, {[]uint64{1, 3, 4, 2, 5}, "[event 2 (s): reordered]"},
	} {
		var n numbering
		for _, seq := range c.seqs {
			f, h := line(seq)
			n.follow(f, h, "s")
		}
		n.settle()
		if got := fmt.Sprint(n.findings); got != c.want || n.events != uint64(len(c.seqs)) && !strings.Contains(c.want, "repeated") {
			t.Errorf("%v: %s, want %s; %d events", c.seqs, got, c.want, n.events)
		}
	}
	var n numbering
	for range maxFindings + 2 {
		n.find(Edited, 1, 1, "")
	}
	if len(n.findings) != maxFindings || n.more != 2 {
		t.Errorf("%d findings and %d more", len(n.findings), n.more)
	}
	for want, f := range map[string]Finding{"event 3: edited": {Edited, 3, 3, ""}, "events 3 to 4 (s): missing": {Missing, 3, 4, "s"}, "after event 3: unreadable": {Unreadable, 3, 3, ""}, "event 0: truncated": {Fault: Truncated}} {
		if f.String() != want {
			t.Errorf("%s, want %s", f, want)
		}
	}
	r := Report{Findings: []Finding{{Edited, 3, 3, ""}}}
	if got := fmt.Sprint(r.Err()); got != "record: event 3: edited" {
		t.Error(got)
	}
	r.Findings = append(r.Findings, Finding{}, Finding{})
	if got := fmt.Sprint(r.Err()); got != "record: event 3: edited, and 2 more" || (&Report{}).Err() != nil {
		t.Error(got)
	}
}

// A writer that keeps what fits removes older segments whenever one ends.
func TestKeepsSize(t *testing.T) {
	for _, needed := range []uint64{0, 3} {
		dir := filepath.Join(t.TempDir(), "audit")
		w, err := Open(dir, Options{SegmentSize: 1, KeepSize: 1, Policy: None, Needed: func() uint64 { return needed }})
		if err != nil {
			t.Fatal(err)
		}
		for range 6 {
			if _, err := w.Append(t.Context(), Event{Payload: CycleStart{}}); err != nil {
				t.Fatal(err)
			}
		}
		first := func() uint64 {
			list, err := segmentsOf(dir)
			if err != nil {
				t.Fatal(err)
			}
			return list[0].first
		}
		want := uint64(5)
		if needed > 0 {
			want = needed
		}
		waiting.Until(t, "the removal of older segments", func() bool { return first() >= want })
		if got := first(); needed > 0 && got != needed {
			t.Errorf("with event %d needed, the first is %d", needed, got)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// What JSON has that this package does not write is read as encoding/json reads it, or refused
// as it does.
func TestOddJSON(t *testing.T) {
	for _, text := range []string{
		`{"model":"m","millis":5}`, `{"Model":"m"}`, `{"mod\u0065l":"m"}`, `{"model":"a","model":"b"}`, `{"model":null}`, `{"replies":null}`, `{"replies":[]}`, `{"replies":[ ]}`, `{"replies":[{},{}]}`, `{"replies":[{} , {}]}`, `{"replies":[{}`, `{"replies":[{},`, `{"replies":[{}]`, `{"replies":[{};`, `{"replies":[{}}`, `{"replies":[{}"a":1}`, `{"ids":{"a":"b"}}`, `{"usage":{"input":1}}`, `{"usage":null}`,
		`{"millis":-5}`, `{"millis":1.5}`, `{"millis":"5"}`, `{"millis":99999999999999999999}`, `{"status":200 }`, ` { } `, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{"é":1}`, `[]`, `1`, ``, `{"streamed":true}`, `{"streamed":1}`, `{"leak_bytes":7,"unknown":[{"a":[1,2,"x\""]}]}`, `{"messages":[{"role":"user","text":{"text":"base64:/w=="}}]}`, `{"messages":[{"text":{"text":"base64:!"}}]}`,
	} {
		var got, want Exchange
		err := decodeJSON([]byte(text), &got, false)
		wantErr := json.Unmarshal([]byte(text), &want)
		if (err == nil) != (wantErr == nil) {
			t.Errorf("%s: %v, but %v", text, err, wantErr)
			continue
		}
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

type inner struct {
	B int `json:"b"`
}

// Structs of other forms than those of payloads are read as encoding/json reads them.
func TestOddStructs(t *testing.T) {
	readsAlike[struct {
		K int `json:"k"`
	}](t)
	readsAlike[struct {
		S int `json:"s"`
	}](t)
	readsAlike[struct {
		K int `json:"k"`
		C int
	}](t)
	readsAlike[struct {
		K int `json:"k"`
		inner
	}](t)
	readsAlike[struct {
		K int `json:"k"`
		D int `json:"-"`
	}](t)
}

func readsAlike[T any](t *testing.T) {
	t.Helper()
	for _, text := range []string{`{"k":1,"K":2}`, `{"K":3}`, "{\"\u212a\":4}", "{\"\u017f\":5}", `{"C":6,"c":7}`, `{"b":8}`, `{"D":9,"-":10}`, `{"\u006b":12}`, `{"s":13,"S":14}`} {
		var got, want T
		err, wantErr := decodeJSON([]byte(text), &got, false), json.Unmarshal([]byte(text), &want)
		if (err == nil) != (wantErr == nil) || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("%T of %s: %+v, %v; want %+v, %v", got, text, got, err, want, wantErr)
		}
	}
}
