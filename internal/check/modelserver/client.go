package modelserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/net/foreignhttp"
)

// A Client makes requests to one server: bounded in number, time and size.
type Client struct {
	// Made counts the requests.
	Made int

	http *http.Client
	time time.Duration
	left int
}

// Options are those of a client.
type Options struct {
	// Key, if set, is sent as a bearer token, to the server only.
	Key string
	// Time bounds each request.
	Time time.Duration
	// Body bounds a response in bytes. If zero, [foreignhttp.MaxBody].
	Body int64
	// Requests is how many may be made; 0 for any number.
	Requests int
	// Transport reaches the server. If nil, one like http.DefaultTransport.
	Transport http.RoundTripper
}

// ErrSpent is the error of a request beyond the number that was announced.
var ErrSpent = errors.New("the number of requests that was announced is used up")

const (
	maxHeader = 256 << 10 // bytes of the header of a response
	maxTrace  = 10_000    // pieces of a body whose arrival is noted
)

// New returns a client of the server at a base URL. The caller calls done at the end.
func New(base *url.URL, o Options) (c *Client, done func()) {
	inner, done := o.Transport, func() {}
	if inner == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxResponseHeaderBytes = maxHeader
		inner, done = t, t.CloseIdleConnections
	}
	config := foreignhttp.Config{Base: base, Transport: &timed{inner}, Body: o.Body}
	if o.Key != "" {
		config.Header = http.Header{"Authorization": {"Bearer " + o.Key}}
	}
	if o.Requests == 0 {
		o.Requests = math.MaxInt
	}
	return &Client{http: config.Client(), time: o.Time, left: o.Requests}, done
}

// A Response is what came for a request.
type Response struct {
	Status int
	Header http.Header
	Kind   string // the media type
	Body   []byte
	Broken error // why the body is not whole, or nil

	trace *trace
}

// JSON returns the body as JSON; ok is false if it is something else.
func (r *Response) JSON() (v gjson.Result, ok bool) {
	v, err := foreignjson.Parse(r.Body)
	return v, err == nil && v.IsObject()
}

// OK reports whether the status says that the request succeeded.
func (r *Response) OK() bool { return r.Status >= 200 && r.Status < 300 }

// Said is the error that a server wrote, in short.
func (r *Response) Said() string {
	if v, ok := r.JSON(); ok {
		for _, path := range []string{"error.message", "message", "detail", "error"} {
			if m := v.Get(path); m.Str != "" {
				return shorttext.Ellipsis(m.Str, 200)
			}
		}
	}
	return shorttext.Ellipsis(strings.TrimSpace(string(r.Body[:min(len(r.Body), 1000)])), 200)
}

// Times returns when the first and the last piece of the body came, from the request on,
// and how many came.
func (r *Response) Times() (first, last time.Duration, pieces int) { return r.trace.times() }

// maxModels bounds the models of a list that are looked at.
const maxModels = 1000

// Models are the models in a list, in the form of OpenAI's or Ollama's API.
func (r *Response) Models() []string {
	v, ok := r.JSON()
	if !ok || !r.OK() {
		return nil
	}
	var names []string
	for _, member := range []string{"data", "models"} {
		v.Get(member).ForEach(func(_, m gjson.Result) bool {
			if name := cmp.Or(m.Get("id").Str, m.Get("name").Str, m.Get("model").Str); name != "" {
				names = append(names, shorttext.Cut(name, 200))
			}
			return len(names) < maxModels
		})
		if len(names) > 0 {
			break
		}
	}
	return names
}

// Get makes a request without a body.
func (c *Client) Get(ctx context.Context, u *url.URL, header http.Header) (*Response, error) {
	return c.Do(ctx, http.MethodGet, u, header, nil)
}

// Post sends a value as JSON.
func (c *Client) Post(ctx context.Context, u *url.URL, header http.Header, body any) (*Response, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return c.Do(ctx, http.MethodPost, u, header, data)
}

// Do makes a request, and reads the response. A body that breaks off is not an error.
func (c *Client) Do(ctx context.Context, method string, u *url.URL, header http.Header, body []byte) (*Response, error) {
	if c.left == 0 {
		return nil, ErrSpent
	}
	c.left--
	c.Made++
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
	r := &Response{Status: res.StatusCode, Header: res.Header, Body: all.Bytes(), Broken: err, trace: trace}
	r.Kind, _, _ = mime.ParseMediaType(res.Header.Get("Content-Type"))
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
