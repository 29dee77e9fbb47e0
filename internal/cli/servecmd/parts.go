package servecmd

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/base/loglevel"
	"github.com/sotto-llm/sotto/internal/cli/agentpart"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/peers"
	"github.com/sotto-llm/sotto/internal/data/transact"
	"github.com/sotto-llm/sotto/internal/net/certificates"
	"github.com/sotto-llm/sotto/internal/serve/handover"
	"github.com/sotto-llm/sotto/internal/serve/settings"
	"github.com/sotto-llm/sotto/record"
)

// parts are what a gateway consists of while it runs.
type parts struct {
	command *Command
	sh      *shell.Shell
	s       *settings.Setup
	log     *slog.Logger
	level   *loglevel.Switch // of the log
	metrics *prometheus.Registry
	signals <-chan os.Signal
	hangups chan os.Signal // nil if there is nothing to reload

	sockets *sockets
	asked   *handover.Asked // the process that this one replaces; nil if there is none
	front   net.Listener
	at      addresses
	agents  agentpart.Agents
	talks   *conversation.Store // nil if no conversations are kept
	cert    *certificates.Source
	shared  sharedState // nil if replicas share nothing
	ships   shipping
	kept    *record.Writer                // nil if nothing is recorded
	inUse   atomic.Pointer[shownSettings] // a reload changes them
	secrets *record.Secrets               // that it must not hold
	server  *server
	guards  tokenServers // beside the gateway
	timed   agentpart.Schedules
	forget  func() // gives up what asks whether the upstream is ready

	closers []func() error // of the parts that are open, in the order in which they were opened
}

// serve runs the gateway until a signal comes. If there is no other upstream, it
// also runs the scripted one.
func (c *Command) serve(sh *shell.Shell, s *settings.Setup, signals <-chan os.Signal) (err error) {
	log, level := newLogger(sh, &s.Settings)
	p := &parts{command: c, signals: signals, sh: sh, s: s, agents: agentpart.None{}, log: log, level: level, metrics: prometheus.NewRegistry()}
	p.uses(s)
	defer func() { err = errors.Join(err, p.close()) }()
	p.catchHangups()
	p.opened(undo(levelBySignal(level, log)))
	for _, w := range s.Warnings {
		p.log.Warn(w)
	}
	s.Gateway.Logger = p.log
	p.opened(undo(quietStandardLog(p.log)))
	for _, open := range []func() error{p.checkData, p.takeSockets, p.openFront, p.openOutside, p.replace, p.openData, p.openRecord, p.openGateway, p.openBeside, p.followSettings, p.waitForNext, p.askAuthority} {
		if err := open(); err != nil {
			return err
		}
	}
	_ = p.sockets.close() // of addresses that this gateway does not have
	announce(sh, &s.Settings, p.log, p.at)
	defer p.reportTo(newManager(sh.Getenv, p.log))()
	return p.server.run(p.cert.HTTP2Listener(bound(&s.Settings, p.front, p.metrics, p.log)), signals)
}

// shownSettings are the settings in use, as the console and the debug server show them.
type shownSettings struct {
	yaml      []byte // a configuration file without secrets
	upstreams []settings.NamedUpstream
	shut      func() bool // no token is valid
}

// uses notes the settings that are in use.
func (p *parts) uses(s *settings.Setup) *shownSettings {
	now := &shownSettings{s.YAML(), upstreamsOf(&s.Settings), s.Shut}
	p.inUse.Store(now)
	return now
}

// opened adds what closes a part that was opened.
func (p *parts) opened(closer func() error) { p.closers = append(p.closers, closer) }

// undo is what closes a part whose closing cannot fail.
func undo(f func()) func() error { return func() error { f(); return nil } }

// close closes the parts, the last one first: each may use those before it.
func (p *parts) close() error {
	var all []error
	for _, closer := range slices.Backward(p.closers) {
		all = append(all, closer())
	}
	p.closers = nil
	return errors.Join(all...)
}

// takeSockets takes the listeners that were passed to this process.
func (p *parts) takeSockets() (err error) {
	if p.sockets, err = passedSockets(p.sh.Getenv, p.s.Console, p.s.ACME.Listen != "", p.log); err != nil {
		return err
	}
	p.opened(p.sockets.close)
	if !p.s.Takeover {
		return nil
	}
	return p.askForSockets()
}

// openFront opens the address of the gateway, and its certificate.
func (p *parts) openFront() (err error) {
	s := p.s
	if p.front, err = p.sockets.listen(gatewaySocket, "--listen", s.Listen); err != nil {
		return err
	}
	p.opened(func() error { p.front.Close(); return nil }) // the server has closed it, if it ran
	if err := checkOpen(s, p.front); err != nil {
		return err
	}
	undebug, err := p.serveDebug()
	if err != nil {
		return err
	}
	p.opened(undo(undebug))
	if p.cert, err = certificate(&s.Settings, p.metrics, p.log); err != nil {
		return err
	}
	if err := p.answerAuthority(); err != nil {
		return err
	}
	p.at = addresses{gateway: p.cert.Reach(p.front), upstream: s.Upstream}
	if s.Gateway.Public {
		p.at.open = p.front.Addr().String()
	}
	return nil
}

// openOutside opens what the gateway uses of others: the upstream, if it is scripted,
// the agents, and the state that replicas share.
func (p *parts) openOutside() error {
	s := p.s
	if s.Upstream == nil {
		stop, err := runScripted(&s.Settings, p.sockets, &p.at, p.log)
		if err != nil {
			return err
		}
		p.opened(undo(stop))
		s.Gateway.Upstream = p.at.upstream
	}
	var err error
	if p.command.Agents != nil {
		if p.agents, err = p.command.Agents.Read(p.sh, s); err != nil {
			return err
		}
		p.opened(p.agents.Close)
	}
	shared, unshare, err := share(&s.Settings, p.metrics, p.log)
	if err != nil {
		return err
	}
	p.shared = shared
	p.opened(undo(unshare))
	return nil
}

// sharedState is what replicas share beside what the gateway itself does.
type sharedState interface {
	conversation.Level
	transact.Level
	console.SharedLogins
	peers.Directory
	// Here is the address of this machine from which the store is reached, or nil.
	Here() net.IP
}

// openRecord opens the record, and begins to ship it.
func (p *parts) openRecord() (err error) {
	p.ships = shipping{to: p.s.RecordShip, log: p.log}
	p.secrets = record.NewSecrets(slices.Concat(p.s.Secrets(), p.agents.Secrets())...)
	if p.kept, err = openRecord(p.s, p.secrets, p.ships.needed(), p.log); err != nil {
		return err
	}
	p.opened(undo(p.ships.stop)) // after the record was closed
	p.opened(func() error { return closeRecord(p.kept, p.log) })
	if p.kept != nil {
		p.s.Gateway.Recorder = p.kept
		p.opened(undo(keepSidecars(p.kept.Dir(), p.log)))
	}
	return p.ships.start(p.kept, p.metrics, p.sh.Getenv)
}

// openGateway makes the gateway and its server.
func (p *parts) openGateway() (err error) {
	s := p.s
	if p.talks, err = keptTalks(&s.Settings, p.shared, p.agents.Secrets()); err != nil {
		return err
	}
	p.opened(undo(p.agents.Models(&s.Settings, p.kept, p.talks, p.log)))
	p.forget = askUpstream(s, p.log)
	p.opened(undo(func() { p.forget() }))
	if err := p.openTelemetry(); err != nil {
		return err
	}
	s.Gateway.Observers = append(s.Gateway.Observers, gateway.Metrics(p.metrics))
	config := s.Gateway
	config.AllowHosts = s.Hosts()
	l, of := &config.Limits, s.Conversations
	l.Conversations, l.ConversationsBytes, l.Conversation, l.ConversationsFor = of.Number, of.Bytes, of.Each, of.Keep
	handler, err := gateway.New(config)
	if err != nil {
		return err
	}
	p.opened(func() error { return closeGateway(handler) })
	p.server = newServer(handler, s, p.log)
	p.server.cert = p.cert
	return nil
}

// keptTalks is where conversations are kept: in the store that replicas share, or in the data
// folder. It is nil if there is neither. secrets are the values that no conversation may hold.
func keptTalks(s *settings.Settings, shared sharedState, secrets []string) (*conversation.Store, error) {
	g := &s.Gateway
	if g.Data == "" && shared == nil {
		return nil, nil
	}
	store := &conversation.Store{Folder: filepath.Join(g.Data, "conversations"), Limits: s.Conversations, Secrets: record.NewSecrets(secrets...)}
	if shared == nil {
		return store, nil
	}
	return store, store.Share(shared, g.SharedSecret)
}

// openBeside opens what runs beside the gateway: the A2A servers and the console.
func (p *parts) openBeside() error {
	front := agentpart.Front{
		Settings: p.s, Server: p.server.http, URL: p.at.gateway, Upstream: p.at.upstream, Scripted: p.at.scripted, Record: p.kept, Log: p.log,
		Follow: func(check func(*settings.Setup) error, set func([]gateway.Token)) {
			p.guards.add(tokenServer{check, set})
		},
	}
	if p.shared != nil {
		front.Shared = p.shared
	}
	leave, err := p.agents.Answer(&front)
	p.opened(leave)
	if err != nil {
		return err
	}
	if p.timed, err = p.agents.Schedule(&front); err != nil {
		return err
	}
	p.opened(undo(p.timed.Close))
	p.server.drain = p.timed.Drain
	handler := p.server.gateway
	quit, err := p.serveConsole(handler, healthOf(p, handler), p.talks, front.Tasks)
	p.opened(quit)
	return err
}
