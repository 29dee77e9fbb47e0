// Package tokencmd has the commands that make tokens for callers of a server.
package tokencmd

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/secretfile"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// Command holds the commands about tokens.
type Command struct {
	New    newCommand    `cmd:"" help:"Make a token, and print it once."`
	Revoke revokeCommand `cmd:"" help:"Remove tokens from their token file."`
	Hash   hashCommand   `cmd:"" help:"Print a token file with the hashes of its tokens in their place."`
}

// Help explains what a token file is.
func (Command) Help() string {
	return `A token file has the tokens of one caller, one on each line: the token itself, or its hash, which opens nothing. After it may stand when it expires: expires=2027-01-31. The gateway reads such files (token-file), and again when they change: docs/gateway.md.

Examples:

    sotto token new --add alice.token
    sotto token new --add alice.token --expires 90d
    sotto token revoke --config sotto.yaml alice
    sotto token hash old.token > hashed.token`
}

type newCommand struct {
	Add     string `placeholder:"FILE" help:"Add the hash of the token to the token file FILE, which is made if it is not there."`
	Expires string `placeholder:"WHEN" help:"The token expires at a date or time, or after a time such as 90d or 12h."`
}

// Help explains what is kept.
func (newCommand) Help() string {
	return `Prints a new token of 260 random bits. It begins with sotto_, so that programs that look for credentials find it. With --add, only its hash goes to the file, so keep the token: nothing can show it again. Without --add, the second line is the line for a token file.

To replace a token, add the new one to the file of the old one: both are valid. Remove the old one with sotto token revoke when nobody uses it any more. The file keeps its owner, group and mode, and several of these commands at once lose no line.

Examples:

    sotto token new
    sotto token new --add alice.token > token-for-alice
    sotto token new --add alice.token --expires 2027-01-31`
}

// Run makes a token.
func (c *newCommand) Run(sh *shell.Shell) error {
	t := access.Token{Secret: access.NewSecret()}
	var err error
	if t.Expires, err = expiry(c.Expires, time.Now()); err != nil {
		return errorhint.Usage(fmt.Errorf("--expires: %w", err), "")
	}
	if c.Add == "" {
		_, err := fmt.Fprintf(sh.Out, "%s\n%s\n", t.Secret, t.Line())
		return err
	}
	if err := add(c.Add, t.Line()); err != nil {
		return fmt.Errorf("--add: %w", err)
	}
	_, err = fmt.Fprintln(sh.Out, t.Secret)
	return err
}

// add adds a line to a token file. A file that would not be right is left as it is.
func add(name, line string) error {
	err := secretfile.Edit(name, func(old []byte) ([]byte, error) {
		text := strings.TrimRight(string(old), "\r\n")
		if text != "" {
			text += "\n"
		}
		text += line + "\n"
		_, err := access.ReadTokens(text)
		return []byte(text), err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// expiry reads when a token expires; without a text, never.
func expiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	after, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		if after = 24 * time.Hour * time.Duration(n); err == nil && n > maxDays {
			return time.Time{}, fmt.Errorf("want at most %d days", maxDays)
		}
	}
	at := now.Add(after).UTC().Truncate(time.Second)
	if err != nil {
		if at, err = access.ParseExpiry(text); err != nil {
			return time.Time{}, errors.New("want a date such as 2027-01-31, a time such as 2027-01-31T18:00:00Z, or how long it is valid, such as 90d")
		}
	}
	if !at.After(now) {
		return time.Time{}, errors.New("that is over already")
	}
	return at, nil
}

// maxDays bounds how long a token is valid, so that times can be computed.
const maxDays = 36500

type hashCommand struct {
	File string `arg:"" optional:"" name:"FILE" help:"The token file (standard input)."`
}

// Help shows how to replace a file.
func (hashCommand) Help() string {
	return `Reads a token file with tokens in plain, and prints it with their hashes: the callers keep their tokens, and the file no longer shows them. Hashes stay as they are. A token that can be guessed can be found from its hash: make a new one with sotto token new.

Examples:

    sotto token hash alice.token > alice.hashed && mv alice.hashed alice.token
    pass show alice | sotto token hash`
}

// Run prints the lines.
func (c *hashCommand) Run(sh *shell.Shell) error {
	var data []byte
	var err error
	if c.File == "" || c.File == "-" {
		data, err = files.ReadAll(sh.In, files.MaxSettings)
	} else {
		data, err = files.ReadSecret(c.File)
	}
	if err != nil {
		return err
	}
	list, err := access.ReadTokens(string(data))
	if err != nil {
		return err
	}
	for _, t := range list {
		if t.Secret != "" {
			if why := access.Weakness(t.Secret); why != "" {
				sh.Hintf("a token %s, and may be found from its hash: sotto token new makes a better one", why)
			}
		}
		if _, err := fmt.Fprintln(sh.Out, t.Line()); err != nil {
			return err
		}
	}
	return nil
}
