package bodies

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
)

// IsJSON reports whether a header says that its body is JSON.
func IsJSON(h http.Header) bool {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return kind == "application/json" || strings.HasSuffix(kind, "+json")
}

// IsSSE reports whether a header says that its body is a stream of events.
func IsSSE(h http.Header) bool {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return kind == "text/event-stream"
}

// MaxError bounds the body of an upstream's error, where it is read.
const MaxError = 1 << 20

// LargeBuffer is the capacity above which a buffer is not kept for later frames.
const LargeBuffer = 64 << 10

// Replace gives a response another body.
func Replace(resp *http.Response, body []byte) {
	resp.Body = io.NopCloser(strings.NewReader(jsonedit.StringOf(body)))
	resp.ContentLength = int64(len(body))
	resp.Header.Set("Content-Length", fmt.Sprint(len(body)))
	resp.TransferEncoding = nil
	for _, h := range []string{"ETag", "Content-MD5", "Digest", "Content-Digest", "Repr-Digest"} {
		resp.Header.Del(h) // they describe other bytes
	}
}

// LooksLikeSSE reports whether a body begins as server-sent events do.
func LooksLikeSSE(body []byte) bool {
	body = bytes.TrimLeft(body, "\xEF\xBB\xBF\r\n")
	for _, field := range []string{"data:", "event:", "id:", "retry:", ":"} {
		if bytes.HasPrefix(body, []byte(field)) {
			return true
		}
	}
	return false
}
