//go:build unix

package cli

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"github.com/sotto-llm/sotto/internal/serve/databackup"
)

// runs runs a command, which must succeed, and returns what it prints.
func runs(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if status := Run(args, strings.NewReader(stdin), &out, &errs, func(string) string { return "" }); status != 0 {
		t.Fatalf("sotto %q: status %d, %s", args, status, errs.String())
	}
	return out.String()
}

// After a backup and a restore, every command that reads the data prints the same.
func TestDataRoundTrip(t *testing.T) {
	base := t.TempDir()
	dir, archive, restored := filepath.Join(base, "data"), filepath.Join(base, "a.tar.zst"), filepath.Join(base, "other", "data")
	runs(t, "", "solve", "--limit=4", "--data="+dir, "--output="+filepath.Join(base, "solved.jsonl"))
	runs(t, "Is 2028 a leap year?\n", "chat", "--data="+dir, "--name=leap")
	var out, errs bytes.Buffer
	Run([]string{"run", "--data=" + dir, "--name=demo", "--quiet"}, strings.NewReader(""), &out, &errs, func(string) string { return "" }) // its last cycle fails
	if err := os.WriteFile(filepath.Join(dir, "starts.json"), []byte(`{"v":1,"starts":[{"upstream":"http://x","model":"qwen3","last":["inside","inside"],"seen":"2026-11-01T00:00:00Z"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	runs(t, "", "data", "backup", dir, "--to="+archive)
	if info, err := os.Stat(archive); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	runs(t, "", "data", "restore", archive, "--to="+restored)
	for _, args := range [][]string{
		{"data", "verify", "DATA"}, {"data", "verify", "DATA", "--json"},
		{"record", "ls", "DATA/runs"}, {"record", "show", "DATA/runs"}, {"record", "stats", "DATA/runs"}, {"record", "verify", "DATA/runs", "--json"}, {"record", "table", "replies", "DATA/runs"},
		{"solve", "memory", "ls", "--memory=DATA/memory-scripted.db"}, {"solve", "memory", "export", "--memory=DATA/memory-scripted.db"},
		{"serve", "--learned", "--data=DATA"}, {"thoughts", "DATA/runs"},
	} {
		was, is := printed(t, dir, args), printed(t, restored, args)
		if d := cmp.Diff(was, is); d != "" || len(is) < 20 {
			t.Errorf("sotto %q prints %q: %s", args, is, d)
		}
	}
	// The conversation goes on where it ended.
	saved := func(data string) string {
		name := filepath.Join(t.TempDir(), "saved.md")
		runs(t, "/save "+name+"\n", "chat", "--data="+data, "--name=leap")
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if was, is := saved(dir), saved(restored); is != was || !strings.Contains(is, "2028") {
		t.Errorf("%s\nwas\n%s", is, was)
	}
}

// printed is what a command prints about a folder, without the folder's own name and the
// sizes of databases, which a copy makes smaller.
func printed(t *testing.T, dir string, args []string) string {
	t.Helper()
	var list []string
	for _, a := range args {
		list = append(list, strings.ReplaceAll(a, "DATA", dir))
	}
	return strings.ReplaceAll(runs(t, "", list...), dir, "DATA")
}

// A backup of the folder of a gateway under load has every task that ended and every
// event that was acknowledged before it began, and a record that is the beginning of the
// one that the gateway goes on with. A gateway starts on the restored folder.
func TestDataBackupUnderLoad(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "data")
	r := startServe(t, "--data="+dir, "--a2a", "--record="+filepath.Join(dir, "record"), "--scripted-pause=0s")
	var ended atomic.Int64
	stop := make(chan struct{})
	var load sync.WaitGroup
	for range 3 {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := r.ask(); err != nil {
					t.Error(err)
					return
				}
				ended.Add(1)
			}
		})
	}
	type kept struct {
		dir   string
		least int64
	}
	var backups []kept
	for i := range 3 {
		for ended.Load() < int64(5*(i+1)) && !t.Failed() {
			time.Sleep(time.Millisecond)
		}
		k := kept{filepath.Join(base, fmt.Sprint("restored", i)), ended.Load()}
		archive := filepath.Join(base, fmt.Sprint(i, ".tar.zst"))
		runs(t, "", "data", "backup", dir, "--to="+archive)
		runs(t, "", "data", "verify", archive)
		runs(t, "", "data", "restore", archive, "--to="+k.dir)
		backups = append(backups, k)
	}
	runs(t, "", "data", "verify", dir)
	close(stop)
	load.Wait()
	r.end()
	for _, k := range backups {
		restored, err := os.ReadFile(filepath.Join(k.dir, "record", "00000000000000000001.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(filepath.Join(dir, "record", "00000000000000000001.jsonl"))
		if err != nil || !bytes.HasPrefix(whole, restored) || len(restored) == len(whole) {
			t.Errorf("%v: the record of %d bytes is not the beginning of that of %d bytes", err, len(restored), len(whole))
		}
		if n := tasksIn(t, filepath.Join(k.dir, "a2a.db")); n < k.least {
			t.Errorf("%d tasks in the backup, and %d had ended before it", n, k.least)
		}
	}
	last := backups[len(backups)-1].dir
	again := startServe(t, "--data="+last, "--a2a", "--record="+filepath.Join(last, "record"), "--scripted-pause=0s")
	if err := again.ask(); err != nil {
		t.Error(err)
	}
	again.end()
	runs(t, "", "record", "verify", filepath.Join(last, "record"))
}

// ask sends a message to the agent of a gateway, and waits for its answer.
func (r *running) ask() error {
	resp, err := r.client.Post(r.gateway+"/a2a", "application/json", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"`+rand.Text()+`","role":"ROLE_USER","parts":[{"text":"Hi"}]}}}`))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || !bytes.Contains(body, []byte("TASK_STATE_COMPLETED"))) {
		err = fmt.Errorf("%s: %.300s", resp.Status, body)
	}
	return err
}

// end stops a gateway.
func (r *running) end() {
	r.t.Helper()
	r.client.CloseIdleConnections()
	r.signals <- syscall.SIGTERM
	if err := <-r.ended; err != nil {
		r.t.Error(err)
	}
}

// tasksIn counts the tasks of a file that have ended.
func tasksIn(t *testing.T, file string) (n int64) {
	t.Helper()
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("tasks")).ForEach(func(_, v []byte) error {
			if bytes.Contains(v, []byte("TASK_STATE_COMPLETED")) {
				n++
			}
			return nil
		})
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// A backup that is killed in the middle leaves the archive before it as it was, and the
// next one is whole.
func TestDataBackupKilled(t *testing.T) {
	base := t.TempDir()
	dir, archive := filepath.Join(base, "data"), filepath.Join(base, "a.tar.zst")
	if err := os.MkdirAll(filepath.Join(dir, "chats"), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(filepath.Join(dir, "tasks.db"), 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	reached := make(chan bool, 1)
	stop, err := databackup.Serve(dir, map[string]func(io.Writer) error{"tasks.db": func(w io.Writer) error {
		reached <- true
		for { // until the process is gone
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return err
			}
			time.Sleep(time.Millisecond)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	const before = "the backup before"
	if err := os.WriteFile(archive, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &exec.Cmd{Path: os.Args[0], Args: []string{"sotto", "data", "backup", dir, "--to", archive}, Env: os.Environ()}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	<-reached
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if got, err := os.ReadFile(archive); err != nil || string(got) != before {
		t.Errorf("%q, %v", got, err)
	}
	stop()
	if stop, err = databackup.Serve(dir, map[string]func(io.Writer) error{"tasks.db": func(w io.Writer) error {
		return db.View(func(tx *bbolt.Tx) error { _, err := tx.WriteTo(w); return err })
	}}); err != nil {
		t.Fatal(err)
	}
	defer stop()
	runs(t, "", "data", "backup", dir, "--to="+archive)
	runs(t, "", "data", "verify", archive)
}

// A gateway refuses a data folder that a newer one wrote, before it opens anything in
// it, and so do the other commands that write there.
func TestNewerData(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "format.json"), []byte(`{"v":99,"written_by":"v9.1.0"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"serve", "--listen=127.0.0.1:0", "--data=" + dir}, {"serve", "--check", "--data=" + dir}, {"serve", "--learned", "--data=" + dir}, {"serve", "--forget=*", "--data=" + dir},
		{"run", "--data=" + dir}, {"chat", "--data=" + dir}, {"solve", "--limit=1", "--data=" + dir}, {"solve", "memory", "ls", "--data=" + dir},
		{"data", "backup", dir, "--to=" + filepath.Join(t.TempDir(), "x")}, {"data", "verify", dir},
	} {
		var out, errs bytes.Buffer
		status := Run(args, strings.NewReader(""), &out, &errs, func(string) string { return "" })
		if status != 1 || !strings.Contains(errs.String(), "was written by sotto v9.1.0 and has format 99") || args[1] != "--check" && !strings.Contains(errs.String(), "use sotto v9.1.0 or later") {
			t.Errorf("sotto %q: status %d, %s", args, status, errs.String())
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}
