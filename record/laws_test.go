package record

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"
)

// A digest is SHA-256, of a text of any length.
func TestDigestOf(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 8<<10)
	for _, n := range []int{0, 1, 2, 63, 64, 511, 512, 513, 4095, 4096, 4097, 8192, 32 << 10, 32<<10 + 1, len(text)} {
		if got := DigestOf(text[:n]); got != sha256.Sum256([]byte(text[:n])) || got.IsZero() {
			t.Errorf("the digest of %d bytes is %s", n, got)
		}
	}
	var d Digest
	if !d.IsZero() {
		t.Error("the zero digest is not zero")
	}
	for _, text := range []string{"x", strings.Repeat("0", 63), strings.Repeat("0", 65), strings.Repeat("g", 64)} {
		if err := d.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is a digest", text)
		}
	}
}

// A secret in JSON of any form is taken out, also in a payload that is not an object.
func TestSecretsInAnyJSON(t *testing.T) {
	n := newNeedles([]string{"secret-123", `quo"ted-456`})
	for src, want := range map[string]string{
		`"secret-123"`: `"[secret]"`, `["secret-123",1,"x"]`: `["[secret]",1,"x"]`, `{"secret-123":{"a":"xsecret-123y"}}`: `{"[secret]":{"a":"x[secret]y"}}`, `{"a":"quo\"ted-456\\"}`: `{"a":"[secret]\\"}`, `{"a":"sec\u0072et-123"}`: `{"a":"[secret]"}`,
		`{"a":"base64:c2VjcmV0LTEyMw=="}`: `{"a":"[secret]"}`, `{"a":"base64:!secret-123"}`: `{"a":"base64:YmFzZTY0OiFbc2VjcmV0XQ=="}`, `12`: `12`, `null`: `null`, `""`: `""`, `{"a":"\\","b":"secret-123"}`: `{"a":"\\","b":"[secret]"}`,
	} {
		if got, err := scrubJSON(nil, []byte(src), n); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", src, got, err, want)
		}
	}
}

// A strip is a file that notes what is written to it.
type strip struct {
	data   []byte
	writes map[int64]int // how many bytes at each place
}

func (s *strip) ReadAt(p []byte, at int64) (int, error)  { return copy(p, s.data[at:]), nil }
func (s *strip) WriteAt(p []byte, at int64) (int, error) { s.writes[at] += len(p); return len(p), nil }
func (s *strip) Sync() error                             { return nil }
func (s *strip) Truncate(int64) error                    { return nil }
func (s *strip) Close() error                            { return nil }
func (s *strip) Stat() (fs.FileInfo, error)              { return nil, fs.ErrInvalid }

// What is written again is exactly what may be lost, at most a mebibyte at a time.
func TestWriteAgain(t *testing.T) {
	const most = 1 << 20
	for _, c := range []struct {
		from, to int64
		want     string
	}{{5, 5, "map[]"}, {5, 9, "map[5:4]"}, {0, most, "map[0:1048576]"}, {7, most + 8, "map[7:1048576 1048583:1]"}, {3, 2*most + 3, "map[3:1048576 1048579:1048576]"}} {
		s := &strip{data: make([]byte, 3*most), writes: map[int64]int{}}
		if err := writeAgain(s, c.from, c.to); err != nil || fmt.Sprint(s.writes) != c.want {
			t.Errorf("bytes %d to %d: %v, %v; want %s", c.from, c.to, s.writes, err, c.want)
		}
	}
}

// What the chain of events shows about a line that says a false number, for each number and
// each place of the next: one finding, and the numbers after it as they were.
func TestDoubtedNumbers(t *testing.T) {
	digest := func(n uint64) Digest { return DigestOf(fmt.Sprint("line ", n)) }
	for said := uint64(1); said < 12; said++ {
		for last := said; last < said+4; last++ {
			var n numbering
			for seq := uint64(1); seq < 9; seq++ {
				f, h := frame{first: seq, last: seq, prev: digest(seq - 1)}, Head{seq, digest(seq)}
				if seq == 1 {
					f.prev = Digest{}
				}
				if seq == 5 { // its number and its bytes are false
					f.first, f.last, h = said, last, Head{last, DigestOf("false")}
				}
				n.follow(f, h, "s")
			}
			n.settle()
			if said == 5 && last == 5 {
				continue // only its bytes are false
			}
			if len(n.findings) != 1 || n.findings[0].Segment != "s" || n.head.Seq != 8 || n.top != 8 || n.events != 8 || n.more != 0 {
				t.Errorf("a line that says it is %d to %d: %v; head %d, top %d, %d events", said, last, n.findings, n.head.Seq, n.top, n.events)
			} else if f := n.findings[0]; f.Fault != Edited || f.First != 5 || f.Last != 5 {
				t.Errorf("a line that says it is %d to %d: %v", said, last, f)
			}
		}
	}
}

// Values are counted by their separators, outside of strings.
func TestCountedValues(t *testing.T) {
	pad := strings.Repeat(" ", maxValues)
	for text, want := range map[string]bool{
		strings.Repeat(",", maxValues): false, strings.Repeat(",", maxValues+1): true, strings.Repeat("[", maxValues+1): true, strings.Repeat("{", maxValues+1): true, pad + strings.Repeat(":", maxValues+1): false,
		pad + strings.Repeat("{", maxValues): false, `"` + strings.Repeat(",", maxValues+1) + `"`: false, `"\""` + strings.Repeat(",", maxValues+1): true, `"\\"` + strings.Repeat(",", maxValues+1): true,
		`"\"` + strings.Repeat(",", maxValues+1) + `"`: false, `"a"` + strings.Repeat(",", maxValues+1): true, strings.Repeat(",", maxValues) + `""[`: true, `"` + strings.Repeat(`,\`, maxValues): false,
	} {
		if got := tooManyValues([]byte(text)); got != want {
			t.Errorf("%.10q… of %d bytes has too many values: %v", text, len(text), got)
		}
	}
}

// A tombstone says what the segment was.
func TestTombstonesSay(t *testing.T) {
	dir := t.TempDir()
	w, err := Open(dir, Options{Policy: None, SegmentSize: 400})
	if err != nil {
		t.Fatal(err)
	}
	var all []Receipt
	for range 12 {
		r, err := w.Append(t.Context(), Event{Payload: CycleStart{}})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := segmentsOf(dir)
	if err != nil || len(list) < 3 {
		t.Fatalf("%d segments, %v", len(list), err)
	}
	sizes := make([]int64, len(list))
	for i, s := range list {
		if sizes[i], err = sizeOf(list[i : i+1]); err != nil {
			t.Fatal(s, err)
		}
	}
	before := time.Now().Add(-time.Second)
	stones, err := Prune(dir, PruneOptions{Before: time.Now().Add(time.Hour)})
	if err != nil || len(stones) != len(list)-1 {
		t.Fatalf("%d tombstones, %v", len(stones), err)
	}
	files, err := Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range stones {
		last := list[i+1].first - 1
		kept, err := files[i].Pruned()
		if err != nil || s.V != Version || s.First != list[i].first || s.Last != last || s.Bytes != sizes[i] || !s.From.Equal(all[s.First-1].Time) || !s.To.Equal(all[last-1].Time) || s.Record != w.ID() || s.Pruned.Before(before) || s.Pruned.After(time.Now()) {
			t.Errorf("tombstone %d: %+v, %v", i, s, err)
		}
		if !kept.Pruned.Equal(s.Pruned) || kept.Head != s.Head || kept.Prev != s.Prev || i > 0 && s.Prev != stones[i-1].Head {
			t.Errorf("tombstone %d is kept as %+v, was %+v", i, kept, s)
		}
	}
}

// Where the line after a false one is missing, that is a finding too.
func TestDoubtedNumberThenGap(t *testing.T) {
	for said := uint64(1); said < 5; said++ {
		for last := said; last < 6; last++ {
			var n numbering
			for _, seq := range []uint64{1, 2, 3, 4, 5, 7, 8} {
				f, h := frame{first: seq, last: seq, prev: DigestOf(fmt.Sprint("line ", seq-1))}, Head{seq, DigestOf(fmt.Sprint("line ", seq))}
				if seq == 1 {
					f.prev = Digest{}
				}
				if seq == 5 {
					f.first, f.last, h = said, last, Head{last, DigestOf("false")}
				}
				n.follow(f, h, "s")
			}
			n.settle()
			missing := false
			for _, f := range n.findings {
				missing = missing || f.Fault == Missing && f.First <= 6 && f.Last == 6
			}
			if !missing {
				t.Errorf("a line that says it is %d to %d, and none after it: %v", said, last, n.findings)
			}
		}
	}
}

// When there are too many secrets, those that are known to be some are searched for, and the
// longest of the others.
func TestSecretsThatCount(t *testing.T) {
	s := &Secrets{}
	for i := range maxSecrets - 1 {
		s.add(true, fmt.Sprint("k", 1000+i))
	}
	for i := range maxSecrets + 2 {
		s.add(false, fmt.Sprint("guessed-value-", 1000+i))
	}
	s.add(false, "k1000", "   padded-1234   ", "abc", "")
	named := 0
	for _, known := range s.values {
		if known {
			named++
		}
	}
	_, first := s.values["guessed-value-1000"]
	_, padded := s.values["padded-1234"]
	if !s.values["k1000"] || !first || !padded || named != maxSecrets-1 || len(s.values) != maxSecrets+1 || s.dropped != maxSecrets+1 {
		t.Errorf("%d values, %d of them known, %d dropped", len(s.values), named, s.dropped)
	}
}

// Where the replies or the messages of a line begin is found wherever they stand.
func TestBeforeReplies(t *testing.T) {
	for line, want := range map[string]int{"": -1, `{"replies":[{`: -1, `,"replies":[{`: 0, `,"messages":[{`: 0, `{"a":1,"messages":[{}],"replies":[{`: 22, `{"a":1,"messages":[{}]`: 6, `{"a":1,"replies":[]`: -1} {
		if got := beforeReplies([]byte(line)); got != want {
			t.Errorf("%s: %d, want %d", line, got, want)
		}
	}
}
