// Package bodies reads the bodies of requests and replies: within bounds of size and memory,
// uncompressed, in UTF-8, and as long as something moves.
package bodies

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/internal/base/faultname"
)

// ReadRequest reads the body of a request to a model's route. It undoes the compression by
// gzip or zstd, and takes it out of the header. The limit is that of both forms.
func ReadRequest(w http.ResponseWriter, r *http.Request, limit int64, hold *budget.Charge) (body []byte, err error) {
	if err := CheckCharset(r); err != nil {
		return nil, err
	}
	if r.ContentLength > limit {
		return nil, TooLarge(limit) // without reading it
	}
	packed := http.MaxBytesReader(w, r.Body, limit)
	encoding := strings.ToLower(strings.TrimSpace(strings.Join(r.Header.Values("Content-Encoding"), ",")))
	switch encoding {
	case "", "identity":
		return Read(packed, r.ContentLength, limit, hold)
	case "gzip", "x-gzip":
		z := &unpacked{open: func() (io.Reader, error) { return gzip.NewReader(packed) }}
		body, err = Read(z, -1, limit, hold)
	case "zstd":
		err = hold.Use(maxWindow, func() error {
			z, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
			if err != nil {
				return err
			}
			defer z.Close()
			body, err = Read(&unpacked{r: z}, -1, limit, hold)
			return err
		})
	default:
		return nil, faults.New(faultname.CompressionUnsupported, http.StatusUnsupportedMediaType, fmt.Errorf("a request compressed as %s is not supported: send it uncompressed, or compressed by gzip or zstd", EncodingName(encoding)))
	}
	if err != nil {
		return nil, err
	}
	r.Header.Del("Content-Encoding")
	r.Header.Del("Content-Length")
	r.ContentLength = int64(len(body))
	return body, nil
}

// maxWindow is the memory that reading zstd takes. Clients may not use a larger window
// (RFC 9659).
const maxWindow = 8 << 20

// unpacked opens its reader at the first read, and calls what is wrong with the compressed
// bytes by its name.
type unpacked struct {
	open func() (io.Reader, error)
	r    io.Reader
}

func (z *unpacked) Read(p []byte) (n int, err error) {
	if z.r == nil {
		z.r, err = z.open()
	}
	if err == nil {
		n, err = z.r.Read(p)
	}
	if err != nil && err != io.EOF && !isOfBody(err) {
		err = faults.New(faultname.CompressionBroken, http.StatusBadRequest, fmt.Errorf("the compressed body cannot be read: %w", err))
	}
	return n, err
}

// isOfBody reports whether an error is that of the body beneath.
func isOfBody(err error) bool {
	_, large := errors.AsType[*http.MaxBytesError](err)
	return large || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, io.ErrUnexpectedEOF)
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
	return nil, faults.New(faultname.BodyBrokenOff, http.StatusBadRequest, fmt.Errorf("the request broke off: %w", err))
}

// MaxIdle is the longest time in which a request's body may make no progress.
const MaxIdle = 30 * time.Second

// ErrLate is the error of a request whose body does not arrive in time.
var ErrLate = errors.New("the request's body arrived too slowly or not at all")

func Late() *faults.Request {
	return faults.New(faultname.BodyLate, http.StatusRequestTimeout, ErrLate)
}

func TooLarge(limit int64) *faults.Request {
	return faults.New(faultname.BodyTooLarge, http.StatusRequestEntityTooLarge, fmt.Errorf("the request is larger than %d bytes", limit))
}
