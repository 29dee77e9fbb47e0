package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// memory is that of a program with four functions: the table of functions from byte 16, and a text of
// the program before and after it.
func memory() []byte {
	const functions = 4
	names := []byte("\x00runtime.one\x00runtime.two\x00reflect.methodValueCall\x00main.main\x00")
	places := []uint32{1, 13, 25, 49}
	units, files := []byte{1, 1, 1, 1}, []byte("main.go\x00")
	// Tables: a byte for no table, and two tables, of lines and of the stack's depth.
	tables := append([]byte{0}, 2, 1, 4, 2, 0, 16, 5, 0)
	b := make([]byte, 16+headerSize)
	copy(b, "before")
	header := b[16:]
	copy(header, "\xf1\xff\xff\xff\x00\x00\x01\x08")
	binary.LittleEndian.PutUint64(header[headerFunctions:], functions)
	at := uint64(headerSize)
	for i, part := range [][]byte{names, units, files, tables} {
		binary.LittleEndian.PutUint64(b[16+headerNames+8*i:], at)
		b, at = append(b, part...), at+uint64(len(part))
	}
	binary.LittleEndian.PutUint64(b[16+headerEntries:], at)
	const size = functionSize + 4 // with one further table
	for i := range uint32(functions) {
		b = binary.LittleEndian.AppendUint32(b, i)
		b = binary.LittleEndian.AppendUint32(b, 8*functions+i*size)
	}
	for i := range functions {
		f := make([]byte, size)
		for at, n := range map[int]uint32{functionName: places[i], functionStack: 6, functionFile: 1, functionLine: 1, functionCount: 1, functionUnit: 1, functionStart: 7, functionSize: 0} {
			binary.LittleEndian.PutUint32(f[at:], n)
		}
		b = append(b, f...)
	}
	return append(b, "after"...)
}

func module(memory []byte) []byte {
	data := segments(memory)
	m := append([]byte("\x00asm\x01\x00\x00\x00"), sectionCustom, 3, 2, 'x', 'y', 5, 3, 1, 0, 1, sectionData)
	return append(binary.AppendUvarint(m, uint64(len(data))), data...)
}

func TestSlim(t *testing.T) {
	before := memory()
	out, err := slim(module(before))
	if err != nil {
		t.Fatal(err)
	}
	head := []byte("\x00asm\x01\x00\x00\x00\x05\x03\x01\x00\x01\x0b")
	if !bytes.HasPrefix(out, head) {
		t.Fatalf("the module begins %q", out[:len(head)])
	}
	in := &input{rest: out[len(head):]}
	after, err := load(in.take(in.number()))
	if err != nil || len(after) != len(before) {
		t.Fatalf("%d bytes of memory, %v; want %d", len(after), err, len(before))
	}
	if !bytes.HasPrefix(after, []byte("before")) || !bytes.HasSuffix(after, []byte("after")) {
		t.Errorf("the data around the table has changed: %q", after)
	}
	tab := table{memory: after[16:]}
	entries, names := tab.word(headerEntries), tab.word(headerNames)
	for i, want := range []string{"runtime.", "runtime.", "reflect.methodValueCall", ""} {
		f := entries + uint64(tab.half(entries+8*uint64(i)+4))
		if got := tab.text(names+uint64(tab.half(f+functionName)), entries); got != want {
			t.Errorf("function %d is %q, want %q", i, got, want)
		}
		if tab.half(f+functionStack) != 6 || tab.half(f+functionLine) != 0 || tab.half(f+functionFile) != 0 {
			t.Errorf("function %d has other tables: %v", i, tab.at(f, functionSize))
		}
	}
	if got := tab.at(tab.word(headerTables), 9); !bytes.Equal(got, []byte{0, 0, 0, 0, 0, 0, 16, 5, 0}) {
		t.Errorf("the tables are %v", got)
	}
	if tab.bad {
		t.Error("the table is cut")
	}
	for _, gone := range []string{"main.main", "main.go", "runtime.one"} {
		if bytes.Contains(after, []byte(gone)) {
			t.Errorf("%s is still there", gone)
		}
	}
}

func TestSlimRefuses(t *testing.T) {
	whole := module(memory())
	for n := range len(whole) {
		if _, err := slim(whole[:n]); !errors.Is(err, errModule) && !errors.Is(err, errTable) {
			t.Fatalf("a module cut at %d: %v", n, err)
		}
	}
	none := memory()
	none[16] = 0
	twice := append(memory(), memory()...)
	far := memory()
	binary.LittleEndian.PutUint64(far[16+headerEntries:], 1<<40)
	name := memory()
	binary.LittleEndian.PutUint32(name[len(name)-len("after")-functionSize-4+functionName:], 1<<20)
	for _, m := range [][]byte{none, twice, far, name} {
		if _, err := slim(module(m)); !errors.Is(err, errTable) {
			t.Errorf("%.40q: %v", m, err)
		}
	}
	file := filepath.Join(t.TempDir(), "x.wasm")
	if err := os.WriteFile(file, []byte("no module"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{file}); !errors.Is(err, errModule) {
		t.Errorf("a file of another kind: %v", err)
	}
}
