package jsonedit

import "unsafe"

// StringOf returns the bytes as a string without a copy. They must not change while
// it is used.
func StringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// BytesOf returns the string's bytes without a copy. They must not be written to.
func BytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
