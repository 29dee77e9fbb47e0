package anthropic

import (
	"net/http"
	"strings"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

var _ wire.FaultCodec = messages{}

// kinds are the statuses of the API's error types.
var kinds = map[string]int{
	"invalid_request_error": http.StatusBadRequest, "authentication_error": http.StatusUnauthorized, "billing_error": http.StatusPaymentRequired,
	"permission_error": http.StatusForbidden, "not_found_error": http.StatusNotFound, "request_too_large": http.StatusRequestEntityTooLarge,
	"rate_limit_error": http.StatusTooManyRequests, "api_error": http.StatusInternalServerError, "overloaded_error": http.StatusServiceUnavailable,
	"timeout_error": http.StatusGatewayTimeout,
}

// FaultKind implements [wire.FaultCodec]. The API has no type for a request that is too long: its message says it.
func (messages) FaultKind(_, raw string) (status int, tooLong bool) {
	e := jsonedit.Parse([]byte(raw)).Get("error")
	status = kinds[e.Get("type").Str]
	return status, status == http.StatusBadRequest && strings.HasPrefix(e.Get("message").Str, "prompt is too long")
}
