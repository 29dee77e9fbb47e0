// Package testhook lets tests of other packages see what a user of the
// splitter has no need of.
package testhook

// Looks returns how many bytes a *sotto.Splitter has looked at, each counted as
// often as it was looked at. Package sotto sets it.
var Looks func(splitter any) int
