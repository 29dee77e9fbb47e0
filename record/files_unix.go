//go:build unix

package record

import "syscall"

// neverBlock opens no link, and no pipe that waits for its other end.
const neverBlock = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// modesCount says that the bits of a mode say who can write.
const modesCount = true
