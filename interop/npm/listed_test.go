package npm_test

import (
	"testing"

	"github.com/sotto-llm/sotto/interop/internal/displays"
)

// checkListed wants each client in docs/clients.md with what a user pastes, and no other.
func checkListed(t *testing.T, clients []*npmClient) {
	t.Helper()
	names := []string{"ai 7, bedrock", "ai 7, google", "@langchain/aws", "@langchain/google-genai"} // of clients/bridged.js
	for _, c := range clients {
		names = append(names, c.Name)
	}
	displays.CheckListed(t, "../../docs/clients.md", "## SDKs", names)
}
