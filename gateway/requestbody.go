package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/sotto-llm/sotto/gateway/internal/faults"
)

// readBody reads the body of a request to a model's route.
func readBody(w http.ResponseWriter, r *http.Request, limit int64, hold *charge) ([]byte, error) {
	if e := r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return nil, faults.New(http.StatusUnsupportedMediaType, fmt.Errorf("a request compressed as %s is not supported: send it uncompressed", encodingName(e)))
	}
	if err := checkCharset(r); err != nil {
		return nil, err
	}
	return takeBody(http.MaxBytesReader(w, r.Body, limit), r.ContentLength, limit, hold)
}

// takeBody reads a body of at most limit bytes. Its errors carry the answer to
// send.
func takeBody(from io.Reader, size, limit int64, hold *charge) ([]byte, error) {
	if size > limit {
		return nil, tooLarge(limit) // without reading it
	}
	body, err := hold.read(from, limit, size)
	var large *http.MaxBytesError
	var own *faults.Request
	switch {
	case err == nil:
		return body, nil
	case errors.As(err, &own):
		return nil, own
	case errors.As(err, &large), errors.Is(err, errLarge):
		return nil, tooLarge(limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, lateError()
	}
	return nil, faults.New(http.StatusBadRequest, fmt.Errorf("the request broke off: %w", err))
}

// errLate is the error of a request whose body does not arrive in time.
var errLate = errors.New("the request's body arrived too slowly or not at all")

func lateError() *faults.Request { return faults.New(http.StatusRequestTimeout, errLate) }

func tooLarge(limit int64) *faults.Request {
	return faults.New(http.StatusRequestEntityTooLarge, fmt.Errorf("the request is larger than %d bytes", limit))
}
