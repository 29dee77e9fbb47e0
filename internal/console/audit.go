package console

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
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

// maxAudited bounds the events of one view, and maxAuditQuery the bytes of what was asked.
const (
	maxAudited    = 1000
	maxAuditQuery = 1 << 10
)

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
	for part := range slices.Chunk(events, maxAudited) {
		if err := c.note(r, record.Audit{Action: action, Query: r.URL.RawQuery, Record: a.other, Events: part}); err != nil {
			return err
		}
	}
	return nil
}

// changes records that the one who sent a request changes something in the gateway. It is in
// the record when it returns, so that nothing changes unseen.
func (c *Console) changes(r *http.Request, action, what string) error {
	if c.audit.to == nil {
		return nil
	}
	return c.note(r, record.Audit{Action: action, Query: what, Events: []uint64{}})
}

// note writes an event of the audit: who, from where, on which page.
func (c *Console) note(r *http.Request, x record.Audit) error {
	ctx, cancel := context.WithTimeout(r.Context(), auditTime)
	defer cancel()
	x.Who, x.From, x.Page, x.Query = viewerOf(r).Name, addressOf(r), r.URL.Path, shorttext.Cut(readable(x.Query), maxAuditQuery)
	if _, err := c.audit.to.Append(ctx, record.Event{Payload: x}); err != nil {
		c.config.Log.Error("the audit of the console cannot be recorded", "error", err.Error())
		return fmt.Errorf("%w: %w", errUnaudited, err)
	}
	return nil
}

// readable is a query without its percent signs, if it is one.
func readable(query string) string {
	if plain, err := url.QueryUnescape(query); err == nil {
		return strings.ToValidUTF8(plain, "\uFFFD")
	}
	return strings.ToValidUTF8(query, "\uFFFD")
}

// addressOf returns the address that a request came from: that of the proxy, if there
// is one.
func addressOf(r *http.Request) string {
	if from := viewerOf(r).from; from != "" {
		return from
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
