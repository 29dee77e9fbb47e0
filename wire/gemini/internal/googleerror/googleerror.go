// Package googleerror has the errors of Google's APIs.
package googleerror

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// Append appends Google's error object, with the name of the status in place of words for what is wrong.
func Append(dst []byte, status int, message string) []byte {
	dst = strconv.AppendInt(append(dst, `{"error":{"code":`...), int64(status), 10)
	dst = jsontext.AppendVerbatim(append(dst, `,"message":`...), []byte(strings.ToValidUTF8(message, "\ufffd")))
	return append(append(append(dst, `,"status":"`...), Name(status)...), `"}}`...)
}

// Kind returns the status of an error, or 0 if it says none, and whether the request was too long for the model. The
// APIs have no status for that: the message says it.
func Kind(raw string) (status int, tooLong bool) {
	e := jsonedit.Parse([]byte(raw)).Get("error")
	name := e.Get("status").Str
	if code := e.Get("code"); code.Type == gjson.Number && code.Num >= 400 && code.Num < 600 {
		status = int(code.Num)
	} else if name != "" {
		for _, s := range statuses {
			if Name(s) == name {
				status = s
				break
			}
		}
	}
	return status, status == http.StatusBadRequest && strings.Contains(e.Get("message").Str, "exceeds the maximum number of tokens")
}

// statuses are those of HTTP that have a name of Google's, each name's own first.
var statuses = []int{
	http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests,
	http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
}

// Name returns the name of Google's status for one of HTTP's.
func Name(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return "DEADLINE_EXCEEDED"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	case http.StatusUpgradeRequired:
		return "FAILED_PRECONDITION"
	case http.StatusBadGateway, http.StatusServiceUnavailable:
		return "UNAVAILABLE"
	}
	if status >= 500 {
		return "INTERNAL"
	}
	return "INVALID_ARGUMENT"
}
