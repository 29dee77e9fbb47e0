package record_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sotto-llm/sotto/record"
)

func init() {
	children["full"] = onFullDisk
	children["read-only"] = inReadOnlyFolder
}

// inChild runs one of the children, which print what went wrong and nothing else.
// One that cannot do what it must prints "skip" and why.
func inChild(t *testing.T, name, dir string, attr *syscall.SysProcAttr) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "RECORD_CHILD="+name, "RECORD_DIR="+dir)
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	if why, ok := bytes.CutPrefix(out, []byte("skip ")); ok || errors.Is(err, syscall.EPERM) {
		t.Skipf("%s%v", why, err)
	}
	if err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// A real file system that is full: see onFullDisk.
func TestRealFullDisk(t *testing.T) {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
	}
	inChild(t, "full", t.TempDir(), attr)
}

// onFullDisk mounts half a megabyte, in a namespace of its own, and fills it with
// a record, under every policy: appends then fail with ENOSPC, the next work when
// there is room again, and the record has what was acknowledged and nothing else.
func onFullDisk(dir string) {
	err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
	for policy := record.Always; policy <= record.None && err == nil; policy++ {
		if err = syscall.Mount("none", dir, "tmpfs", 0, "size=512k"); err == nil {
			fillAndFree(dir, policy)
			err = syscall.Unmount(dir, 0)
		}
	}
	if err != nil {
		fmt.Println("skip mount:", err)
	}
}

func fillAndFree(dir string, policy record.Policy) {
	say := func(format string, args ...any) { fmt.Printf(policy.String()+": "+format+"\n", args...) }
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 128<<10), 0o600); err != nil {
		say("%v", err)
	}
	dir = filepath.Join(dir, "audit")
	w, err := record.Open(dir, record.Options{Policy: policy, SegmentSize: 64 << 10, SigningKey: key(), CheckpointEvery: 20})
	if err != nil {
		say("%v", err)
		return
	}
	acked := map[uint64]bool{}
	put := func() error {
		r, err := w.Append(context.Background(), record.Event{Payload: said("m", strings.Repeat("x", 2000))})
		if err == nil {
			acked[r.Seq] = true
		}
		return err
	}
	full := 0
	for range 1000 {
		if err := put(); errors.Is(err, syscall.ENOSPC) {
			full++
		} else if err != nil {
			say("a full disk: %v", err)
		}
		if full == 5 {
			os.Remove(ballast)
		}
		if full == 5 && len(acked) > 0 && put() == nil {
			break
		}
	}
	if full != 5 {
		say("%d appends failed", full)
	}
	before := len(acked)
	for range 5 {
		if err := put(); err != nil {
			say("with room again: %v", err)
		}
	}
	if err := w.Close(); err != nil {
		say("close: %v", err)
	}
	report, err := record.Verify(dir, record.VerifyOptions{Keys: public()})
	if err = errors.Join(err, report.Err()); err != nil || before < 50 || report.Signed != report.Head.Seq {
		say("%d acknowledged; %+v, %v", before, report, err)
	}
	r, _ := record.OpenReader(dir, record.ReadOptions{})
	for e, err := range r.Events(record.Query{NoCheckpoints: true}) {
		if err != nil || !acked[e.Seq] {
			say("event %d was not acknowledged, %v", e.Seq, err)
		}
		delete(acked, e.Seq)
	}
	if len(acked) > 0 {
		say("%d acknowledged events are lost", len(acked))
	}
}

// A folder without permission to write: see inReadOnlyFolder.
func TestReadOnlyFolder(t *testing.T) {
	dir, err := os.MkdirTemp("", "record") // t.TempDir is below a folder that is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	inChild(t, "read-only", dir, nil)
}

// inReadOnlyFolder gives up root, whom no mode stops. A record in a folder that
// is read-only cannot be opened to write, but read and verified; where the folder
// becomes so under a writer, appends fail when a segment must be made, and work
// again later.
func inReadOnlyFolder(dir string) {
	if os.Getuid() == 0 {
		if err := syscall.Setuid(65534); err != nil {
			fmt.Println("skip setuid:", err)
			return
		}
	}
	check := func(what string, ok bool, err error) {
		if !ok {
			fmt.Println(what, err)
		}
	}
	ctx := context.Background()
	dir = filepath.Join(dir, "audit")
	w, err := record.Open(dir, record.Options{SegmentSize: 1})
	check("open", err == nil, err)
	_, err = w.Append(ctx, record.Event{Payload: record.CycleStart{}})
	check("append", err == nil, err)
	os.Chmod(dir, 0o500)
	for range 3 {
		_, err = w.Append(ctx, record.Event{Payload: record.CycleStart{}})
		check("append while read-only", errors.Is(err, os.ErrPermission), err)
	}
	os.Chmod(dir, 0o700)
	_, err = w.Append(ctx, record.Event{Payload: record.CycleEnd{}})
	check("append again", err == nil, err)
	check("close", w.Close() == nil, nil)

	indexes, _ := filepath.Glob(filepath.Join(dir, "*.index"))
	for _, name := range indexes {
		os.Remove(name)
	}
	os.Chmod(dir, 0o500)
	os.Chmod(filepath.Join(dir, "LOCK"), 0o400)
	_, err = record.Open(dir, record.Options{})
	check("open while read-only", errors.Is(err, os.ErrPermission), err)
	report, err := record.Verify(dir, record.VerifyOptions{})
	check("verify", err == nil && report.Err() == nil && report.Events == 2, err)
	r, err := record.OpenReader(dir, record.ReadOptions{})
	check("reader", err == nil, err)
	n := 0
	for e, err := range r.Entries(record.Query{}) {
		n++
		check("entry", err == nil && e.Seq == uint64(n), err)
	}
	check("entries", n == 2, nil)
	if _, err = record.Open(filepath.Join(dir, "sub"), record.Options{}); !errors.Is(err, os.ErrPermission) {
		check("open below", false, err)
	}
	os.Chmod(dir, 0o700)
}
