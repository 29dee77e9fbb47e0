package doctor

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/check/probereply"
	"github.com/sotto-llm/sotto/internal/check/probereport"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/net/foreignhttp"
	"github.com/sotto-llm/sotto/wire"
)

// A client makes the requests of a diagnosis, at most as many as was said before.
type client struct {
	http *http.Client
	time time.Duration // for a request
	left int           // requests that may still be made
	made int
}

// errSpent is the error of a request beyond the number that was announced.
var errSpent = errors.New("the number of requests that was announced is used up")

const (
	maxBody   = 4 << 20   // bytes of a response
	maxHeader = 256 << 10 // bytes of its header
	maxTrace  = 10_000    // pieces of a body whose arrival is noted
)

func newClient(base *url.URL, o Options, left int) (*client, func()) {
	inner, done := o.Transport, func() {}
	if inner == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxResponseHeaderBytes = maxHeader
		inner, done = t, t.CloseIdleConnections
	}
	config := foreignhttp.Config{Base: base, Transport: &timed{inner}, Body: maxBody}
	if o.Key != "" {
		config.Header = http.Header{"Authorization": {"Bearer " + o.Key}}
	}
	return &client{http: config.Client(), time: o.Time, left: left}, done
}

// A response is what came for a request.
type response struct {
	status int
	header http.Header
	kind   string // the media type
	body   []byte
	broken error // why the body is not whole, or nil
	trace  *trace
}

// json returns the body as JSON; ok is false if it is something else.
func (r *response) json() (value, bool) {
	v, err := foreignjson.Parse(r.body)
	return v, err == nil && v.IsObject()
}

// read reads a response of an API.
func read(codec wire.Codec, res *response, stream bool) *probereply.Reply {
	return probereply.Read(codec, probereply.Response{Kind: res.kind, Body: res.body, Broken: res.broken}, stream)
}

func (r *response) ok() bool { return r.status >= 200 && r.status < 300 }

// said is the error that a server wrote, in short.
func (r *response) said() string {
	if v, ok := r.json(); ok {
		for _, path := range []string{"error.message", "message", "detail", "error"} {
			if m := v.Get(path); m.Str != "" {
				return shorttext.Ellipsis(m.Str, 200)
			}
		}
	}
	return shorttext.Ellipsis(strings.TrimSpace(string(r.body[:min(len(r.body), 1000)])), 200)
}

func (c *client) get(ctx context.Context, u *url.URL, header http.Header) (*response, error) {
	return c.do(ctx, http.MethodGet, u, header, nil)
}

func (c *client) post(ctx context.Context, u *url.URL, header http.Header, body any) (*response, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return c.do(ctx, http.MethodPost, u, header, data)
}

func (c *client) do(ctx context.Context, method string, u *url.URL, header http.Header, body []byte) (*response, error) {
	if c.left == 0 {
		return nil, errSpent
	}
	c.left--
	c.made++
	ctx, cancel := context.WithTimeout(ctx, c.time)
	defer cancel()
	trace := new(trace)
	req, err := http.NewRequestWithContext(context.WithValue(ctx, traceKey{}, trace), method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var all bytes.Buffer
	_, err = all.ReadFrom(res.Body) // within the bound of foreignhttp; of a stream that breaks off, what has come
	r := &response{status: res.StatusCode, header: res.Header, body: all.Bytes(), broken: err, trace: trace}
	r.kind, _, _ = mime.ParseMediaType(res.Header.Get("Content-Type"))
	return r, nil
}

// A trace says when the parts of a response came, from the request on.
type trace struct {
	mu    sync.Mutex
	began time.Time
	at    []time.Duration // of the pieces of the body
}

func (t *trace) add() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.at) < maxTrace {
		t.at = append(t.at, time.Since(t.began))
	}
}

// times returns when the first and the last piece of the body came, and how many came.
func (t *trace) times() (first, last time.Duration, pieces int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.at) == 0 {
		return 0, 0, 0
	}
	return t.at[0], t.at[len(t.at)-1], len(t.at)
}

type traceKey struct{}

// timed notes when the pieces of a body come. It is below the client that bounds them,
// which reads some bodies whole.
type timed struct{ next http.RoundTripper }

func (t *timed) RoundTrip(r *http.Request) (*http.Response, error) {
	trace, ok := r.Context().Value(traceKey{}).(*trace)
	if !ok {
		return t.next.RoundTrip(r)
	}
	trace.began = time.Now()
	res, err := t.next.RoundTrip(r)
	if err == nil {
		res.Body = &tracedBody{res.Body, trace}
	}
	return res, err
}

type tracedBody struct {
	io.ReadCloser
	trace *trace
}

func (b *tracedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.trace.add()
	}
	return n, err
}

// inWords says why there was no response, and what to do. missing says that there is no
// server at all.
func inWords(err error, u *url.URL, limit time.Duration) (detail, do string, missing bool) {
	text := probereport.Plain(err)
	dns, isDNS := errors.AsType[*net.DNSError](err)
	switch {
	case isDNS && dns.IsNotFound:
		return fmt.Sprintf("the name %q is not known", u.Hostname()), "check the spelling of the host in the URL", true
	case strings.Contains(text, "connection refused"):
		return "nothing listens at " + u.Host, "start the model server, or correct the port in the URL", true
	case strings.Contains(text, "server gave HTTP response to HTTPS client"):
		return "the server speaks HTTP, not HTTPS", "write http:// instead of https:// in the URL", false
	case isCertificate(err):
		return "the server's certificate is refused: " + text, "correct the host name in the URL, or add the server's authority to the trusted ones of this system (SSL_CERT_FILE names a file of them)", false
	case errors.Is(err, foreignhttp.ErrElsewhere):
		return text, "", false
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer within %s", limit), "check that the server is not busy or stuck; --time allows more", false
	case probereport.Unreached(err):
		return text, "check the host and the port in the URL, and the network", true
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the reply broke off before its end", cutHelp, false
	case strings.Contains(text, "EOF") || strings.Contains(text, "connection reset"):
		return "the server closed the connection without an answer: " + text, "read the server's log", false
	case strings.Contains(text, "malformed HTTP") || strings.Contains(text, "readLoopPeekFailLocked"): // it spoke first
		return "what answers does not speak HTTP", "correct the port in the URL", false
	}
	return text, "", false
}

// cutHelp says what to do about replies that break off.
const cutHelp = "look for a limit on time or size in the proxies between, such as nginx's proxy_read_timeout, and in the server's log"

// isCertificate reports whether an error is about the certificate of a server.
func isCertificate(err error) bool {
	var verification *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	return errors.As(err, &verification) || errors.As(err, &authority) || errors.As(err, &host)
}
