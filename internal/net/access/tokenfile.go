package access

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/files"
)

// secretPrefix is what the tokens of [NewSecret] begin with, so that programs that look
// for credentials in repositories and logs can find them.
const secretPrefix = "sotto_"

// NewSecret makes a token that cannot be guessed: 256 bits or more of randomness.
func NewSecret() string { return secretPrefix + strings.ToLower(rand.Text()+rand.Text()) }

// IsSecret reports whether a text looks like a token of [NewSecret].
func IsSecret(text string) bool { return strings.HasPrefix(text, secretPrefix) }

// Line returns the line of a token file for a token: its hash, and when it expires, if it
// does.
func (t Token) Line() string {
	line := t.Hash
	if line == "" {
		line = HashOf(t.Secret)
	}
	if !t.Expires.IsZero() {
		line += " " + expiresKey + t.Expires.UTC().Format(time.RFC3339)
	}
	return line
}

const (
	expiresKey = "expires="
	// maxInFile bounds the tokens of one file: they are those of one caller.
	maxInFile = 64
)

// ReadTokens reads the tokens of one caller, as a token file has them: one on each line,
// the token itself or its hash, and after it, if it expires, expires=DATE or
// expires=TIME. Empty lines, and those that begin with # and a space, do not count. A file
// without a token is right: none is valid. The error is that of the first line that is
// wrong; the tokens are those of all lines that are right. No error contains any part of a
// token.
func ReadTokens(text string) (list []Token, first error) {
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		fields := strings.Split(strings.Trim(line, " \t\r"), " ")
		if fields[0] == "" || fields[0] == "#" {
			continue
		}
		t, err := readToken(fields)
		switch {
		case err != nil && strings.Contains(strings.Trim(text, "\r\n"), "\n"):
			err = fmt.Errorf("line %d: %w", n, err)
		case err == nil && len(list) == maxInFile:
			err = fmt.Errorf("line %d: there are more than %d tokens, and all are of one caller: remove old ones, or give each caller a file", n, maxInFile)
		}
		if err == nil {
			list = append(list, t)
		} else if first == nil {
			first = err
		}
	}
	return list, first
}

// ReadTokenFile reads the tokens of a token file, as [ReadTokens] does. No error contains
// the name of the file, because somebody may have put a token in its place.
func ReadTokenFile(name string) ([]Token, error) {
	data, err := files.ReadSecret(name)
	if err != nil {
		return nil, err
	}
	return ReadTokens(strings.TrimRight(string(data), "\r\n"))
}

// readToken reads the fields of a line. The first is not empty.
func readToken(fields []string) (t Token, err error) {
	if err := files.CheckSecret(fields[0]); err != nil {
		return t, err
	}
	if strings.HasPrefix(fields[0], hashPrefix) {
		t.Hash = strings.ToLower(fields[0])
		if _, err := t.sum(); err != nil {
			return t, err
		}
	} else {
		t.Secret = fields[0]
	}
	switch when, ok := strings.CutPrefix(strings.Join(fields[1:], ""), expiresKey); {
	case len(fields) == 1:
		return t, nil
	case !ok || len(fields) > 2:
		return t, errors.New("the secret holds white space; only expires=DATE may follow a token")
	default:
		t.Expires, err = ParseExpiry(when)
		return t, err
	}
}

// ParseExpiry reads when a token expires: a date, which is its beginning in UTC, or a
// time.
func ParseExpiry(text string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, errors.New("want the expiry as a date such as 2027-01-31, or a time such as 2027-01-31T18:00:00Z")
}

// Weakness says why a secret may be guessed; it is empty if nothing speaks for that.
func Weakness(secret string) string {
	letters := map[rune]bool{}
	for _, r := range secret {
		letters[r] = true
	}
	switch {
	case len(secret) < shortSecret:
		return fmt.Sprintf("has fewer than %d characters", shortSecret)
	case len(letters) < fewLetters:
		return "repeats a few characters"
	}
	return ""
}

const (
	// shortSecret is the length in characters below which a token is too short.
	shortSecret = 16
	// fewLetters is how many different characters a random token has at least: 16
	// hexadecimal digits have fewer in one of ten thousand.
	fewLetters = 6
)
