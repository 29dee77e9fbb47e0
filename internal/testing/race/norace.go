//go:build !race

// Package race reports whether the race detector runs, because some tests take many
// times as long under it.
package race

// Enabled reports whether the race detector runs.
const Enabled = false
