// Command slim takes out of a module for WebAssembly what Go's runtime needs only to print stacks: the
// names of functions and files, and the tables of lines. A module of Sotto's prints none. What
// reads the stack, such as the garbage collector, has tables of its own, which stay.
//
//	go run ./js/slim sotto.wasm
package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "slim:", err)
		os.Exit(1)
	}
}

func run(names []string) error {
	for _, name := range names {
		module, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if module, err = slim(module); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(name, module, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Kinds of sections.
const (
	sectionCustom = 0
	sectionData   = 11
)

var (
	errModule = errors.New("the module is not one that Go's linker writes")
	errTable  = errors.New("the table of functions is not of the form of Go 1.20 and later")
)

// slim returns a module without what is for stacks alone.
func slim(module []byte) ([]byte, error) {
	const header = "\x00asm\x01\x00\x00\x00"
	if !bytes.HasPrefix(module, []byte(header)) {
		return nil, errModule
	}
	in, out, found := &input{rest: module[len(header):]}, []byte(header), false
	for len(in.rest) > 0 && !in.bad {
		kind := in.take(1)
		section := in.take(in.number())
		if in.bad || kind[0] == sectionCustom {
			continue
		}
		if kind[0] == sectionData {
			memory, err := load(section)
			if err == nil {
				err = forget(memory)
			}
			if err != nil {
				return nil, err
			}
			section, found = segments(memory), true
		}
		out = append(out, kind[0])
		out = append(binary.AppendUvarint(out, uint64(len(section))), section...)
	}
	if in.bad || !found {
		return nil, errModule
	}
	return out, nil
}

// An input is bytes that are still to be read. After the first value that is cut it is bad.
type input struct {
	rest []byte
	bad  bool
}

func (in *input) take(n uint64) []byte {
	if n > uint64(len(in.rest)) {
		in.bad, in.rest = true, nil
		return make([]byte, 1)
	}
	b := in.rest[:n]
	in.rest = in.rest[n:]
	return b
}

func (in *input) number() uint64 {
	n, size := binary.Uvarint(in.rest)
	in.take(uint64(max(size, 0)))
	in.bad = in.bad || size <= 0
	return n
}

// signed reads a signed LEB128 number, as WebAssembly has them.
func (in *input) signed() int64 {
	var n int64
	for shift := 0; shift < 64; shift += 7 {
		b := in.take(1)[0]
		n |= int64(b&0x7f) << shift
		if b&0x80 == 0 {
			if b&0x40 != 0 && shift < 57 {
				n |= -1 << (shift + 7)
			}
			break
		}
	}
	return n
}

// maxMemory bounds the memory that data may fill.
const maxMemory = 64 << 20

const (
	i32Const = 0x41
	end      = 0x0b
)

// load returns the memory as the data section fills it.
func load(section []byte) (memory []byte, err error) {
	in := &input{rest: section}
	for n := in.number(); n > 0 && !in.bad; n-- {
		kind, instruction := in.number(), in.take(1)[0]
		at, after := in.signed(), in.take(1)[0]
		data := in.take(in.number())
		if in.bad || kind != 0 || instruction != i32Const || after != end || at < 0 || at > maxMemory || len(data) > maxMemory {
			return nil, errModule
		}
		if grow := int(at) + len(data) - len(memory); grow > 0 {
			memory = append(memory, make([]byte, grow)...)
		}
		copy(memory[at:], data)
	}
	if in.bad || len(in.rest) > 0 {
		return nil, errModule
	}
	return memory, nil
}

// maxSegments is how many pieces of data the runtimes take.
const maxSegments = 100_000

// segments writes memory as a data section, without zeros where that is shorter.
func segments(memory []byte) []byte {
	const overhead = 8 // of a segment, in bytes
	var out []byte
	count, last := 0, len(bytes.TrimRight(memory, "\x00"))
	for at := 0; ; count++ {
		for at < last && memory[at] == 0 {
			at++
		}
		if at == last {
			break
		}
		stop := last
		if i := bytes.Index(memory[at:], make([]byte, overhead)); i >= 0 && count < maxSegments-1 {
			stop = at + i
		}
		out = append(out, 0, i32Const)
		out = append(appendSigned(out, int64(at)), end)
		out = append(binary.AppendUvarint(out, uint64(stop-at)), memory[at:stop]...)
		at = stop
	}
	return append(binary.AppendUvarint(nil, uint64(count)), out...)
}

// appendSigned appends a signed LEB128 number that is not negative.
func appendSigned(dst []byte, n int64) []byte {
	for ; n > 0x3f; n >>= 7 {
		dst = append(dst, byte(n)|0x80)
	}
	return append(dst, byte(n))
}

// Offsets in the runtime's structures pcHeader and _func.
const (
	headerFunctions = 8
	headerNames     = 32
	headerUnits     = 40
	headerFiles     = 48
	headerTables    = 56
	headerEntries   = 64
	headerSize      = 72

	functionName  = 4
	functionStack = 16 // the table of the stack's depth
	functionFile  = 20
	functionLine  = 24
	functionCount = 28 // of further tables
	functionUnit  = 32
	functionStart = 36 // its line
	functionSize  = 44
)

// forget zeroes, in the memory of a module, what is for stacks alone.
func forget(memory []byte) error {
	// The magic number of Go 1.20, the least size of an instruction, and the size of a pointer.
	magic := []byte("\xf1\xff\xff\xff\x00\x00\x01\x08")
	at := bytes.Index(memory, magic)
	if at < 0 || bytes.Contains(memory[at+1:], magic) {
		return errTable
	}
	t := table{memory: memory[at:]}
	count := t.word(headerFunctions)
	names, units, files, tables, entries := t.word(headerNames), t.word(headerUnits), t.word(headerFiles), t.word(headerTables), t.word(headerEntries)
	if t.bad || names != headerSize || names >= units || units > files || files >= tables || tables >= entries || count == 0 || entries+8*count > uint64(len(t.memory)) {
		return errTable
	}
	used := table{memory: make([]byte, entries-tables)} // 1 for each byte of a table that stays
	runtime := uint64(0)                                // the name that functions of the runtime get
	kept := map[uint64]string{}
	for i := range count {
		f := entries + uint64(t.half(entries+8*i+4))
		name := uint64(t.half(f + functionName))
		text := t.text(names+name, units)
		switch {
		case text == "reflect.makeFuncStub" || text == "reflect.methodValueCall": // the garbage collector asks for these
			kept[name] = text
		case strings.HasPrefix(text, runtimePrefix): // the scheduler asks whether a goroutine is the runtime's
			runtime = cmp.Or(runtime, name)
			t.put(f+functionName, uint32(runtime))
			kept[runtime] = runtimePrefix
		default:
			t.put(f+functionName, 0)
		}
		t.use(&used, tables, uint64(t.half(f+functionStack)))
		for k := range uint64(t.half(f + functionCount)) {
			t.use(&used, tables, uint64(t.half(f+functionSize+4*k)))
		}
		for _, field := range []uint64{functionFile, functionLine, functionUnit, functionStart} {
			t.put(f+field, 0)
		}
		if t.bad || used.bad {
			return errTable
		}
	}
	clear(t.memory[names:tables])
	for at, text := range kept {
		copy(t.memory[names+at:], text)
	}
	for i, keep := range used.memory {
		t.memory[tables+uint64(i)] *= keep
	}
	return nil
}

const runtimePrefix = "runtime."

// A table is memory with numbers. After a read outside it is bad.
type table struct {
	memory []byte
	bad    bool
}

func (t *table) at(from, size uint64) []byte {
	if from > uint64(len(t.memory)) || size > uint64(len(t.memory))-from {
		t.bad = true
		return make([]byte, size)
	}
	return t.memory[from : from+size]
}

func (t *table) word(at uint64) uint64 { return binary.LittleEndian.Uint64(t.at(at, 8)) }
func (t *table) half(at uint64) uint32 { return binary.LittleEndian.Uint32(t.at(at, 4)) }

func (t *table) put(at uint64, n uint32) { binary.LittleEndian.PutUint32(t.at(at, 4), n) }

// text returns the text that ends with a zero byte before a place.
func (t *table) text(at, before uint64) string {
	if at >= before {
		t.bad = true
		return ""
	}
	text, _, _ := bytes.Cut(t.at(at, before-at), []byte{0})
	return string(text)
}

// use marks the bytes of a table of values by place: pairs of numbers, until a value does not change.
func (t *table) use(used *table, tables, offset uint64) {
	if offset == 0 {
		return
	}
	in := &input{rest: t.at(tables+offset, uint64(len(t.memory))-min(uint64(len(t.memory)), tables+offset))}
	whole := len(in.rest)
	for first := true; ; first = false {
		if change := in.number(); change == 0 && !first || in.bad {
			break
		}
		in.number()
	}
	t.bad = t.bad || in.bad
	for i := range used.at(offset, uint64(whole-len(in.rest))) {
		used.memory[offset+uint64(i)] = 1
	}
}
