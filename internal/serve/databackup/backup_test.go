package databackup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"go.etcd.io/bbolt"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/base/decompress"
	"github.com/sotto-llm/sotto/internal/data/datafolder"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

var signing = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

// written is the time of the conversations of a test's folder.
var written = time.Date(2026, 11, 1, 2, 3, 4, 567_890_123, time.UTC)

// template has the files of a data folder with every part, made once.
var template struct {
	sync.Once
	files map[string][]byte
}

func makeTemplate(t testing.TB) {
	dir := t.TempDir()
	must(t, datafolder.Open(dir))
	put(t, dir, "owners.json", `{"v":1,"owners":{"files":["AAAAAAAAAAAAAAAAAAAAAA alice"]}}`)
	put(t, dir, "owners.jsonl", `{"v":2}`+"\n"+`{"kind":"files","id":"AAAAAAAAAAAAAAAAAAAAAA","caller":"alice"}`+"\n")
	put(t, dir, "starts.json", `{"v":1,"starts":[{"upstream":"http://localhost:11434","model":"qwen3","last":["inside","inside"],"seen":"2026-11-01T00:00:00Z"}]}`)
	put(t, dir, "prompts.json", `{"v":1,"prompts":[{"upstream":"localhost:8000","model":"qwen3","start":"inside:think","seen":"2026-11-01T00:00:00Z"}]}`)
	put(t, dir, "notes/mine.txt", "a file that somebody put here\n")
	put(t, dir, "notes/empty", "")
	certified(t, dir)
	talked(t, pathIn(dir, "chats/c1.jsonl"), 3)
	talked(t, pathIn(dir, "conversations/0123/4567.jsonl"), 2)
	talked(t, pathIn(dir, "responses/0123/4567.jsonl"), 2)
	recorded(t, pathIn(dir, "runs"), 40)
	put(t, dir, "runs/memory/demo.jsonl", `{"use":"a","key":"k","value":"v","result":"kept"}`+"\n")
	learned(t, pathIn(dir, "memory.db"))
	tasks(t, pathIn(dir, "a2a.db"), map[string]string{"t1": `{"v":1,"task":{"id":"t1","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}`})
	template.files = map[string][]byte{}
	must(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			template.files[name], err = os.ReadFile(pathIn(dir, name))
		}
		return err
	}))
}

// dataFolder makes a data folder with every part.
func dataFolder(t testing.TB) string {
	t.Helper()
	template.Do(func() { makeTemplate(t) })
	dir := filepath.Join(t.TempDir(), "data")
	for name, data := range template.files {
		put(t, dir, name, string(data))
		if isConversation(name) {
			must(t, os.Chtimes(pathIn(dir, name), written, written))
		}
	}
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t testing.TB, dir, name, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(pathIn(dir, name)), 0o700))
	must(t, os.WriteFile(pathIn(dir, name), []byte(text), 0o600))
}

func talked(t testing.TB, file string, turns int) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	c, err := conversation.Open(file, record.NewSecrets())
	must(t, err)
	for i := range turns {
		x := conversation.Change{Turn: i + 1, Add: []conversation.Message{{Role: model.User, Text: fmt.Sprint("question ", i)}}}
		if i == 0 {
			x.Head = &conversation.Head{Version: conversation.Version, Agent: "a", Run: "r", Began: written}
		}
		must(t, c.Append(x))
	}
	must(t, c.Close())
}

// recorded writes a signed record of several segments.
func recorded(t testing.TB, dir string, events int) {
	t.Helper()
	w, err := record.Open(dir, record.Options{SegmentSize: 4 << 10, SigningKey: signing, Policy: record.None})
	must(t, err)
	for i := range events {
		_, err := w.Append(context.Background(), record.Event{Run: "demo", Cycle: i, Payload: record.CycleStart{Goal: record.Say(strings.Repeat("g", 200))}})
		must(t, err)
	}
	must(t, w.Close())
}

func learned(t testing.TB, file string) {
	t.Helper()
	g, err := metagraph.Open(file, metagraph.Options{})
	must(t, err)
	p := answer.Problem{Input: "3 5 8 11"}
	passed, _ := metagraph.Judge(answer.Game24, p, "(8-5)*(11-3)", "")
	_, err = g.Learn(context.Background(), metagraph.Attempt{Task: "game24", Query: metagraph.Query(answer.Game24, p), Passed: passed})
	must(t, err)
	must(t, g.Close())
}

func tasks(t testing.TB, file string, rows map[string]string) {
	t.Helper()
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{NoSync: true})
	must(t, err)
	must(t, db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte("tasks"))
		for _, id := range slices.Sorted(maps.Keys(rows)) {
			err = errors.Join(err, b.Put([]byte(id), []byte(rows[id])))
		}
		return err
	}))
	must(t, db.Close())
}

// backup returns an archive of a folder.
func backup(t testing.TB, dir string) []byte {
	t.Helper()
	var b bytes.Buffer
	_, err := Backup(context.Background(), dir, &b, Options{Temp: t.TempDir(), Databases: known, Now: func() time.Time { return written }})
	must(t, err)
	return b.Bytes()
}

func restore(ctx context.Context, archive []byte, dir string) (*Restored, error) {
	return Restore(ctx, decompress.NewReader(bytes.NewReader(archive)), dir, 0, known)
}

// contents returns the files of a folder that a backup has, with their times.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		info, err := e.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		all[filepath.ToSlash(name)] = fmt.Sprintf("%s\n%s", info.ModTime().UTC(), data)
		return err
	}))
	return all
}

// A folder that was backed up and restored has the same files, byte for byte, with their
// times, except for databases, which hold the same. Locks and files half written are not
// there. Nobody else can read it.
func TestRoundTrip(t *testing.T) {
	dir := dataFolder(t)
	put(t, dir, "runs/.tmp-1", "half")
	put(t, dir, "starts.json.new", "half")
	put(t, dir, "prompts.json.new", "half")
	put(t, dir, "owners.jsonl.new", "half")
	put(t, dir, "owners.lock", "")
	to := filepath.Join(t.TempDir(), "a", "b")
	done, err := restore(t.Context(), backup(t, dir), to)
	must(t, err)
	if len(done.Faults) > 0 || done.Resumed {
		t.Fatalf("%+v", done)
	}
	was, is := contents(t, dir), contents(t, to)
	for _, gone := range []string{"runs/.tmp-1", "starts.json.new", "prompts.json.new", "owners.jsonl.new", "owners.lock", "runs/LOCK", "format.lock"} {
		if _, ok := is[gone]; ok || was[gone] == "" {
			t.Errorf("%s: restored %t", gone, ok)
		}
		delete(was, gone)
	}
	for _, same := range []string{"memory.db", "a2a.db"} {
		if was[same] == "" || is[same] == "" {
			t.Error(same, "is missing")
		}
		delete(was, same)
		delete(is, same)
	}
	if d := cmp.Diff(was, is); d != "" {
		t.Error(d)
	}
	must(t, filepath.WalkDir(to, func(path string, e fs.DirEntry, err error) error {
		if info, err := e.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
		return err
	}))
	before, after := verified(t, dir), verified(t, to)
	if before != after {
		t.Errorf("record %s, restored %s", before, after)
	}
	if a, b := exported(t, dir), exported(t, to); a != b || a == "" {
		t.Errorf("memory\n%s\nrestored\n%s", a, b)
	}
}

// verified verifies the record of a folder with its signatures.
func verified(t testing.TB, dir string) string {
	t.Helper()
	r, err := record.Verify(pathIn(dir, "runs"), record.VerifyOptions{Keys: []ed25519.PublicKey{signing.Public().(ed25519.PublicKey)}})
	must(t, errors.Join(err, r.Err()))
	if r.Segments < 3 || r.Signed != r.Head.Seq {
		t.Fatalf("%+v", r)
	}
	return fmt.Sprintf("%+v", r)
}

func exported(t testing.TB, dir string) string {
	t.Helper()
	g, err := metagraph.Open(pathIn(dir, "memory.db"), metagraph.Options{ReadOnly: true})
	must(t, err)
	defer g.Close()
	var b strings.Builder
	must(t, g.Export(t.Context(), &b))
	return g.ID() + b.String()
}

// Two backups of a folder that did not change are the same bytes.
func TestReproducible(t *testing.T) {
	dir := dataFolder(t)
	if !bytes.Equal(backup(t, dir), backup(t, dir)) {
		t.Error("the archives differ")
	}
}

// Lines that are being written are not copied: half a line is no event, no turn and no
// change of a memory.
func TestHalfLines(t *testing.T) {
	dir := dataFolder(t)
	segments, err := filepath.Glob(pathIn(dir, "runs/*.jsonl"))
	must(t, err)
	grow := []string{segments[len(segments)-1], pathIn(dir, "chats/c1.jsonl"), pathIn(dir, "runs/memory/demo.jsonl")}
	var whole []string
	for _, name := range grow {
		data, err := os.ReadFile(name)
		must(t, err)
		whole = append(whole, string(data))
		must(t, os.WriteFile(name, append(data, `{"half`...), 0o600))
	}
	to := t.TempDir()
	done, err := restore(t.Context(), backup(t, dir), to)
	must(t, err)
	if len(done.Faults) > 0 {
		t.Fatal(done.Faults)
	}
	for i, name := range grow {
		rel, _ := filepath.Rel(dir, name)
		if got, err := os.ReadFile(filepath.Join(to, rel)); err != nil || string(got) != whole[i] {
			t.Errorf("%s: %q %v", rel, got, err)
		}
	}
}

// What is not a regular file is left out and named, and never followed or waited for.
func TestLeftOut(t *testing.T) {
	dir := dataFolder(t)
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	put(t, dir, "notes/a\nb", "x")
	var b bytes.Buffer
	done, err := Backup(t.Context(), dir, &b, Options{Databases: known})
	must(t, err)
	want := []LeftOut{{"link", "a symbolic link"}, {"notes/a\nb", "its name is not plain text"}}
	if d := cmp.Diff(want, done.LeftOut); d != "" {
		t.Error(d)
	}
	if strings.Contains(fmt.Sprint(done.Entries), "link") {
		t.Error("the link was copied")
	}
}

// Data of a newer program is refused, by the part that it is in.
func TestNewerParts(t *testing.T) {
	for name, c := range map[string]struct {
		change func(dir string)
		want   string
	}{
		"folder":  {func(dir string) { put(t, dir, datafolder.File, `{"v":2,"written_by":"v9.0.0"}`) }, "format.json: "},
		"starts":  {func(dir string) { put(t, dir, startsFile, `{"v":2,"starts":[]}`) }, "starts.json: "},
		"prompts": {func(dir string) { put(t, dir, "prompts.json", `{"v":2,"prompts":[]}`) }, "prompts.json: "},
		"owners":  {func(dir string) { put(t, dir, "owners.jsonl", `{"v":3}`+"\n") }, "owners.jsonl: "},
		"conversation": {func(dir string) {
			put(t, dir, "chats/c2.jsonl", `{"head":{"v":2,"agent":"a","run":"r","began":"2026-11-01T00:00:00Z"}}`+"\n")
		}, "chats/c2.jsonl: "},
		"tasks": {func(dir string) {
			db, err := bbolt.Open(pathIn(dir, "a2a.db"), 0o600, &bbolt.Options{NoSync: true})
			must(t, err)
			must(t, db.Update(func(tx *bbolt.Tx) error {
				b, err := tx.CreateBucket([]byte("about"))
				return errors.Join(err, b.Put([]byte("version"), []byte("2")))
			}))
			must(t, db.Close())
		}, "a2a.db: "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := dataFolder(t)
			c.change(dir)
			report, err := CheckFolder(t.Context(), dir, known)
			must(t, err)
			if len(report.Faults) != 1 || !strings.HasPrefix(report.Faults[0].Error(), c.want) {
				t.Fatalf("%v", report.Faults)
			}
			if newer, ok := errors.AsType[*datafolder.NewerError](report.Faults[0].Err); !ok || newer.Has != newer.Reads+1 {
				t.Error(report.Faults[0])
			}
		})
	}
}

// An archive of a newer program is refused before anything of it is written.
func TestNewerArchive(t *testing.T) {
	for name, about := range map[string]string{
		"archive": `{"v":2,"format":1,"written_by":"v9.0.0"}`,
		"folder":  `{"v":1,"format":2,"written_by":"v9.0.0"}`,
	} {
		dir := filepath.Join(t.TempDir(), "new")
		_, err := restore(t.Context(), packed(t, file{aboutName, about}, file{manifestName, ""}), dir)
		newer, ok := errors.AsType[*datafolder.NewerError](err)
		if !ok || newer.Hint() != "use sotto v9.0.0 or later" {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the folder is there: %v", name, err)
		}
	}
}

// A file is one of an archive of a test.
type file struct{ name, text string }

// packed makes an archive of files.
func packed(t testing.TB, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		must(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Size: int64(len(f.text)), Mode: 0o600}))
		_, err := io.WriteString(w, f.text)
		must(t, err)
	}
	must(t, w.Close())
	return zipped(t, b.Bytes())
}

func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	must(t, err)
	defer z.Close()
	return z.EncodeAll(data, nil)
}

// A folder of an earlier version, which has no number, is backed up and restored as it
// is. The first program that writes to it brings it up to date, with all that it holds.
func TestEarlierFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "old")
	must(t, os.CopyFS(dir, os.DirFS("testdata/format0")))
	must(t, os.CopyFS(filepath.Join(dir, "runs"), os.DirFS("../../../record/testdata/v1")))
	statements, err := os.ReadFile("../../lab/metagraph/testdata/version1.sql")
	must(t, err)
	oldMemory(t, pathIn(dir, "memory.db"), string(statements))
	tasks(t, pathIn(dir, "a2a.db"), map[string]string{"t1": `{"v":3,"task":{"id":"t1","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}`})
	to := t.TempDir()
	done, err := restore(t.Context(), backup(t, dir), to)
	must(t, err)
	formats := map[Part]int{}
	for _, r := range done.Rows {
		formats[r.Part] = r.Format
	}
	if d := cmp.Diff(map[Part]int{Starts: 1, Tasks: 1, Memory: 1, Conversation: 1, Record: 1, RunMemory: 0}, formats); d != "" || done.About.Format != 0 {
		t.Errorf("format %d, %s", done.About.Format, d)
	}
	must(t, datafolder.Open(to))
	g, err := metagraph.Open(pathIn(to, "memory.db"), metagraph.Options{})
	must(t, err)
	must(t, g.Close())
	report, err := CheckFolder(t.Context(), to, known)
	must(t, err)
	if len(report.Faults) > 0 {
		t.Error(report.Faults)
	}
	for _, r := range report.Rows {
		if r.Part == Folder && r.Format != datafolder.Format() || r.Part == Memory && r.Format != 3 {
			t.Errorf("%+v", r)
		}
	}
}
