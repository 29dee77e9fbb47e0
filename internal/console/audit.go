package console

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/sotto-llm/sotto/record"
)

// An Auditor records who looked at what. A [*record.Writer] is one.
type Auditor interface {
	// Append returns when the event is in the record.
	Append(ctx context.Context, e record.Event) (record.Receipt, error)
}

// errUnaudited is the error of a page that is not shown because nobody could know of
// it.
var errUnaudited = errors.New("this view cannot be recorded, so it is not shown")

// auditTime is how long a page waits until its view is in the record.
const auditTime = 10 * time.Second

// maxAudited bounds the events of one view.
const maxAudited = 1000

// An audit records views.
type audit struct {
	to Auditor
	// other is the name of the record that is read, if the views are in another one.
	other string
}

// saw records that the events are shown to the one who sent a request. The events are
// in the record when it returns.
func (c *Console) saw(r *http.Request, action string, events ...uint64) error {
	a := &c.audit
	if a.to == nil || len(events) == 0 {
		return nil
	}
	events = slices.Clone(events)
	slices.Sort(events)
	events = slices.Compact(events)
	ctx, cancel := context.WithTimeout(r.Context(), auditTime)
	defer cancel()
	for part := range slices.Chunk(events, maxAudited) {
		_, err := a.to.Append(ctx, record.Event{Payload: record.Audit{
			Action: action, Who: viewerOf(r).Name, From: addressOf(r), Page: r.URL.Path, Record: a.other, Events: part,
		}})
		if err != nil {
			c.config.Log.Error("a view of the console cannot be recorded", "error", err.Error())
			return fmt.Errorf("%w: %w", errUnaudited, err)
		}
	}
	return nil
}

// addressOf returns the address that a request came from: that of the proxy, if there
// is one.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
