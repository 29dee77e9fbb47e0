// Command libsotto is the reader of replies as a shared library for C: sotto.h describes it.
//
//	CGO_ENABLED=1 go build -buildmode=c-shared -o libsotto.so ./c/libsotto
package main

/*
#define SOTTO_TYPES_ONLY
#include "sotto.h"
#include <stdlib.h>

struct sotto_reader { uintptr_t handle; };
struct sotto_stream { uintptr_t handle; };
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime/cgo"
	"runtime/debug"
	"strconv"
	"unsafe"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/reply/nextrequest"
)

// version is set by the linker.
var version = "dev"

var versionText = C.CString(version)

//export sotto_version
func sotto_version() *C.char { return versionText }

//export sotto_reader_new
func sotto_reader_new(options *C.char, fault *C.sotto_error) (out *C.sotto_reader) {
	defer caught(fault, func() { out = nil })
	text := ""
	if options != nil {
		text = C.GoString(options)
	}
	r, err := readOptions(text)
	if err != nil {
		explain(fault, err)
		return nil
	}
	out = (*C.sotto_reader)(allocate(C.sizeof_sotto_reader))
	out.handle = C.uintptr_t(cgo.NewHandle(r))
	return out
}

//export sotto_reader_free
func sotto_reader_free(p *C.sotto_reader) {
	if p != nil {
		cgo.Handle(p.handle).Delete()
		C.free(unsafe.Pointer(p))
	}
}

func readerOf(p *C.sotto_reader) (*reader, error) {
	if p == nil {
		return nil, errors.New("the reader is NULL")
	}
	return cgo.Handle(p.handle).Value().(*reader), nil
}

//export sotto_parse
func sotto_parse(p *C.sotto_reader, data *C.char, size C.size_t, end C.sotto_ending, fault *C.sotto_error) (out *C.sotto_reply) {
	defer caught(fault, func() { out = nil })
	reply, err := parse(p, data, size, end)
	if err != nil {
		explain(fault, err)
		return nil
	}
	out, _ = repliesBlock([]reading{readingOf(reply)})
	return out
}

//export sotto_parse_json
func sotto_parse_json(p *C.sotto_reader, data *C.char, size C.size_t, end C.sotto_ending, fault *C.sotto_error) (out *C.sotto_text) {
	defer caught(fault, func() { out = nil })
	reply, err := parse(p, data, size, end)
	if err != nil {
		explain(fault, err)
		return nil
	}
	return textsBlock([]string{string(reply.AppendJSON(nil))})
}

func parse(p *C.sotto_reader, data *C.char, size C.size_t, end C.sotto_ending) (*sotto.Reply, error) {
	r, err := readerOf(p)
	if err != nil {
		return nil, err
	}
	raw, err := bytesOf(data, size)
	if err != nil {
		return nil, err
	}
	ending, err := endingOf(end)
	if err != nil {
		return nil, err
	}
	return r.parse(raw, ending)
}

//export sotto_parse_many
func sotto_parse_many(p *C.sotto_reader, replies *C.sotto_text, count C.size_t, end C.sotto_ending, size *C.size_t, fault *C.sotto_error) (out *C.sotto_reply) {
	defer caught(fault, func() { out = nil })
	list, err := parseMany(p, replies, count, end)
	if err != nil {
		explain(fault, err)
		return nil
	}
	out, n := repliesBlock(list)
	if size != nil {
		*size = C.size_t(n)
	}
	return out
}

func parseMany(p *C.sotto_reader, replies *C.sotto_text, count C.size_t, end C.sotto_ending) ([]reading, error) {
	ending, err := endingOf(end)
	if err != nil {
		return nil, err
	}
	return many(p, replies, count, func(r *reader, raw string) (reading, error) {
		reply, err := r.parse(raw, ending)
		if err != nil {
			return reading{}, err
		}
		return readingOf(reply), nil
	})
}

//export sotto_strip
func sotto_strip(p *C.sotto_reader, replies *C.sotto_text, count C.size_t, fault *C.sotto_error) (out *C.sotto_text) {
	defer caught(fault, func() { out = nil })
	list, err := many(p, replies, count, (*reader).strip)
	if err != nil {
		explain(fault, err)
		return nil
	}
	return textsBlock(list)
}

// many reads every reply of a list of the caller's.
func many[T any](p *C.sotto_reader, replies *C.sotto_text, count C.size_t, read func(r *reader, raw string) (T, error)) ([]T, error) {
	r, err := readerOf(p)
	if err != nil {
		return nil, err
	}
	if count > 0 && replies == nil {
		return nil, errors.New("the replies are NULL")
	}
	if uint64(count) > maxBytes {
		return nil, fmt.Errorf("%d replies at once: the most are %d", uint64(count), int64(maxBytes))
	}
	list := make([]T, count)
	for i, t := range unsafe.Slice(replies, int(count)) {
		raw, err := bytesOf(t.data, t.size)
		if err == nil {
			list[i], err = read(r, raw)
		}
		if err != nil {
			return nil, fmt.Errorf("reply %d: %w", i, err)
		}
	}
	return list, nil
}

//export sotto_next_request
func sotto_next_request(api, data *C.char, size C.size_t, fault *C.sotto_error) (out *C.sotto_text) {
	defer caught(fault, func() { out = nil })
	name := ""
	if api != nil {
		name = C.GoString(api)
	}
	body, err := bytesOf(data, size)
	if err == nil {
		var next []byte
		if next, err = nextrequest.Body(name, []byte(body)); err == nil {
			return textsBlock([]string{string(next)})
		}
	}
	explain(fault, err)
	return nil
}

//export sotto_free
func sotto_free(p unsafe.Pointer) { C.free(p) }

//export sotto_stream_new
func sotto_stream_new(p *C.sotto_reader, fault *C.sotto_error) (out *C.sotto_stream) {
	defer caught(fault, func() { out = nil })
	r, err := readerOf(p)
	if err != nil {
		explain(fault, err)
		return nil
	}
	s, err := r.stream()
	if err != nil {
		explain(fault, err)
		return nil
	}
	out = (*C.sotto_stream)(allocate(C.sizeof_sotto_stream))
	out.handle = C.uintptr_t(cgo.NewHandle(&held{stream: s}))
	return out
}

//export sotto_stream_free
func sotto_stream_free(p *C.sotto_stream) {
	if p == nil {
		return
	}
	h := cgo.Handle(p.handle)
	h.Value().(*held).room.free()
	h.Delete()
	C.free(unsafe.Pointer(p))
}

// A held stream has the memory for what it gives.
type held struct {
	*stream
	room room
}

func streamOf(p *C.sotto_stream) (*held, error) {
	if p == nil {
		return nil, errors.New("the stream is NULL")
	}
	return cgo.Handle(p.handle).Value().(*held), nil
}

//export sotto_feed
func sotto_feed(p *C.sotto_stream, data *C.char, size C.size_t, out *C.sotto_deltas, fault *C.sotto_error) (ok C.bool) {
	defer caught(fault, func() { ok = false })
	s, err := streamOf(p)
	if err != nil {
		return explain(fault, err)
	}
	delta, err := bytesOf(data, size)
	if err != nil {
		return explain(fault, err)
	}
	if err := s.feed(delta); err != nil {
		return explain(fault, err)
	}
	s.give(out)
	return true
}

//export sotto_close
func sotto_close(p *C.sotto_stream, end C.sotto_ending, out *C.sotto_deltas, fault *C.sotto_error) (ok C.bool) {
	defer caught(fault, func() { ok = false })
	s, err := streamOf(p)
	if err != nil {
		return explain(fault, err)
	}
	ending, err := endingOf(end)
	if err != nil {
		return explain(fault, err)
	}
	if err := s.close(ending); err != nil {
		return explain(fault, err)
	}
	s.give(out)
	return true
}

//export sotto_reset
func sotto_reset(p *C.sotto_stream) {
	if s, err := streamOf(p); err == nil {
		s.reset()
	}
}

// maxBytes is the longest reply or part of one.
const maxBytes = 1 << 30

// bytesOf returns bytes of the caller, without a copy.
func bytesOf(data *C.char, size C.size_t) (string, error) {
	switch {
	case size == 0:
		return "", nil
	case data == nil:
		return "", fmt.Errorf("the data is NULL, and its size is %d", uint64(size))
	case uint64(size) > maxBytes:
		return "", fmt.Errorf("the data has %d bytes: the most are 1 GiB", uint64(size))
	}
	return unsafe.String((*byte)(unsafe.Pointer(data)), int(size)), nil
}

func endingOf(end C.sotto_ending) (sotto.Ending, error) {
	if uint64(end) > uint64(sotto.EndAborted) {
		return 0, errors.New("unknown ending " + strconv.FormatUint(uint64(end), 10) + ": want SOTTO_UNKNOWN, SOTTO_STOPPED, SOTTO_CUT or SOTTO_ABORTED")
	}
	return sotto.Ending(end), nil
}

// explain writes an error for the caller, cut to its room between two characters.
func explain(fault *C.sotto_error, err error) C.bool {
	if fault == nil {
		return false
	}
	room := unsafe.Slice((*byte)(unsafe.Pointer(&fault.text[0])), len(fault.text))
	text := err.Error()
	n := copy(room[:len(room)-1], text)
	for n < len(text) && n > 0 && text[n]&0xc0 == 0x80 {
		n--
	}
	room[n] = 0
	return false
}

// caught turns a panic into an error: a fault of the library must not end the caller's process.
func caught(fault *C.sotto_error, failed func()) {
	if r := recover(); r != nil {
		failed()
		explain(fault, fmt.Errorf("a fault of libsotto, please report it: %v", r))
	}
}

// Short replies leave little garbage in a heap of little else: with Go's own setting, a fourth of the
// time of a list went into collections. This one costs up to 16 MB of memory.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

func main() {}
