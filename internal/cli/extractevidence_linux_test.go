package cli

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestEvidenceFullDisk: if the record cannot be written, there is no further
// output. The run fails, says why, and can be resumed.
func TestEvidenceFullDisk(t *testing.T) {
	const n = 2000
	in, _ := replyLines(t, n)
	disk := t.TempDir()
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("a small file system needs the right to mount one: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(disk, 0) })
	dir, out := filepath.Join(disk, "audit"), filepath.Join(t.TempDir(), "out.jsonl")
	args := []string{"extract", "--task", "game24", "--jsonl", "-o", out, "--record", dir}
	_, stderr, status := runSotto(t, "", append(args, in)...)
	if status != 1 || !strings.Contains(stderr, "the record in "+dir+":") || !strings.Contains(stderr, "no space left on device") || !strings.Contains(stderr, "--resume") {
		t.Fatalf("status %d: %s", status, stderr)
	}
	if err := syscall.Mount("none", disk, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	if _, stderr, status := runSotto(t, "", append(args, "--resume", in)...); status != 0 {
		t.Fatal(stderr)
	}
	lines, _ := recordedLines(t, dir)
	if len(lines) != n {
		t.Errorf("%d lines are recorded", len(lines))
	}
	for at, l := range lines {
		if l.replies != 1 || l.extractions != 1 {
			t.Errorf("%s: %+v", at, l)
		}
	}
}
