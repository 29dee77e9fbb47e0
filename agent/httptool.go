package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/sotto-llm/sotto/internal/base/tracecontext"
	"github.com/sotto-llm/sotto/model"
)

// An HTTPTool is an endpoint as a tool. The arguments are POSTed as a JSON object,
// and the body of the answer is the result. A status other than 2xx is an error,
// which the model sees with the body. Redirects are not followed.
//
// The URL comes from the configuration, never from the model. It may be an address
// that only this machine reaches.
type HTTPTool struct {
	Name, Description string
	// Schema is the JSON Schema of the arguments, which are an object. If empty,
	// there are no arguments.
	Schema string
	URL    string
	// Header is sent with each request. No record or error holds it.
	Header  http.Header
	Timeout time.Duration // if zero, Limits.ToolTime
	Limit   int64         // bytes of an answer that are read; if zero, 1 MiB
	// Repeat says that the endpoint can be called again after a crash, because it
	// does nothing twice for the same Idempotency-Key, which is Use.Key.
	Repeat bool
	// Prose names arguments that are texts for people or memory; see [Func].
	Prose []string
	// Client is used if set.
	Client *http.Client
}

// Spec is what the model is told of it.
func (t *HTTPTool) Spec() model.Tool {
	schema := t.Schema
	if schema == "" {
		schema = noArguments
	}
	return model.Tool{Name: t.Name, Description: t.Description, Schema: json.RawMessage(schema)}
}

func (t *HTTPTool) prose() []string { return t.Prose }

// Repeatable says whether it may be called again after a crash.
func (t *HTTPTool) Repeatable() bool { return t.Repeat }

// reasonOf says why an endpoint could not be reached, without its address: the
// model need not see it.
func reasonOf(err error) string {
	var code syscall.Errno
	var name *net.DNSError
	switch {
	case errors.As(err, &code):
		return ": " + code.Error()
	case errors.As(err, &name):
		return ": its host has no address"
	}
	return ""
}

// time returns the endpoint's own timeout, which replaces Limits.ToolTime.
func (t *HTTPTool) time() time.Duration { return t.Timeout }

// Call posts the arguments.
func (t *HTTPTool) Call(ctx context.Context, u Use) (string, error) {
	if t.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.Timeout)
		defer cancel()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL, bytes.NewReader(u.Arguments))
	if err != nil {
		return "", fmt.Errorf("the endpoint of %s cannot be called", t.Name)
	}
	for name, values := range t.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", u.Key())
	tracecontext.SetHeader(ctx, req.Header)
	client := http.Client{}
	if t.Client != nil {
		client = *t.Client
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return "", fmt.Errorf("the endpoint did not answer in time: %w", ctx.Err())
		}
		return "", fmt.Errorf("the endpoint of %s could not be reached%s", t.Name, reasonOf(err))
	}
	defer res.Body.Close()
	limit := t.Limit
	if limit <= 0 {
		limit = 1 << 20
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil {
		return "", fmt.Errorf("the answer broke off: %w", err)
	}
	text := strings.ToValidUTF8(string(body[:min(int64(len(body)), limit)]), "\uFFFD")
	if int64(len(body)) > limit {
		text += fmt.Sprintf("\n[the answer is longer than %d bytes]", limit)
	}
	if res.StatusCode/100 != 2 {
		return "", fmt.Errorf("status %d: %s", res.StatusCode, text)
	}
	return text, nil
}
