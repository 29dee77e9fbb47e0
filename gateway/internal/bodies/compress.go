package bodies

import (
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// Decompress undoes the encoding of a response whose reply will be read. The
// gateway asks for none, but some servers compress anyway. The caller that reads
// the body must bound its decompressed size.
func Decompress(resp *http.Response) error {
	encoding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))
	var open func(io.Reader) (io.Reader, error)
	switch encoding {
	case "", "identity":
		return nil
	case "gzip", "x-gzip":
		open = func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }
	case "deflate":
		open = inflate
	default:
		return fmt.Errorf("the upstream compressed its reply as %s, which was not requested and is not supported", EncodingName(encoding))
	}
	resp.Body = &inflated{src: resp.Body, open: open}
	resp.ContentLength = -1
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	return nil
}

// EncodingName returns an encoding's name for a message. A peer wrote it, so only
// known names are returned as they are.
func EncodingName(encoding string) string {
	encoding = strings.ToLower(strings.TrimSpace(encoding))
	if slices.Contains([]string{"br", "compress", "dcb", "dcz", "deflate", "gzip", "x-gzip", "zstd"}, encoding) {
		return encoding
	}
	return "something unknown"
}

// inflate reads what servers call deflate: with the zlib header, as the standard
// says, or without it.
func inflate(r io.Reader) (io.Reader, error) {
	head := make([]byte, 2)
	n, err := io.ReadFull(r, head)
	if err != nil && n == 0 {
		return nil, err
	}
	all := io.MultiReader(strings.NewReader(string(head[:n])), r)
	if n == 2 && head[0]&0xF == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		return zlib.NewReader(all)
	}
	return flate.NewReader(all), nil
}

// inflated opens its reader at the first read, because opening waits for the
// upstream.
type inflated struct {
	src  io.ReadCloser
	open func(io.Reader) (io.Reader, error)
	r    io.Reader
}

func (z *inflated) Read(p []byte) (int, error) {
	if z.r == nil {
		r, err := z.open(z.src)
		if err != nil {
			return 0, err
		}
		z.r = r
	}
	return z.r.Read(p)
}

func (z *inflated) Close() error { return z.src.Close() }
