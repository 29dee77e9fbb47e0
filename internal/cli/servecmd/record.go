package servecmd

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/serve/settings"
	"github.com/sotto-llm/sotto/record"
)

// openRecord opens the record, if one is configured.
// secrets are the values that it must not hold. needed is the
// first event that pruning must keep.
func openRecord(s *settings.Setup, secrets *record.Secrets, needed func() uint64, log *slog.Logger) (*record.Writer, error) {
	return s.Recording.OpenNeeded(secrets, slog.New(&rateLimited{Handler: log.Handler(), said: new(lastLogged)}), needed)
}

// closeGateway closes a gateway. Once no exchange is in progress, the gateway
// passes what waits to the record.
func closeGateway(g *gateway.Handler) error {
	for until := time.Now().Add(endWait); g.Open() > 0 && time.Now().Before(until); {
		time.Sleep(5 * time.Millisecond)
	}
	return g.Close()
}

// closeRecord closes the record and reports what is missing in it.
func closeRecord(w *record.Writer, log *slog.Logger) error {
	if w == nil {
		return nil
	}
	err := w.Close()
	if n := w.Dropped(); n > 0 {
		log.Error("events are missing in the record", "lost", n)
	}
	return err
}

// recordedAs says in a few words where and how the run is recorded. It returns ""
// if the run is not recorded.
func recordedAs(s *settings.Settings) string {
	f := &s.Recording
	if f.Record == "" {
		return ""
	}
	dir := f.Record
	if whole, err := filepath.Abs(dir); err == nil {
		dir = whole
	}
	words := []string{"reasoning " + cmp.Or(f.RecordReasoning, "full"), "all else " + cmp.Or(f.RecordAnswer, "full")}
	if f.RecordSigningKey != "" {
		words = append(words, "signed")
	}
	if len(f.RecordRecipient) > 0 {
		words = append(words, "encrypted")
	}
	if s.RecordShip != "" {
		words = append(words, "shipped to "+s.RecordShip)
	}
	return dir + " (" + strings.Join(words, ", ") + ")"
}

// A rateLimited log repeats the same message only now and then, because a full
// disk fails with every batch.
type rateLimited struct {
	slog.Handler
	said *lastLogged
}

type lastLogged struct {
	mu   sync.Mutex
	when map[string]time.Time
}

// repeatAfter is how long the same message is not repeated.
const repeatAfter = 10 * time.Second

func (c *rateLimited) Handle(ctx context.Context, r slog.Record) error {
	c.said.mu.Lock()
	last, again := c.said.when[r.Message]
	again = again && r.Time.Sub(last) < repeatAfter
	if !again {
		if c.said.when == nil {
			c.said.when = map[string]time.Time{}
		}
		c.said.when[r.Message] = r.Time // the record has few messages, all its own
	}
	c.said.mu.Unlock()
	if again {
		return nil
	}
	return c.Handler.Handle(ctx, r)
}

func (c *rateLimited) WithAttrs(a []slog.Attr) slog.Handler {
	return &rateLimited{c.Handler.WithAttrs(a), c.said}
}
func (c *rateLimited) WithGroup(n string) slog.Handler {
	return &rateLimited{c.Handler.WithGroup(n), c.said}
}
