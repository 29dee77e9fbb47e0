package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

// TestSubjects: each archive, package and program is a subject with its hash, and no other
// file is.
func TestSubjects(t *testing.T) {
	dir := t.TempDir()
	want := []string{"sotto-1.2.0-1.x86_64.rpm", "sotto-gateway_darwin_arm64_v8.0/sotto-gateway", "sotto_1.2.0_linux_amd64.tar.gz", "sotto_windows_amd64_v1/sotto.exe"}
	for _, name := range append(want, "artifacts.json", "config.yaml", "sotto_1.2.0_linux_amd64.cdx.json", "homebrew/Casks/sotto.rb") {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var first, again bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &again} {
		if err := run(out, "1.2.0", "refs/tags/v1.2.0", commit, dir); err != nil {
			t.Fatal(err)
		}
	}
	if first.String() != again.String() {
		t.Error("the same files give other bytes")
	}
	var s statement
	if err := json.Unmarshal(first.Bytes(), &s); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, subject := range s.Subject {
		names = append(names, subject.Name)
		sum := sha256.Sum256([]byte(subject.Name))
		if subject.Digest["sha256"] != hex.EncodeToString(sum[:]) {
			t.Errorf("%s has another hash", subject.Name)
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, want) {
		t.Errorf("the subjects are %q, want %q", names, want)
	}
	if source := s.Predicate.BuildDefinition.Dependencies[0]; source.Digest["gitCommit"] != commit || !strings.HasSuffix(source.URI, "@refs/tags/v1.2.0") {
		t.Errorf("the source is %+v", source)
	}
}

func TestRefused(t *testing.T) {
	for _, args := range [][4]string{
		{"", "HEAD", commit, "."},
		{"1.2.0", "", commit, "."},
		{"1.2.0", "HEAD", "main", "."},
		{"1.2.0", "HEAD", commit, ""},
		{"1.2.0", "HEAD", commit, t.TempDir()},
		{"1.2.0", "HEAD", commit, "missing"},
	} {
		var out bytes.Buffer
		if err := run(&out, args[0], args[1], args[2], args[3]); err == nil || out.Len() > 0 {
			t.Errorf("%q: %v, and %d bytes", args, err, out.Len())
		}
	}
}
