package servecmd

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// configSteady is at how many looks the configuration and the files of dialects must be the
// same before they are read again: a second. Files of tokens and keys, which a caller may
// have lost, are read at the next look.
const (
	configSteady = int(time.Second / files.LookEvery)
	secretSteady = 1
)

// A reloader reads the settings again when it is asked to or when their files change, and
// lets the gateway use them.
//
// Tokens and keys have a way of their own: a change of their files is used whatever the
// state of the configuration is, and what a faulty configuration takes from callers is gone.
type reloader struct {
	p       *parts
	inUse   *settings.Setup
	config  *files.Watch // of the configuration and the dialects
	secrets *files.Watch // of the tokens and keys
	reloads *prometheus.CounterVec
	faulty  bool        // the configuration is
	ok      atomic.Bool // all files are right
	at      atomic.Int64
	hash    atomic.Uint64
	waiting atomic.Int64 // keys that need a restart
	shut    bool         // no token is valid, and the log says so
}

// catchHangups makes a hangup mean a reload, if the settings have files. Without any, it ends
// the gateway, as it ends any program of a terminal. It is caught from the start to the end
// of the process: who reloads a gateway that waits for the one that it replaces, or that
// finishes its streams, must not end it.
func (p *parts) catchHangups() {
	if len(p.s.Files(p.command.Config)) == 0 && len(p.s.Agents) == 0 && p.s.A2A.Agent == "" {
		return
	}
	p.hangups = make(chan os.Signal, 1)
	signal.Notify(p.hangups, syscall.SIGHUP)
	p.opened(undo(func() { signal.Ignore(syscall.SIGHUP) }))
}

// followSettings begins to follow the files of the settings, if there are any.
func (p *parts) followSettings() error {
	r := &reloader{p: p, inUse: p.s}
	r.watch()
	r.ok.Store(true)
	r.used(p.s)
	r.register(p.metrics)
	stop := make(chan struct{})
	var following sync.WaitGroup
	following.Go(func() { r.follow(p.hangups, stop) })
	p.opened(undo(func() {
		close(stop)
		following.Wait()
	}))
	return nil
}

// watch follows the files of the settings in use.
func (r *reloader) watch() {
	secrets := r.inUse.SecretFiles()
	config := slices.DeleteFunc(r.inUse.Files(r.p.command.Config), func(name string) bool { return slices.Contains(secrets, name) })
	if r.config == nil {
		r.config, r.secrets = files.NewWatch(configSteady), files.NewWatch(secretSteady)
	}
	r.config.Follow(append(config, r.p.timed.Files()...)...)
	r.secrets.Follow(secrets...)
}

func (r *reloader) register(to prometheus.Registerer) {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "sotto", Name: name, Help: help}, value)
	}
	r.reloads = prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "sotto", Name: "config_reloads_total",
		Help: "Reloads of the configuration, by their result."}, []string{"result"})
	for _, result := range []string{"success", "failure"} {
		r.reloads.WithLabelValues(result)
	}
	to.MustRegister(r.reloads,
		gauge("config_last_reload_successful", "Whether the last reload of the configuration succeeded; 1 before the first.", func() float64 {
			if r.ok.Load() {
				return 1
			}
			return 0
		}),
		gauge("config_last_reload_success_timestamp_seconds", "When the configuration in use was read, as seconds since 1970.", func() float64 { return float64(r.at.Load()) }),
		gauge("config_hash", "A hash of the settings in use, without secrets: the same in gateways with the same settings.", func() float64 { return float64(r.hash.Load()) }),
		gauge("access_no_valid_token", "1 if clients need a token and none is valid, so that nobody can use the gateway.", func() float64 {
			if r.p.inUse.Load().shut() {
				return 1
			}
			return 0
		}),
		gauge("config_restart_needed", "Settings whose new values need a restart.", func() float64 { return float64(r.waiting.Load()) }),
	)
}

// follow looks at the files until it is stopped.
func (r *reloader) follow(hangups <-chan os.Signal, stop <-chan struct{}) {
	look := time.NewTicker(files.LookEvery)
	defer look.Stop()
	for {
		select {
		case <-stop:
			return
		case s := <-hangups:
			r.reload("signal", s.String())
		case <-look.C:
			config, secrets := r.config.Changed(), r.secrets.Changed()
			switch {
			case config || secrets && r.faulty: // a secret may be what was wrong
				r.reload("change", "of a file")
			case secrets:
				r.refresh(nil)
			}
			r.sayShut()
		}
	}
}

// sayShut says in the log when no token is valid, and when one is again. A token can expire
// without a change of any file.
func (r *reloader) sayShut() {
	switch shut := r.inUse.Shut(); {
	case shut && !r.shut:
		r.p.log.Error(settings.ShutText)
		r.shut = true
	case !shut && r.shut:
		r.p.log.Info("a token is valid again")
		r.shut = false
	}
}

// reload reads the settings and uses them, or says in the log what is wrong with them. Then
// the files of tokens and keys count all the same.
func (r *reloader) reload(why, what string) {
	log := r.p.log
	r.config.Read() // before they are read, so that a change in between is seen
	r.secrets.Read()
	next, err := r.load()
	if err != nil {
		r.faulty = true
		r.failed("the settings are not reloaded: those in use stay", err, why, what)
		r.refresh(next)
		return
	}
	r.warn(next)
	for _, f := range next.Waiting {
		log.Warn("a setting needs a restart: the value in use stays", "setting", f.Key(), "at", f.Place.String())
	}
	if next.LogLevel != r.inUse.LogLevel && !next.Verbose {
		r.p.level.Configure(next.LogLevel, log, why, what)
	}
	r.faulty = false
	r.replace(next)
	r.succeeded()
	log.Info("the settings are reloaded", why, what, "restart_needed", len(next.Waiting))
}

// replace notes that other settings are in use.
func (r *reloader) replace(next *settings.Setup) {
	r.logChanges(next)
	r.inUse = next
	r.watch()
	r.used(next)
}

// warn says in the log what is doubtful about settings, and was not about those in use.
func (r *reloader) warn(next *settings.Setup) {
	for _, w := range next.Warnings {
		if !slices.Contains(r.inUse.Warnings, w) {
			r.p.log.Warn(w)
		}
	}
}

func (r *reloader) succeeded() {
	r.ok.Store(true)
	r.reloads.WithLabelValues("success").Inc()
}

// failed notes faults.
func (r *reloader) failed(text string, err error, fields ...any) {
	r.ok.Store(false)
	r.reloads.WithLabelValues("failure").Inc()
	r.p.log.Error(text, append(fields, "faults", len(faultsOf(err)))...)
	for _, fault := range faultsOf(err) {
		r.p.log.Error("a fault in the settings", "fault", fault.Error())
	}
}

// refresh reads the files of tokens and keys, and uses what they have. rejected, if it is
// not nil, are the settings of a configuration with faults: see [settings.Setup.Refresh].
func (r *reloader) refresh(rejected *settings.Setup) {
	r.secrets.Read()
	next := r.inUse.Refresh(rejected)
	if err := r.use(next); err != nil {
		r.failed("tokens and keys cannot be used: those in use stay", err)
		return
	}
	r.warn(next)
	for _, w := range r.inUse.Warnings {
		if !slices.Contains(next.Warnings, w) {
			next.Warnings = append(next.Warnings, w)
		}
	}
	r.replace(next)
	switch {
	case r.faulty: // and the log has said so
	case len(next.Faults) > 0:
		r.failed("tokens or keys cannot be read: a token that cannot be read is not valid any more", joined(next.Faults))
	default:
		r.succeeded()
		r.p.log.Info("tokens and keys were read again")
	}
}

func joined(faults []*settings.Fault) error {
	var all []error
	for _, f := range faults {
		all = append(all, f)
	}
	return errors.Join(all...)
}

// maxLogged bounds the changes that the log names, and maxLoggedValue the bytes of a value.
const (
	maxLogged      = 100
	maxLoggedValue = 200
)

// logChanges says in the log which settings a reload has changed. Of a secret it says only
// that it is another one.
func (r *reloader) logChanges(next *settings.Setup) {
	list := changesOf(r.inUse, next)
	for _, c := range list[:min(len(list), maxLogged)] {
		old, now := c.values()
		r.p.log.Info("a setting has changed", "setting", c.Key, "old", shorttext.Escape(old, maxLoggedValue), "new", shorttext.Escape(now, maxLoggedValue), "at", cmp.Or(c.At, c.Was))
	}
	if more := len(list) - maxLogged; more > 0 {
		r.p.log.Info("more settings have changed", "number", more)
	}
}

// load reads the settings, and gives them to the gateway if nothing is wrong with them. With
// an error, it returns the settings as far as they could be read, or nil.
func (r *reloader) load() (*settings.Setup, error) {
	p := r.p
	next, err := p.command.again(r.inUse)
	if err != nil {
		return nil, err
	}
	if len(next.Faults) == 0 {
		if err := checkOpen(next, p.front); err != nil {
			return next, err
		}
	}
	if len(next.Faults) > 0 {
		return next, joined(next.Faults)
	}
	g, was := &next.Gateway, &r.inUse.Gateway
	g.Transport, g.Separated = was.Transport, was.Separated // of the agents
	if next.Upstream == nil {
		g.Upstream = p.at.upstream // the scripted one
	}
	schedule, err := p.timed.Reread()
	if err != nil {
		return next, err
	}
	forget := askUpstream(next, p.log)
	if err := r.use(next); err != nil {
		forget()
		return next, err
	}
	schedule()
	p.forget()
	p.forget = forget
	return next, nil
}

// use gives settings to the gateway, and their tokens to all servers.
func (r *reloader) use(next *settings.Setup) error {
	p := r.p
	if err := p.guards.check(next); err != nil {
		return err
	}
	p.secrets.Add(next.Secrets()...) // before a request can have them
	config := next.Gateway
	config.AllowHosts = next.Hosts()
	if err := p.server.gateway.Reload(config); err != nil {
		return err
	}
	p.guards.set(next.Tokens())
	return nil
}

// faultsOf are the faults that an error joins.
func faultsOf(err error) []error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()
	}
	return []error{err}
}

// used notes which settings are in use.
func (r *reloader) used(s *settings.Setup) {
	sum := sha256.Sum256(r.p.uses(s).yaml)
	r.hash.Store(binary.BigEndian.Uint64(sum[:]) >> 16) // a float holds 48 bits exactly
	r.at.Store(time.Now().Unix())
	r.waiting.Store(int64(len(s.Waiting)))
}
