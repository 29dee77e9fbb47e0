// Package guardhttp has a guard of the gateway that asks an HTTP server. For each piece
// of a reply it sends a [Request] as JSON by POST, and the server answers with a
// verdict as JSON:
//
//	{"action": "cut", "reason": "internal name"}
//
// The action is pass, cut or end; a reason is optional. Anything else is no decision:
// another status than 200, a redirect, a larger or malformed response, or none in time.
package guardhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/net/foreignhttp"
)

// What a guard's server may send and get.
const (
	maxResponse = 64 << 10 // bytes of a response
	maxHeader   = 16 << 10 // bytes of its header
	maxCalls    = 64       // at the same time; others wait, within their time limit
)

// shape bounds the JSON of a response.
var shape = foreignjson.Limits{Depth: 16, Members: 1000}

// A Request is what the server gets: a [guard.Piece].
type Request struct {
	V        int    `json:"v"` // 1
	Exchange string `json:"exchange"`
	API      string `json:"api"`
	Model    string `json:"model"`
	Caller   string `json:"caller,omitempty"`
	Streamed bool   `json:"streamed"`
	Choice   int    `json:"choice"`
	Channel  string `json:"channel"`
	Offset   int    `json:"offset"`
	Last     bool   `json:"last"`
	Before   string `json:"before"`
	Text     string `json:"text"`
}

// A Guard asks a server.
type Guard struct {
	url    string
	token  string
	client *http.Client
	calls  chan struct{} // one for each call that is under way
}

var _ guard.Guard = (*Guard)(nil)

// New returns a guard that asks the server at a URL from [ParseURL]. If there is a
// token, it is sent as a bearer token.
func New(u *url.URL, token string) *Guard {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = maxHeader
	t.MaxConnsPerHost, t.MaxIdleConnsPerHost, t.MaxIdleConns = maxCalls, maxCalls, maxCalls
	t.IdleConnTimeout = time.Minute
	t.DisableCompression = true // the response is a line
	return &Guard{
		url: u.String(), token: token, calls: make(chan struct{}, maxCalls),
		client: foreignhttp.Config{Base: u, Body: maxResponse, Transport: t}.Client(),
	}
}

// CloseIdleConnections closes the connections that no call uses.
func (g *Guard) CloseIdleConnections() { g.client.CloseIdleConnections() }

// ParseURL reads the URL of a guard. Its errors do not repeat what may be a password.
func ParseURL(text string) (*url.URL, error) {
	const want = "a URL such as http://localhost:9000/judge"
	u, err := url.Parse(text)
	switch {
	case strings.Contains(text, "@"):
		return nil, errors.New("the URL holds a user name or password: give a token with guard-token-file or SOTTO_GUARD_TOKEN")
	case strings.ContainsAny(text, "?#"):
		return nil, errors.New("the URL has a query or a fragment: a guard is a URL without them")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, fmt.Errorf("%q: want %s", text, want)
	}
	return u, nil
}

// Judge asks the server about a piece.
func (g *Guard) Judge(ctx context.Context, p guard.Piece) (guard.Verdict, error) {
	body, err := json.Marshal(Request{
		V: 1, Exchange: p.Exchange, API: p.API, Model: p.Model, Caller: p.Caller, Streamed: p.Streamed,
		Choice: p.Choice, Channel: string(p.Channel), Offset: p.Offset, Last: p.Last, Before: p.Before, Text: p.Text,
	})
	if err != nil {
		return guard.Verdict{}, err
	}
	select {
	case g.calls <- struct{}{}:
		defer func() { <-g.calls }()
	case <-ctx.Done():
		return guard.Verdict{}, fmt.Errorf("%d calls of the guard are under way: %w", maxCalls, ctx.Err())
	}
	data, err := g.post(ctx, body)
	if err != nil {
		return guard.Verdict{}, err
	}
	return verdict(data)
}

// post sends a request, and returns the response.
func (g *Guard) post(ctx context.Context, body []byte) ([]byte, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "application/json")
	q.Header["Idempotency-Key"] = []string{} // not sent: net/http repeats it if the server closed an idle connection
	if g.token != "" {
		q.Header.Set("Authorization", "Bearer "+g.token)
	}
	resp, err := g.client.Do(q)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return nil, fmt.Errorf("the guard's server: %w", err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return nil, fmt.Errorf("the guard's server answered with status %d, and redirects are not followed", resp.StatusCode)
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the guard's server answered with status %d: want 200", resp.StatusCode)
	}
	data, err := files.ReadAll(resp.Body, maxResponse)
	if err != nil {
		return nil, fmt.Errorf("the guard's server: %w", err)
	}
	return data, nil
}

// verdict reads a response. The gateway refuses an action that it does not know.
func verdict(data []byte) (v guard.Verdict, err error) {
	doc, err := shape.Parse(data)
	switch {
	case err != nil:
		return v, fmt.Errorf("the guard's response: %w", err)
	case !doc.IsObject():
		return v, errors.New(`the guard's response is not an object such as {"action": "pass"}`)
	}
	said := map[string]bool{}
	doc.ForEach(func(name, value gjson.Result) bool {
		var to *string
		switch name.Str {
		case "action":
			to = (*string)(&v.Action)
		case "reason":
			to = &v.Reason
		default:
			return true
		}
		switch {
		case said[name.Str]:
			err = fmt.Errorf("the guard's response has %s twice", name.Str)
		case value.Type == gjson.Null && name.Str == "reason":
		case value.Type != gjson.String:
			err = fmt.Errorf("the guard's response: %s is not a text", name.Str)
		}
		said[name.Str], *to = true, value.Str
		return err == nil
	})
	if err == nil && !said["action"] {
		err = errors.New("the guard's response has no action")
	}
	if err != nil {
		return guard.Verdict{}, err
	}
	return v, nil
}
