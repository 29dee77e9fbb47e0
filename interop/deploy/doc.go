// Package deploy tests the files of examples/deploy: each is decoded strictly by the
// library of the program that reads it, what one file names must be in the others, and
// the same topology runs as processes.
package deploy
