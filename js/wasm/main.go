// Command wasm is the reader of replies as a WebAssembly module for the package of npm: a
// reactor of WASI preview 1, whose functions the host calls.
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o sotto.wasm ./js/wasm
//
// A call puts its bytes into the memory that sotto_memory gives. What it gives back, or the
// text of an error, is where sotto_result says, until the next call.
package main

//lint:file-ignore U1000 the host calls what is exported

import (
	"unsafe"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/reply/abi"
)

// keep is how much of the memory for arguments and results stays from call to call.
const keep = 1 << 20

var (
	reader    abi.Reader
	arguments []byte
	output    []byte
	result    [2]uint32 // the place and the length of the result
)

//go:wasmexport sotto_memory
func memory(n uint32) unsafe.Pointer {
	if uint32(cap(arguments)) < n || cap(arguments) > keep && n <= keep {
		arguments = make([]byte, max(n, 4<<10))
	}
	return unsafe.Pointer(unsafe.SliceData(arguments))
}

//go:wasmexport sotto_result
func resultAt() unsafe.Pointer { return unsafe.Pointer(&result) }

// argument returns bytes of the arguments. A host that says more than it asked for gets what
// there is.
func argument(from, n uint32) []byte {
	all := arguments[:cap(arguments)]
	from = min(from, uint32(len(all)))
	return all[from : from+min(n, uint32(len(all))-from)]
}

func argumentText(from, n uint32) string {
	b := argument(from, n)
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// give makes b the result. It returns 0, or 1 if there is an error, whose text it gives instead.
func give(b []byte, err error) uint32 {
	output = b
	if err != nil {
		output = append(output[:0], err.Error()...)
	}
	result = [2]uint32{uint32(uintptr(unsafe.Pointer(unsafe.SliceData(output)))), uint32(len(output))}
	if err != nil {
		return 1
	}
	return 0
}

// room is the memory for a result.
func room() []byte {
	if cap(output) > keep {
		output = nil
	}
	return output[:0]
}

// open begins a stream. Its number, as 4 bytes, is the result.
//
//go:wasmexport sotto_open
func open(n uint32) uint32 {
	number, err := reader.Open(argument(0, n))
	return give(append(room(), byte(number), byte(number>>8), byte(number>>16), byte(number>>24)), err)
}

//go:wasmexport sotto_feed
func feed(number, n uint32) uint32 {
	return give(reader.Feed(room(), number, argumentText(0, n)))
}

//go:wasmexport sotto_close
func closeStream(number, end uint32) uint32 {
	return give(reader.Close(room(), number, sotto.Ending(min(end, 255))))
}

//go:wasmexport sotto_forget
func forget(number uint32) { reader.Forget(number) }

// parse reads a whole reply: its options are n bytes of the arguments, and the reply is the
// size bytes after them.
//
//go:wasmexport sotto_parse
func parse(n, size, end uint32) uint32 {
	return give(abi.Parse(room(), argument(0, n), argumentText(n, size), sotto.Ending(min(end, 255))))
}

//go:wasmexport sotto_strip
func strip(n, size uint32) uint32 {
	return give(abi.Strip(room(), argument(0, n), argumentText(n, size)))
}

func main() {}
