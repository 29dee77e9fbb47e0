package certificates

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/net/foreignhttp"
)

const (
	maxResponse = 1 << 20          // bytes of a response of an authority
	maxWait     = 30 * time.Second // for one
)

// newClient returns the client for the authority.
func (i *issuer) newClient() (*http.Client, error) {
	base, err := url.Parse(i.config.Directory)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout, transport.MaxResponseHeaderBytes = maxWait, 64<<10
	transport.IdleConnTimeout = 10 * time.Second // there are months between two renewals
	if i.config.CA != "" {
		if transport.TLSClientConfig, err = Trust(i.config.CA); err != nil {
			return nil, err
		}
	}
	client := foreignhttp.Config{Base: base, Body: maxResponse, Transport: transport}.Client()
	client.Transport, client.Timeout = &watched{client.Transport, i}, 2*maxWait
	return client, nil
}

// watched keeps what the authority says when it refuses: package autocert only says that
// every way to prove a domain has failed. It ends with the issuer.
type watched struct {
	http.RoundTripper
	issuer *issuer
}

func (w *watched) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := context.Cause(w.issuer.ended); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(w.issuer.ended, func() { cancel(errEnded) })
	defer cancel(nil)
	defer stop()
	res, err := w.RoundTripper.RoundTrip(r.WithContext(ctx)) // with the whole body
	if err != nil {
		return nil, err
	}
	data, err := files.ReadAll(res.Body, maxResponse)
	res.Body.Close()
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(data))
	if parsed, err := foreignjson.Parse(data); err == nil && parsed.IsObject() {
		w.issuer.problems.see(res.StatusCode, parsed)
	}
	return res, nil
}

// problems keep the last refusal of an authority.
type problems struct {
	mu   sync.Mutex
	text string
}

// see looks for a problem (RFC 7807) in a response: of a request, of an order, or of a
// challenge.
func (p *problems) see(status int, body gjson.Result) {
	var found []string
	add := func(problem gjson.Result) bool {
		kind, detail := problem.Get("type").String(), problem.Get("detail").String()
		if kind+detail != "" && kind != "urn:ietf:params:acme:error:badNonce" { // which is asked again
			found = append(found, strings.TrimPrefix(kind, "urn:ietf:params:acme:error:")+": "+detail)
		}
		return true
	}
	switch {
	case status >= http.StatusBadRequest:
		add(body)
	case body.Get("status").String() == "invalid":
		add(body.Get("error"))
		body.Get("challenges").ForEach(func(_, c gjson.Result) bool { return add(c.Get("error")) })
	}
	if len(found) > 0 {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.text = strings.Join(found, "; ")
	}
}

func (p *problems) last() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text
}

func (p *problems) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = ""
}

// Answers serves the address at which an authority checks domains without TLS (http-01),
// usually port 80. Other requests for a domain are sent to the server, whose address is
// given. It is nil if the settings have no such address.
func (s *Source) Answers(server net.Addr) http.Handler {
	if s == nil || s.issuer == nil || s.issuer.config.Listen == "" {
		return nil
	}
	_, port, _ := net.SplitHostPort(server.String())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.Host
		if host, _, err := net.SplitHostPort(name); err == nil {
			name = host
		}
		d := s.issuer.of(name)
		switch {
		case d == nil: // whoever makes their own name point here gets nothing
			http.Error(w, "there is no such domain here", http.StatusNotFound)
		case strings.HasPrefix(r.URL.Path, "/.well-known/acme-challenge/"):
			r = r.Clone(r.Context())
			r.Host = d.name // without the port
			(*d.answers.Load()).ServeHTTP(w, r)
		case r.Method != http.MethodGet && r.Method != http.MethodHead: // its body, and its key, came unencrypted
			http.Error(w, "use https", http.StatusBadRequest)
		default:
			w.Header().Set("Location", "https://"+hostPort(d.name, port)+r.URL.RequestURI())
			w.WriteHeader(http.StatusTemporaryRedirect)
		}
	})
}

func noAnswer(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "not found", http.StatusNotFound)
}

func hostPort(name, port string) string {
	if port == "443" {
		return name
	}
	return net.JoinHostPort(name, port)
}
