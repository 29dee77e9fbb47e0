package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/net/access"
)

// TestServeShowsSettingsInUse: after a reload, the console and the debug server show the
// settings and the upstream of now, and --check --against asks the debug server for them. A
// secret is in neither.
func TestServeShowsSettingsInUse(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "sotto.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	const token = "a-token-that-no-page-shows"
	env := func(name string) string { return map[string]string{"SOTTO_UPSTREAM_KEY": token}[name] }
	write("upstream: http://localhost:1\ndisplay: hide\n")
	r := startServeWith(t, env, "--config="+file, "--console", "--console-listen=127.0.0.1:0", "--debug-listen=127.0.0.1:0")
	page := func(address string) string {
		t.Helper()
		resp, err := r.client.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != 200 || strings.Contains(string(text), token) {
			t.Fatalf("%d %v %s", resp.StatusCode, err, text)
		}
		return string(text)
	}
	for _, at := range []string{r.debug + "/debug/settings", r.console + "/health"} {
		if text := page(at); !strings.Contains(text, "display: hide") || !strings.Contains(text, "upstream: http://localhost:1\n") {
			t.Errorf("before the reload: %s", text)
		}
	}
	write("upstream: http://localhost:2\ndisplay: tags\n")
	r.waitFor(`sotto_config_reloads_total{result="success"} 1`)
	for _, at := range []string{r.debug + "/debug/settings", r.console + "/health"} {
		if text := page(at); !strings.Contains(text, "display: tags") || strings.Contains(text, "http://localhost:1\n") {
			t.Errorf("after the reload: %s", text)
		}
	}
	if text := page(r.console + "/health"); strings.Contains(text, "localhost:1<") {
		t.Errorf("the console has the upstream from the start: %s", text)
	}
	var out, said strings.Builder
	other := filepath.Join(dir, "other.yaml")
	if err := os.WriteFile(other, []byte("upstream: http://localhost:2\ndisplay: keep\nlog-format: json\nshutdown-wait: 7s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status := Run([]string{"serve", "--config=" + other, "--check", "--against=" + r.debug}, strings.NewReader(""), &out, &said, env); status != 0 {
		t.Fatalf("%d %s", status, &said)
	}
	for _, line := range []string{"display ", "log-format ", "shutdown-wait "} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("no %q: %s", line, &out)
		}
	}
	if strings.Contains(out.String(), "upstream") {
		t.Errorf("a difference that there is not: %s", &out)
	}
	r.signals <- os.Interrupt
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	<-r.log
}

// TestAgainstHashes: where the settings have only hashes, the token for a process comes from
// a file or the environment, and what is missing is named.
func TestAgainstHashes(t *testing.T) {
	dir := t.TempDir()
	secret, other := access.NewSecret(), access.NewSecret()
	write := func(name, text string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	write("a", access.HashOf(secret))
	write("b", access.HashOf(other))
	config := write("sotto.yaml", "debug-listen: localhost:0\ntokens:\n  a: {token-file: a, scopes: [debug]}\n  b: {token-file: b, scopes: [models]}")
	r := startServe(t, "--config="+config, "--scripted-pause=0s")
	for name, tt := range map[string]struct {
		env  map[string]string
		more []string
		ok   bool
		want string
	}{
		"no token":          {nil, nil, false, "the settings have only hashes of tokens"},
		"the environment":   {map[string]string{"SOTTO_AGAINST_TOKEN": secret}, nil, true, ""},
		"a file":            {nil, []string{"--against-token-file=" + write("secret", secret)}, true, ""},
		"without its scope": {map[string]string{"SOTTO_AGAINST_TOKEN": other}, nil, false, "with the scope debug or console"},
		"a wrong token":     {map[string]string{"SOTTO_AGAINST_TOKEN": "wrong"}, nil, false, "with the scope debug or console"},
	} {
		status, out, errs := runWith(tt.env, append([]string{"serve", "--config=" + config, "--check", "--against", r.debug}, tt.more...)...)
		if (status == 0) != tt.ok || !strings.Contains(errs, tt.want) || strings.Contains(out+errs, secret) || strings.Contains(out+errs, other) {
			t.Errorf("%s: %d\n%s%s", name, status, out, errs)
		}
	}
	r.signals <- os.Interrupt
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	<-r.log
}
