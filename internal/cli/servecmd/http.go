package servecmd

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/net/certificates"
	"github.com/sotto-llm/sotto/internal/net/serving"
	"github.com/sotto-llm/sotto/internal/serve/replicas"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// endWait is how long streams that were ended have to tell their clients.
const endWait = time.Second

// interrupts delivers the signals that ask the process to end.
func interrupts() (<-chan os.Signal, func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	return signals, func() { signal.Stop(signals) }
}

// quietStandardLog redirects package log, to which net/http writes, to the log,
// without the text that it quotes from an upstream. undo reverses this.
func quietStandardLog(to *slog.Logger) (undo func()) {
	out, flags := log.Writer(), log.Flags()
	log.SetOutput(serving.QuietLog(to))
	log.SetFlags(0)
	return func() {
		log.SetOutput(out)
		log.SetFlags(flags)
	}
}

// share opens the state that the gateway shares with its replicas. It is nil if there is
// none.
func share(s *settings.Settings, metrics prometheus.Registerer, log *slog.Logger) (shared sharedState, unshare func(), err error) {
	if s.Shared == "" {
		return nil, func() {}, nil
	}
	limits := s.Gateway.Limits
	store, err := replicas.Open(s.Shared, replicas.Options{
		Entries: limits.Restored, Age: limits.RestoredFor, Starts: limits.Learned, Password: s.SharedPassword.Text,
		Metrics: metrics, Log: log,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("shared: %w", err)
	}
	s.Gateway.Shared = store
	return store, func() { _ = store.Close() }, nil
}

// checkOpen checks the address that was opened, because a name such as localhost
// may stand for any address.
func checkOpen(s *settings.Setup, l net.Listener) error {
	if s.Gateway.Public || settings.IsLoopback(l.Addr().String()) {
		return nil
	}
	s.Gateway.Public = true
	if !s.Closed() && !s.ServesOthers() {
		return errorhint.Usage(fmt.Errorf("%s is %s here, which is open to other machines, and there is no token", s.Listen, l.Addr()), settings.AccessHint)
	}
	return nil
}

// runScripted serves the scripted replies on a listener of their own.
func runScripted(s *settings.Settings, k *sockets, at *addresses, log *slog.Logger) (stop func(), err error) {
	l, err := k.listen(scriptSocket, "--scripted-listen", s.ScriptedListen)
	if err != nil {
		return nil, err
	}
	server := serving.NewServer(serving.Bodies(scripted.New(scripted.Options{Pause: s.ScriptedPause})))
	server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelWarn)
	at.upstream, at.scripted = serving.Reach(l), true
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(serving.Bound(l, serving.Bounds{})); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the scripted upstream has ended", "error", err)
		}
	}()
	return func() { server.Close(); <-done }, nil
}

// A server is the gateway on its listener.
type server struct {
	http    *http.Server
	gateway *gateway.Handler
	delay   time.Duration               // before the listener is closed
	wait    time.Duration               // for the exchanges to end after that
	stall   time.Duration               // how long a client may take nothing
	end     context.CancelCauseFunc     // ends every exchange
	drain   func(context.Context) error // waits for the scheduled runs of agents
	manager *manager                    // of this service
	cert    *certificates.Source        // nil without TLS
	taken   chan int                    // gets the number of a process that takes over
	front   *closedOnce                 // nil before it serves
	served  chan struct{}               // closed when nothing more is accepted
	firsts  firstRequests               // of connections that were accepted
	closing atomic.Bool                 // connections end with the request that is in progress
	log     *slog.Logger
}

func newServer(h *gateway.Handler, s *settings.Setup, log *slog.Logger) *server {
	base, end := context.WithCancelCause(context.Background())
	web := serving.NewServer(h)
	web.MaxHeaderBytes = s.Gateway.Limits.Header
	web.BaseContext = func(net.Listener) context.Context { return base }
	web.ErrorLog = serving.ServerLog(log)
	return &server{
		http: web, gateway: h, delay: s.ShutdownDelay, stall: s.Gateway.Silence, wait: s.ShutdownWait, end: end, log: log, taken: make(chan int, 1),
	}
}

// run serves until a signal comes, and then until the streams have finished.
func (v *server) run(l net.Listener, signals <-chan os.Signal) error {
	defer v.end(gateway.ErrShutdown)
	serving.OfferHTTP2(v.http, settings.IsLoopback(l.Addr().String()), v.stall)
	serving.Wrap(v.http, v.lastRequests)
	serving.Wrap(v.http, v.cert.Handler)
	v.firsts.watch(v.http)
	v.front, v.served = &closedOnce{Listener: l}, make(chan struct{})
	var failed error
	go func() {
		defer close(v.served)
		failed = v.http.Serve(v.front)
	}()
	select {
	case <-v.served:
		return fmt.Errorf("serve: %w", failed)
	case s := <-signals:
		v.manager.stopping(v.delay + v.wait + 2*endWait)
		v.log.Info("shutting down", "signal", s.String(), "delay", v.delay.String(), "wait", v.wait.String())
		v.gateway.Drain()
	case pid := <-v.taken:
		v.manager.stopping(v.delay + v.wait + 2*endWait)
		v.log.Info("another process takes over", "pid", pid, "delay", v.delay.String(), "wait", v.wait.String())
		v.front.Close() // this process accepts no more; in the delay it serves the connections that it has
	}
	return v.shutdown(signals)
}

// A closedOnce is a listener that may be closed again.
type closedOnce struct {
	net.Listener
	once sync.Once
	err  error
}

func (l *closedOnce) Close() error {
	l.once.Do(func() { l.err = l.Listener.Close() })
	return l.err
}

// lastRequests tells clients that use a connection again that this was its last
// request, once the shutdown has begun. net/http does so only after the delay, and then
// it closes idle connections at once.
func (v *server) lastRequests(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.firsts.began(r)
		if v.closing.Load() && r.Header.Get("Upgrade") == "" {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}

// shutdown lets running exchanges finish, for a time or until another signal.
// Before that, it accepts clients for the delay. In the delay, a load balancer can
// see that this server is about to stop.
func (v *server) shutdown(signals <-chan os.Signal) error {
	v.closing.Store(true)
	if n := v.gateway.Open(); n > 0 {
		v.log.Info(shorttext.Plural(n, "1 exchange is still running; press ctrl-C again to end it", "%d exchanges are still running; press ctrl-C again to end them"))
	}
	select {
	case <-time.After(v.delay):
	case <-signals:
		return v.cutByHand()
	}
	ctx, cancel := context.WithTimeout(context.Background(), v.wait)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- v.close(ctx) }()
	select {
	case err := <-done:
		if err == nil {
			return nil
		}
		if n := v.gateway.Open(); n > 0 {
			v.log.Warn("streams were ended: they ran for longer than shutdown-wait", "exchanges", n, "wait", v.wait.String())
		}
		return v.cutOff()
	case <-signals:
		return v.cutByHand()
	}
}

// cutByHand ends everything that runs, on a second signal. It fails if a stream was
// running.
func (v *server) cutByHand() error {
	n := v.gateway.Open()
	err := v.cutOff()
	if err == nil && n > 0 {
		err = errors.New(shorttext.Plural(n, "1 stream was ended by a second signal", "%d streams were ended by a second signal"))
	}
	return err
}

// cutOff ends everything that runs: first the exchanges, so that they can tell
// their clients, then the connections.
func (v *server) cutOff() error {
	v.end(gateway.ErrShutdown)
	ctx, cancel := context.WithTimeout(context.Background(), endWait)
	defer cancel()
	if v.close(ctx) == nil {
		return nil
	}
	return v.http.Close()
}

// close accepts nothing more, and waits until the requests and the WebSocket connections
// have ended.
func (v *server) close(ctx context.Context) error {
	v.front.Close()
	<-v.served
	v.firsts.wait(ctx)
	others := make(chan error, 2)
	go func() { others <- v.gateway.Shutdown(ctx) }()
	go func() { others <- v.drain(ctx) }()
	return errors.Join(v.http.Shutdown(ctx), <-others, <-others)
}
