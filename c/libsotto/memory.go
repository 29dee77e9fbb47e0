package main

/*
#define SOTTO_TYPES_ONLY
#include "sotto.h"
#include <stdlib.h>
*/
import "C"

import (
	"unsafe"

	"github.com/sotto-llm/sotto"
)

// allocate returns memory of C. If C has no memory left, cgo ends the process.
func allocate(size uintptr) unsafe.Pointer { return C.malloc(C.size_t(size)) }

// A block is one piece of memory for a result: structures from its beginning, texts from the
// end of the structures.
type block struct {
	at   unsafe.Pointer // the next structure
	text unsafe.Pointer // the next text
}

// Everything that a block holds is aligned as its widest member, a pointer or a size_t.
const word = unsafe.Sizeof(uintptr(0))

func aligned(n uintptr) uintptr { return (n + word - 1) &^ (word - 1) }

// newBlock divides memory. It has at least structures+texts bytes.
func newBlock(memory unsafe.Pointer, structures uintptr) block {
	return block{at: memory, text: unsafe.Add(memory, structures)}
}

// place takes the memory for n structures.
func place[T any](b *block, n int) []T {
	if n == 0 {
		return nil
	}
	list := unsafe.Slice((*T)(b.at), n)
	b.at = unsafe.Add(b.at, aligned(uintptr(n)*unsafe.Sizeof(list[0])))
	return list
}

// write copies a text, and the zero byte after it.
func (b *block) write(s string) C.sotto_text {
	room := unsafe.Slice((*byte)(b.text), len(s)+1)
	copy(room, s)
	room[len(s)] = 0
	t := C.sotto_text{data: (*C.char)(b.text), size: C.size_t(len(s))}
	b.text = unsafe.Add(b.text, len(s)+1)
	return t
}

func sizeOf[T any](n int) uintptr {
	var t T
	return aligned(uintptr(n) * unsafe.Sizeof(t))
}

func textSize(list ...string) (n uintptr) {
	for _, s := range list {
		n += uintptr(len(s)) + 1
	}
	return n
}

// textsBlock is a list of texts in one piece of memory. It is never NULL.
func textsBlock(list []string) *C.sotto_text {
	structures := sizeOf[C.sotto_text](max(len(list), 1))
	memory := allocate(structures + textSize(list...))
	b := newBlock(memory, structures)
	b.texts(list)
	return (*C.sotto_text)(memory)
}

func (b *block) texts(list []string) (*C.sotto_text, C.size_t) {
	out := place[C.sotto_text](b, len(list))
	for i, s := range list {
		out[i] = b.write(s)
	}
	return unsafe.SliceData(out), C.size_t(len(out))
}

func diagnosticsSize(list []sotto.Diagnostic) (structures, texts uintptr) {
	for _, d := range list {
		texts += textSize(string(d.Code), string(d.Reason))
	}
	return sizeOf[C.sotto_diagnostic](len(list)), texts
}

func (b *block) diagnostics(list []sotto.Diagnostic) (*C.sotto_diagnostic, C.size_t) {
	out := place[C.sotto_diagnostic](b, len(list))
	for i, d := range list {
		out[i] = C.sotto_diagnostic{code: b.write(string(d.Code)), reason: b.write(string(d.Reason)), offset: C.size_t(d.Offset)}
	}
	return unsafe.SliceData(out), C.size_t(len(out))
}

// replyBlock is a reply in one piece of memory.
func replyBlock(r *sotto.Reply) *C.sotto_reply {
	visible, reasoning, narration := r.Visible(), r.Reasoning(), r.Narration()
	found, texts := diagnosticsSize(r.Diagnostics)
	structures := sizeOf[C.sotto_reply](1) + sizeOf[C.sotto_text](len(reasoning)) + sizeOf[C.sotto_text](len(narration)) +
		sizeOf[C.sotto_segment](len(r.Segments)) + found
	texts += textSize(visible, r.Dialect, string(r.Start)) + textSize(reasoning...) + textSize(narration...)

	b := newBlock(allocate(structures+texts), structures)
	out := &place[C.sotto_reply](&b, 1)[0]
	*out = C.sotto_reply{visible: b.write(visible), dialect: b.write(r.Dialect), start: b.write(string(r.Start))}
	out.reasoning, out.reasoning_count = b.texts(reasoning)
	out.narration, out.narration_count = b.texts(narration)
	segments := place[C.sotto_segment](&b, len(r.Segments))
	for i, s := range r.Segments {
		segments[i] = C.sotto_segment{channel: C.uint32_t(s.Channel), block: C.uint32_t(s.Block), start: C.size_t(s.Start), end: C.size_t(s.End)}
	}
	out.segments, out.segment_count = unsafe.SliceData(segments), C.size_t(len(segments))
	out.diagnostics, out.diagnostic_count = b.diagnostics(r.Diagnostics)
	out.more_diagnostics = C.size_t(r.Counts.Total() - len(r.Diagnostics))
	return out
}

// A room is the memory for what a stream gives, until its next call.
type room struct {
	memory unsafe.Pointer
	size   uintptr
}

// kept is how much of the memory stays from call to call.
const kept = 1 << 20

// take returns memory of at least n bytes.
func (r *room) take(n uintptr) unsafe.Pointer {
	if n > r.size || r.size > kept && n <= kept {
		r.free()
		r.size = max(n, 512)
		r.memory = allocate(r.size)
	}
	return r.memory
}

func (r *room) free() {
	C.free(r.memory)
	r.memory, r.size = nil, 0
}

// give writes what the last call with the stream gave.
func (h *held) give(out *C.sotto_deltas) {
	if out == nil {
		return
	}
	found, texts := diagnosticsSize(h.diagnostics)
	structures := sizeOf[C.sotto_delta](len(h.deltas)) + found
	b := newBlock(h.room.take(structures+texts+uintptr(len(h.text)+len(h.deltas))), structures)
	list := place[C.sotto_delta](&b, len(h.deltas))
	for i, d := range h.deltas {
		list[i] = C.sotto_delta{kind: C.uint32_t(d.kind), block: C.uint32_t(d.block), text: b.write(h.textOf(d))}
	}
	*out = C.sotto_deltas{list: unsafe.SliceData(list), count: C.size_t(len(list)), more_diagnostics: C.size_t(h.more)}
	out.diagnostics, out.diagnostic_count = b.diagnostics(h.diagnostics)
}
