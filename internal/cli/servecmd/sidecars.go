package servecmd

import (
	"context"
	"log/slog"
	"time"

	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
)

// sidecarsEvery is how often the record is looked at for lines without a sidecar.
const sidecarsEvery = 5 * time.Second

// keepSidecars makes the sidecars of the record while the gateway runs. Nothing waits for
// them.
func keepSidecars(dir string, log *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		sidecar.NewKeeper(dir).Run(ctx, sidecarsEvery, func(err error) {
			log.Warn("a sidecar of the record was not made: searches read its segment as a whole", "error", err.Error())
		})
	}()
	return func() {
		cancel()
		<-ended
	}
}
