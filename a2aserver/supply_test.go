package a2aserver

import (
	"os/exec"
	"strings"
	"testing"
)

// TestSupply: the program links none of what the protocol's SDK could bring along
// for bindings that the server does not speak. Protocol Buffers come with the
// metrics of the gateway, and without a2aserver.
func TestSupply(t *testing.T) {
	deps := func(pkg string) string {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", pkg).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	for pkg, forbidden := range map[string][]string{
		"../cmd/sotto":   {"google.golang.org/grpc", "google.golang.org/genproto", "github.com/a2aproject/a2a-go/a2a", "github.com/a2aproject/a2a-go/v2/a2agrpc", "github.com/a2aproject/a2a-go/v2/a2acompat"},
		"./internal/v03": {"google.golang.org/"},
	} {
		all := deps(pkg)
		if !strings.Contains(all, "github.com/a2aproject/a2a-go/v2/a2a\n") {
			t.Fatalf("%s does not use the SDK: the test looks at nothing", pkg)
		}
		for dep := range strings.Lines(all) {
			for _, f := range forbidden {
				if strings.HasPrefix(dep, f) {
					t.Errorf("%s links %s", pkg, strings.TrimSpace(dep))
				}
			}
		}
	}
}
