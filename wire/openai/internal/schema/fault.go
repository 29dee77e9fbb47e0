package schema

import (
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
)

// kinds are the statuses of errors by their code or their type, as OpenAI and servers of its APIs have
// them in the middle of a stream.
var kinds = withCodes(map[string]int{
	"invalid_request_error": http.StatusBadRequest, "invalid_prompt": http.StatusBadRequest, "BadRequestError": http.StatusBadRequest,
	"authentication_error": http.StatusUnauthorized, "invalid_api_key": http.StatusUnauthorized,
	"permission_error": http.StatusForbidden, "permission_denied_error": http.StatusForbidden,
	"not_found_error": http.StatusNotFound, "model_not_found": http.StatusNotFound,
	"rate_limit_error": http.StatusTooManyRequests, "rate_limit_exceeded": http.StatusTooManyRequests,
	"insufficient_quota": http.StatusTooManyRequests, "tokens": http.StatusTooManyRequests, "requests": http.StatusTooManyRequests,
	"server_error": http.StatusInternalServerError, "api_error": http.StatusInternalServerError, "InternalServerError": http.StatusInternalServerError,
	"server_is_overloaded": http.StatusServiceUnavailable, "slow_down": http.StatusServiceUnavailable, "engine_overloaded": http.StatusServiceUnavailable,
	"overloaded_error": http.StatusServiceUnavailable, "service_unavailable_error": http.StatusServiceUnavailable, "unavailable_error": http.StatusServiceUnavailable,
	"timeout_error": http.StatusGatewayTimeout,
})

// withCodes adds the codes that [Error] writes.
func withCodes(kinds map[string]int) map[string]int {
	for status := 400; status < 600; status++ {
		if code := Code(status); code != "" && kinds[code] == 0 {
			kinds[code] = status
		}
	}
	return kinds
}

// FaultKind implements [wire.FaultCodec].
func FaultKind(raw string) (status int, long bool) {
	root := jsonedit.Parse([]byte(raw))
	e := root.Get("error")
	for _, path := range []string{"error", "response.error"} {
		if e = root.Get(path); e.IsObject() {
			break
		}
	}
	if !e.IsObject() {
		e = root
	}
	code, kind := e.Get("code"), e.Get("type").Str
	switch {
	case code.Str == tooLong, kind == tooLong, kind == "exceed_context_size_error": // the last is llama.cpp's
		return http.StatusBadRequest, true
	case code.Type == gjson.Number && code.Num >= 400 && code.Num < 600:
		return int(code.Num), false
	case kinds[code.Str] != 0:
		return kinds[code.Str], false
	}
	return kinds[kind], false
}
