//go:build !unix

package handover

import (
	"context"
	"errors"
)

var errSystem = errors.New("sockets cannot be passed to another process on this system")

// Asked is the process that was asked for its sockets. There is none on this system.
type Asked struct {
	PID     int
	Sockets []Socket
}

// Ask refuses.
func Ask(context.Context, string) (*Asked, error) { return nil, errSystem }

// End is never called.
func (*Asked) End(context.Context) error { return errSystem }

// Close is never called.
func (*Asked) Close() {}

// A Successor is where the next process asks. There is none on this system.
type Successor struct{}

// Listen refuses.
func Listen(string, *Asked, []Socket) (*Successor, error) { return nil, errSystem }

// Wait is never called.
func (*Successor) Wait(func(error)) (int, error) { return 0, errSystem }

// Close is never called.
func (*Successor) Close() error { return nil }
