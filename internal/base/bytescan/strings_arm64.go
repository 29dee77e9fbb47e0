//go:build !purego

package bytescan

// specialNEON returns the offset of the first byte that is special, or also, of n bytes at p,
// or n. It reads n bytes, at least 16.
//
//go:noescape
func specialNEON(p *byte, n int, also byte) int

// copyNEON is specialNEON, and copies the blocks that it reads to dst.
//
//go:noescape
func copyNEON(dst, p *byte, n int, also byte) int

func specialBlock(b []byte, also byte) (at int, ok bool) {
	return specialNEON(&b[0], len(b), also), true
}

func copyBlock(dst, b []byte, also byte) (at int, ok bool) {
	return copyNEON(&dst[0], &b[0], len(b), also), true
}
