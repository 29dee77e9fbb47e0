//go:build race

// Package race says whether the race detector runs, for tests that it makes
// many times as long.
package race

// Enabled reports whether the race detector runs.
const Enabled = true
