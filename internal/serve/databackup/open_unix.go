//go:build unix

package databackup

import "syscall"

// nonBlock keeps an open of a named pipe from waiting for its writer.
const nonBlock = syscall.O_NONBLOCK
