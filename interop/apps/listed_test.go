package apps_test

import (
	"testing"

	"github.com/sotto-llm/sotto/interop/internal/displays"
)

// TestListed wants each application in docs/clients.md with what a user pastes, and no other.
func TestListed(t *testing.T) {
	var names []string
	for _, a := range applications {
		names = append(names, a.from)
	}
	for i := range crossings {
		names = append(names, crossings[i].from)
	}
	displays.CheckListed(t, "../../docs/clients.md", "## Applications", names)
}
