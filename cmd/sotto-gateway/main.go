// Command sotto-gateway runs a gateway that separates what a language model thinks from what
// it says. It is the part of sotto that the operator of a gateway needs.
package main

import (
	"os"

	_ "github.com/sotto-llm/sotto/internal/base/latergc" // before the packages that take the most memory
	"github.com/sotto-llm/sotto/internal/cli/operator"
)

func main() { os.Exit(operator.Main()) }
