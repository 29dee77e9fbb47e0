// Package sleep waits until a time is over or a context ends.
package sleep

import (
	"context"
	"time"
)

// For waits for d, or until ctx is done. It returns ctx.Err(), even if d is not
// positive and it does not wait.
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
