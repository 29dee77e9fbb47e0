//go:build !purego

package bytescan

var hasAVX2 = detectAVX2()

// detectAVX2 reports whether the processor has AVX2 and the system saves its registers.
func detectAVX2() bool

// formsAVX2 returns the offset of the first byte before the last two of n at p that the
// nibbles let through, or n-2. It reads n bytes, at least 66.
//
//go:noescape
func formsAVX2(p *byte, n int, nibbles *[6][16]byte) int

// formsFewAVX2 is formsAVX2 for 34 to 66 bytes.
//
//go:noescape
func formsFewAVX2(p *byte, n int, nibbles *[6][16]byte) int

// codeAVX2 sets m to what the n bytes at p are; n is 32 to 64.
//
//go:noescape
func codeAVX2(p *byte, n int, m *CodeMasks)

// masksAVX2 sets m to what the n bytes at p are; n is 34 to 64. The last two begin no form.
//
//go:noescape
func masksAVX2(p *byte, n int, nibbles *[6][16]byte, m *Masks)

// fenceAVX2 returns the offset of the first three back-ticks or tildes in a row of n bytes
// at p, or n. It reads n bytes, at least 64.
//
//go:noescape
func fenceAVX2(p *byte, n int) int

// block returns the offset in b, which has at least fewest bytes, of the first byte that may
// begin a form, or len(b)-2; ok is false if this machine cannot say.
func (f *Forms) block(b []byte) (at int, ok bool) {
	switch {
	case !hasAVX2:
		return 0, false
	case len(b) < fewForms:
		return formsFewAVX2(&b[0], len(b), &f.nibbles), true
	}
	return formsAVX2(&b[0], len(b), &f.nibbles), true
}

func fenceBlock(b []byte) (at int, ok bool) {
	if !hasAVX2 {
		return 0, false
	}
	return fenceAVX2(&b[0], len(b)), true
}

func codeBlock(b []byte, m *CodeMasks) bool {
	if !hasAVX2 {
		return false
	}
	codeAVX2(&b[0], len(b), m)
	return true
}

// masks sets m to those of 34 to 64 bytes; the last two begin no form.
func (f *Forms) masks(b []byte, m *Masks) bool {
	if !hasAVX2 {
		return false
	}
	masksAVX2(&b[0], len(b), &f.nibbles, m)
	return true
}
