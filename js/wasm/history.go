//go:build sotto_history

package main

import "github.com/sotto-llm/sotto/internal/reply/nextrequest"

// nextRequest makes the next request of a body: the name of its API is n bytes of the arguments, and
// the body is the size bytes after it.
//
//go:wasmexport sotto_next_request
func nextRequest(n, size uint32) uint32 {
	body, err := nextrequest.Body(argumentText(0, n), argument(n, size))
	return give(append(room(), body...), err)
}
