package telemetry

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/retry"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/net/foreignhttp"
)

// again says which requests are sent again, and when. The queue fills meanwhile. A
// collector may ask for a wait of a minute.
var again = retry.Policy{Attempts: 4, First: 500 * time.Millisecond, Longest: 5 * time.Second, Patience: time.Minute}

const (
	answerWait  = 10 * time.Second // for the answer of the collector, if nothing else is set
	longestWait = time.Hour        // that a collector may ask for
	mostAnswer  = 64 << 10         // bytes of its answer that are read
	mostSaid    = 200              // bytes of what it says that are shown
)

// A client sends messages to one address of a collector, as OTLP over HTTP.
type client struct {
	to    string
	http  *http.Client
	plain bool
	wait  time.Duration // for an answer
	keys  []string      // of the requests' header: a collector may repeat them in an error

	mu    sync.Mutex
	quiet time.Time // the collector asked for no request before
}

// newClient returns a client that follows no redirect. through is nil outside of tests.
func newClient(s Signal, through http.RoundTripper) *client {
	c := &client{to: s.URL.String(), plain: s.Plain, wait: cmp.Or(s.Timeout, answerWait)}
	c.http = foreignhttp.Config{Base: s.URL, Header: s.Header, Body: mostAnswer, Cuts: true, Transport: through}.Client()
	for _, values := range s.Header {
		c.keys = append(c.keys, values...)
	}
	return c
}

// errQuiet says that a collector asked for a wait that is longer than anything waits here.
var errQuiet = errors.New("the collector asked for no requests for some time")

// post sends a message. Its error is a [*partial] if the collector took the request and has
// something to say about it.
func (c *client) post(ctx context.Context, message proto.Message) error {
	body, err := proto.Marshal(message)
	if err != nil {
		return err
	}
	if !c.plain {
		body = compressed(body)
	}
	if c.asked() > again.Patience {
		return errQuiet
	}
	return again.Do(ctx, func() (retry.Verdict, error) { return c.send(ctx, body) }, nil)
}

// compressed returns data by gzip.
func compressed(data []byte) []byte {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	_, _ = zip.Write(data) // a Buffer takes everything
	_ = zip.Close()
	return b.Bytes()
}

// asked returns how long the collector wants no request.
func (c *client) asked() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Until(c.quiet)
}

// send makes one attempt.
func (c *client) send(ctx context.Context, body []byte) (retry.Verdict, error) {
	if wait := c.asked(); wait > 0 {
		return retry.Verdict{Again: true, After: wait}, errQuiet
	}
	ctx, cancel := context.WithTimeout(ctx, c.wait)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.to, bytes.NewReader(body))
	if err != nil {
		return retry.Verdict{}, err
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	if !c.plain {
		r.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := c.http.Do(r)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok { // its text repeats the address
			err = u.Err
		}
		return retry.Verdict{Again: true}, err
	}
	defer resp.Body.Close()
	answer, _ := files.ReadAll(resp.Body, mostAnswer) // there is a status, whatever becomes of the rest
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		if p := c.partial(answer); p != nil {
			return retry.Verdict{}, p
		}
		return retry.Verdict{}, nil
	}
	v := retry.Verdict{Again: temporary(resp.StatusCode), After: min(retry.After(resp.Header, time.Now()), longestWait)}
	if v.Again && v.After > 0 {
		c.mu.Lock()
		c.quiet = time.Now().Add(v.After)
		c.mu.Unlock()
	}
	return v, fmt.Errorf("the collector answers %d%s", resp.StatusCode, c.reason(answer))
}

// temporary reports whether OTLP lets a client send a request again that got this status.
// It forbids it for every other one.
func temporary(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// A partial success is the answer of a collector that took a request, and refused some of
// what is in it, or warns.
type partial struct {
	refused int64 // spans or data points
	says    string
}

func (p *partial) Error() string {
	if p.refused == 0 {
		return "the collector warns: " + p.says
	}
	return fmt.Sprintf("the collector refused %d of them: %s", p.refused, p.says)
}

// partial reads the partial success in the answer of a collector, or returns nil if the
// answer has none. The answers to all signals have the same form. The generated types for them need gRPC.
func (c *client) partial(answer []byte) *partial {
	p := &partial{}
	found := fields(answer, func(n protowire.Number, _ uint64, success []byte) {
		if n != 1 {
			return
		}
		fields(success, func(n protowire.Number, number uint64, text []byte) {
			switch n {
			case 1:
				p.refused = max(0, int64(number))
			case 2:
				p.says = c.shown(text)
			}
		})
	})
	if !found || *p == (partial{}) {
		return nil
	}
	return p
}

// reason is what the error of a collector says: its answer is a google.rpc.Status.
func (c *client) reason(answer []byte) (reason string) {
	fields(answer, func(n protowire.Number, _ uint64, text []byte) {
		if n == 2 && len(text) > 0 {
			reason = ": " + c.shown(text)
		}
	})
	return reason
}

// shown returns a text of the collector in a form that is fit for the log.
func (c *client) shown(text []byte) string {
	s := string(text)
	for _, key := range c.keys {
		if key != "" {
			s = strings.ReplaceAll(s, key, "[secret]")
		}
	}
	return shorttext.Escape(s, mostSaid)
}

// fields reads the fields of an encoded message that are numbers or bytes. It reports false
// if the message is not one.
func fields(message []byte, field func(n protowire.Number, number uint64, text []byte)) bool {
	var rest []byte
	for rest = message; len(rest) > 0; {
		n, kind, size := protowire.ConsumeTag(rest)
		if size < 0 {
			return false
		}
		rest = rest[size:]
		var number uint64
		var text []byte
		switch kind {
		case protowire.VarintType:
			number, size = protowire.ConsumeVarint(rest)
		case protowire.BytesType:
			text, size = protowire.ConsumeBytes(rest)
		default:
			size = protowire.ConsumeFieldValue(n, kind, rest)
		}
		if size < 0 {
			return false
		}
		rest = rest[size:]
		field(n, number, text)
	}
	return true
}

// A spanClient lets the official exporter send through a client. It is an
// [otlptrace.Client].
type spanClient struct{ *client }

// Start does nothing: the first request connects.
func (c spanClient) Start(context.Context) error { return nil }

// Stop does nothing: the connections belong to a shared transport.
func (c spanClient) Stop(context.Context) error { return nil }

// UploadTraces sends spans. The request of a collector is a TracesData by its encoding.
func (c spanClient) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	return c.post(ctx, &tracepb.TracesData{ResourceSpans: spans})
}
