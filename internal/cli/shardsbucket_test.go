package cli

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/sotto-llm/sotto/internal/lab/shards"
	"github.com/sotto-llm/sotto/internal/net/objects"
	"github.com/sotto-llm/sotto/internal/net/objects/objectstest"
)

// TestShardsInBucket runs shards that read objects and write objects: a pattern of plain
// and compressed objects and a Parquet object,
// and shards that run twice. The outputs are those of files with the same content.
func TestShardsInBucket(t *testing.T) {
	s := objectstest.Start(t, "replies")
	b, err := objects.Open(t.Context(), "replies", objects.Options{Getenv: s.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(7, 8))
	dir := t.TempDir()
	files := (&replyBatch{Rand: r, problems: 5}).write(t, dir, 60)
	files = append(files, filepath.Join(dir, "99.parquet"))
	type row struct {
		Arm   string `parquet:"arm"`
		Input string `parquet:"input"`
		Gold  string `parquet:"gold"`
		Raw   string `parquet:"raw"`
	}
	if err := parquet.WriteFile(files[len(files)-1], []row{{"arm 1", "problem 1", "42", "Answer: 42"}, {"arm 1", "problem 1", "42", "Answer: 43"}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.PutNew(t.Context(), "in/"+filepath.Base(name), bytes.NewReader(data), int64(len(data)), objects.Put{}); err != nil {
			t.Fatal(err)
		}
	}
	local := scoreShards.all(t, r, 5, filepath.Join(dir, "local"), files)
	run := func(i int) (string, string) {
		return scoreShards.runWith(t, s.Getenv, "--shard", fmt.Sprintf("%d/5", i), "-o", "s3://replies/out", "s3://replies/in/*")
	}
	var remote strings.Builder
	for i := range 5 {
		run(i)
		if _, again := run(i); !strings.Contains(again, "was done before") {
			t.Errorf("the second run of a shard: %s", again)
		}
		out, _, err := b.Get(t.Context(), fmt.Sprintf("out/part-%05d-of-00005.jsonl", i), objects.Range{}, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(&remote, out); err != nil {
			t.Fatal(err)
		}
		out.Close()
	}
	if remote.String() != local {
		t.Errorf("shards of objects wrote\n%s\nshards of files\n%s", remote.String(), local)
	}
	one, _ := shardCommand{"score", "merge", "--json"}.run(t, filepath.Join(dir, "local"))
	merged, _ := shardCommand{"score", "merge", "--json"}.runWith(t, s.Getenv, "s3://replies/out/")
	if one != merged {
		t.Errorf("score merge of objects printed\n%s\nof files\n%s", merged, one)
	}

	// An object that is replaced after the listing is an error, not a mixture.
	from := &shards.Sources{Getenv: s.Getenv}
	changed := "in/" + filepath.Base(files[0])
	listed, err := from.List(t.Context(), []string{"s3://replies/" + changed})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Put(t.Context(), changed, strings.NewReader("{}\n"), 3, "", objects.Put{}); err != nil {
		t.Fatal(err)
	}
	if r, err := from.Read(t.Context(), shards.Input{Name: listed[0].Name, Size: 1 << 20, Version: listed[0].Version}, 0, 0); !errors.Is(err, objects.ErrChanged) {
		t.Errorf("an object that was replaced: %v, %v", r, err)
	}
	var stderr bytes.Buffer
	args := append(append(shardCommand{}, scoreShards...), "--shard", "0/5", "-o", "s3://replies/out", "s3://replies/in/*")
	if status := Run(args, strings.NewReader(""), io.Discard, &stderr, s.Getenv); status != 1 || !strings.Contains(stderr.String(), "is that of another run") {
		t.Errorf("a changed object: status %d, %s", status, stderr.String())
	}
}

// TestObjectsAsFiles: a command reads an object as it reads a file with its content,
// compressed or not. Several objects, and an output in a bucket, are refused with what to
// do.
func TestObjectsAsFiles(t *testing.T) {
	s := objectstest.Start(t, "replies")
	b, err := objects.Open(t.Context(), "replies", objects.Options{Getenv: s.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	dir := t.TempDir()
	lines := []byte(`{"raw":"<think>2 and 2.</think>Answer: 4","gold":"4","input":"q"}` + "\n" + `{"raw":"Answer: 5","gold":"4","input":"q"}` + "\n")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(lines)
	z.Close()
	for name, data := range map[string][]byte{"a.jsonl": lines, "b.jsonl.gz": packed.Bytes(), "reply.txt": []byte("<think>2 and 2.</think>Four.")} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := b.PutNew(t.Context(), "in/"+name, bytes.NewReader(data), int64(len(data)), objects.Put{}); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) (status int, out, errs string) {
		var o, e bytes.Buffer
		status = Run(args, strings.NewReader(""), &o, &e, s.Getenv)
		return status, o.String(), e.String()
	}
	for _, args := range [][]string{
		{"strip", "reply.txt"}, {"split", "reply.txt"}, {"strip", "--jsonl", "--field", "raw", "a.jsonl"}, {"strip", "--jsonl", "--field", "raw", "b.jsonl.gz"},
		{"extract", "--jsonl", "--task", "math", "b.jsonl.gz"}, {"score", "--jsonl", "--task", "math", "a.jsonl"}, {"leaks", "--json", "b.jsonl.gz"},
	} {
		last := len(args) - 1
		name := args[last]
		args[last] = filepath.Join(dir, name)
		_, want, _ := run(args...)
		args[last] = "s3://replies/in/" + name
		status, got, errs := run(args...)
		if status != 0 || got != strings.ReplaceAll(want, filepath.Join(dir, name), "s3://replies/in/"+name) || got == "" {
			t.Errorf("%v: status %d %s\ngot  %s\nwant %s", args, status, errs, got, want)
		}
	}
	for want, args := range map[string][]string{
		"several objects are read with --shard 0/1": {"score", "--jsonl", "--task", "math", "s3://replies/in/*"},
		"write to a bucket with --shard 0/1":        {"score", "--jsonl", "--task", "math", "-o", "s3://replies/out.jsonl", filepath.Join(dir, "a.jsonl")},
		"read s3://replies/none":                    {"strip", "s3://replies/none"},
		"s3://":                                     {"strip", "s3://"},
	} {
		if status, _, errs := run(args...); status == 0 || !strings.Contains(errs, want) {
			t.Errorf("%v: status %d, %s", args, status, errs)
		}
	}
}
