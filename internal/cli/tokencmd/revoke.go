package tokencmd

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/secretfile"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

type revokeCommand struct {
	What   string `arg:"" name:"NAME|HASH" help:"A caller, whose tokens are all removed; or the hash of a token, as token files have it (sha256: and 8 of its digits or more); or - for a token on standard input."`
	Config string `placeholder:"FILE" setting:"SOTTO_CONFIG" xor:"where" help:"Find the token files in the configuration FILE of the gateway. Other faults in it do not matter."`
	File   string `placeholder:"FILE" xor:"where" help:"Look in the token file FILE alone."`
}

// Help says what happens then.
func (revokeCommand) Help() string {
	return `Removes tokens from their token file, and prints their hashes. A gateway that follows the file refuses them within two seconds, whatever else is wrong with its settings. Comments stay. A file without a token is right: its caller has none.

The command takes no token as an argument, because other users of the machine can see arguments.

Examples:

    sotto token revoke --config sotto.yaml alice
    sotto token revoke --config sotto.yaml sha256:9f86d081
    sotto token revoke --file alice.token sha256:9f86d081
    pass show leaked | sotto token revoke --config sotto.yaml -`
}

// leastDigits are the digits of a hash that name a token.
const leastDigits = 8

// Run removes the tokens.
func (c *revokeCommand) Run(sh *shell.Shell) error {
	hash, err := c.hash(sh)
	if err != nil {
		return err
	}
	callers, err := c.callers(hash != "")
	if err != nil {
		return err
	}
	if err := unique(callers, hash); err != nil {
		return err
	}
	var failed []error
	found := false
	for _, caller := range callers {
		removed, left, err := remove(caller.TokenFile, hash)
		switch {
		case hash != "" && c.File == "" && errors.Is(err, fs.ErrNotExist): // it has no token
			continue
		case err != nil:
			failed = append(failed, err)
			continue
		}
		for _, one := range removed {
			fmt.Fprintf(sh.Out, "%s\t%s\n", caller.Name, one)
		}
		if found = found || len(removed) > 0; len(removed) > 0 && left == 0 {
			sh.Hintf("%s has no token any more: the caller %s is refused everywhere", caller.TokenFile, caller.Name)
		}
	}
	if !found {
		failed = append(failed, errors.New("no token was removed: there is none in the files that were looked at"))
	}
	return errors.Join(failed...)
}

// hash returns the hash, or its beginning, that the command is about; empty if it is about
// a caller.
func (c *revokeCommand) hash(sh *shell.Shell) (string, error) {
	switch {
	case c.What == "-":
		data, err := files.ReadAll(sh.In, files.MaxSettings)
		if err != nil {
			return "", err
		}
		secret := strings.TrimSpace(string(data))
		if err := files.CheckSecret(secret); err != nil {
			return "", fmt.Errorf("standard input: %w", err)
		}
		return access.HashOf(secret), nil
	case access.IsSecret(c.What):
		return "", errorhint.Usage(errors.New("this is a token, and other users of the machine can see the arguments of a command"), "give its hash; or - as the argument, and the token on standard input")
	case !strings.HasPrefix(c.What, "sha256:"):
		return "", nil
	}
	digits := strings.ToLower(strings.TrimPrefix(c.What, "sha256:"))
	if len(digits) < leastDigits || strings.Trim(digits, "0123456789abcdef") != "" {
		return "", errorhint.Usage(fmt.Errorf("%s: want sha256: and at least %d hexadecimal digits", shorttext.Quote(c.What), leastDigits), "")
	}
	return "sha256:" + digits, nil
}

// callers returns the callers whose files are looked at.
func (c *revokeCommand) callers(byHash bool) ([]settings.Caller, error) {
	switch {
	case c.File != "" && !byHash:
		return nil, errorhint.Usage(errors.New("the name of a caller stands in the configuration"), "find it with --config FILE, or give the hash of a token")
	case c.File != "":
		return []settings.Caller{{Name: access.Single, TokenFile: c.File}}, nil
	case c.Config == "":
		return nil, errorhint.Usage(errors.New("there is no file to look in"), "name the configuration with --config FILE, or a token file with --file FILE")
	}
	all, err := settings.ReadCallers(c.Config)
	if err != nil {
		return nil, errorhint.Add(err, "this needs no configuration: sotto token revoke --file TOKENFILE HASH")
	}
	if byHash {
		return slices.DeleteFunc(all, func(one settings.Caller) bool { return one.TokenFile == "" }), nil
	}
	i := slices.IndexFunc(all, func(one settings.Caller) bool { return one.Name == c.What })
	switch {
	case i < 0:
		return nil, fmt.Errorf("%s: no caller has the name %s", c.Config, shorttext.Quote(c.What))
	case all[i].TokenFile == "":
		return nil, errorhint.Add(fmt.Errorf("the tokens of %s are in the environment (%s), and in no file", all[i].Name, shorttext.Quote(all[i].TokenEnv)),
			"remove the entry of "+all[i].Name+" in "+c.Config+": the gateway sees that within two seconds")
	}
	return all[i : i+1], nil
}

// unique reports a hash that begins more than one token.
func unique(callers []settings.Caller, hash string) error {
	var all []string
	for _, caller := range callers {
		data, err := files.ReadSecret(caller.TokenFile)
		if hash == "" || err != nil { // the edit reports it
			continue
		}
		for line := range strings.SplitSeq(string(data), "\n") {
			if one := hashIn(line); one != "" && strings.HasPrefix(one, hash) && !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	if len(all) > 1 {
		return fmt.Errorf("%s begins %d tokens: %s", hash, len(all), strings.Join(all, ", "))
	}
	return nil
}

// remove removes from a token file the token with a hash, or all if there is no hash. It
// returns the hashes of what it removed, and how many tokens are left.
func remove(name, hash string) (removed []string, left int, err error) {
	err = secretfile.Change(name, func(old []byte) ([]byte, error) {
		var kept strings.Builder
		for line := range strings.Lines(string(old)) {
			one := hashIn(line)
			if one != "" && strings.HasPrefix(one, hash) {
				removed = append(removed, one)
				continue
			}
			if one != "" {
				left++
			}
			kept.WriteString(line)
		}
		return []byte(kept.String()), nil
	})
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return removed, left, err
}

// hashIn returns the hash of the token in a line of a token file; empty if it has none.
func hashIn(line string) string {
	fields := strings.Fields(line)
	switch {
	case len(fields) == 0 || fields[0] == "#":
		return ""
	case strings.HasPrefix(fields[0], "sha256:"):
		return strings.ToLower(fields[0])
	}
	return access.HashOf(fields[0])
}
