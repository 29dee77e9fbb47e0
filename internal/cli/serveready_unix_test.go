//go:build unix

package cli

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestServeReadyUpstream: with ready-upstream, a gateway whose upstream is away is alive
// and not ready. Without it, it is ready.
func TestServeReadyUpstream(t *testing.T) {
	for args, want := range map[string]string{"--ready-upstream": "is not ready: 503 Service Unavailable the upstream cannot be reached", "--no-ready-upstream": "ready: "} {
		stderr, said, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { stderr.Close() })
		g := &gatewayUnderLoad{cmd: exec.Command("sotto", "serve", "--listen=127.0.0.1:0", "--upstream=http://127.0.0.1:1", "--data="+t.TempDir(), args)}
		g.cmd.Stderr = said
		if err := g.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said.Close()
		t.Cleanup(func() { _ = g.cmd.Process.Kill() })
		g.follow(t, stderr)
		if _, out, errs := runWith(nil, "health", g.url); !strings.Contains(out+errs, want) {
			t.Errorf("%s: %s%s", args, out, errs)
		}
		if status, _, errs := runWith(nil, "health", "--live", g.url); status != 0 {
			t.Errorf("%s: %s", args, errs)
		}
		_ = g.cmd.Process.Signal(syscall.SIGTERM)
		g.ended(t)
	}
}
