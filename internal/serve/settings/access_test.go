package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/net/access"
)

// TestOpenToOthers: a gateway that other machines reach needs a token, or the setting that
// says that it needs none; then it warns, and again if it takes any host name.
func TestOpenToOthers(t *testing.T) {
	for _, public := range []bool{false, true} {
		for _, token := range []bool{false, true} {
			for _, insecure := range []bool{false, true} {
				for _, anyHost := range []bool{false, true} {
					text, folder := "upstream: http://localhost:1\n", t.TempDir()
					if public {
						text += "listen: \":8080\"\n"
					}
					if token {
						text += "token-file: token\n"
						if err := os.WriteFile(filepath.Join(folder, "token"), []byte("0123456789abcdef0123456789abcdef\n"), 0o600); err != nil {
							t.Fatal(err)
						}
					}
					if insecure {
						text += "insecure-public: true\n"
					}
					if anyHost {
						text += "allow-hosts: [\"*\"]\n"
					}
					s := mustRead(t, sourcesOf(t, folder, text, nil))
					warnings, faults := strings.Join(s.Warnings, "\n"), ""
					for _, f := range s.Faults {
						faults += f.Error() + "\n"
					}
					if got, want := strings.Contains(faults, "there is no token"), public && !token && !insecure; got != want {
						t.Errorf("%q: refused %v, want %v: %s", text, got, want, faults)
					}
					open := public && !token && insecure
					if got := strings.Contains(warnings, "everybody who can reach"); got != open {
						t.Errorf("%q: warned about everybody %v, want %v: %s", text, got, open, warnings)
					}
					if got, want := strings.Contains(warnings, "any web page can point its host name"), open && anyHost; got != want {
						t.Errorf("%q: warned about host names %v, want %v: %s", text, got, want, warnings)
					}
				}
			}
		}
	}
}

// TestSharedSecret: what replicas share needs a secret of 32 bytes or more, from a file or from
// the environment.
func TestSharedSecret(t *testing.T) {
	const long, short = "0123456789abcdef0123456789abcdef", "0123456789"
	for _, tt := range []struct {
		name, file, env string
		fault           string
	}{
		{"none", "", "", "is sealed with a secret"},
		{"environment", "", long, ""},
		{"file", long, "", ""},
		{"short in the environment", "", short, "the secret has 10 bytes"},
		{"short in a file", short, "", "the secret has 10 bytes"},
	} {
		text, folder := "upstream: http://localhost:1\nshared: redis://localhost:1\n", t.TempDir()
		if tt.file != "" {
			text += "shared-secret-file: secret\n"
			if err := os.WriteFile(filepath.Join(folder, "secret"), []byte(tt.file+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := mustRead(t, sourcesOf(t, folder, text, map[string]string{"SOTTO_SHARED_SECRET": tt.env}))
		switch {
		case tt.fault == "" && (len(s.Faults) > 0 || string(s.Gateway.SharedSecret) != long):
			t.Errorf("%s: %v, secret %q", tt.name, s.Faults, s.Gateway.SharedSecret)
		case tt.fault != "" && (len(s.Faults) != 1 || !strings.Contains(s.Faults[0].Error(), tt.fault)):
			t.Errorf("%s: %v, want %q", tt.name, s.Faults, tt.fault)
		}
	}
}

// TestReadCallers: the callers of a file are the one of token-file and those of tokens.
func TestReadCallers(t *testing.T) {
	name := filepath.Join(t.TempDir(), "sotto.yaml")
	if err := os.WriteFile(name, []byte("upstream: http://localhost:1\ntoken-file: token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := ReadCallers(name)
	if err != nil || len(list) != 1 || list[0].Name != access.Single || filepath.Base(list[0].TokenFile) != "token" {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestStartBesideAWrongDialect: a wrong start is reported also where the dialect is wrong too.
func TestStartBesideAWrongDialect(t *testing.T) {
	for _, text := range []string{"dialect: nothing\nstart: nowhere\n", "routes:\n  - models: [x]\n    dialect: nothing\n    start: nowhere\n"} {
		s := mustRead(t, sourcesOf(t, t.TempDir(), "upstream: http://localhost:1\n"+text, nil))
		var all string
		for _, f := range s.Faults {
			all += f.Error() + "\n"
		}
		if !strings.Contains(all, "nothing") || !strings.Contains(all, "nowhere") {
			t.Errorf("%q: %s", text, all)
		}
	}
}

// TestOpenFiles: a secret that every user of the machine can read is warned about, and a
// file of hashes is not: nobody can use them.
func TestOpenFiles(t *testing.T) {
	const secret = "a-long-secret-of-somebody-0123456789"
	hash := access.Token{Secret: secret}.Line()
	for _, c := range []struct {
		text, content string
		mode          os.FileMode
		warns         bool
	}{
		{"token-file: f\n", secret, 0o600, false},
		{"token-file: f\n", secret, 0o644, true},
		{"token-file: f\n", hash, 0o644, false},
		{"token-file: f\n", hash + "\n" + secret, 0o644, true},
		{"tokens: {alice: {token-file: f}}\n", secret, 0o604, true},
		{"upstream-key-file: f\n", secret, 0o644, true},
		{"upstream-key-file: f\n", secret, 0o640, false},
		{"guard: http://localhost:9\nguard-token-file: f\n", secret, 0o644, true},
		{"record: r\nrecord-signing-key: f\n", secret, 0o644, true},
		{"record: r\nrecord-reasoning: digest\nrecord-digest-key: f\n", secret, 0o644, true},
		{"record: r\nrecord-patterns: f\n", secret, 0o644, false},
	} {
		folder := t.TempDir()
		name := filepath.Join(folder, "f")
		if err := os.WriteFile(name, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, c.mode); err != nil {
			t.Fatal(err)
		}
		s := mustRead(t, sourcesOf(t, folder, "upstream: http://localhost:1\n"+c.text, nil))
		if said := strings.Contains(strings.Join(s.Warnings, "\n"), name); said != c.warns {
			t.Errorf("%s%o: warned %v, want %v: %q", c.text, c.mode, said, c.warns, s.Warnings)
		}
	}
}

// TestMemory: what the A2A servers may hold is taken from the gateway's memory: a quarter,
// and 256 MiB at most.
func TestMemory(t *testing.T) {
	for text, want := range map[string][2]int64{
		"limits: {memory: 1GiB}\n":                           {1 << 30, 0},
		"limits: {memory: 400}\na2a: true\na2a-model: m\n":   {300, 100},
		"limits: {memory: 1GiB}\na2a: true\na2a-model: m\n":  {768 << 20, 256 << 20},
		"limits: {memory: 8GiB}\na2a: true\na2a-model: m\n":  {8<<30 - 256<<20, 256 << 20},
		"limits: {memory: 1GiB}\na2a: false\na2a-model: m\n": {1 << 30, 0},
	} {
		s := mustRead(t, sourcesOf(t, t.TempDir(), "upstream: http://localhost:1\n"+text, nil))
		if got := [2]int64{s.Gateway.Limits.MemoryBytes, s.A2AMemory()}; got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
		if !s.Gateway.Templates {
			t.Error("the gateway reads no templates")
		}
	}
}
