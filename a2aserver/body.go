package a2aserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/sotto-llm/sotto/internal/foreignjson"
)

// Bounds of the shape of a request's body. An ordinary message has a dozen values,
// five levels deep.
const (
	maxDepth  = 64     // levels of arrays and objects
	maxValues = 10_000 // members of objects and elements of arrays
	maxRPCID  = 256    // bytes of the id of a call, which comes back with each event
)

// A refusal says why a body was refused, with the status of the answer.
type refusal struct {
	status int
	why    string
}

func (r *refusal) Error() string { return r.why }

// takeBody reads a request's body completely and checks its shape, before the
// request takes one of the places for work.
func (s *Server) takeBody(w http.ResponseWriter, r *http.Request, l *load) (*http.Request, error) {
	data, err := s.readBody(w, r, l)
	switch {
	case errors.Is(err, errCut), errors.Is(err, os.ErrDeadlineExceeded):
		return r, &refusal{http.StatusRequestTimeout, "the body took too long"}
	case errors.Is(err, errBusy):
		return r, &refusal{http.StatusServiceUnavailable, err.Error()}
	case err != nil:
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return r, &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is longer than %d bytes", s.limits.Body)}
		}
		return r, &refusal{http.StatusBadRequest, "the body cannot be read"}
	}
	if err := checkShape(data); err != nil {
		return r, err
	}
	r = r.WithContext(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	return r, nil
}

func (s *Server) readBody(w http.ResponseWriter, r *http.Request, l *load) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, l.whole()
	}
	if r.ContentLength > s.limits.Body {
		return nil, &http.MaxBytesError{Limit: s.limits.Body}
	}
	body := http.MaxBytesReader(w, r.Body, s.limits.Body)
	var data bytes.Buffer
	buf := make([]byte, 16<<10)
	for {
		n, err := body.Read(buf)
		if held := l.add(int64(copies * n)); held != nil {
			return nil, held
		}
		data.Write(buf[:n])
		if err == io.EOF {
			return data.Bytes(), l.whole()
		}
		if err != nil {
			return nil, err
		}
	}
}

// stopReading ends a read of a request's body that waits.
func stopReading(w http.ResponseWriter) func() {
	rc := http.NewResponseController(w)
	return func() { _ = rc.SetReadDeadline(time.Unix(1, 0)) }
}

// checkShape refuses a body that would cost more than its size suggests. Bodies
// that are not JSON are refused by the protocol's own handlers, each in its way.
func checkShape(data []byte) error {
	bounds := foreignjson.Limits{Depth: maxDepth, Members: maxValues}
	if err := bounds.Check(data); foreignjson.OverLimit(err) {
		return &refusal{http.StatusBadRequest, "the body " + err.Error()}
	}
	var call struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(data, &call) == nil && len(call.ID) > maxRPCID {
		return &refusal{http.StatusBadRequest, fmt.Sprintf("the id of the call is longer than %d bytes", maxRPCID)}
	}
	return nil
}
