// Command sotto separates what a language model thinks from what it says.
package main

import (
	"os"

	_ "github.com/sotto-llm/sotto/internal/base/latergc" // before the packages that take the most memory
	"github.com/sotto-llm/sotto/internal/cli"
)

func main() { os.Exit(cli.Main()) }
