package console

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
)

// A page waits for object storage for so long. A stream goes on while somebody reads it.
const storeTime = time.Minute

// errSlow is the error of a page for which object storage took too long.
var errSlow = errors.New("the object storage took longer than a minute for this page")

// made calls a handler. If the record is in object storage, it ends after some time. done ends
// what the answer still does.
func (c *Console) made(h Handler, r *http.Request) (a Answer, done func(), err error) {
	if c.config.Record == nil {
		a, err = h(c, r)
		return a, func() {}, err
	}
	if away, _ := c.config.Record.Away(); !away {
		a, err = h(c, r)
		return a, func() {}, err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	timer := time.AfterFunc(storeTime, func() { cancel(errSlow) })
	defer timer.Stop()
	a, err = h(c, r.WithContext(ctx))
	if err != nil && context.Cause(ctx) == errSlow {
		err = &sidecar.Failure{Err: errSlow}
	}
	return a, func() { cancel(nil) }, err
}
