package bytescan

import (
	"os"
	"syscall"
	"testing"
)

// TestPageEnd scans texts that end where the memory does, and those that begin where it does.
func TestPageEnd(t *testing.T) {
	page := os.Getpagesize()
	memory, err := syscall.Mmap(-1, 0, 3*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Munmap(memory) }()
	for _, at := range []int{0, 2 * page} {
		if err := syscall.Mprotect(memory[at:at+page], syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	room := memory[page : 2*page]
	f := tags()
	g, _ := someGroups()
	for n := range 300 {
		check(t, f, room[:n])
		check(t, f, room[page-n:])
		for _, c := range []byte{'a', '"'} { // the whole string is read, or its first byte
			for i := range n {
				room[i], room[page-1-i] = 'a', 'a'
			}
			if n > 0 {
				room[0], room[page-n] = c, c
			}
			checkString(t, room[:n], 0xed)
			checkString(t, room[page-n:], 0xed)
		}
		clear(room)
		checkGroups(t, g, room[:n])
		checkGroups(t, g, room[page-n:])
	}
}
