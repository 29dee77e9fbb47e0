package hostile

import (
	"os/exec"
	"testing"
)

// sotto runs a command that must succeed, and returns what it printed.
func sotto(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(binary, args...).CombinedOutput()
	if err != nil {
		t.Errorf("sotto %q: %v\n%s", args, err, out)
	}
	return string(out)
}
