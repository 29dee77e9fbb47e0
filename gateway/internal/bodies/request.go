// Package bodies reads the bodies of requests and replies: within bounds of size and memory,
// uncompressed, in UTF-8, and as long as something moves.
package bodies

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
)

// ReadRequest reads the body of a request to a model's route.
func ReadRequest(w http.ResponseWriter, r *http.Request, limit int64, hold *budget.Charge) ([]byte, error) {
	if e := r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return nil, faults.New(http.StatusUnsupportedMediaType, fmt.Errorf("a request compressed as %s is not supported: send it uncompressed", EncodingName(e)))
	}
	if err := CheckCharset(r); err != nil {
		return nil, err
	}
	return Read(http.MaxBytesReader(w, r.Body, limit), r.ContentLength, limit, hold)
}

// Read reads a body of at most limit bytes. Its errors carry the answer to
// send.
func Read(from io.Reader, size, limit int64, hold *budget.Charge) ([]byte, error) {
	if size > limit {
		return nil, TooLarge(limit) // without reading it
	}
	body, err := hold.Read(from, limit, size)
	var large *http.MaxBytesError
	var own *faults.Request
	switch {
	case err == nil:
		return body, nil
	case errors.As(err, &own):
		return nil, own
	case errors.As(err, &large), errors.Is(err, budget.ErrLarge):
		return nil, TooLarge(limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, Late()
	}
	return nil, faults.New(http.StatusBadRequest, fmt.Errorf("the request broke off: %w", err))
}

// MaxIdle is the longest time in which a request's body may make no progress.
const MaxIdle = 30 * time.Second

// ErrLate is the error of a request whose body does not arrive in time.
var ErrLate = errors.New("the request's body arrived too slowly or not at all")

func Late() *faults.Request { return faults.New(http.StatusRequestTimeout, ErrLate) }

func TooLarge(limit int64) *faults.Request {
	return faults.New(http.StatusRequestEntityTooLarge, fmt.Errorf("the request is larger than %d bytes", limit))
}
