package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto/internal/base/effort"
)

// The documentation names only commands and flags that exist.
func TestDocumentedCommands(t *testing.T) {
	effort.OneGoroutine(t)
	tree, err := Tree()
	if err != nil {
		t.Fatal(err)
	}
	exists := map[string]bool{"--help": true, "help": true}
	for _, flag := range []string{"--reasoning-parser", "--allow-untrusted", "--now", "--ignore-missing", "--read-only", "--cap-drop", "--auth-type", "--dry-run", "--provenance", "--enable-tokenizer-info-endpoint", "--clean", "--release-notes", "--save-exact", "--ignore-scripts"} {
		exists[flag] = true // of vLLM, apk, systemctl, sha256sum, docker, qwen, npm and goreleaser
	}
	for _, command := range tree.Children {
		exists[command.Name] = true
	}
	err = kong.Visit(tree, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok {
			exists["--"+flag.Name] = true
			exists["--no-"+flag.Name] = flag.Tag.Negatable != ""
		}
		return next(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("(?m)(?:^ {4}|`|\\$ |\\| )sotto ([a-z0-9]+(?:-[a-z]+)*)\\b|[\\s`(|[](--[a-z0-9][a-z0-9-]*)")
	found := 0
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			name := m[1] + m[2]
			if strings.HasSuffix(name, "-") { // --record-… stands for several flags
				continue
			}
			if found++; !exists[name] {
				t.Errorf("%s names %s, which does not exist", file, name)
			}
		}
	}
	if found < 300 {
		t.Errorf("found %d commands and flags in the documentation", found)
	}
}
