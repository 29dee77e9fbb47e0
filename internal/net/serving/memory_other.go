//go:build !linux

package serving

func memory() int64 { return unknownMemory }
