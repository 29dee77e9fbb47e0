package cli

import (
	"bufio"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestServeConsole: with --console the record has its page, on an address of its own,
// and a page that follows the record does not hold up a shutdown. The gateway's own
// address has no route of it, and without --console there is none at all.
func TestServeConsole(t *testing.T) {
	get := func(r *running, address string) string {
		resp, err := r.client.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	for _, on := range []bool{true, false} {
		args := []string{"--record=" + filepath.Join(t.TempDir(), "audit"), "--scripted-pause=1ms"}
		if on {
			args = append(args, "--console", "--console-listen=127.0.0.1:0")
		}
		r := startServe(t, args...)
		if page := get(r, r.gateway+"/exchanges"); strings.Contains(page, "console.js") {
			t.Errorf("console %t: the gateway serves its page", on)
		}
		if on != (r.console != "") {
			t.Fatalf("console %t: it is at %q", on, r.console)
		}
		if on {
			_, _ = io.Copy(io.Discard, r.chat("minimax-m2", true).Body)
			end := time.Now().Add(time.Minute)
			for page := ""; !strings.Contains(page, "minimax-m2"); page = get(r, r.console+"/exchanges") {
				if time.Now().After(end) {
					t.Fatalf("the exchange is not on the page: %s", page)
				}
			}
			live, err := r.client.Get(r.console + "/live")
			if err != nil {
				t.Fatal(err)
			}
			defer live.Body.Close()
			if line, err := bufio.NewReader(live.Body).ReadString('\n'); err != nil || line == "" {
				t.Errorf("%q %v", line, err)
			}
		}
		r.interrupt(t)
	}
}
