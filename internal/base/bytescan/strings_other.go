//go:build (!amd64 && !arm64) || purego

package bytescan

func specialBlock([]byte, byte) (at int, ok bool) { return 0, false }

func copyBlock(_, _ []byte, _ byte) (at int, ok bool) { return 0, false }
