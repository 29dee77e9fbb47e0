package servecmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto/internal/net/objects"
	"github.com/sotto-llm/sotto/internal/recorded/recordship"
	"github.com/sotto-llm/sotto/record"
)

// probeWait is how long the start waits for the answer whether the store honours
// conditional writes. One that cannot be reached does not keep the gateway from
// starting.
const probeWait = 5 * time.Second

// shipping copies the record to object storage while the gateway runs. Nothing waits
// for it.
type shipping struct {
	to      string // "" if the record is not shipped
	log     *slog.Logger
	shipper atomic.Pointer[recordship.Shipper]
	end     context.CancelFunc
	ended   chan struct{}
}

// needed returns what pruning asks: the first event that the store lacks. It is nil if
// the record is not shipped.
func (x *shipping) needed() func() uint64 {
	if x.to == "" {
		return nil
	}
	return func() uint64 {
		if s := x.shipper.Load(); s != nil {
			return s.Needed()
		}
		return 1 // it is not known yet
	}
}

// start begins to ship the record. It refuses a store that ignores conditions.
func (x *shipping) start(kept *record.Writer, metrics prometheus.Registerer, getenv func(string) string) error {
	if x.to == "" || kept == nil {
		return nil
	}
	to, err := objects.Parse(x.to)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s, err := recordship.Open(ctx, kept.Dir(), to, recordship.Options{
		Head: kept.Head, Bucket: objects.Options{Getenv: getenv}, Metrics: metrics, Log: x.log,
	})
	if err != nil {
		cancel()
		return fmt.Errorf("record-ship: %w", err)
	}
	first, done := context.WithTimeout(ctx, probeWait)
	err = s.Probe(first)
	done()
	if errors.Is(err, objects.ErrUnconditional) {
		cancel()
		return errors.Join(fmt.Errorf("record-ship: %w", err), s.Close())
	}
	x.shipper.Store(s)
	x.end, x.ended = cancel, make(chan struct{})
	go func() {
		defer close(x.ended)
		if err := s.Run(ctx); err != nil {
			x.log.Error("the record is not shipped any more: it is kept on the disk", "to", x.to, "error", err.Error())
		}
	}()
	return nil
}

// stop ships what was recorded until the end, and ends the shipping.
func (x *shipping) stop() {
	s := x.shipper.Load()
	if s == nil {
		return
	}
	x.end()
	<-x.ended
	ctx, cancel := context.WithTimeout(context.Background(), recordship.LastStep)
	defer cancel()
	if err := s.Step(ctx); err != nil {
		x.log.Warn("the end of the record was not shipped: it is kept on the disk", "to", x.to, "error", err.Error())
	}
	_ = s.Close()
}
