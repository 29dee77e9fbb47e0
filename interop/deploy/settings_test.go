package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// settings are those of a gateway that other files depend on.
type settings struct {
	Record   string           `json:"record"`
	Data     string           `json:"data"`
	Listen   string           `json:"listen"`
	Delay    string           `json:"shutdown-delay"`
	Wait     string           `json:"shutdown-wait"`
	Key      string           `json:"upstream-key-file"`
	Secret   string           `json:"shared-secret-file"`
	Password string           `json:"shared-password-file"`
	Tokens   map[string]token `json:"tokens"`
	Limits   struct {
		Connections int `json:"connections"`
		PerAddress  int `json:"connections-per-address"`
	} `json:"limits"`
}

type token struct {
	File   string   `json:"token-file"`
	Scopes []string `json:"scopes"`
}

func parseSettings(t *testing.T, text string) *settings {
	t.Helper()
	var s settings
	if err := yaml.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

func (s *settings) delay(t *testing.T) time.Duration { return duration(t, s.Delay) }
func (s *settings) wait(t *testing.T) time.Duration  { return duration(t, s.Wait) }

func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// secrets are the files of secrets that the settings name.
func (s *settings) secrets() []string {
	all := []string{s.Key, s.Secret, s.Password}
	for _, token := range s.Tokens {
		all = append(all, token.File)
	}
	slices.Sort(all)
	return all
}

// program builds the program, once for all tests.
func program(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "sotto")
	build := exec.Command("go", "build", "-o", name, "./cmd/sotto")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return name
}

// here writes the settings with secrets and folders of this test in place of those of a
// container, and returns the file's name and the folder.
func here(t *testing.T, text string) (file, dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, path := range parseSettings(t, text).secrets() {
		name := filepath.Join(dir, "secrets", filepath.Base(path))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(strings.Repeat(filepath.Base(path)+".", 3)), 0o600); err != nil {
			t.Fatal(err)
		}
		text = strings.ReplaceAll(text, path, name)
	}
	text = strings.ReplaceAll(text, "/var/lib/sotto", filepath.Join(dir, "state"))
	file = filepath.Join(dir, "gateway.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, dir
}

// TestSettings: the gateway accepts the settings of the compose file and of the
// ConfigMap, and its tokens open no more than they must.
func TestSettings(t *testing.T) {
	sotto := program(t)
	for name, text := range map[string]string{
		"compose":    read(t, "gateway.yaml"),
		"kubernetes": configMap(t),
	} {
		file, dir := here(t, text)
		cmd := exec.Command(sotto, "serve", "--config", file, "--check")
		cmd.Env = append(os.Environ(), "SOTTO_UPSTREAM=http://vllm:8000")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		if name == "compose" && !strings.Contains(string(out), "record-ship: s3://records/production") {
			t.Errorf("the record goes nowhere:\n%s", out)
		}
		if !strings.Contains(string(out), filepath.Join(dir, "secrets", "shared-secret")) {
			t.Errorf("%s: the checked settings have no secret:\n%s", name, out)
		}
		s := parseSettings(t, text)
		if !slices.Equal(s.Tokens["clients"].Scopes, []string{"models"}) || !slices.Equal(s.Tokens["prometheus"].Scopes, []string{"metrics"}) {
			t.Errorf("%s: the tokens open %+v", name, s.Tokens)
		}
	}
}
