//go:build sotto_shipped

package abi

import (
	"errors"

	"github.com/sotto-llm/sotto"
)

// compile refuses a dialect of the caller's own: checks of dialects are a tenth of a module for
// WebAssembly, and most programs use those that come with Sotto.
func (in *input) compile() (*sotto.Grammar, error) {
	return nil, errors.New("this module has the dialects that come with Sotto; load the one for dialects of your own")
}
