package shell

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// ServerTokens are the tokens that open a server of a command.
type ServerTokens struct {
	List []access.Token
	// Closed says that the server needs a token, even if there is none: a setting names
	// where the tokens are.
	Closed bool

	file string // that is followed; "" if there is none
}

// ServerTokens returns the tokens of the file, if it has a name, or else of the environment
// variable, as tokens or as their hashes. No error contains any part of one.
func (sh *Shell) ServerTokens(variable, file string) (t ServerTokens, err error) {
	text, err := sh.secretText(variable, "--token-file", file)
	if err != nil || text == "" && file == "" {
		return t, err
	}
	t.Closed = true
	if files.CheckRegular(file) == nil { // a pipe cannot be read again
		t.file = file
	}
	if t.List, err = access.ReadTokens(text); err != nil {
		if file == "" {
			return t, fmt.Errorf("%s: %w", variable, err)
		}
		return t, fmt.Errorf("--token-file: %w", err)
	}
	name(t.List)
	if faults := access.Check(t.List); len(faults) > 0 {
		return t, faults[0]
	}
	return t, nil
}

func name(list []access.Token) {
	for i := range list {
		list[i].Name = access.Single
	}
}

// Follow gives the tokens to a server again whenever the file changes, until ctx ends. A
// token that cannot be read any more is not valid any more.
func (t *ServerTokens) Follow(ctx context.Context, set func([]access.Token), log *slog.Logger) {
	if t.file == "" {
		return
	}
	watch := files.NewWatch(1, t.file)
	look := time.NewTicker(files.LookEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		if watch.Changed() {
			watch.Read()
			set(t.load(log))
		}
	}
}

// load reads the file again, and says in the log what is wrong with it.
func (t *ServerTokens) load(log *slog.Logger) []access.Token {
	err := files.CheckRegular(t.file)
	var list []access.Token
	if err == nil {
		list, err = access.ReadTokenFile(t.file)
	}
	if err != nil {
		log.Error("the token file is wrong: a token that cannot be read is not valid any more", "error", err.Error())
	}
	name(list)
	if !access.AnyValid(list) {
		log.Error("no token is valid, so nobody can use the server: add a token to the token file")
	} else if err == nil {
		log.Info("the token file was read again")
	}
	return list
}
