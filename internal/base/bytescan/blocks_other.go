//go:build (!amd64 && !arm64) || purego

package bytescan

func (f *Forms) block([]byte) (at int, ok bool) { return 0, false }

func fenceBlock([]byte) (at int, ok bool) { return 0, false }

func codeBlock([]byte, *CodeMasks) bool { return false }

func (f *Forms) masks([]byte, *Masks) bool { return false }
