package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/sotto-llm/sotto/internal/foreignhttp"
	"github.com/sotto-llm/sotto/internal/retry"
)

// again says which requests are sent again, and when. The queue fills meanwhile.
var again = retry.Policy{Attempts: 4, First: 500 * time.Millisecond, Longest: 5 * time.Second, Patience: 10 * time.Second}

const (
	answerWait = 10 * time.Second // for the answer of the collector
	mostAnswer = 64 << 10         // bytes of it
)

// A client sends spans as OTLP over HTTP. It is an [otlptrace.Client].
type client struct {
	to   string
	http *http.Client
}

// httpClient returns a client for one collector, which follows no redirect.
func httpClient(endpoint *url.URL, header http.Header) *http.Client {
	return foreignhttp.Config{Base: endpoint, Header: header, Body: mostAnswer}.Client()
}

// Start does nothing: the first request connects.
func (c *client) Start(context.Context) error { return nil }

// Stop does nothing: the connections belong to a shared transport.
func (c *client) Stop(context.Context) error { return nil }

// UploadTraces sends spans. A request of a collector is a TracesData by its encoding.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	plain, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	var body bytes.Buffer
	zip := gzip.NewWriter(&body)
	_, _ = zip.Write(plain) // a Buffer takes everything
	if err := zip.Close(); err != nil {
		return err
	}
	return again.Do(ctx, func() (retry.Verdict, error) { return c.send(ctx, body.Bytes()) }, nil)
}

// send makes one attempt.
func (c *client) send(ctx context.Context, body []byte) (retry.Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.to, bytes.NewReader(body))
	if err != nil {
		return retry.Verdict{}, err
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("Content-Encoding", "gzip")
	resp, err := c.http.Do(r)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok { // its text repeats the address
			err = u.Err
		}
		return retry.Verdict{Again: true}, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // so that the connection can be used again
	if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusAccepted {
		return retry.Verdict{}, nil
	}
	return retry.Verdict{Again: retry.Status(resp.StatusCode), After: retry.After(resp.Header, time.Now())}, fmt.Errorf("the collector answers %d", resp.StatusCode)
}
