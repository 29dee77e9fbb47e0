// Package soak runs the built program for a long time under a mixed load of real
// clients, and checks that nothing grows: memory, goroutines, descriptors, threads and the
// folders. Its tests run with SOAK_TIME alone, in .ci/long.
package soak
