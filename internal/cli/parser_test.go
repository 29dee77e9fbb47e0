package cli

import (
	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto/internal/cli/shell"
)

// newParser makes line a command line, and returns its parser, without the commands in some
// fields.
func newParser(line *commandLine, sh *shell.Shell, without ...string) (*kong.Kong, error) {
	*line = *whole.New(without).(*commandLine)
	return whole.Parser(line, sh, without...)
}

func notNeeded(args []string) []string { return whole.NotNeeded(args) }

func variables() []string { return whole.Variables() }
