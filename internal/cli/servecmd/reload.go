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

	"github.com/sotto-llm/sotto/internal/files"
	"github.com/sotto-llm/sotto/internal/settings"
	"github.com/sotto-llm/sotto/internal/shorttext"
)

// lookEvery is how often the files of the settings are looked at. A change is read when
// two looks see the same, so that no file is read while it is written.
const lookEvery = time.Second

// A reloader reads the settings again when it is asked to or when their files change, and
// lets the gateway use them.
type reloader struct {
	p       *parts
	inUse   *settings.Setup
	read    files.Stamps // of the files when they were last read
	seen    files.Stamps // at the last look
	names   []string
	reloads *prometheus.CounterVec
	ok      atomic.Bool // the last reload succeeded
	at      atomic.Int64
	hash    atomic.Uint64
	waiting atomic.Int64 // keys that need a restart
}

// catchHangups makes a hangup mean a reload, if the settings have files. Without any, it ends
// the gateway, as it ends any program of a terminal. It is caught from the start to the end
// of the process: who reloads a gateway that waits for the one that it replaces, or that
// finishes its streams, must not end it.
func (p *parts) catchHangups() {
	if len(p.s.Files(p.command.Config)) == 0 {
		return
	}
	p.hangups = make(chan os.Signal, 1)
	signal.Notify(p.hangups, syscall.SIGHUP)
	p.opened(undo(func() { signal.Ignore(syscall.SIGHUP) }))
}

// followSettings begins to follow the files of the settings, if there are any.
func (p *parts) followSettings() error {
	r := &reloader{p: p, inUse: p.s}
	r.names = p.s.Files(p.command.Config)
	r.read = files.StampsOf(r.names...)
	r.seen = r.read
	r.ok.Store(true)
	r.used(p.s)
	r.register(p.metrics)
	if len(r.names) == 0 {
		return nil
	}
	stop := make(chan struct{})
	var following sync.WaitGroup
	following.Go(func() { r.follow(p.hangups, stop) })
	p.opened(undo(func() {
		close(stop)
		following.Wait()
	}))
	return nil
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
		gauge("config_restart_needed", "Settings whose new values need a restart.", func() float64 { return float64(r.waiting.Load()) }),
	)
}

// follow looks at the files until it is stopped.
func (r *reloader) follow(hangups <-chan os.Signal, stop <-chan struct{}) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-stop:
			return
		case s := <-hangups:
			r.reload("signal", s.String())
		case <-look.C:
			if r.changed() {
				r.reload("change", "of a file")
			}
		}
	}
}

// changed reports whether the files differ from those that were read, and are as they were
// at the last look.
func (r *reloader) changed() bool {
	now := files.StampsOf(r.names...)
	stable := now.Same(r.seen)
	r.seen = now
	return stable && !now.Same(r.read)
}

// reload reads the settings and uses them, or says in the log what is wrong with them.
func (r *reloader) reload(why, what string) {
	log := r.p.log
	r.read = files.StampsOf(r.names...) // before they are read, so that a change in between is seen
	next, err := r.load()
	if err != nil {
		r.ok.Store(false)
		r.reloads.WithLabelValues("failure").Inc()
		log.Error("the settings are not reloaded: those in use stay", why, what, "faults", len(faultsOf(err)))
		for _, fault := range faultsOf(err) {
			log.Error("a fault in the settings", "fault", fault.Error())
		}
		return
	}
	for _, w := range next.Warnings {
		if !slices.Contains(r.inUse.Warnings, w) {
			log.Warn(w)
		}
	}
	for _, f := range next.Waiting {
		log.Warn("a setting needs a restart: the value in use stays", "setting", f.Key(), "at", f.Place.String())
	}
	if next.LogLevel != r.inUse.LogLevel && !next.Verbose {
		r.p.level.Configure(next.LogLevel, log, why, what)
	}
	r.logChanges(next)
	r.inUse = next
	if names := next.Files(r.p.command.Config); !slices.Equal(names, r.names) {
		r.names = names
		r.read = files.StampsOf(names...)
		r.seen = r.read
	}
	r.ok.Store(true)
	r.reloads.WithLabelValues("success").Inc()
	r.used(next)
	log.Info("the settings are reloaded", why, what, "restart_needed", len(next.Waiting))
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

// load reads the settings, and gives them to the gateway if nothing is wrong with them.
func (r *reloader) load() (*settings.Setup, error) {
	p := r.p
	next, err := p.command.again(r.inUse)
	if err != nil {
		return nil, err
	}
	if len(next.Faults) == 0 {
		if err := checkOpen(next, p.front); err != nil {
			return nil, err
		}
	}
	var all []error
	for _, f := range next.Faults {
		all = append(all, f)
	}
	if len(all) > 0 {
		return nil, errors.Join(all...)
	}
	g, was := &next.Gateway, &r.inUse.Gateway
	g.Transport, g.Separated = was.Transport, was.Separated // of the agents
	if next.Upstream == nil {
		g.Upstream = p.at.upstream // the scripted one
	}
	if err := p.guards.check(next); err != nil {
		return nil, err
	}
	p.secrets.Add(next.Secrets()...) // before a request can have them
	forget := askUpstream(next, p.log)
	config := *g
	config.AllowHosts = next.Hosts()
	if err := p.server.gateway.Reload(config); err != nil {
		forget()
		return nil, err
	}
	p.guards.set(next.Tokens())
	p.forget()
	p.forget = forget
	return next, nil
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
