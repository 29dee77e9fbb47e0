//go:build !purego

package bytescan

// formsNEON returns the offset of the first byte before the last two of n at p that the
// nibbles let through, or n-2. It reads n bytes, at least 18.
//
//go:noescape
func formsNEON(p *byte, n int, nibbles *[6][16]byte) int

// fenceNEON returns the offset of the first three back-ticks or tildes in a row of n bytes
// at p, or n. It reads n bytes, at least 18.
//
//go:noescape
func fenceNEON(p *byte, n int) int

// block returns the offset in b, which has at least fewest bytes, of the first byte that may
// begin a form, or len(b)-2; ok is false if this machine cannot say.
func (f *Forms) block(b []byte) (at int, ok bool) {
	return formsNEON(&b[0], len(b), &f.nibbles), true
}

func fenceBlock(b []byte) (at int, ok bool) { return fenceNEON(&b[0], len(b)), true }

func codeBlock([]byte, *CodeMasks) bool { return false }

func (f *Forms) masks([]byte, *Masks) bool { return false }
