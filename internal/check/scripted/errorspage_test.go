package scripted

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestErrorsPage: the messages with which the scripted providers refuse a history are
// on the page for those who search for them. What they are for is tested with these
// models.
func TestErrorsPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "errors.md"))
	if err != nil {
		t.Fatal(err)
	}
	sources := ""
	for _, name := range []string{"openai_history.go", "anthropic_history.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sources += strings.NewReplacer(`\"`, `"`).Replace(string(text))
	}
	for _, message := range []string{
		"The `reasoning_content` in the thinking mode must be passed back to the API.",
		"thinking is enabled but reasoning_content is missing in assistant tool call message at index ",
		"Function call is missing a thought_signature in functionCall parts.",
		"Expected `thinking` or `redacted_thinking`, but found ",
		"Invalid `signature` in `thinking` block",
	} {
		if !strings.Contains(sources, message) {
			t.Errorf("no scripted provider says %q any more", message)
		}
		if !strings.Contains(string(page), message) {
			t.Errorf("docs/errors.md lacks %q", message)
		}
	}
}
