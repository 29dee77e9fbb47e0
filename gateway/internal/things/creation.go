package things

import (
	"io"
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
)

// MayBeMade reports whether the response to a request that passes may say what an upstream made.
func MayBeMade(r *http.Request, at *endpoints.Endpoint, resp *http.Response) bool {
	return at.Kind != endpoints.Harmless && at.Kind != endpoints.Audio && resp.StatusCode >= 200 && resp.StatusCode <= 299 && bodies.IsJSON(resp.Header) && r.Method != http.MethodHead
}

// Read calls note with a response, if it is an object that is not too long, when its end
// passes and before the client has all of it.
func Read(resp *http.Response, note func(root gjson.Result)) {
	resp.Body = &creation{ReadCloser: resp.Body, size: resp.ContentLength, note: note}
}

// A creation is the body of a response that may say what an upstream made.
type creation struct {
	io.ReadCloser
	head []byte
	size int64 // -1 if it is not known
	note func(root gjson.Result)
}

// maxCreation bounds a response that says what an upstream made.
const maxCreation = 64 << 10

func (c *creation) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if c.note == nil {
		return n, err
	}
	c.head = append(c.head, p[:min(n, maxCreation+1-len(c.head))]...)
	whole := err == io.EOF || c.size >= 0 && int64(len(c.head)) >= c.size
	if whole && len(c.head) <= maxCreation {
		if root, err := foreignjson.Parse(c.head); err == nil && root.IsObject() {
			c.note(root)
		}
	}
	if whole || err != nil || len(c.head) > maxCreation {
		c.note, c.head = nil, nil
	}
	return n, err
}
