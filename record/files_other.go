//go:build !unix

package record

// neverBlock is 0 if the system has no such flags. There a file is checked before
// and after it is opened.
const neverBlock = 0

// modesCount says whether the bits of a mode say who can write.
const modesCount = false
