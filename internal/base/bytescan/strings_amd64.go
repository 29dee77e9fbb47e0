//go:build !purego

package bytescan

// specialAVX2 returns the offset of the first byte that is special, or also, of n bytes at p,
// or n. It reads n bytes, at least 32.
//
//go:noescape
func specialAVX2(p *byte, n int, also byte) int

// copyAVX2 is specialAVX2, and copies the blocks that it reads to dst.
//
//go:noescape
func copyAVX2(dst, p *byte, n int, also byte) int

func specialBlock(b []byte, also byte) (at int, ok bool) {
	if !hasAVX2 {
		return 0, false
	}
	return specialAVX2(&b[0], len(b), also), true
}

func copyBlock(dst, b []byte, also byte) (at int, ok bool) {
	if !hasAVX2 {
		return 0, false
	}
	return copyAVX2(&dst[0], &b[0], len(b), also), true
}
