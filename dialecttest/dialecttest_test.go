package dialecttest

import (
	"testing"

	"github.com/sotto-llm/sotto"
)

func TestDefault(t *testing.T) {
	Run(t, sotto.Default().Dialect())
}
