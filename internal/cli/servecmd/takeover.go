package servecmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/serve/handover"
)

// errInterrupted is the error of a process that got a signal before it served.
var errInterrupted = errors.New("a signal came before the gateway that runs had ended")

// askForSockets asks the gateway that runs with the same data folder for its sockets.
// It goes on serving until replace.
func (p *parts) askForSockets() (err error) {
	if len(p.sockets.passed) > 0 {
		return errorhint.Usage(errors.New("--takeover: a service manager has passed sockets to this process"), "leave out --takeover: the service manager keeps the sockets when it restarts the gateway")
	}
	err = p.interruptible(func(ctx context.Context) error {
		p.asked, err = handover.Ask(ctx, p.s.Gateway.Data)
		return err
	})
	if errors.Is(err, handover.ErrPath) {
		return errorhint.Add(fmt.Errorf("--takeover: %w", err), "name a folder with a shorter path with --data")
	}
	if err != nil {
		return fmt.Errorf("--takeover: %w", err)
	}
	if p.asked == nil {
		return nil
	}
	p.opened(undo(p.asked.Close))
	for _, s := range p.asked.Sockets {
		p.sockets.passed[s.Name] = s
	}
	return nil
}

// replace makes the gateway that runs finish its streams and end, and waits for that.
// Meanwhile clients wait in the queues of the sockets. Only then are the record and the
// files of the data folder opened, because each has one writer.
func (p *parts) replace() error {
	if p.asked == nil {
		return nil
	}
	p.log.Info("this process takes over: it serves when the gateway that runs has finished its streams", "pid", p.asked.PID)
	if err := p.interruptible(p.asked.End); err != nil {
		return fmt.Errorf("--takeover: %w", err)
	}
	return nil
}

// interruptible runs something that a signal ends.
func (p *parts) interruptible(f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	select {
	case err := <-done:
		return err
	case <-p.signals:
		cancel(errInterrupted)
		return <-done
	}
}

// waitForNext waits for the process that replaces this one.
func (p *parts) waitForNext() error {
	if !p.s.Takeover {
		return nil
	}
	if err := os.MkdirAll(p.s.Gateway.Data, 0o700); err != nil {
		return fmt.Errorf("--takeover: %w", err)
	}
	next, err := handover.Listen(p.s.Gateway.Data, p.asked, p.sockets.used)
	if err != nil {
		return fmt.Errorf("--takeover: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		pid, err := next.Wait(func(err error) {
			p.log.Warn("another process asked for the sockets, and did not take over", "error", err.Error())
		})
		if err == nil {
			p.server.taken <- pid
		}
	}()
	// The next process begins when all other parts are closed.
	p.closers = slices.Insert(p.closers, 0, func() error {
		err := next.Close()
		<-ended
		return err
	})
	return nil
}
