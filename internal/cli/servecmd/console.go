package servecmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/cli/labpart"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/peers"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/internal/serve/settings"
	"github.com/sotto-llm/sotto/record"
)

// checkConsole returns what is wrong with the settings of the console. Thoughts are
// never open to other machines without a token, whatever the gateway allows.
func checkConsole(s *settings.Setup, address string) error {
	switch {
	case !s.Console:
	case s.Recording.Record == "" && s.Gateway.Data == "" && s.Shared == "":
		return errorhint.Usage(errors.New("--console: there is no record to show, and no folder for conversations"), "name a folder for the record with --record DIR, or one for conversations with --data DIR")
	case !settings.IsLoopback(address) && !s.Closed():
		return errorhint.Usage(fmt.Errorf("--console-listen: %s is open to other machines, and there is no token", address), settings.AccessHint)
	}
	return nil
}

// serveConsole serves the console on an address of its own, if it is on. Its chat
// talks through the gateway's handler, and who looks at a thought is in the record.
// quit ends it.
func (p *parts) serveConsole(handler *gateway.Handler, health *console.Health, talks *conversation.Store, tasks console.Tasks) (quit func() error, err error) {
	s, log := p.s, p.log
	quit = func() error { return nil }
	if err := checkConsole(s, s.ConsoleListen); err != nil || !s.Console {
		return quit, err
	}
	var store *sidecar.Store
	if s.Recording.Record != "" {
		r, err := recording.OpenReader(s.Recording.Record, record.ReadOptions{})
		if err != nil {
			return quit, err
		}
		store = sidecar.Of(r)
	}
	l, err := p.sockets.listen(consoleSocket, "--console-listen", s.ConsoleListen)
	if err != nil {
		return quit, err
	}
	address := l.Addr().String()
	if err := checkConsole(s, address); err != nil { // a name may stand for any address
		return quit, errors.Join(err, l.Close())
	}
	config := console.Config{
		Record: store, Dir: s.Recording.Record, Name: s.Recording.Record, Named: s.Gateway.Named, Public: !settings.IsLoopback(address), Tokens: s.Tokens(), Closed: s.Guarded(),
		Certificate: p.cert, AllowHosts: s.Hosts(), Log: log, Health: health, Tasks: tasks, Own: p.sh.Own,
	}
	if len(p.timed.Files()) > 0 {
		config.Schedules = &console.Schedules{Status: p.timed.Status}
		if p.kept != nil {
			config.Schedules.Record = p.kept.ID()
		}
	}
	if lab := p.command.Lab; lab != nil {
		extension, end, err := lab.Screens(labpart.Shown{Record: store, Name: s.Recording.Record, Named: s.Gateway.Named})
		if err != nil {
			return quit, errors.Join(err, l.Close())
		}
		config.Extension = extension
		p.opened(undo(end))
	}
	if talks != nil {
		config.Chat = &console.Chat{Gateway: handler, Kept: talks}
		if p.kept != nil {
			config.Chat.Record = p.kept.ID()
		}
	}
	if p.kept != nil {
		config.Audit = p.kept
	}
	if p.shared != nil {
		config.Logins, config.LoginSecret = p.shared, s.Gateway.SharedSecret
		if config.Peers, err = p.peers(address); err != nil {
			return quit, errors.Join(err, l.Close())
		}
	}
	for _, d := range dialect.All() {
		config.Dialects = append(config.Dialects, d.Name)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	page := console.New(config)
	p.guards.add(tokenServer{check: func(s *settings.Setup) error { return checkConsole(s, address) }, set: page.SetTokens})
	go func() { ended <- page.Serve(ctx, l) }()
	p.at.console = p.cert.Reach(l)
	log.Info("the console is up", "at", p.at.console.String())
	return func() error { stop(); return <-ended }, nil
}

// peers are the consoles of the gateways that share a store; nil if this one has no record.
func (p *parts) peers(listens string) (*peers.Peers, error) {
	if p.kept == nil {
		return nil, nil
	}
	host, port, err := net.SplitHostPort(listens)
	if err != nil {
		return nil, err
	}
	name, err := os.Hostname()
	if err != nil {
		name = host
	}
	o := peers.Options{
		Directory: p.shared, Secret: p.s.Gateway.SharedSecret, Record: p.kept.ID(), Name: net.JoinHostPort(shorttext.Escape(name, 64), port), Log: p.log, Now: time.Now,
		Certificate: func() []byte { return nil }, Head: func() uint64 { return p.kept.Head().Seq },
		Address: func() string { // a console on all addresses is reached as this machine reaches the store
			if ip := net.ParseIP(host); ip != nil && !ip.IsUnspecified() {
				return listens
			}
			if here := p.shared.Here(); here != nil {
				return net.JoinHostPort(here.String(), port)
			}
			return ""
		},
	}
	if p.cert != nil {
		o.Certificate = p.cert.Shown
	}
	return peers.New(o)
}
