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

// A reading is a reply with the texts that C gets.
type reading struct {
	*sotto.Reply
	visible              string
	reasoning, narration []string
}

func readingOf(r *sotto.Reply) reading {
	return reading{r, r.Visible(), r.Reasoning(), r.Narration()}
}

// repliesBlock is readings of one dialect and start, in one piece of memory. It is never NULL.
func repliesBlock(list []reading) (first *C.sotto_reply, size uintptr) {
	structures := sizeOf[C.sotto_reply](max(len(list), 1))
	var texts uintptr
	for i := range list {
		r := &list[i]
		found, text := diagnosticsSize(r.Diagnostics)
		structures += sizeOf[C.sotto_text](len(r.reasoning)) + sizeOf[C.sotto_text](len(r.narration)) + sizeOf[C.sotto_segment](len(r.Segments)) + found
		texts += textSize(r.visible) + textSize(r.reasoning...) + textSize(r.narration...) + text
	}
	if len(list) > 0 {
		texts += textSize(list[0].Dialect, string(list[0].Start))
	}
	memory := allocate(structures + texts)
	b := newBlock(memory, structures)
	out := place[C.sotto_reply](&b, len(list))
	for i := range list {
		out[i] = C.sotto_reply{visible: b.write(list[i].visible), more_diagnostics: C.size_t(list[i].Counts.Total() - len(list[i].Diagnostics))}
	}
	for i := range list {
		out[i].reasoning, out[i].reasoning_count = b.texts(list[i].reasoning)
	}
	for i := range list {
		out[i].narration, out[i].narration_count = b.texts(list[i].narration)
	}
	for i := range list {
		out[i].segments, out[i].segment_count = b.segments(list[i].Segments)
		out[i].diagnostics, out[i].diagnostic_count = b.diagnostics(list[i].Diagnostics)
		if i > 0 {
			out[i].dialect, out[i].start = out[0].dialect, out[0].start
			continue
		}
		out[0].dialect, out[0].start = b.write(list[0].Dialect), b.write(string(list[0].Start))
	}
	return (*C.sotto_reply)(memory), structures + texts
}

func (b *block) segments(list []sotto.Segment) (*C.sotto_segment, C.size_t) {
	out := place[C.sotto_segment](b, len(list))
	for i, s := range list {
		out[i] = C.sotto_segment{channel: C.uint32_t(s.Channel), block: C.uint32_t(s.Block), start: C.size_t(s.Start), end: C.size_t(s.End)}
	}
	return unsafe.SliceData(out), C.size_t(len(out))
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
