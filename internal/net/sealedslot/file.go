package sealedslot

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/filelock"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/sealing"
)

const (
	// File is the name of the file in the data folder that has the gateway's own secrets.
	File     = "slots.key"
	lockFile = "slots.lock"

	maxFile = 16 << 10
	// maxSecrets bounds the secrets of a file.
	maxSecrets = 64
)

// Read reads the gateway's own secrets from its data folder: one a line, of which the first
// seals. There are none if there is no file.
func Read(dir string) (secrets [][]byte, err error) {
	name := filepath.Join(dir, File)
	data, err := files.ReadRegular(name, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, files.Cause(err))
	}
	if secrets, err = Lines(string(data)); err != nil {
		return nil, fmt.Errorf("%s: %w; to begin again, remove the file", name, err)
	}
	return secrets, nil
}

// Make is Read that makes a secret if there is none. Several processes that begin at once get
// the same one.
func Make(dir string) (secrets [][]byte, err error) {
	if secrets, err = Read(dir); err != nil || len(secrets) > 0 {
		return secrets, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the data folder %s: %w", dir, files.Cause(err))
	}
	unlock := filelock.Hold(filepath.Join(dir, lockFile))
	defer unlock()
	if secrets, err = Read(dir); err != nil || len(secrets) > 0 {
		return secrets, err
	}
	secret := Random()
	name := filepath.Join(dir, File)
	if _, err := files.Replace(name, append(secret, '\n')); err != nil {
		return nil, fmt.Errorf("write %s: %w", name, files.Cause(err))
	}
	return [][]byte{secret}, nil
}

// Random returns a new secret.
func Random() []byte {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return []byte(base64.StdEncoding.EncodeToString(b))
}

// Lines reads secrets, one a line. Empty lines do not count.
func Lines(text string) (secrets [][]byte, err error) {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	if len(lines) == 0 {
		return nil, errors.New("the secret is empty")
	}
	if len(lines) > maxSecrets {
		return nil, fmt.Errorf("there are %d secrets: want %d or fewer", len(lines), maxSecrets)
	}
	for i, line := range lines {
		err := files.CheckSecret(line)
		if err == nil && len(line) < sealing.MinSecret {
			err = fmt.Errorf("the secret has %d bytes: want %d or more", len(line), sealing.MinSecret)
		}
		if err != nil && len(lines) > 1 {
			err = fmt.Errorf("secret %d: %w", i+1, err)
		}
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, []byte(line))
	}
	return secrets, nil
}
