//go:build unix

package record

import "syscall"

// neverBlock are flags with which a link is not followed, and a pipe does not wait
// for its other end.
const neverBlock = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// modesCount says whether the bits of a mode say who can write.
const modesCount = true
