package peers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/internal/base/files"
)

const (
	// askTime is how long a console may take for its part of a list, and maxAnswer how long
	// that part may be.
	askTime   = 3 * time.Second
	maxAnswer = 2 << 20
	// maxAsks bounds the lists that are made at once, and asksWait is how long one waits for
	// its turn. maxPages bounds the pages that are passed on at once.
	maxAsks  = 4
	asksWait = 5 * time.Second
	maxPages = 64
	// dialTime is how long a connection to a console may take, and headTime how long the
	// begin of a page that is passed on.
	dialTime = 2 * time.Second
	headTime = 30 * time.Second
)

// A State is what became of asking a console.
type State string

// The states of consoles.
const (
	Listed  State = "listed"
	Silent  State = "silent"  // nothing was heard of it for a while, so it was not asked
	Away    State = "away"    // it did not answer
	Refused State = "refused" // it did not admit the person
	Busy    State = "busy"    // it has too much to do
	Failed  State = "failed"  // its answer is of no use
	Sealed  State = "sealed"  // its record is encrypted
)

// A Reply is what a console answered.
type Reply struct {
	Peer
	State    State
	Body     []byte // if Listed
	Location string // in place of a body, where it leads to
}

// ErrBusy is the error of a list that did not get its turn.
var ErrBusy = errors.New("too many lists of several gateways are made at once")

// ErrAway is the error of a console that could not be reached.
var ErrAway = errors.New("the console of that gateway did not answer")

// Ask asks all other consoles for a page as JSON, at the same time. page returns the path and
// the query for each; "" for one that is not to be asked, which has no reply. The replies are
// in the order of [Peers.Others].
func (p *Peers) Ask(ctx context.Context, t Ticket, page func(Peer) string) ([]Reply, error) {
	wait := time.NewTimer(asksWait)
	defer wait.Stop()
	select {
	case p.asks <- struct{}{}:
		defer func() { <-p.asks }()
	case <-wait.C:
		return nil, ErrBusy
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	all, _ := p.Others()
	var replies []Reply
	var pages []string
	for _, x := range all {
		if to := page(x); to != "" {
			replies, pages = append(replies, Reply{Peer: x}), append(pages, to)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var each sync.WaitGroup
	for i := range replies {
		each.Go(func() { p.ask(ctx, &replies[i], t, pages[i]) })
	}
	each.Wait()
	return replies, nil
}

// ask asks one console.
func (p *Peers) ask(ctx context.Context, reply *Reply, t Ticket, page string) {
	if p.silent(reply.Peer) {
		reply.State = Silent
		return
	}
	reply.State = Away
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, reply.base()+page, nil)
	if err != nil {
		return
	}
	t.Page = r.URL.RequestURI()
	r.Header.Set(Header, p.seal(reply.Record, t))
	resp, err := transport(reply.Peer).RoundTrip(r)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		if reply.Body, err = files.ReadAll(resp.Body, maxAnswer); err != nil {
			reply.Body, reply.State = nil, Failed
			return
		}
		reply.State = Listed
	case http.StatusSeeOther:
		reply.State, reply.Location = Listed, resp.Header.Get("Location")
	case http.StatusUnauthorized, http.StatusForbidden:
		reply.State = Refused
	case http.StatusServiceUnavailable:
		reply.State = Busy
	default:
		reply.State = Failed
	}
}

// base is the address of a console, without a slash at its end.
func (x Peer) base() string {
	if x.Pin != nil {
		return "https://" + x.Address
	}
	return "http://" + x.Address
}

// transport returns what reaches a console. Its certificate is the one that it told of itself,
// whatever names it has: it is reached by an address, and not by its name.
func transport(x Peer) *http.Transport {
	return &http.Transport{
		DisableKeepAlives: true, ResponseHeaderTimeout: headTime, TLSHandshakeTimeout: dialTime, MaxResponseHeaderBytes: 64 << 10,
		DialContext: (&net.Dialer{Timeout: dialTime}).DialContext,
		TLSClientConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, ServerName: x.Host, InsecureSkipVerify: true, // VerifyConnection does more
			VerifyConnection: func(s tls.ConnectionState) error {
				if len(s.PeerCertificates) > 0 {
					if sum := sha256.Sum256(s.PeerCertificates[0].Raw); bytes.Equal(sum[:], x.Pin) {
						return nil
					}
				}
				return errors.New("this is not the certificate of that console")
			},
		},
	}
}

// passed are the headers of a page that the person gets. The policies are those of the console
// that passes it on.
var passed = []string{"Content-Type", "Content-Disposition", "Content-Length", "Cache-Control", "Location", "Retry-After", "X-Accel-Buffering", "Last-Modified", "Accept-Ranges", "Content-Range"}

// Forward passes a page of another console on, to somebody for whom the ticket is. path is that
// of the page there, with its slash. It returns an error if there is no answer.
func (p *Peers) Forward(w http.ResponseWriter, r *http.Request, x Peer, path string, t Ticket) (err error) {
	select {
	case p.pages <- struct{}{}:
		defer func() { <-p.pages }()
	default:
		return ErrBusy
	}
	if p.silent(x) {
		return fmt.Errorf("%w: nothing was heard of it since %s", ErrAway, x.Heard.UTC().Format(time.DateTime))
	}
	to, err := url.Parse(x.base() + path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	to.RawQuery = r.URL.RawQuery
	t.Page = to.RequestURI()
	proxy := httputil.ReverseProxy{
		FlushInterval: -1, Transport: transport(x),
		Rewrite: func(out *httputil.ProxyRequest) {
			out.Out.Method, out.Out.URL, out.Out.Host = http.MethodGet, to, to.Host
			header := http.Header{}
			for _, name := range []string{"Accept", "If-Range", "Range", "Last-Event-Id"} {
				if values := out.In.Header[name]; values != nil {
					header[name] = values
				}
			}
			header.Set(Header, p.seal(x.Record, t))
			header.Set("User-Agent", "sotto")
			out.Out.Header = header
		},
		ModifyResponse: func(resp *http.Response) error {
			header := http.Header{}
			for _, name := range passed {
				if values := resp.Header.Values(name); values != nil {
					header[http.CanonicalHeaderKey(name)] = values
					w.Header().Del(name)
				}
			}
			resp.Header = header
			switch to := header.Get("Location"); {
			case resp.StatusCode == http.StatusUnauthorized:
				return errors.New("it does not know your token")
			case strings.HasPrefix(to, "/"), strings.Contains(to, ":"): // the page itself may be anywhere
				return errors.New("it leads elsewhere")
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, fault error) { err = fmt.Errorf("%w: %w", ErrAway, fault) },
	}
	proxy.ServeHTTP(w, r)
	return err
}
