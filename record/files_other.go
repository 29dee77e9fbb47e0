//go:build !unix

package record

// neverBlock is 0 where the system has no such flags: there a file is looked at
// before and after it is opened.
const neverBlock = 0

// modesCount says that the bits of a mode say who can write.
const modesCount = false
