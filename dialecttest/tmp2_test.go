package dialecttest

import (
	"github.com/sotto-llm/sotto"
	"testing"
)

func TestTmpEm(t *testing.T) {
	for _, d := range sotto.Dialects() {
		t.Run(d.Name, func(t *testing.T) { newSuite(t, tight(d), 1).earliestEmission(t) })
	}
}
