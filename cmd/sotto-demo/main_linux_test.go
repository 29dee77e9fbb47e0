package main

import (
	"os"
	"testing"

	"github.com/sotto-llm/sotto/internal/testing/terminaltest"
)

func TestIsATerminal(t *testing.T) {
	terminaltest.OnTerminal(t, func(tty *os.File) {
		if !isTerminal(tty) {
			t.Error("a terminal is not taken for one")
		}
	})
}
