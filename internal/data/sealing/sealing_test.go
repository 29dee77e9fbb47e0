package sealing_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/internal/data/sealing"
)

func identity(t *testing.T) (*age.X25519Identity, []age.Recipient) {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return id, []age.Recipient{id.Recipient()}
}

// What is sealed line by line comes back to the identity, and to nobody else. The plain parts
// need none.
func TestLines(t *testing.T) {
	id, to := identity(t)
	other, _ := identity(t)
	var file []byte
	for _, text := range []string{`{"word":"CANARY one"}`, `{"word":"CANARY two"}`} {
		var err error
		if file, err = sealing.AppendLine(file, []byte(`{"n":1}`), []byte(text), to); err != nil {
			t.Fatal(err)
		}
	}
	if bytes.Contains(file, []byte("CANARY")) {
		t.Errorf("in plain: %s", file)
	}
	read := func(r io.Reader) (string, error) {
		data, err := io.ReadAll(r)
		return string(data), err
	}
	if got, err := read(sealing.NewReader(bytes.NewReader(file), []age.Identity{id})); err != nil || got != "{\"word\":\"CANARY one\"}\n{\"word\":\"CANARY two\"}\n" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := read(sealing.NewPlainReader(bytes.NewReader(file))); err != nil || got != "{\"n\":1}\n{\"n\":1}\n" {
		t.Errorf("%q, %v", got, err)
	}
	for _, ids := range [][]age.Identity{nil, {other}} {
		if got, err := read(sealing.NewReader(bytes.NewReader(file), ids)); !errors.Is(err, sealing.ErrSealed) || got != "" {
			t.Errorf("%q, %v", got, err)
		}
	}
	if got, err := read(sealing.NewReader(strings.NewReader("a\x00b\n\nc"), nil)); err != nil || got != "a\x00b\n\nc" {
		t.Errorf("a file in plain: %q, %v", got, err)
	}
	if got, err := read(sealing.NewReader(strings.NewReader(string(file)+"{\"word\":\"plain\"}\n"), []age.Identity{id})); err == nil || !strings.Contains(err.Error(), "line 3: a line in plain") {
		t.Errorf("a line in plain among sealed ones: %q, %v", got, err)
	}
	torn := string(file[:len(file)-20])
	if got, err := read(sealing.NewReader(strings.NewReader(torn), []age.Identity{id})); err != nil || !strings.HasPrefix(got, "{\"word\":\"CANARY one\"}\n{\"v\":1,") {
		t.Errorf("a line that is still being written: %q, %v", got, err)
	}
}

// A line whose ciphertext was changed is refused.
func TestChangedLine(t *testing.T) {
	id, to := identity(t)
	line, err := sealing.AppendLine(nil, nil, []byte(strings.Repeat("a", 90)), to)
	if err != nil {
		t.Fatal(err)
	}
	at := len(line) - 30
	line[at] ^= 1
	if got, err := io.ReadAll(sealing.NewReader(bytes.NewReader(line), []age.Identity{id})); err == nil {
		t.Errorf("read %q", got)
	}
}
