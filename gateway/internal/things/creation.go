package things

import (
	"io"
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/sse"
)

// MayBeMade reports whether the response to a request that passes may say what an upstream made: JSON, or
// a stream where things are made.
func MayBeMade(r *http.Request, at *endpoints.Endpoint, resp *http.Response) bool {
	return at.Kind != endpoints.Harmless && at.Kind != endpoints.Audio && resp.StatusCode >= 200 && resp.StatusCode <= 299 && r.Method != http.MethodHead &&
		(bodies.IsJSON(resp.Header) || at.Of != "" && bodies.IsSSE(resp.Header))
}

// Read calls note with what a response says of what was made, if that is an object and not too long: the body, when its
// end passes, or the first event of a stream. The client does not have all of it then.
func Read(resp *http.Response, note func(root gjson.Result)) {
	c := &creation{ReadCloser: resp.Body, size: resp.ContentLength, note: note}
	if bodies.IsSSE(resp.Header) {
		c.events = &sse.Scanner{}
	}
	resp.Body = c
}

// A creation is the body of a response that may say what an upstream made.
type creation struct {
	io.ReadCloser
	head   []byte
	size   int64        // -1 if it is not known
	events *sse.Scanner // nil if it is not a stream
	note   func(root gjson.Result)
}

// maxCreation bounds what a response says of what an upstream made.
const maxCreation = 64 << 10

func (c *creation) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if c.note == nil {
		return n, err
	}
	room := maxCreation + 1 - len(c.head)
	c.head = append(c.head, p[:min(n, room)]...)
	said, whole := c.said(err)
	if whole && len(said) <= maxCreation {
		if root, err := foreignjson.Parse(said); err == nil && root.IsObject() {
			c.note(root)
		}
	}
	if whole || err != nil || n >= room {
		c.note, c.head = nil, nil
	}
	return n, err
}

// said returns what the response says of what was made, and whether all of that has come.
func (c *creation) said(err error) (data []byte, whole bool) {
	if c.events == nil {
		return c.head, err == io.EOF || c.size >= 0 && int64(len(c.head)) >= c.size
	}
	for {
		f, ok := c.events.Next(c.head)
		switch {
		case !ok:
			return nil, false
		case f.Data != nil:
			return f.Data, true
		}
		c.head = c.head[len(f.Raw):] // a comment
	}
}
