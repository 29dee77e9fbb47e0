// Package sleep waits in a way that a context can end.
package sleep

import (
	"context"
	"time"
)

// For waits for d, or until ctx is done. It returns ctx.Err(), also where d is not
// positive and nothing is waited for.
func For(ctx context.Context, d time.Duration) error {
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}
