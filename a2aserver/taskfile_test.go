package a2aserver

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/sotto-llm/sotto/internal/data/boltfile"
	"github.com/sotto-llm/sotto/internal/data/datafolder"
)

// fileOf makes a file of tasks with a bolt transaction.
func fileOf(t *testing.T, write func(tx *bbolt.Tx) error) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a2a.db")
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(write), db.Close()); err != nil {
		t.Fatal(err)
	}
	return file
}

func inBucket(name, key, value string) func(tx *bbolt.Tx) error {
	return func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte(name))
		if err != nil {
			return err
		}
		return b.Put([]byte(key), []byte(value))
	}
}

// A server that knows only an older version refuses the file of a newer one, and does
// not change it.
func TestNewerTaskFile(t *testing.T) {
	file := fileOf(t, inBucket("about", "version", "2"))
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, err = openStore(file, Limits{}.withDefaults())
	if newer, ok := errors.AsType[*datafolder.NewerError](err); !ok || newer.Has != 2 || newer.Reads != 1 || !strings.Contains(err.Error(), file) {
		t.Error(err)
	}
	if _, err := CheckTasks(file); err == nil {
		t.Error("the check passes")
	}
	if after, _ := os.ReadFile(file); !bytes.Equal(before, after) {
		t.Error("the file changed")
	}
}

// A file of an earlier server has no version. It gets one when a server opens it.
func TestTaskFileGetsVersion(t *testing.T) {
	file := fileOf(t, inBucket("tasks", "t", `{"v":1,"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}`))
	if v, err := CheckTasks(file); v != 1 || err != nil {
		t.Fatal(v, err)
	}
	s, err := openStore(file, Limits{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.keeper.(*fileKeeper).index.get("t"); !ok {
		t.Error("the task is lost")
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	err = boltfile.View(file, func(tx *bbolt.Tx) error {
		if got := tx.Bucket(aboutBucket).Get(versionKey); string(got) != "1" {
			t.Errorf("version %q", got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// The check names the row that is wrong.
func TestCheckTasks(t *testing.T) {
	for name, c := range map[string]struct{ bucket, value, want string }{
		"not JSON":      {"tasks", "{", `tasks, row "k"`},
		"no task":       {"tasks", "{}", "the row holds none"},
		"a push config": {"configs", "[]", `configs, row "k"`},
		"a push":        {"outbox", `"x"`, `outbox, row "k"`},
		"a version":     {"about", "1", ""},
	} {
		_, err := CheckTasks(fileOf(t, inBucket(c.bucket, "k", c.value)))
		if c.bucket == "about" {
			if err == nil {
				t.Error("a file whose version cannot be read passes")
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A copy that is made while tasks change has the tasks of one moment: every task that
// ended before, whole, and a server opens it.
func TestCopyTasks(t *testing.T) {
	h := serve(t, Config{Mind: says("Yes."), File: filepath.Join(t.TempDir(), "a2a.db")})
	c := client(t, h.url(), 0)
	send(t, c, message("Hi"))
	ended := atomic.Int64{}
	ended.Store(1)
	stop := make(chan struct{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := c.SendMessage(t.Context(), message("Hi")); err != nil {
					t.Error(err)
					return
				}
				ended.Add(1)
			}
		})
	}
	for i := range 5 {
		for least := int64(i * 4); ended.Load() < least; { // others write
			runtime.Gosched()
		}
		before := ended.Load()
		var b bytes.Buffer
		if err := h.CopyTasks(&b); err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(t.TempDir(), "copy.db")
		if err := os.WriteFile(copied, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := CheckTasks(copied); err != nil {
			t.Fatal(err)
		}
		s, err := openStore(copied, Limits{}.withDefaults())
		if err != nil {
			t.Fatal(err)
		}
		done := int64(0)
		for l := range s.keeper.(*fileKeeper).index.all() {
			if l.state.Terminal() {
				done++
			}
		}
		if done < before {
			t.Errorf("the copy has %d tasks that ended, and %d had ended before", done, before)
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	all.Wait()
}
