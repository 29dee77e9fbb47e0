package shards

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// A file is an input for a test.
type file struct {
	text  string
	lines bool // plain JSON Lines
}

// drawFiles draws inputs with lines of every length and both kinds of line end, without
// one at the end, without any line, and inputs that cannot be cut.
func drawFiles(t *rapid.T) []file {
	line := rapid.Custom(func(t *rapid.T) string {
		return strings.Repeat("x", rapid.IntRange(0, 30).Draw(t, "length")) + rapid.SampledFrom([]string{"\n", "\r\n", "\r\r\n"}).Draw(t, "end")
	})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) file {
		text := strings.Join(rapid.SliceOfN(line, 0, 8).Draw(t, "lines"), "")
		if rapid.Bool().Draw(t, "no end") {
			text = strings.TrimSuffix(text, "\n")
		}
		return file{text, rapid.IntRange(0, 3).Draw(t, "kind") > 0}
	}), 0, 5).Draw(t, "files")
}

// read returns what a shard reads: each line, or the whole of an input, after its place.
func read(t *rapid.T, files []file, s Shard, wrap func(io.Reader) io.Reader) (got []string) {
	var inputs []Input
	for i, f := range files {
		inputs = append(inputs, Input{Name: fmt.Sprint(i), Size: int64(len(f.text))})
	}
	number := func(in Input) (n int) { fmt.Sscan(in.Name, &n); return n }
	asked := 0
	pieces, err := Cut(inputs, s, func(in Input) (bool, error) { asked++; return files[number(in)].lines, nil })
	if err != nil {
		t.Fatal(err)
	}
	if asked > 2 {
		t.Fatalf("shard %v asked about %d inputs", s, asked)
	}
	for _, p := range pieces {
		f := files[p.Number]
		if !f.lines {
			got = append(got, fmt.Sprintf("%d whole", p.Number))
			continue
		}
		l, err := NewLines(wrap(strings.NewReader(f.text[Before(p.From):])), p.From, p.To)
		if err != nil {
			t.Fatal(err)
		}
		at := l.Begin()
		text, err := io.ReadAll(l)
		if err != nil {
			t.Fatal(err)
		}
		for part := range bytes.Lines(text) {
			got = append(got, fmt.Sprintf("%d %d %q", p.Number, at, part))
			at += int64(len(part))
		}
	}
	return got
}

// TestShardsAreTheWhole holds the law of the package comment against brute force: every
// line of every input comes once, in order, with its place, whatever the number of
// shards is.
func TestShardsAreTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := drawFiles(t)
		count := rapid.OneOf(rapid.IntRange(1, 12), rapid.IntRange(13, 500)).Draw(t, "count")
		wrap := rapid.SampledFrom([]func(io.Reader) io.Reader{
			func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.DataErrReader, iotest.HalfReader,
		}).Draw(t, "reader")
		var want, got []string
		for i, f := range files {
			if !f.lines {
				want = append(want, fmt.Sprintf("%d whole", i))
				continue
			}
			at := 0
			for part := range strings.Lines(f.text) {
				want = append(want, fmt.Sprintf("%d %d %q", i, at, part))
				at += len(part)
			}
		}
		for i := range count {
			got = append(got, read(t, files, Shard{i, count}, wrap)...)
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%d shards of %+v read\n%s\nwant\n%s", count, files, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// TestShardsAreEqual checks that the shards of one long file differ by a line, and that a
// shard whose part holds no beginning of a line reads no more than its part.
func TestShardsAreEqual(t *testing.T) {
	text := strings.Repeat("0123456789\n", 1000)
	for i := range 7 {
		pieces, err := Cut([]Input{{Size: int64(len(text))}}, Shard{i, 7}, func(Input) (bool, error) { return true, nil })
		if err != nil {
			t.Fatal(err)
		}
		l, _ := NewLines(strings.NewReader(text[Before(pieces[0].From):]), pieces[0].From, pieces[0].To)
		part, _ := io.ReadAll(l)
		if n := bytes.Count(part, []byte("\n")); n < 142 || n > 144 {
			t.Errorf("shard %d has %d of 1,000 lines", i, n)
		}
	}
	long := strings.NewReader(strings.Repeat("x", 10<<20))
	l, err := NewLines(long, 100, 200)
	if part, _ := io.ReadAll(l); err != nil || len(part) > 0 || long.Len() < 9<<20 {
		t.Errorf("of a line that begins before the part, %d bytes were read: %d, %v", 10<<20-long.Len(), len(part), err)
	}
}

// TestCutIsHostile gives sizes as a listing could claim them.
func TestCutIsHostile(t *testing.T) {
	lines := func(Input) (bool, error) { return true, nil }
	for _, sizes := range [][]int64{{-1}, {1 << 62, 1 << 62}, {1<<63 - 1}, {1<<63 - 2, 0}} {
		var inputs []Input
		for _, n := range sizes {
			inputs = append(inputs, Input{Size: n})
		}
		if _, err := Cut(inputs, Shard{0, 1}, lines); err == nil {
			t.Errorf("sizes %v are accepted", sizes)
		}
	}
	pieces, err := Cut([]Input{{Size: 1<<63 - 2}}, Shard{MaxCount - 1, MaxCount}, lines)
	if err != nil || len(pieces) != 1 || pieces[0].To != 1<<63-2 || pieces[0].From < 1<<62 {
		t.Errorf("the last shard of a huge input is %v, %v", pieces, err)
	}
}

// TestParse checks every source of the index and the count.
func TestParse(t *testing.T) {
	slurm := map[string]string{"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "4", "SLURM_ARRAY_TASK_MIN": "0", "SLURM_ARRAY_TASK_MAX": "3"}
	with := func(env map[string]string, more ...string) map[string]string {
		all := map[string]string{}
		for k, v := range env {
			all[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	for _, test := range []struct {
		text string
		env  map[string]string
		want string // the shard, or a part of the error
	}{
		{"0/1", nil, "0/1"},
		{"399/400", nil, "399/400"},
		{"400/400", nil, "indexes 0 to 399, not 400"},
		{"0/0", nil, "number of shards is 0"},
		{"0/100000", nil, "1 to 99999"},
		{"-1/4", nil, "not a number"},
		{"3", nil, "no number of shards"},
		{"/4", nil, "not a number"},
		{"auto", nil, "not a task of an array"},
		{"auto", slurm, "3/4"},
		{"auto/9", slurm, "3/9"},
		{"auto", with(slurm, "SLURM_ARRAY_TASK_MIN", "1", "SLURM_ARRAY_TASK_MAX", "4"), "from 1 to 4, not from 0 to 3: number it from 0"},
		{"auto", with(slurm, "SLURM_ARRAY_TASK_COUNT", "1", "SLURM_ARRAY_TASK_MIN", "3"), "1 tasks from 3 to 3"},
		{"auto/4", with(slurm, "SLURM_ARRAY_TASK_COUNT", "1", "SLURM_ARRAY_TASK_MIN", "3"), "3/4"},
		{"auto", with(slurm, "SLURM_ARRAY_TASK_COUNT", ""), "SLURM_ARRAY_TASK_COUNT"},
		{"auto", with(slurm, "SLURM_ARRAY_TASK_MIN", ""), "SLURM_ARRAY_TASK_MIN"},
		{"auto", with(slurm, "JOB_COMPLETION_INDEX", "1"), "both SLURM_ARRAY_TASK_ID and JOB_COMPLETION_INDEX"},
		{"auto", map[string]string{"JOB_COMPLETION_INDEX": "1"}, "write auto/N"},
		{"auto/2", map[string]string{"JOB_COMPLETION_INDEX": "1"}, "1/2"},
		{"auto", map[string]string{"AWS_BATCH_JOB_ARRAY_INDEX": "1", "AWS_BATCH_JOB_ARRAY_SIZE": "2"}, "1/2"},
		{"auto", map[string]string{"AWS_BATCH_JOB_ARRAY_INDEX": "1"}, "AWS_BATCH_JOB_ARRAY_SIZE"},
		{"auto", map[string]string{"AWS_BATCH_JOB_ARRAY_INDEX": "x", "AWS_BATCH_JOB_ARRAY_SIZE": "2"}, `AWS_BATCH_JOB_ARRAY_INDEX: "x" is not`},
	} {
		s, err := Parse(test.text, func(name string) string { return test.env[name] })
		got := s.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%s with %v: %s, want %s", test.text, test.env, got, test.want)
		}
	}
}
