package servecmd

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/loglevel"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/net/serving"
	"github.com/sotto-llm/sotto/internal/serve/debugserver"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// newLogger returns a log that writes to standard error, and its level.
func newLogger(sh *shell.Shell, s *settings.Settings) (*slog.Logger, *loglevel.Switch) {
	level := loglevel.NewSwitch(s.LogLevel)
	if s.Verbose {
		level = loglevel.NewSwitch(slog.LevelDebug)
	}
	if s.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(sh.Err, sh.LogOptions(level))), level
	}
	return sh.Log(level), level
}

// levelBySignal switches the level of the log to debug and back with each SIGUSR1, until
// stop is called.
func levelBySignal(level *loglevel.Switch, log *slog.Logger) (stop func()) {
	if len(levelSignals) == 0 {
		return func() {}
	}
	signals := make(chan os.Signal, 1)
	ended, done := make(chan struct{}), make(chan struct{})
	signal.Notify(signals, levelSignals...)
	go func() {
		defer close(done)
		for {
			select {
			case s := <-signals:
				level.Toggle(log, "signal", s.String())
			case <-ended:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(ended)
		<-done
	}
}

// serveDebug serves profiles and the level of the log on an address of their own, if there
// is one. stop ends it, and a profile that is being taken.
func (p *parts) serveDebug() (stop func(), err error) {
	s, k, log := &p.s.Settings, p.sockets, p.log
	if s.DebugListen == "" {
		return func() {}, nil
	}
	l, err := k.listen(debugSocket, "--debug-listen", s.DebugListen)
	if err != nil {
		return nil, err
	}
	if address := l.Addr().String(); !settings.IsLoopback(address) { // localhost may stand for any address
		return nil, errors.Join(errorhint.Usage(fmt.Errorf("--debug-listen: %s is %s here, which other machines could reach", s.DebugListen, address), "use 127.0.0.1 or [::1] in place of the name"), l.Close())
	}
	handler := debugserver.New(debugserver.Config{Level: p.level, Settings: func() []byte { return p.inUse.Load().yaml }, Tokens: s.Tokens(), Closed: s.Guarded(), Log: log})
	p.guards.add(tokenServer{set: handler.SetTokens})
	server := serving.NewServer(handler)
	server.ErrorLog = serving.ServerLog(log)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(serving.Bound(l, serving.Bounds{})); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the debug server has ended", "error", err)
		}
	}()
	log.Info("the debug server is up", "at", serving.Reach(l).JoinPath("debug/").String())
	return func() { server.Close(); <-done }, nil
}
