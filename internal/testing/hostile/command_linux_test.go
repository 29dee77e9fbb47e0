package hostile

import (
	"os"
	"os/exec"
	"testing"
)

// sotto runs a command that must succeed, and returns what it printed.
func sotto(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("sotto %q: %v\n%s", args, err, out)
	}
	return string(out)
}
