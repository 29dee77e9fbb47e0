// Package testhook lets tests of other packages see what users of the splitter do
// not need.
package testhook

// Looks returns how many bytes a *sotto.Splitter has looked at. A byte counts each
// time it is looked at. Package sotto sets it.
var Looks func(splitter any) int
