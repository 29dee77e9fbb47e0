package metagraph

import (
	"bytes"
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/answer"
)

//go:embed testdata/version1.sql
var version1 string

// madeBy makes a file by statements.
func madeBy(t testing.TB, statements string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "memory.db")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
	return file
}

// A file that is not a memory is refused and not one byte of it changes, whoever
// opens it and how.
func TestForeignFilesStay(t *testing.T) {
	for name, make := range map[string]func(t *testing.T) string{
		"another program's": func(t *testing.T) string { return madeBy(t, "CREATE TABLE theirs (x)") },
		"another application": func(t *testing.T) string {
			return madeBy(t, "CREATE TABLE node (x); PRAGMA application_id = 7; PRAGMA user_version = 1")
		},
		"a newer version": func(t *testing.T) string {
			return madeBy(t, "CREATE TABLE node (x); PRAGMA application_id = 1399813236; PRAGMA user_version = 99")
		},
		"with a log": func(t *testing.T) string {
			return madeBy(t, "PRAGMA journal_mode = WAL; CREATE TABLE theirs (x)")
		},
		"a text": func(t *testing.T) string {
			file := filepath.Join(t.TempDir(), "notes")
			os.WriteFile(file, bytes.Repeat([]byte("what I must not forget\n"), 100), 0o600)
			return file
		},
	} {
		for _, o := range []Options{{}, {ReadOnly: true}} {
			file := make(t)
			before, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if g, err := Open(file, o); !errors.Is(err, ErrFormat) {
				t.Errorf("%s, read only %v: %v, want ErrFormat", name, o.ReadOnly, err)
				if g != nil {
					g.Close()
				}
			}
			if after, _ := os.ReadFile(file); !bytes.Equal(before, after) {
				t.Errorf("%s, read only %v: the file was changed", name, o.ReadOnly)
			}
		}
	}
	empty := filepath.Join(t.TempDir(), "empty")
	os.WriteFile(empty, nil, 0o600)
	if _, err := Open(empty, Options{ReadOnly: true}); !errors.Is(err, ErrFormat) {
		t.Errorf("an empty file, read only: %v", err)
	}
}

// A file of version 1, written by the program of that version, is brought to this
// version with all that it holds. What earned its nodes comes from the notes of its
// outcomes. Opened read-only it is read as it is.
func TestMigration(t *testing.T) {
	ctx := t.Context()
	file := madeBy(t, version1)
	was, err := Open(file, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	old := export(t, was)
	was.Close()
	if left, _ := filepath.Glob(file + "-*"); len(left) > 0 {
		t.Errorf("a reader leaves %q", left)
	}
	if was.ID() != "" || strings.Count(old, "\n") != 25 {
		t.Fatalf("identity %q, %d lines: %s", was.ID(), strings.Count(old, "\n"), old)
	}
	var group sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids { // processes that find the old file at once
		group.Go(func() {
			g, err := Open(file, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = g.ID()
			g.Close()
		})
	}
	group.Wait()
	again, err := Open(file, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	export(t, again)
	again.Close()
	if left, _ := filepath.Glob(file + "-*"); len(left) > 0 {
		t.Errorf("a reader leaves %q", left)
	}
	g, err := Open(file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for _, id := range ids {
		if len(id) != 32 || id != g.ID() {
			t.Fatalf("identities %q and %q of one file", id, g.ID())
		}
	}
	now := export(t, g)
	if strings.ReplaceAll(now, `"model":"scripted",`, "") != old {
		t.Errorf("it held\n%s\nand holds\n%s", old, now)
	}
	if n := strings.Count(now, `"model":"scripted",`); n != 11 {
		t.Errorf("scripted earned %d nodes of 11:\n%s", n, now)
	}
	const id = "solve-20261122T090835.436805/2-4-4-9"
	p := answer.Problem{Input: "2 4 4 9"}
	passed, _ := Judge(answer.Game24, p, "(9-2)*4-4", "")
	if _, err := g.Learn(ctx, Attempt{ID: id, Task: "game24", Query: Query(answer.Game24, p), Passed: passed}); err != nil || export(t, g) != now {
		t.Errorf("an outcome of the old file was learned again: %v", err)
	}
	if _, err := g.Prune(ctx, PruneOptions{Task: "countdown", Before: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if _, _, ok, err := g.Done(ctx, id); !ok || err != nil {
		t.Errorf("the old file's outcomes belong to no task: %v", err)
	}
}

//go:embed testdata/version2.sql
var version2 string

// In a file of version 2, the text of a solution is made from what the node has. It is
// the same whether the file is read as it is or was migrated, and the same as that of
// a new node.
func TestTextOfVersion2(t *testing.T) {
	file := madeBy(t, version2)
	texts := func(o Options) (list []string) {
		g, err := Open(file, o)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		nodes, err := g.Nodes(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			list = append(list, n.Text())
		}
		return list
	}
	old := texts(Options{ReadOnly: true})
	if now := texts(Options{}); !slices.Equal(now, old) {
		t.Errorf("read as it is\n%q\nmigrated\n%q", old, now)
	}
	const game = "Task: Game24\nInput: 2 10 10 11\nSolution: (10/10+11)*2\n"
	for _, want := range []string{
		game, "Task: gsm8k\nInput: Ann has 3 apples and buys 4. How many?\nWork: 3+4=7\nSolution: 7\n",
	} {
		if !slices.Contains(old, want) {
			t.Errorf("no %q in %q", want, old)
		}
	}
	g := open(t, Options{})
	learn(t, g, answer.Problem{Input: "11 10 2 10"}, "(10/10+11)*2")
	if nodes, err := g.Nodes(t.Context(), ""); err != nil || !slices.ContainsFunc(nodes, func(n Node) bool { return n.Distilled+"\n" == game && n.Text() == game }) {
		t.Errorf("no new node is %q: %+v", game, nodes)
	}
}

// Every version before this one has a migration, and a new file comes to the same
// tables as an old one.
func TestMigrationsAgree(t *testing.T) {
	tables := func(file string) (all string) {
		g, err := Open(file, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		if err := g.read.QueryRow("SELECT group_concat(name || ' ' || coalesce(sql, ''), ';') FROM (SELECT name, sql FROM sqlite_schema ORDER BY name)").Scan(&all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	fresh := tables(filepath.Join(t.TempDir(), "new.db"))
	for v := 1; v < version; v++ {
		statements := strings.Join(migrations[:v], "") + "PRAGMA user_version = " + string(rune('0'+v))
		if got := tables(madeBy(t, statements)); got != fresh {
			t.Errorf("from version %d:\n%s\nnew:\n%s", v, got, fresh)
		}
	}
}

// An import whose input stalls keeps nobody waiting: others learn, and open the
// file.
func TestImportFromStalledPipe(t *testing.T) {
	source := open(t, Options{})
	learn(t, source, answer.Problem{Input: "3 5 8 11"}, "(8-5)*(11-3)")
	lines := strings.SplitAfter(export(t, source), "\n")
	file := filepath.Join(t.TempDir(), "memory.db")
	g, err := Open(file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	in, out := io.Pipe()
	imported := make(chan error, 1)
	go func() {
		_, err := g.Import(context.Background(), in, answer.TaskNamed)
		imported <- err
	}()
	io.WriteString(out, lines[0]) // and then nothing, for now
	io.WriteString(out, "\n")     // so the first line has been taken
	other, err := Open(file, Options{Wait: time.Millisecond})
	if err != nil {
		t.Fatal("beside a stalled import:", err)
	}
	defer other.Close()
	learn(t, other, answer.Problem{Input: "1 1 3 8"}, "3*8*1*1")
	reader, err := Open(file, Options{Wait: time.Millisecond, ReadOnly: true})
	if err != nil {
		t.Fatal("to read, beside a stalled import:", err)
	}
	reader.Close()
	io.WriteString(out, strings.Join(lines[1:], ""))
	out.Close()
	if err := <-imported; err != nil {
		t.Fatal(err)
	}
	if size, err := g.Size(t.Context()); err != nil || size != (Size{2, 2}) {
		t.Errorf("%+v, %v", size, err)
	}
}

// Opening to read does not wait for a writer, nor does opening a memory that is of
// this version already.
func TestOpenTakesNoLock(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.db")
	g, err := Open(file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	tx, err := g.write.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	for _, o := range []Options{{Wait: time.Millisecond}, {Wait: time.Millisecond, ReadOnly: true}} {
		if g, err := Open(file, o); err != nil {
			t.Errorf("read only %v: %v", o.ReadOnly, err)
		} else {
			g.Close()
		}
	}
}

// Prune forgets the IDs of its own task only, and those that are old, also where no
// node is old enough.
func TestPruneForgetsIDs(t *testing.T) {
	ctx := t.Context()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	g := open(t, Options{Now: func() time.Time { return now }})
	outcome := func(id string, task answer.Task, input, solution string) Attempt {
		p := answer.Problem{Input: input}
		passed, v := Judge(task, p, solution, "")
		if !passed.OK() {
			t.Fatal(v)
		}
		return Attempt{ID: id, Task: task.Name(), Query: Query(task, p), Passed: passed, Model: "m"}
	}
	a := outcome("run/a", answer.Game24, "3 5 8 11", "(8-5)*(11-3)")
	c := outcome("run/c", answer.Countdown, "Using 2 3 4 make 24", "2*3*4")
	failed := Attempt{ID: "run/f", Task: "game24", Query: "Solve 24 with 1 1 1 1", Model: "m"}
	for _, o := range []Attempt{a, c, failed} {
		if _, err := g.Learn(ctx, o); err != nil {
			t.Fatal(err)
		}
	}
	known := func(want string) {
		t.Helper()
		got := ""
		for _, id := range []string{"run/a", "run/c", "run/f", "run/n"} {
			if _, _, ok, err := g.Done(ctx, id); err != nil {
				t.Fatal(err)
			} else if ok {
				got += id[4:]
			}
		}
		if got != want {
			t.Errorf("the IDs %q are known, want %q", got, want)
		}
	}
	now = now.AddDate(0, 0, 100)
	month := now.AddDate(0, -1, 0)
	if _, err := g.Prune(ctx, PruneOptions{Task: "game24", Before: month, DryRun: true}); err != nil {
		t.Fatal(err)
	}
	known("acf")
	if gone, err := g.Prune(ctx, PruneOptions{Task: "game24", Before: month}); err != nil || len(gone) != 2 {
		t.Fatal(gone, err)
	}
	known("c")
	if _, err := g.Learn(ctx, c); err != nil {
		t.Fatal(err)
	}
	if n, _, _ := g.Node(ctx, Ref{"countdown", Trace, c.Query}); n.Seen != 1 {
		t.Errorf("an outcome was learned %d times", n.Seen)
	}
	c.ID = "run/n" // the node is fresh again, its first ID is old
	if _, err := g.Learn(ctx, c); err != nil {
		t.Fatal(err)
	}
	if gone, err := g.Prune(ctx, PruneOptions{Before: month}); err != nil || len(gone) != 0 {
		t.Fatal(gone, err)
	}
	known("n")
}

// A node keeps the model that earned it, whoever finds it again; a prune can name
// that model.
func TestEarned(t *testing.T) {
	ctx := t.Context()
	g := open(t, Options{})
	p := answer.Problem{Input: "3 5 8 11"}
	passed, _ := Judge(answer.Game24, p, "(8-5)*(11-3)", "")
	for _, model := range []string{"first", "second"} {
		if _, err := g.Learn(ctx, Attempt{Task: "game24", Query: Query(answer.Game24, p), Passed: passed, Model: model}); err != nil {
			t.Fatal(err)
		}
	}
	p = answer.Problem{Input: "1 1 3 8"}
	passed, _ = Judge(answer.Game24, p, "3*8*1*1", "")
	if _, err := g.Learn(ctx, Attempt{Task: "game24", Query: Query(answer.Game24, p), Passed: passed, Model: strings.Repeat("é", 200)}); err != nil {
		t.Fatal(err)
	}
	nodes, err := g.Nodes(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		want := "first"
		if n.Problem.Input == "1 1 3 8" {
			want = strings.Repeat("é", 128)
		}
		if n.Model != want {
			t.Errorf("%s was earned by %q, want %q", n.Key, n.Model, want)
		}
	}
	if text := export(t, g); true {
		again := open(t, Options{})
		if _, err := again.Import(ctx, strings.NewReader(text), answer.TaskNamed); err != nil || export(t, again) != text {
			t.Errorf("an import: %v", err)
		}
	}
	if gone, err := g.Prune(ctx, PruneOptions{Model: "first", Keep: -1}); err != nil || len(gone) != 2 || gone[0].Key != "(d-a)*(c-b)" {
		t.Errorf("pruned %v, %v", gone, err)
	}
}
