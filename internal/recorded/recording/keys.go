package recording

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
)

// readPatterns reads regular expressions, one per line. It ignores blank lines and
// lines that begin with #.
func readPatterns(name string) ([]*regexp.Regexp, error) {
	data, err := files.ReadKey(name)
	if err != nil {
		return nil, err
	}
	var list []*regexp.Regexp
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		re, err := regexp.Compile(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, number, err)
		}
		list = append(list, re)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: the file has no patterns", name)
	}
	return list, nil
}

// ReadDigestKey reads a key of any bytes. A newline at the end is not part of it.
func ReadDigestKey(name string) ([]byte, error) {
	data, err := files.ReadKey(name)
	if err != nil {
		return nil, err
	}
	data = bytes.TrimRight(data, "\r\n")
	if len(data) < 16 {
		return nil, fmt.Errorf("%s: %d bytes, want 16 or more", name, len(data))
	}
	return data, nil
}

// wantSigningKey describes a signing key.
const wantSigningKey = "want an Ed25519 private key in PEM, as sotto record keygen and openssl genpkey -algorithm ed25519 write it"

// ReadSigningKey reads an Ed25519 private key: PKCS #8 in PEM.
func ReadSigningKey(name string) (ed25519.PrivateKey, error) {
	data, err := files.ReadKey(name)
	if err != nil {
		return nil, err
	}
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "PRIVATE KEY" {
			continue
		}
		parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if key, ok := parsed.(ed25519.PrivateKey); ok && err == nil {
			return key, nil
		}
	}
	return nil, fmt.Errorf("%s: %s", name, wantSigningKey)
}

// ReadPublicKeys reads Ed25519 public keys, in PEM. A private key stands for its
// public key.
func ReadPublicKeys(name string) ([]ed25519.PublicKey, error) {
	data, err := files.ReadKey(name)
	if err != nil {
		return nil, err
	}
	var list []ed25519.PublicKey
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		var parsed any
		switch block.Type {
		case "PUBLIC KEY":
			parsed, err = x509.ParsePKIXPublicKey(block.Bytes)
		case "PRIVATE KEY":
			parsed, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		}
		if private, ok := parsed.(ed25519.PrivateKey); ok {
			parsed = private.Public()
		}
		key, ok := parsed.(ed25519.PublicKey)
		if err != nil || !ok {
			return nil, fmt.Errorf("%s: a block is not an Ed25519 key: %q", name, block.Type)
		}
		list = append(list, key)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: want Ed25519 public keys in PEM, as sotto record keygen prints them", name)
	}
	return list, nil
}

// ReadRecipients reads an age recipient, or a file of recipients, one per line, as
// age -R reads it.
func ReadRecipients(text string) ([]age.Recipient, error) {
	if strings.HasPrefix(text, "age1") {
		return age.ParseRecipients(strings.NewReader(text))
	}
	data, err := files.ReadKey(text)
	if err != nil {
		return nil, err
	}
	list, err := age.ParseRecipients(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	return list, nil
}

// ReadIdentities reads files of age identities, as age-keygen writes them.
func ReadIdentities(names []string) ([]age.Identity, error) {
	var all []age.Identity
	for _, name := range names {
		data, err := files.ReadKey(name)
		if err != nil {
			return nil, err
		}
		list, err := age.ParseIdentities(bytes.NewReader(data))
		if err != nil {
			return nil, errorhint.Add(fmt.Errorf("%s: %w", name, err), "want a file that age-keygen wrote, with a line that begins with AGE-SECRET-KEY-1")
		}
		all = append(all, list...)
	}
	return all, nil
}

// ParseAge reads a duration: a number of days, or in Go's notation.
func ParseAge(text string) (time.Duration, error) {
	wrong := errors.New(strconv.Quote(text) + ": want a span such as 90d, 12h or 30m")
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil || n == 0 {
			return 0, wrong
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, wrong
	}
	return d, nil
}
