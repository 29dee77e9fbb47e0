package sleep

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := time.Now()
		if err := For(t.Context(), time.Minute); err != nil || time.Since(from) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(from))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		from = time.Now()
		if err := For(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(from) != time.Second {
			t.Errorf("%v after %v", err, time.Since(from))
		}
		if err := For(ctx, 0); err == nil {
			t.Error("a context that is done gave no error")
		}
		if err := For(t.Context(), -1); err != nil {
			t.Error(err)
		}
	})
}
