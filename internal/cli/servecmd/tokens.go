package servecmd

import (
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// A tokenServer is a server beside the gateway that has the gateway's tokens.
type tokenServer struct {
	// check, if set, says why the server cannot have the tokens of settings.
	check func(*settings.Setup) error
	set   func([]gateway.Token)
}

// tokenServers are all of them.
type tokenServers []tokenServer

func (all *tokenServers) add(s tokenServer) { *all = append(*all, s) }

// check says why one of the servers cannot have the tokens of settings. Before that, none
// gets them: all servers have the same.
func (all tokenServers) check(s *settings.Setup) error {
	for _, one := range all {
		if one.check == nil {
			continue
		}
		if err := one.check(s); err != nil {
			return err
		}
	}
	return nil
}

// set gives all of them new tokens.
func (all tokenServers) set(tokens []gateway.Token) {
	for _, one := range all {
		one.set(tokens)
	}
}
