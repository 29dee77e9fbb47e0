// Command sotto separates what a language model thinks from what it says.
package main

import (
	"os"

	"github.com/sotto-llm/sotto/internal/cli"
)

func main() { os.Exit(cli.Main()) }
